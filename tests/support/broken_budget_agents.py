"""Agents that tell something else about what people have left than is so."""

from __future__ import annotations

from typing import Any

from localdp.accounting.remaining import STEPS, Step
from localdp.party.party import Party
from parties.agent.service import AgentService
from parties.wire.v1 import oracle_pb2 as pb


class TellsTheLimit(Party):
    """What everybody was given, whatever they have spent."""

    def budgets(self, caller: str = "") -> tuple[Step, ...]:
        limit = self.ledger.limit
        return tuple(Step(step, self.people if step <= limit else 0) for step in STEPS)


class TellsNothing(Party):
    """Nobody has anything left, for fear of telling too much."""

    def budgets(self, caller: str = "") -> tuple[Step, ...]:
        return tuple(Step(step, 0 if step.nanonats else self.people) for step in STEPS)


class TellsFinely(AgentService):
    """Every amount that somebody has left is a step."""

    async def Budgets(self, request: Any, context: Any) -> pb.BudgetsResponse:  # noqa: N802
        left = self._party.ledger.limit.nanonats - self._party.ledger.spent()
        steps = [
            pb.BudgetStep(at_least_nanonats=int(one), people=int((left >= one).sum())) for one in set(left)
        ]
        return pb.BudgetsResponse(steps=steps)


class ChargesForTelling(Party):
    """Tells somewhat less every time that it is asked."""

    _asked = 0

    def budgets(self, caller: str = "") -> tuple[Step, ...]:
        self._asked += 1
        steps = super().budgets(caller)
        return (*(Step(one.at_least, max(0, one.people - self._asked)) for one in steps[:-1]), steps[-1])


class HasNoBudgets(AgentService):
    """Of an older version."""

    async def Budgets(self, request: Any, context: Any) -> pb.BudgetsResponse:  # noqa: N802
        raise NotImplementedError
