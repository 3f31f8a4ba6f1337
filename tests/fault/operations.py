"""What coordinators, networks, disks, clocks and owners of data may do to a party, as data: a sequence is a list of these.

`operations(seed)` is a random sequence, the same for the same seed; a sequence that found a bug is written out as it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.party.party import Request
from localdp.randomizers.memoised import memoised_symmetric_unary
from tests.support.federations import request

PEOPLE = 6
LENGTH = 16
TABLES = 3

# Where a process dies, where the disk fails, and where the network is cut, for one call.
CRASHES = ("before the row", "before the commit", "after the commit")
DISK_FAILURES = ("disk full at the row", "disk full at the commit", "an error after the commit")
CUTS = ("request lost", "reply lost")
FAULTS = (*CRASHES, *DISK_FAILURES, *CUTS)

HALF = Epsilon.requested("0.5")
MEMOISED = memoised_symmetric_unary(Epsilon.requested(1), HALF, 4)
# Few, so that they repeat: the same identifier with another query, another epsilon, another randomizer.
QUESTIONS = [
    request(number, query, Epsilon.requested(epsilon))
    for number in range(3)
    for query in ("smoker", "age >= 50")
    for epsilon in ("0.5", "1")
] + [Request(number.to_bytes(16, "big"), "region", MEMOISED) for number in range(3)]


@dataclass(frozen=True)
class Ask:
    """One request, at one of the two agents of the party, perhaps with a fault in the middle of it."""

    question: int
    cohort: Cohort = Cohort(0, PEOPLE)
    agent: int = 0
    fault: str | None = None


@dataclass(frozen=True)
class Together:
    """Several requests on their way at the same time: duplicates, and no order among them."""

    asks: tuple[Ask, ...]


@dataclass(frozen=True)
class Restart:
    """Both agents end and are started again."""


@dataclass(frozen=True)
class PowerLoss:
    """The machine stops: what was written and not synced is gone."""


@dataclass(frozen=True)
class Jump:
    """The clock is moved."""

    days: float


@dataclass(frozen=True)
class Rotate:
    """New requests draw from a new key; perhaps the older ones are destroyed."""

    destroy: bool = False


@dataclass(frozen=True)
class ChangeRecords:
    """The owner of the data replaces them, opens an epoch, and starts the agents again."""

    table: int


Operation = Ask | Together | Restart | PowerLoss | Jump | Rotate | ChangeRecords


def operations(seed: int) -> list[Operation]:
    """A random sequence."""
    choice = random.Random(seed)  # noqa: S311 - it chooses operations, not coins
    return [_operation(choice) for _ in range(LENGTH)]


def _operation(choice: random.Random) -> Operation:
    kind = choice.random()
    if kind < 0.05:
        return Restart()
    if kind < 0.10:
        return PowerLoss()
    if kind < 0.20:
        return Jump(choice.choice([1, 1, 2, 0.4, -0.4, -1, -1, -3]))
    if kind < 0.25:
        return Rotate(destroy=choice.random() < 0.3)
    if kind < 0.32:
        return ChangeRecords(choice.randrange(TABLES))
    if kind < 0.40:
        asks = [_ask(choice) for _ in range(choice.randint(2, 4))]
        return Together((*asks, choice.choice(asks)))
    return _ask(choice, choice.choice(FAULTS) if kind > 0.82 else None)


def _ask(choice: random.Random, fault: str | None = None) -> Ask:
    return Ask(choice.randrange(len(QUESTIONS)), _cohort(choice), choice.randrange(2), fault)


def _cohort(choice: random.Random) -> Cohort:
    """Everybody, a range, or a part of one."""
    if choice.random() < 0.3:
        return Cohort(0, PEOPLE)
    start, stop = sorted(choice.choices(range(PEOPLE + 1), k=2))
    seed = bytes([choice.randrange(2)]) * 16
    return Cohort(start, stop, Split(seed, 2, choice.randrange(2)) if choice.random() < 0.3 else None)
