"""One worker thread, a queue that is fair to callers, and results that leave at public times.

A party's ledger is a sequence, so one thread does all of its work.  Jobs wait by caller and are taken in turns, one
of each: whatever one caller sends, another waits for at most one job of it.  A job whose caller has gone is not
begun.

A job has a time of its own that follows from what was asked (`slot_seconds`); if it is done earlier the worker rests
until then, so neither its result nor anybody else's shows how long it really took.  If it is done later, the worker
rests until the next multiple of the quantum after the beginning, and the job is counted as late.

Checked in tests/unit/parties/agent/test_scheduler.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from localdp.errors import DeadlineMissed, Unreachable

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_HAND_OVER_SECONDS = 0.005  # from a call that was read to its first step, through the event loop
MARGIN = 1.2  # of a slot beyond what is predicted: other threads run, too


def slot_seconds(seconds: float, quantum_seconds: float) -> float:
    """How long a job of so many predicted seconds occupies the worker: whole quanta; without a quantum, not at all."""
    if quantum_seconds == 0:
        return 0.0
    return quantum_seconds * max(1, math.ceil(seconds * MARGIN / quantum_seconds))


def rest_until(began: float, done: float, slot: float, quantum_seconds: float) -> float:
    """When a result leaves: at the end of its slot, or at the next multiple of the quantum after it."""
    if quantum_seconds == 0 or done <= began + slot:
        return max(done, began + slot)
    return began + quantum_seconds * math.ceil((done - began) / quantum_seconds)


class Turns(Generic[_Item]):
    """What waits, by caller; callers take turns.  Of one caller, what was begun comes before what is new."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[deque[_Item], deque[_Item]]] = {}  # in the order of their turns

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, caller: str, item: _Item, *, begun: bool = False) -> None:
        """Wait behind what the same caller has waiting, as a call that was begun or as a new one."""
        new, going_on = self._waiting.setdefault(caller, (deque(), deque()))
        (going_on if begun else new).append(item)

    def is_begun(self, caller: str) -> bool:
        """Whether a call of this caller waits to go on."""
        return caller in self._waiting and bool(self._waiting[caller][1])

    def take_begun(self, caller: str) -> _Item:
        """What goes on of this caller, out of turn."""
        new, going_on = self._waiting[caller]
        item = going_on.popleft()
        if not new and not going_on:
            del self._waiting[caller]
        return item

    def take(self) -> _Item:
        """The first item of the caller whose turn it is; then it is the turn of the others."""
        caller = next(iter(self._waiting))
        new, going_on = self._waiting.pop(caller)
        item = (going_on or new).popleft()
        if new or going_on:
            self._waiting[caller] = new, going_on
        return item


@dataclass(slots=True)
class _Job:
    """What the worker is to do, and who waits for it."""

    caller: str
    work: Callable[[], object]
    slot: float | None  # None: reading a new call
    gone: Callable[[], bool]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    def end(self, result: object, error: Exception | None) -> None:
        """Tell whoever waits, on its own thread; there may be nobody any more."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._end, result, error)

    def _end(self, result: object, error: Exception | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class FairWorker:
    """The thread, and its queue."""

    def __init__(
        self,
        quantum_seconds: float = 0.0,
        late: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        """`late` is told of every job that took longer than its slot."""
        self._quantum = quantum_seconds
        self._late, self._clock, self._rest = late, clock, rest
        self._turns = self._queue()
        self._ready = threading.Condition()
        self._closed = False
        self._read: str | None = None  # whose call was read just now
        self._thread: threading.Thread | None = None

    def _queue(self) -> Turns[_Job]:
        return Turns()

    async def run(
        self,
        caller: str,
        work: Callable[[], _Result],
        seconds: float | None,
        gone: Callable[[], bool] = lambda: False,
    ) -> _Result:
        """Do it when it is the caller's turn; its outcome leaves after its slot.

        `seconds` is what it is predicted to take; None for reading a new call: its time may show, because it has to do with
        the request alone.
        """
        loop = asyncio.get_running_loop()
        slot = None if seconds is None else slot_seconds(seconds, self._quantum)
        future: asyncio.Future[_Result] = loop.create_future()
        with self._ready:
            if self._closed:
                raise _stopping()
            job = _Job(caller, work, slot, gone, loop, future)
            self._turns.put(caller, job, begun=slot is not None)
            self._begin()
            self._ready.notify()
        return await future

    async def close(self) -> None:
        """Begin nothing more, and return when what was begun is done: a part of an answer is short."""
        with self._ready:
            self._closed = True
            while self._turns:
                self._turns.take().end(None, _stopping())
            self._ready.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="party", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            if job.future.cancelled() or job.gone():
                job.end(None, DeadlineMissed("the caller is gone; whatever was not begun is not begun"))
            else:
                result, error = self._done(job)
                self._read = job.caller if job.slot is None and error is None else None
                job.end(result, error)
                del result, error  # an answer is not kept until the next one comes
            del job

    def _next(self) -> _Job | None:
        with self._ready:
            if (caller := self._read) is not None:  # reading a call and its first step are one turn
                self._read = None
                self._ready.wait_for(
                    lambda: self._closed or self._turns.is_begun(caller), _HAND_OVER_SECONDS
                )
                if not self._closed and self._turns.is_begun(caller):
                    return self._turns.take_begun(caller)
            self._ready.wait_for(lambda: self._closed or bool(self._turns))
            return None if self._closed else self._turns.take()

    def _done(self, job: _Job) -> tuple[object, Exception | None]:
        """The outcome, once its slot is over: a refusal takes as long as an answer."""
        began, result, error = self._clock(), None, None
        try:
            result = job.work()
        except Exception as raised:
            error = raised
        if job.slot:
            done = self._clock()
            if done > began + job.slot:
                self._late()
            self._rest(max(0.0, rest_until(began, done, job.slot, self._quantum) - done))
        return result, error


def _stopping() -> Unreachable:
    return Unreachable("the agent is stopping; whatever was not begun is not begun")
