"""What ordinary accidents do to a ledger's files, as data: a schedule is a list of these.

`schedule(seed)` is random, the same for the same seed; one that found a bug is written out as it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from tests.fault.operations import CRASHES, DISK_FAILURES

PEOPLE = 3
LENGTH = 18
COPIES = 2
COSTS = [Epsilon.requested(cost) for cost in ("0.5", "1", "1.5")]
Part = Literal["ledger", "ledger without its log", "mark", "ledger and mark"]
When = Literal["stopped", "running", "without power"]
WHEN: tuple[When, ...] = ("stopped", "running", "without power")
PARTS: tuple[Part, ...] = ("ledger", "ledger without its log", "mark", "ledger and mark")
FAULTS = (*CRASHES, *DISK_FAILURES, "before the mark", "before the mark is synced", "the witness is away")


@dataclass(frozen=True)
class Ask:
    """A charge, at one of the two ledgers on one file, perhaps with a fault in the middle of it."""

    request: int
    cohort: Cohort
    ledger: int = 0
    fault: str | None = None


@dataclass(frozen=True)
class Publish:
    """The owner opens an epoch."""


@dataclass(frozen=True)
class Restart:
    """Both ledgers are closed, and opened again."""


@dataclass(frozen=True)
class Kill:
    """The process ends without closing anything; with the power, what was not synced is gone."""

    power: bool = False


@dataclass(frozen=True)
class Copy:
    """The owner copies the files as they are, running or not."""

    slot: int


@dataclass(frozen=True)
class PutBack:
    """An older copy comes in place of the files: under the running agent, or while it is stopped, or without power."""

    slot: int
    part: Part
    when: When = "stopped"


@dataclass(frozen=True)
class Delete:
    """A file is deleted: under the running agent, or while it is stopped, or without power."""

    name: Literal["ledger", "log", "mark"]
    when: When = "stopped"


@dataclass(frozen=True)
class Backup:
    """`localdp agent backup`, while the agent runs."""

    slot: int


@dataclass(frozen=True)
class Restore:
    """`localdp agent restore`, by an owner who says the truth about what was lost."""

    slot: int


@dataclass(frozen=True)
class DamageSums:
    """The sums of the last checkpoint are set to nothing, while the agent is stopped."""


@dataclass(frozen=True)
class Jump:
    """The clock is moved."""

    days: float


Accident = Ask | Publish | Restart | Kill | Copy | PutBack | Delete | Backup | Restore | DamageSums | Jump


def schedule(seed: int) -> list[Accident]:
    """A random schedule."""
    choice = random.Random(seed)  # noqa: S311 - it chooses accidents, not coins
    return [Backup(0), *(_accident(choice) for _ in range(LENGTH))]


def _accident(choice: random.Random) -> Accident:
    kind = choice.random()
    slot, when = choice.randrange(COPIES), choice.choice(WHEN)
    if kind < 0.50:
        return _ask(choice)
    if kind < 0.56:
        return Kill(power=choice.random() < 0.5)
    if kind < 0.64:
        return Copy(slot)
    if kind < 0.74:
        return PutBack(slot, choice.choice(PARTS), when)
    if kind < 0.78:
        return Delete(choice.choice(("ledger", "log", "mark")), when)
    if kind < 0.84:
        return Backup(slot)
    if kind < 0.88:
        return Restore(slot)
    rest: list[Accident] = [
        Publish(),
        Publish(),
        Restart(),
        DamageSums(),
        Jump(choice.choice([-2, -0.4, 1, 3])),
    ]
    return choice.choice(rest)


def _ask(choice: random.Random) -> Ask:
    fault = choice.choice(FAULTS) if choice.random() < 0.25 else None
    return Ask(choice.randrange(6), _cohort(choice), choice.randrange(2), fault)


def _cohort(choice: random.Random) -> Cohort:
    if choice.random() < 0.5:
        return Cohort(0, PEOPLE)
    start = choice.randrange(PEOPLE)
    seed = bytes([choice.randrange(2)]) * 16
    return Cohort(start, PEOPLE, Split(seed, 2, choice.randrange(2)) if choice.random() < 0.3 else None)
