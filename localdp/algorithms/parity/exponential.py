"""Parity with a curator: the exponential mechanism over all 2**d hypotheses (Theorem 3.11; section 11.1).

People are labelled examples (Definition 11.1), and the score of a parity is the number that it labels rightly: n
times one less its error (Definition 11.2).  So it is a PAC learner (Definitions 11.3 and 12.7) of this class, and
agnostic; `FiniteClass` is one of any.  Replacing one example moves every score by at most 1.  With n examples the true
parity leads by about n / 2, and the exponential mechanism misses the largest score by about (2 / epsilon) ln 2**d: a
few hundred people suffice, where local reports need 2**d.

Claim.  Epsilon-private, by `ExponentialMechanism`, whose law is exact.
Checked in tests/unit/algorithms/test_parity.py; the numbers in tests/statistical/test_separations.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.learnable import PACLearnable
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.randomizers.parts.walsh import walsh_hadamard
from localdp.randomness.source import RandomSource

MOST_FEATURES = 16


@dataclass(frozen=True, slots=True)
class ParityExponential:
    """Learns a parity of at most 16 bits, with epsilon for each example."""

    epsilon: Epsilon

    @staticmethod
    def learnable(bits: int) -> PACLearnable:
        """Of all parities of so many bits."""
        return PACLearnable(1 << bits)

    def learn(self, rows: NDArray[np.bool_], labels: NDArray[np.bool_], source: RandomSource) -> int:
        """The mask of a parity that labels most examples rightly, or nearly so."""
        return ExponentialMechanism().choose(parity_scores(rows, labels), 1, self.epsilon, source)


def parity_scores(rows: NDArray[np.bool_], labels: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For the mask of every parity, how many examples it labels rightly: one Walsh-Hadamard transform."""
    if rows.ndim != 2 or rows.shape[1] > MOST_FEATURES or labels.shape != (len(rows),):
        raise InvalidParameter(f"examples are rows of at most {MOST_FEATURES} bits, each with a label")
    dimension = rows.shape[1]
    words = rows.astype(np.int64) @ (1 << np.arange(dimension, dtype=np.int64))
    signed = np.bincount(words, 1.0 - 2.0 * labels, 1 << dimension)
    agreements: NDArray[np.int64] = (len(rows) + walsh_hadamard(np.rint(signed).astype(np.int64))) // 2
    return agreements
