"""Conjunctions of literals, learned from how often each fails among the positives (Kearns 1998, after Valiant 1984).

The target is y = l_1 and l_2 and ... over bits, each l a bit or (with `negations`) its negation.  A literal l belongs to
the target only if nu(l) = Pr[not l and y] is 0.  So ask all nu(l), and keep the literals whose answer is below half of
`violation`, the least nu that matters.

Claim.  With every answer within tau < violation / 2, the hypothesis has every literal of the target and none with
nu(l) >= violation: it errs only on positives, and with d literals with probability below d violation.  If no literal
outside the target has 0 < nu(l) < violation, it is the target, and whatever else holds for all positives.
Checked in tests/unit/algorithms/learners/test_conjunction.py; the numbers in tests/statistical/test_learners_a.py.

Under uniform bits and a target of k literals, nu is 2**-(k + 1) for a literal that does not belong.  Only one of a bit and
its negation can be in the target, and both are asked at once: which(not y, x) says of a positive whether x holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import conjunction
from localdp.domains import BitDomain
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Floats


class ConjunctionLearner(Classifier):
    """Finds the literals that hold for (almost) everybody whose target holds."""

    literals_: tuple[str, ...]
    violations_: dict[str, float]  # of each literal that was considered: the answer about nu

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        negations: bool = False,
        violation: float = 1 / 16,
        check_signal: bool = True,
    ) -> None:
        self.target = target
        self.features = features
        self.negations = negations
        self.violation = violation
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if not 0 < self.violation <= 1:
            raise InvalidParameter("the violation that matters is a probability, and not 0")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        require_bit(oracle.schema, self.target)
        self._study(oracle.schema, (BitDomain,))
        queries = [self._query(name) for name in self.features_]
        self.plan_ = oracle.plan(queries)
        self._require_signal(self.violation / 2, self.plan_.tolerance(), "half a violation")
        ask = self._asked_with_negations if self.negations else self._asked
        self.violations_ = ask(oracle, queries)
        self.literals_ = tuple(
            literal for literal, found in self.violations_.items() if found < self.violation / 2
        )

    def _query(self, name: str) -> str:
        return f"which(not {self.target}, {name})" if self.negations else f"not {name} and {self.target}"

    def _asked(self, oracle: StatisticalQueryOracle, queries: list[str]) -> dict[str, float]:
        answers = oracle.answer(queries)
        return {name: answer.value for name, answer in zip(self.features_, answers, strict=True)}

    def _asked_with_negations(self, oracle: StatisticalQueryOracle, queries: list[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, answer in zip(self.features_, oracle.answer_vectors(queries), strict=True):
            _, holds, fails = answer.values.tolist()
            found |= {name: fails, f"not {name}": holds}
        return found

    def predict(self, X: Features) -> NDArray[np.bool_]:  # noqa: N803
        """Whether all literals hold, for each person."""
        records = self._records(X)
        return StatisticalQuery.parse(conjunction(self.literals_), records.schema).evaluate(records)

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """0 or 1: a conjunction has no doubts."""
        holds = self.predict(X)
        return np.column_stack([~holds, holds]).astype(np.float64)
