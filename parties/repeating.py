"""Calls that are sent again when their peer was away: bounded in number and in time, after pauses that grow.

It is safe.  A coordinator's calls name what they ask for by their bytes, and the same bytes have the same answer: an
agent replays its reports at no further charge, a share server counts nobody twice and releases one number.  So a call
may be sent again whatever became of it, and what a broken attempt brought is worth no more than a check.

It is done only where it may help: the peer could not be reached, the connection broke, perhaps half way through a
stream, or the peer was busy.  A refusal is an answer and a deadline that has passed is over; neither is repeated.
All attempts of a call and the pauses between them end before the call's one deadline.

**Deviation** from gRPC's own retry policy, which is not used: with it a Python stream whose server was killed hangs
instead of failing.

Checked in tests/unit/parties/test_repeating.py, tests/integration/test_repeating.py and
tests/fault/test_killed_while_asked.py.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import grpc

from localdp.errors import Busy, InvalidParameter, Unreachable
from parties.observability.logs import log
from parties.status import error_of

_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
_CHANCES = 1 << 20
# Who dials a coordinator that is gone for good fails more often than a float can double.
_MOST_DOUBLINGS = 64

_Result = TypeVar("_Result")
Response: TypeAlias = Any  # a message that a peer answered with: stubs do not say of which type
Stub: TypeAlias = Any  # as gRPC generates them, and their methods
Begun: TypeAlias = Any  # gRPC's future of a message, or its stream of them
Begin = Callable[[float], Begun]  # begins a call that may take so many seconds


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is made in all, and how long the pauses are: each twice the one before, and half of it chance."""

    attempts: int = 4
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= 100 or not 0 < self.first_pause_seconds <= self.longest_pause_seconds:
            raise InvalidParameter("a call is made 1 to 100 times, with pauses above 0 that do not shrink")

    def pause_seconds(self, failures: int) -> float:
        """The pause after so many failures; chance in it keeps a thousand callers from coming back at once."""
        doubled = self.first_pause_seconds * float(1 << min(failures - 1, _MOST_DOUBLINGS))
        full = min(doubled, self.longest_pause_seconds)
        chance = secrets.randbelow(_CHANCES) / _CHANCES
        return full * (1 + chance) / 2


@dataclass(slots=True)
class Trials:
    """The attempts of one call, or of several that are made together, until their deadline by the clock."""

    patience: Patience
    until: float
    clock: Callable[[], float] = time.monotonic
    failures: int = 0

    @property
    def seconds_left(self) -> float:
        """What the next attempt may take."""
        return max(0.0, self.until - self.clock())

    def pause_after(self, failure: grpc.RpcError) -> float | None:
        """How long to wait before the next attempt; None if there is none."""
        self.failures += 1
        if self.failures >= self.patience.attempts or not is_passing(failure):
            return None
        pause = self.patience.pause_seconds(self.failures)
        return pause if pause < self.seconds_left else None


def is_passing(failure: grpc.RpcError) -> bool:
    """Whether the peer was away or busy, and may be back; whatever else it said of itself is an answer, and stays."""
    kind = type(error_of(failure, ""))
    return kind is Busy or (kind is Unreachable and failure.code() in _PASSING)


@dataclass(slots=True)
class Persistence:
    """What one coordinator's calls share: its patience, how often it was needed, and whether it was told to stop."""

    patience: Patience = field(default_factory=Patience)
    repeated: int = 0  # calls that were sent again
    _stopped: threading.Event = field(default_factory=threading.Event)
    _counting: threading.Lock = field(default_factory=threading.Lock)  # calls may be made from many threads

    def stop(self) -> None:
        """Repeat nothing from now on, and end the pauses."""
        self._stopped.set()

    def trials(self, seconds: float) -> Trials:
        """The attempts of a call that may take so long in all."""
        return Trials(self.patience, time.monotonic() + seconds)

    def wait(self, trials: Trials, failure: grpc.RpcError, peer: str, calls: int = 1) -> None:
        """Return when it is time for the next attempt, or raise what the failure is."""
        pause = None if self._stopped.is_set() else trials.pause_after(failure)
        if pause is None or self._stopped.wait(pause):
            raise error_of(failure, peer) from None
        self._count(trials, pause, calls)

    def result_of(self, work: Callable[[float], _Result], peer: str, seconds: float) -> _Result:
        """The result of some calls in a row, begun again from the first one; each time with what is left of the seconds."""
        trials = self.trials(seconds)
        while True:
            try:
                return work(trials.seconds_left)
            except grpc.RpcError as failure:
                self.wait(trials, failure, peer)

    def _count(self, trials: Trials, pause: float, calls: int) -> None:
        with self._counting:
            self.repeated += calls
        fields = {"attempt": trials.failures + 1, "calls": calls, "after_ms": round(pause * 1000, 3)}
        log(logging.INFO, "again", fields)


@dataclass(frozen=True, slots=True)
class UnaryCall:
    """A call with one answer: to whom, and how it is begun."""

    peer: str
    begin: Begin

    def answer(self, seconds: float) -> Response:
        """The answer to one attempt, or gRPC's error."""
        return self.begin(seconds).result()


def answers(calls: Sequence[UnaryCall], seconds: float, persistence: Persistence) -> list[Response]:
    """The answer to every call, in order.  Those whose peers were away are sent again, together."""
    trials, told = persistence.trials(seconds), dict[int, Response]()
    while True:
        away = _answered(calls, trials.seconds_left, told)
        if not away:
            return [told[place] for place in range(len(calls))]
        place, failure = next(iter(away.items()))
        persistence.wait(trials, failure, calls[place].peer, len(away))


def outcomes(calls: Sequence[UnaryCall], seconds: float, persistence: Persistence) -> list[Response]:
    """The same, except that the outcome of a call whose peer stays away or refuses is the error: it fails nobody else."""
    trials, told = persistence.trials(seconds), dict[int, Response]()
    while away := _answered(calls, trials.seconds_left, told, each=True):
        place, failure = next(iter(away.items()))
        try:
            persistence.wait(trials, failure, calls[place].peer, len(away))
        except (Unreachable, Busy):
            told |= {one: error_of(failure, calls[one].peer) for one, failure in away.items()}
    return [told[place] for place in range(len(calls))]


def _answered(
    calls: Sequence[UnaryCall], seconds: float, told: dict[int, Response], *, each: bool = False
) -> dict[int, grpc.RpcError]:
    """Make the calls that have no answer yet, all at once; returns those that may be made again, and why.

    With `each`, whoever refuses or does not answer in time is told as such, and fails nobody else.
    """
    futures = {place: call.begin(seconds) for place, call in enumerate(calls) if place not in told}
    away: dict[int, grpc.RpcError] = {}
    for place, future in futures.items():
        try:
            told[place] = future.result()
        except grpc.RpcError as failure:
            error = error_of(failure, calls[place].peer)
            if is_passing(failure):
                away[place] = failure
            elif each:
                told[place] = error
            else:
                raise error from None
    return away
