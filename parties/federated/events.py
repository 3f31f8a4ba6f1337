"""What happens in a federation, told as it happens: rounds, who answers, what fails, by reason and number.

Callbacks run in the thread that asks, and should return soon.  Nothing that they are told is private: names of parties,
public queries, numbers of people, reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["round started", "party answered", "round ended", "round failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    kind: Kind
    model: str
    queries: tuple[str, ...] = ()
    people: int = 0  # whom the round is about
    party: str = ""  # who answered
    reports: int = 0  # that it sent, or that the round has
    reason: str = ""  # why a round failed: budget_exhausted, unreachable, ...
    missing: Mapping[str, int] = field(default_factory=dict)  # people who did not answer, by reason
    epsilon: float | None = None  # what is promised about the round, of each person, in nats
    value: float | None = None  # what was released, of a round of one number
    standard_error: float | None = None
    half_width: float | None = None  # of the interval at 95 %
    parties: int | None = None  # how many answered, of a round that may do without some
    asked: int | None = None  # of how many; None: of all


Callback = Callable[[Event], None]


class Events:
    """Who wants to know, and how often what has failed so far."""

    def __init__(self) -> None:
        self._callbacks: list[Callback] = []
        self.failures: Counter[str] = Counter()  # rounds, by reason
        self.missing: Counter[str] = Counter()  # people in rounds with a quorum, by reason

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Tell this callback of everything from now on; what is returned ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def tell(self, event: Event) -> None:
        """Count what failed, and tell everybody."""
        if event.kind == "round failed":
            self.failures[event.reason] += 1
        self.missing.update(event.missing)
        for callback in list(self._callbacks):
            callback(event)
