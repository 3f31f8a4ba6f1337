"""Agents that do their work in a worse way: each must be caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from localdp.cohorts import Cohort
from localdp.domains import Schema
from localdp.party.party import Party, Request
from parties.agent.plan import WorkPlan, randomize_plan, reports_per_part
from parties.agent.scheduler import FairWorker, Turns
from parties.agent.service import AgentService
from parties.agent.work import Places, WorkLimits

_Item = TypeVar("_Item")


class FirstComeTurns(Turns[_Item]):
    """A queue in which whoever sends most is served most."""

    def put(self, caller: str, item: _Item, *, begun: bool = False) -> None:
        """Forget who asks, and what was begun."""
        super().put("", item)

    def is_begun(self, caller: str) -> bool:
        """Nobody goes before anybody."""
        return False


class FirstComeFirstServed(FairWorker):
    """A worker with such a queue."""

    def _queue(self) -> Turns[Any]:
        return FirstComeTurns()


class Impatient(FairWorker):
    """A worker whose results leave as soon as they are there."""

    def _done(self, job: Any) -> tuple[Any, Exception | None]:
        job.slot = 0.0
        return super()._done(job)


def _with(worker: type[FairWorker]) -> Callable[[Party, WorkLimits], AgentService]:
    def made(party: Party, limits: WorkLimits) -> AgentService:
        agent = AgentService(party, {}, limits=limits)
        agent._desk.worker = worker(limits.quantum_seconds)
        return agent

    return made


class PartsByPeople(AgentService):
    """Parts of as many people as fit into a message, whatever each of them takes."""

    def _randomized(self, call: Any, request: Any) -> tuple[Request, WorkPlan]:
        asked, plan = super()._randomized(call, request)
        return asked, WorkPlan(plan.cohort, plan.charge, plan.work, reports_per_part(asked))


class NoPlaces(AgentService):
    """Any number of answers at once, for as long as their callers like."""

    def __init__(self, party: Party, limits: WorkLimits) -> None:
        unbounded = WorkLimits.unbounded()
        super().__init__(party, {}, limits=limits)
        self._desk.answers = Places("answers", unbounded.answers_of_caller, unbounded.answers_in_all)
        self._desk.quotes = Places("quotes", unbounded.quotes_of_caller, unbounded.quotes_in_all)


def by_people(party: Party, limits: WorkLimits) -> AgentService:
    """An agent whose parts are not cut by time."""
    return PartsByPeople(party, {}, limits=limits)


def sound(party: Party, limits: WorkLimits) -> AgentService:
    """The agent itself."""
    return AgentService(party, {}, limits=limits)


unfair = _with(FirstComeFirstServed)
impatient = _with(Impatient)


def cut_by_people(request: Request, cohort: Cohort, schema: Schema, limits: WorkLimits) -> WorkPlan:
    """A plan as it was: by the size of the message alone."""
    plan = randomize_plan(request, cohort, schema, limits)
    return WorkPlan(plan.cohort, plan.charge, plan.work, reports_per_part(request))
