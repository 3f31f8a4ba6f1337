"""What a task would be told, before anybody is asked.

An algorithm plans its first round and then asks it.  `PlanningOracle` stands in front of a real oracle, lets it plan, and
stops the algorithm at its first question: so the outlook of every learner is its own plan, and nobody is asked or charged.

Checked in tests/unit/experiments/test_catalogue.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from localdp.accounting.claim import PrivacyClaim
from localdp.domains import Schema
from localdp.oracles.definition import (
    Answer,
    Asked,
    AskedVector,
    Cost,
    StatisticalQueryOracle,
    VectorAnswer,
)
from localdp.oracles.plans import Plan


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


@dataclass(frozen=True, slots=True)
class PlanningOracle:
    """Plans like the oracle behind it, and answers nothing."""

    behind: StatisticalQueryOracle
    noted: _Noted = field(default_factory=_Noted)

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self.behind.schema

    @property
    def people(self) -> int:
        """How many people the answers would be about."""
        return self.behind.people

    @property
    def cost(self) -> Cost:
        """Nothing."""
        return Cost()

    @property
    def claim(self) -> PrivacyClaim:
        """What the oracle behind promises so far."""
        return self.behind.claim

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """Never; the plan is kept."""
        self.plan(list(queries))
        raise _FirstQuestion("nothing is asked while planning")

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """Never; the plan is kept."""
        self.plan(list(queries))
        raise _FirstQuestion("nothing is asked while planning")

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """As the oracle behind."""
        self.noted.plan = self.behind.plan(queries)
        return self.noted.plan

    def in_rounds(self, rounds: int) -> PlanningOracle:
        """A view that plans for so many rounds."""
        self.noted.rounds = rounds
        return PlanningOracle(self.behind.in_rounds(rounds), self.noted)


def outlook_of(ask: Callable[[PlanningOracle], object], oracle: StatisticalQueryOracle) -> Outlook:
    """Let a task begin with an oracle that only plans; what it planned last is its first question."""
    planning = PlanningOracle(oracle)
    try:
        ask(planning)
    except _FirstQuestion:
        plan = planning.noted.plan
        assert plan is not None
        return Outlook(planning.noted.rounds, _error(plan), plan.rows[0].how)
    return Outlook(planning.noted.rounds, None, "asks nothing")


def _error(plan: Plan) -> float:
    """Root mean square over the entries of a round's answers."""
    entries = sum(row.entries for row in plan.rows)
    return float((sum(row.entries * row.standard_error**2 for row in plan.rows) / entries) ** 0.5)
