"""Where a call's steps are taken: it has a place, its message is read, its work is allowed, done and counted.

The desk knows callers, seconds and limits, and neither a party nor a record.

Checked in tests/unit/parties/agent/test_agent_work.py.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from google.protobuf.message import Message

from localdp.party.cost import decode_seconds
from parties.admission import Received
from parties.agent.plan import WorkPlan
from parties.agent.scheduler import FairWorker, slot_seconds
from parties.agent.undecoded import decoded
from parties.agent.work import CallPlace, Places, WorkAccounts, WorkLimits
from parties.agent.yardstick import slowness
from parties.identity import Context, peer_name
from parties.observability.logs import log
from parties.observability.observer import Observer

_WARNING_SECONDS = 60.0  # between two lines about late answers

Done = Callable[[float], None]
_Asked = TypeVar("_Asked")
_Result = TypeVar("_Result")


class Desk:
    """The worker of one agent, its limits, and the accounts of what was done for whom."""

    def __init__(self, limits: WorkLimits, observer: Observer) -> None:
        self._limits = limits
        self._observer = observer
        self._slowness = slowness() if limits.quantum_seconds else 1.0
        self.worker = FairWorker(limits.quantum_seconds, self.late)
        self.accounts = WorkAccounts(limits)
        self.answers = Places("answers", limits.answers_of_caller, limits.answers_in_all)
        self.quotes = Places("quotes", limits.quotes_of_caller, limits.quotes_in_all)
        self._bytes = Places("bytes of requests", limits.bytes_of_caller, limits.bytes_in_all)
        self._warned = -_WARNING_SECONDS

    async def close(self) -> None:
        """Begin nothing more."""
        await self.worker.close()

    @contextlib.contextmanager
    def place(self, context: Context, request: Message, *, quote: bool) -> Iterator[CallPlace]:
        """A place among the calls in progress, and room for its message."""
        caller, places = peer_name(context) or "", self.quotes if quote else self.answers
        with places.take(caller) as place, self._bytes.take(caller, request.ByteSize()):
            yield place

    def require(self, caller: str, plan: WorkPlan) -> None:
        """Refuse what would be too much for this caller, or in all, now."""
        self.accounts.require(caller, self.seconds(plan.seconds))

    def promised(self, caller: str, seconds: float) -> contextlib.AbstractContextManager[Done]:
        """Set work aside for a caller, or refuse."""
        return self.accounts.promised(caller, self.seconds(seconds))

    async def read(
        self,
        context: Context,
        request: Message,
        read: Callable[[Received], tuple[_Asked, WorkPlan]],
    ) -> tuple[_Asked, WorkPlan]:
        """What a message asks for, and the plan of an answer that is within the limits."""
        caller = peer_name(context) or ""
        with self.promised(caller, decode_seconds(request.ByteSize())) as done:
            spent: list[float] = []
            try:
                reading = _timed(lambda: read(decoded(request)), spent)
                asked, plan = await self.worker.run(caller, reading, None, _gone(context))
            finally:
                done(sum(spent))
        self._limits.require_request(self.seconds(plan.seconds), self.seconds(plan.piece))
        return asked, plan

    async def step(
        self, context: Context, job: Callable[[], _Result], seconds: float, done: Done
    ) -> _Result:
        """A step that has to do with the party: its outcome leaves after a time that was predicted."""
        caller, here = peer_name(context) or "", self.seconds(seconds)
        begun: list[float] = []

        def counted() -> _Result:
            begun.append(here)
            return job()

        try:
            return await self.worker.run(caller, counted, here, _gone(context))
        finally:
            done(sum(begun))  # what was not begun is not counted

    async def note(self, caller: str, job: Callable[[], None], seconds: float) -> None:
        """Write down what has happened: neither refused, nor left out because the caller is gone."""
        await self.worker.run(caller, job, self.seconds(seconds))

    def seconds(self, seconds: float) -> float:
        """Seconds of the machine that prices were measured on, on this one."""
        return seconds * self._slowness

    def answer_seconds(self, plan: WorkPlan) -> float:
        """When the last part leaves, if nobody else is served meanwhile."""
        quantum = self._limits.quantum_seconds
        if not quantum:
            return self.seconds(plan.seconds)
        return sum(number * slot_seconds(self.seconds(step), quantum) for number, step in plan.steps)

    def late(self) -> None:
        """A step took longer than was predicted: it left at the next quantum."""
        self._observer.late.add(1)
        now = time.monotonic()
        if now - self._warned >= _WARNING_SECONDS:
            self._warned = now
            log(logging.WARNING, "late", {"role": "agent", "name": self._observer.name})


def _gone(context: Context) -> Callable[[], bool]:
    """Whether nobody waits for the answer any more."""

    def gone() -> bool:
        left = context.time_remaining()  # None without a deadline, and 0.0 once it has passed
        return bool(context.cancelled() or (left is not None and left <= 0))

    return gone


def _timed(read: Callable[[], _Result], spent: list[float]) -> Callable[[], _Result]:
    """Reading, whose time is counted as it is: it has to do with the message alone, so it may show."""

    def timed() -> _Result:
        began = time.perf_counter()
        try:
            return read()
        finally:
            spent.append(time.perf_counter() - began)

    return timed
