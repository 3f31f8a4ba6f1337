"""What a clause of the contract is, and what is found out about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from parties.contract.plan import ClausePlan
from parties.contract.subject import Subject

Verdict = Literal["holds", "broken", "not checked"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that an agent promises."""

    name: str  # C01, C02, ..: it never changes its meaning
    sentence: str
    # Returns what was seen; raises `Broken` if the promise is not kept.
    check: Callable[[Subject, ClausePlan], str]


@dataclass(frozen=True, slots=True)
class ClauseFinding:
    """What was found out about one clause."""

    clause: str
    sentence: str
    verdict: Verdict
    reason: str
    seconds: float

    def to_data(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)
