"""What a request is charged as, and what comes of it once it is.

Checked in tests/unit/party/test_party.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Asked, Cohort
from localdp.party.epoch import Epoch
from localdp.randomizers.definition import Values

FLOODED = (
    "flooded: "  # before what is asked in such a round: to whoever approves questions it is another one
)

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Charged(Generic[_Made]):
    """What was charged: its name in the ledger, and how the answers of any part of the cohort come about."""

    name: bytes
    epoch: int
    inputs: Callable[[Asked], Values]  # read off the records
    made: Callable[[Asked, Values], _Made]  # drawn from inputs, by coins of this name and epoch
    keeps: Literal["answers", "inputs"] = "answers"  # what is kept, so that records are not looked at again

    def __call__(self, part: Asked) -> _Made:
        return self.made(part, self.inputs(part))


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request is charged as, and what each report costs."""

    name: bytes  # what the ledger calls it, and most coins are keyed by
    epoch: Epoch
    cost: Epsilon
    purpose: str
    caller: str
    question: str  # in canonical words
    columns: frozenset[str]  # that it looks at
    mixed: bool = False
    named: int = 0  # the epoch that the request names; 0: whichever is open
    blocks: int | None = None  # of all people, which report in their place

    @property
    def reports(self) -> int:
        """How many there can be."""
        return self.epoch.people if self.blocks is None else self.blocks

    def charged(self, cohort: Cohort) -> Cohort:
        """Whom reports are charged to: a block is of anybody, so that all pay."""
        return cohort if self.blocks is None else Cohort(0, self.epoch.people)

    @property
    def people_each(self) -> int:
        """How many people a report is about, at least: few small blocks are few people, though all pay."""
        return 1 if self.blocks is None else self.epoch.people // self.blocks
