"""What a task would be told, before anybody is asked.

An algorithm plans its first round and then asks it.  `PlanningOracle` stands in front of a real oracle, lets it plan, and
stops the algorithm at its first question: so the outlook of every learner is its own plan, and nobody is asked or charged.

Checked in tests/unit/experiments/test_catalogue.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localdp.oracles.account import Cost
from localdp.oracles.definition import Answer, OnRecords, Selected, StatisticalQueryOracle, VectorAnswer
from localdp.oracles.plans import Plan
from localdp.oracles.wrapping import OracleAround, _Told
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.scores import LARGEST, Rule


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the first round of a task is expected to yield."""

    rounds: int
    standard_error: float | None  # of one entry of the first answer; None: the task would not ask
    how: str  # the randomizer or the noise, in words; or why nothing would be asked


class _FirstQuestion(Exception):
    """An algorithm that was only to plan has come to its first question."""


@dataclass(slots=True)
class _Noted:
    rounds: int = 1
    plan: Plan | None = None


class PlanningOracle(OracleAround):
    """Plans like the oracle behind it, and answers nothing."""

    def __init__(self, behind: StatisticalQueryOracle, noted: _Noted | None = None) -> None:
        super().__init__(behind)
        self.noted = noted or _Noted()

    @property
    def cost(self) -> Cost:
        """Nothing."""
        return Cost()

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """Never; the plan is kept."""
        self.plan(list(queries))
        raise _FirstQuestion("nothing is asked while planning")

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """Never; the plan is kept."""
        self.plan(list(queries))
        raise _FirstQuestion("nothing is asked while planning")

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """Never; the plan is kept."""
        self.plan_select(of, by)
        raise _FirstQuestion("nothing is asked while planning")

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """Never; nothing is planned of records."""
        raise _FirstQuestion("nothing is asked while planning")

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """As the oracle behind."""
        self.noted.plan = self.behind.plan(queries)
        return self.noted.plan

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """As the oracle behind."""
        self.noted.plan = self.behind.plan_select(of, by)
        return self.noted.plan

    def in_rounds(self, rounds: int) -> PlanningOracle:
        """A view that plans for so many rounds."""
        self.noted.rounds = rounds
        return PlanningOracle(self.behind.in_rounds(rounds), self.noted)

    def among(self, ranges: Sequence[range], parts: int = 1) -> PlanningOracle:
        """A view that plans for some of the people."""
        return PlanningOracle(self.behind.among(ranges, parts), self.noted)

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> PlanningOracle:
        """A view that plans for blocks of people."""
        return PlanningOracle(self.behind.in_blocks(estimate, blocks, low, high), self.noted)


def outlook_of(ask: Callable[[PlanningOracle], object], oracle: StatisticalQueryOracle) -> Outlook:
    """Let a task begin with an oracle that only plans; what it planned last is its first question."""
    planning = PlanningOracle(oracle)
    try:
        ask(planning)
    except _FirstQuestion:
        plan = planning.noted.plan
        if plan is None:
            return Outlook(planning.noted.rounds, None, "computed of the records themselves")
        return Outlook(planning.noted.rounds, _error(plan), plan.rows[0].how)
    return Outlook(planning.noted.rounds, None, "asks nothing")


def _error(plan: Plan) -> float:
    """Root mean square over the entries of a round's answers."""
    entries = sum(row.entries for row in plan.rows)
    return plan.vector_error / math.sqrt(entries)
