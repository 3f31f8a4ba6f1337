"""Parity in the SQ model: all 2**d correlations at once, the best that statistical queries allow.

A concept is c_r(x) = <r, x> modulo 2, for uniform x in {0, 1}**d.  Distinct parities are uncorrelated, so a query says
something about at most 1 / tau**2 of them, and 2**d tau**2 queries are needed (Kearns 1998).  The best local protocol asks
everybody about one random parity: the signal of the true one is 1, the noise of each is C sqrt(2**d / n), and the
largest of 2**d noises is about sqrt(2 ln 2**d) times that.  So n must grow like 2**d.

Claim.  With every answer within tau < 1/2 of the truth, the learner is right.
Checked in tests/unit/algorithms/test_parity.py; the numbers in tests/statistical/test_separations.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.definition import TARGET, Learner, features_of
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomizers.parts.walsh import parity

MOST_FEATURES = 20
SIGNAL = 1.0


def bits_of(schema: Schema, features: Sequence[str] | None, target: str) -> tuple[str, ...]:
    """The columns that a parity may be made of."""
    names = features_of(schema, features, target)
    if not all(isinstance(schema[name], BitDomain) for name in (*names, target)):
        raise InvalidParameter("parities are learned from bits")
    return names


class ParityLearner(Learner):
    """Finds the parity that the target is, from one query about all of them."""

    _predicts_classes = True

    def __init__(
        self, target: str = TARGET, features: Sequence[str] | None = None, check_signal: bool = True
    ) -> None:
        self.target = target
        self.features = features
        self.check_signal = check_signal

    def _rounds(self) -> int:
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        names = bits_of(oracle.schema, self.features, self.target)
        if len(names) > MOST_FEATURES:
            raise InvalidParameter(f"all parities of more than {MOST_FEATURES} bits are too many to ask")
        query = f"parities({len(names)}, {', '.join(names)}; {self.target})"
        self.plan_ = oracle.plan([query])
        self._require_signal(SIGNAL, 2 * self.plan_.tolerance(), "a correlation")
        signs = oracle.answer_vectors([query])[0].values
        self.features_ = names
        self.mask_ = int(np.argmax(signs))
        self.support_ = tuple(name for place, name in enumerate(names) if self.mask_ >> place & 1)

    def predict(self, features: NDArray[np.bool_ | np.integer]) -> NDArray[np.bool_]:
        """The parity of rows of bits, in the order of `features_`."""
        self._require_fitted("mask_")
        return parity_of(np.asarray(features, np.bool_), self.mask_)

    def _scored(self, records: Records) -> float:
        rows = np.column_stack([records.column(name) for name in self.features_])
        return float(np.mean(self.predict(rows) == records.column(self.target)))


def parity_of(rows: NDArray[np.bool_], mask: int) -> NDArray[np.bool_]:
    """Whether each row has an odd number of ones within the mask."""
    if rows.ndim != 2:
        raise InvalidParameter("features are rows of bits")
    chosen = np.array([mask >> place & 1 for place in range(rows.shape[1])], np.bool_)
    return parity(np.count_nonzero(rows & chosen, axis=1) & 1)
