"""Work as a second budget: how much of it a party does for one request, for one caller and in all.

Beside epsilon, which is people's, an answer costs its party seconds of one core.  They are predicted
(`localdp.party.cost`) before anything is charged, so what is too much is refused at no cost to anybody.  What is counted
follows from requests alone: a refusal says nothing about a record.

Checked in tests/unit/parties/agent/test_work.py.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

from localdp.errors import Busy, InvalidParameter, WorkRefused

_Seconds = defaultdict[str, float]  # by caller

_NOTHING = 1e-9  # what rounding may leave of a promise
_BUCKETS = 60  # of a window: what is older than the window is forgotten so many times within one


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What an operator allows; seconds of work are of one core of this machine."""

    quantum_seconds: float = 0.010  # answers leave at multiples of it; 0: as soon as they are there
    part_seconds: float = 0.05  # of work that is done in one piece, where it can be cut
    piece_seconds: float = 0.25  # the same where it cannot: a charge, and one person
    request_seconds: float = 60.0
    caller_seconds: float = 600.0  # within the window
    total_seconds: float = 1800.0  # within the window, for all callers together
    window_seconds: float = 3600.0
    answers_of_caller: int = 16  # in progress at once
    answers_in_all: int = 48
    quotes_of_caller: int = 256  # at once; a coordinator asks for many before it asks for one answer
    quotes_in_all: int = 1024
    bytes_of_caller: int = 16 << 20  # of requests that are being answered
    bytes_in_all: int = 64 << 20
    stall_seconds: float = 20.0  # that an answer waits for its caller to take a message

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if not value > 0 and not (name == "quantum_seconds" and value == 0):
                raise InvalidParameter(f"{name} is a number above 0")
        if self.quantum_seconds > 1:
            raise InvalidParameter("quantum_seconds is at most 1: an answer takes several of them")

    @classmethod
    def unbounded(cls) -> WorkLimits:
        """For simulations: nothing waits, and nothing is refused."""
        most = 1 << 40
        return cls(
            quantum_seconds=0.0,
            piece_seconds=math.inf,
            request_seconds=math.inf,
            caller_seconds=math.inf,
            total_seconds=math.inf,
            answers_of_caller=most,
            answers_in_all=most,
            quotes_of_caller=most,
            quotes_in_all=most,
            bytes_of_caller=most,
            bytes_in_all=most,
            stall_seconds=86_400.0,
        )

    def require_request(self, seconds: float, piece_seconds: float) -> None:
        """Refuse a request that is too much work by itself, or whose smallest piece is."""
        if seconds > self.request_seconds:
            raise WorkRefused(
                f"this request would take {seconds:.3g} s of work, and the party allows {self.request_seconds:g} s a "
                "request: ask about fewer people at a time, or ask less of each (work.request_seconds)"
            )
        if piece_seconds > self.piece_seconds:
            raise WorkRefused(
                f"this request has a step of {piece_seconds:.3g} s that cannot be cut, and the party allows "
                f"{self.piece_seconds:g} s: take a shorter query, or a smaller randomizer"
            )


class WorkAccounts:
    """Seconds of work that were done within the window, and those that were promised, by caller and in all."""

    def __init__(self, limits: WorkLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._done: dict[int, _Seconds] = {}  # by the number of the bucket of time
        self._promised: _Seconds = defaultdict(float)

    @contextlib.contextmanager
    def promised(self, caller: str, seconds: float) -> Iterator[Callable[[float], None]]:
        """Set so many seconds aside, or refuse; what is yielded is told what was done.  The rest is free again."""
        self.require(caller, seconds)
        left = [seconds]
        self._promised[caller] += seconds

        def done(spent: float) -> None:
            self._bucket()[caller] += spent
            self._promised[caller] -= min(spent, left[0])
            left[0] -= min(spent, left[0])

        try:
            yield done
        finally:
            self._promised[caller] -= left[0]
            if self._promised[caller] < _NOTHING:
                del self._promised[caller]

    def used(self, caller: str | None = None) -> float:
        """What was done and promised within the window, for one caller or for all."""
        self._forget()
        every = (*self._done.values(), self._promised)
        return sum(sum(one.values()) if caller is None else one.get(caller, 0.0) for one in every)

    def require(self, caller: str, seconds: float) -> None:
        """Refuse what would be more than is allowed now."""
        limits = self._limits
        own = self.used(caller)
        if own + seconds > limits.caller_seconds:
            raise WorkRefused(
                f"this request would take {seconds:.3g} s of work; the party does {limits.caller_seconds:g} s for a caller "
                f"within {limits.window_seconds:g} s, and too little of it is left: ask later, or for less"
                " (work.caller_seconds)"
            )
        if self.used() + seconds > limits.total_seconds:
            raise Busy(
                f"this request would take {seconds:.3g} s of work; the party does {limits.total_seconds:g} s for all "
                f"callers within {limits.window_seconds:g} s, and has done most of them: ask later, or for less"
            )

    def _bucket(self) -> _Seconds:
        return self._done.setdefault(self._now(), defaultdict(float))

    def _now(self) -> int:
        return int(self._clock() / self._limits.window_seconds * _BUCKETS)

    def _forget(self) -> None:
        oldest = self._now() - _BUCKETS
        for number in [number for number in self._done if number <= oldest]:
            del self._done[number]


class Places:
    """How much is in progress at once, for one caller and in all: calls, or bytes of them."""

    def __init__(self, what: str, of_caller: int, in_all: int) -> None:
        self._what, self._of_caller, self._in_all = what, of_caller, in_all
        self._by_caller: Counter[str] = Counter()
        self._taken = 0

    def take(self, caller: str, number: int = 1) -> CallPlace:
        """A place, or so many, or a refusal before anything is begun."""
        if self._by_caller[caller] + number > self._of_caller:
            raise Busy(
                f"the party has {self._of_caller} {self._what} in progress for this caller, and no more at once: "
                "read or cancel one, then ask again"
            )
        if self._taken + number > self._in_all:
            raise Busy(
                f"the party has {self._in_all} {self._what} in progress, and no more at once: ask later"
            )
        return CallPlace(self, caller, number)

    def change(self, caller: str, own: int, in_all: int) -> None:
        """So many more, for the caller and in all."""
        self._by_caller[caller] += own
        self._taken += in_all
        if not self._by_caller[caller]:
            del self._by_caller[caller]


class CallPlace:
    """One call that is being answered.  One that nobody reads is its caller's alone: it takes no place from others."""

    def __init__(self, places: Places, caller: str, number: int) -> None:
        self._places, self._caller, self._own, self._shared = places, caller, number, number
        places.change(caller, number, number)

    def __enter__(self) -> CallPlace:
        return self

    def __exit__(self, *_: object) -> None:
        self._places.change(self._caller, -self._own, -self._shared)

    def stall(self) -> None:
        """Make room for others; the caller's own place stays taken until the call is over."""
        self._places.change(self._caller, 0, -self._shared)
        self._shared = 0
