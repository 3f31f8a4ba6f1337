"""The adversarial oracle: any answer within tolerance tau of the truth, chosen to hurt (Definition 12.4).

The correctness of an algorithm in the SQ model is a statement about every oracle whose answers are within tau.  A noisy
oracle tests it on average; this one tests it at the edge.  Each entry of a vector is an answer of its own: none is
further off than tau.

| strategy | the answer to a truth v |
|---|---|
| round | the multiple of 2 tau nearest to v: what is less than tau vanishes |
| towards | 0 if |v| <= tau, else tau closer to 0: signals shrink |
| up, down | v + tau, v - tau |
| alternate | v + tau and v - tau in turn, entry by entry: near ties are broken the wrong way |
| any function | whatever it returns, brought within tau of v |

Checked in tests/unit/oracles/test_adversarial.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.by_answers import planned_by_answers, selected_by_answers
from localdp.oracles.definition import Answer, Selected, StatisticalQueryOracle, VectorAnswer
from localdp.oracles.exact import ExactOracle
from localdp.oracles.plans import Plan, PlannedQuery
from localdp.oracles.wrapping import OracleAround
from localdp.queries.asked import Asked, AskedVector, checked_plan
from localdp.queries.encoded import entries_of
from localdp.queries.scores import LARGEST, Rule
from localdp.randomizers.definition import Floats

Strategy = Callable[[Floats, float], Floats]


def _rounded(truth: Floats, tolerance: float) -> Floats:
    return np.rint(truth / (2 * tolerance)) * (2 * tolerance)


def _towards(truth: Floats, tolerance: float) -> Floats:
    return np.sign(truth) * np.maximum(np.abs(truth) - tolerance, 0.0)


def _alternating(truth: Floats, tolerance: float) -> Floats:
    return truth + tolerance * (1 - 2 * (np.arange(len(truth)) % 2))


STRATEGIES: dict[str, Strategy] = {
    "round": _rounded,
    "towards": _towards,
    "up": lambda truth, tolerance: truth + tolerance,
    "down": lambda truth, tolerance: truth - tolerance,
    "alternate": _alternating,
}


class AdversarialOracle(OracleAround):
    """Knows the truth, and says the worst that tolerance allows."""

    def __init__(self, records: Records, tolerance: float, strategy: str | Strategy = "round") -> None:
        if not 0 <= tolerance <= 1:
            raise InvalidParameter("a tolerance lies between 0 and 1")
        if isinstance(strategy, str) and strategy not in STRATEGIES:
            raise InvalidParameter(f"a strategy is a function, or one of {', '.join(STRATEGIES)}")
        super().__init__(ExactOracle(records))
        self._tolerance = tolerance
        self._strategy = STRATEGIES[strategy] if isinstance(strategy, str) else strategy

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, each off by at most the tolerance."""
        truths = self.behind.answer(queries)
        told = self._told(np.array([truth.value for truth in truths]))
        variance = self._tolerance**2
        return [
            Answer(truth.query, float(value), truth.people, truth.reports, variance, variance)
            for truth, value in zip(truths, told, strict=True)
        ]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, each off by at most the tolerance."""
        answers = []
        for truth in self.behind.answer_vectors(queries):
            told = self._told(truth.values)
            variance = np.full(len(told), self._tolerance**2)
            answers.append(VectorAnswer(truth.query, told, truth.people, truth.reports, variance, variance))
        return answers

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """What looks best among answers that are off by at most the tolerance."""
        return selected_by_answers(self, of, by)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The tolerance, for every entry."""
        rows = [
            PlannedQuery(
                query.text, entries_of(query), "an adversary", self.people, self._tolerance, certain=True
            )
            for query in checked_plan(queries, self.schema)
        ]
        return Plan("adversarial", tuple(rows), self.people, Epsilon(0))

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """Twice the tolerance, between two candidates."""
        return planned_by_answers(self, of, by)

    def among(self, ranges: Sequence[range], parts: int = 1) -> AdversarialOracle:
        """The same adversary, about some of the people."""
        return self._around(self.behind.among(ranges, parts))

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> AdversarialOracle:
        """The same adversary, about blocks of people."""
        return self._around(self.behind.in_blocks(estimate, blocks, low, high))

    def _around(self, behind: StatisticalQueryOracle) -> AdversarialOracle:
        view = copy(self)
        view.behind = behind
        return view

    def in_rounds(self, rounds: int) -> AdversarialOracle:
        """The same adversary, for so many rounds."""
        return self._around(self.behind.in_rounds(rounds))

    def _told(self, truth: Floats) -> Floats:
        if self._tolerance == 0:
            return truth
        told = self._strategy(truth, self._tolerance)
        return np.clip(told, truth - self._tolerance, truth + self._tolerance)
