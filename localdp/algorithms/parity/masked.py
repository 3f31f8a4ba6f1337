"""Masked parity: two rounds find what one round finds half of (Kasiviswanathan et al. 2008, section 5).

A concept c_{r,a} on (x, i, b), with x in {0, 1}**d, i in 0 .. d - 1 and a bit b, all uniform:

    b = 1:  r_i                      the mask, bit by bit
    b = 0:  <r, x> + a modulo 2      a parity, which hides a unless r is known

Two rounds.  The first asks for the mean of the label's sign at every i: from b = 1 it is (-1)**r_i / 2 and from b = 0 it
averages out, as all queries about a parity do.  The signal is 1 / (2 d) against a noise of C / sqrt(n), by the parities of
the bits of i.  The second asks one question about a, which knows r.

One round.  The mask is as easy to find as before; what cannot be found is a, which takes a query about one of 2**d parities
chosen before r is known, so some 2**d people.  Whoever asks about all parities for both, and nothing else, finds neither;
whoever asks for the mask and guesses a is right half of the time.  So one round does not fail: it lacks the last bit.

Claim.  `MaskedParityLearner` is right when every answer is within tau < 1 / (2 d) of its mean under the distribution, so
d + 1 statistical queries of that tolerance learn the class (Definitions 11.5 and 12.5): an entry of the transform of the
first round is a mean of d answers with signs, off by no more than they are, and the second has the larger signal 1/4.
Checked in tests/unit/algorithms/test_parity.py; the numbers in tests/statistical/test_separations.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.definition import TARGET, Learner
from localdp.algorithms.learnable import SQLearnable
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomizers.parts.walsh import parity


class MaskedParityLearner(Learner):
    """Learns the mask in the first round, and the parity's constant in the second."""

    def __init__(
        self,
        bits: Sequence[str],
        index: Sequence[str],
        switch: str,
        target: str = TARGET,
        check_signal: bool = True,
    ) -> None:
        """`bits` are the columns of x, `index` those of the bits of i (lowest first), `switch` that of b."""
        self.bits = bits
        self.index = index
        self.switch = switch
        self.target = target
        self.check_signal = check_signal

    @staticmethod
    def learnable(bits: int) -> SQLearnable:
        """Over so many uniform bits; a tolerance is of a query in [0, 1], and signs are twice that."""
        return SQLearnable(queries=bits + 1, tolerance=1 / (4 * bits), alpha=0.0)

    def _rounds(self) -> int:
        if len(self.bits) != 1 << len(self.index):
            raise InvalidParameter("the bits of the index number the bits of x, one by one")
        return 2

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        dimension = len(self.bits)
        first = f"parities({len(self.index)}, {', '.join(self.index)}; {self.target})"
        self.plan_ = oracle.plan([first])
        # An entry of the transform is a mean of d answers with independent errors.
        error = self.plan_.rows[0].standard_error / dimension**0.5
        self._require_signal(1 / (2 * dimension), error, "the mean of a label")
        means = label_means(oracle.answer_vectors([first])[0].values)
        self.mask_ = sum(1 << place for place, mean in enumerate(means) if mean < 0)
        second = oracle.answer([self._hidden_bit()])[0]
        self.constant_ = int(second.value > 0.25)

    def _hidden_bit(self) -> str:
        chosen = [name for place, name in enumerate(self.bits) if self.mask_ >> place & 1]
        return f"not {self.switch} and parity({', '.join([self.target, *chosen])})"


class OneRoundMaskedParityLearner(MaskedParityLearner):
    """Must ask everything at once: takes the parity of x that the label is most correlated with, and its sign."""

    def _rounds(self) -> int:
        super()._rounds()
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        query = self._all_parities()
        self.plan_ = oracle.plan([query])
        self._require_signal(0.5, 2 * self.plan_.tolerance(), "the correlation with a parity")
        correlations = oracle.answer_vectors([query])[0].values
        self.mask_ = int(np.argmax(np.abs(correlations)))
        self.constant_ = int(correlations[self.mask_] < 0)

    def _all_parities(self) -> str:
        return f"parities({len(self.bits)}, {', '.join(self.bits)}; {self.target})"


class GuessingMaskedParityLearner(OneRoundMaskedParityLearner):
    """One round for both: half of the people give the mask, the other half hardly more than a guess of the constant."""

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        queries = [
            f"parities({len(self.index)}, {', '.join(self.index)}; {self.target})",
            self._all_parities(),
        ]
        self.plan_ = oracle.plan(queries)
        self._require_signal(0.5, self.plan_.rows[1].tolerance(0.05), "the correlation with a parity")
        labels, correlations = oracle.answer_vectors(queries)
        self.mask_ = sum(1 << place for place, mean in enumerate(label_means(labels.values)) if mean < 0)
        # The masks of all subsets come in the order of their numbers; a negative sign is an odd parity.
        self.constant_ = int(correlations.values[self.mask_] < 0)


def label_means(signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the label's sign where the index is j, times its probability, from the signs of labelled parities."""
    numbers = np.arange(len(signs), dtype=np.uint64)
    matrix = 1.0 - 2.0 * parity(numbers[:, None] & numbers)
    means: NDArray[np.float64] = matrix @ signs / len(signs)
    return means
