"""What callers ask and what owners do, as data: a history of an agent is a list of these.

Two neighbouring histories have the same list.  They differ in one person's record from `Change` on, which happens to the
owner's table in one of them alone.  `history(seed)` is a random list, the same for the same seed; one that found a leak is
written out as it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Split
from localdp.party.party import Request
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit

PEOPLE = 6
CALLERS = ("analyst",) * 6 + ("auditor",) * 3 + ("stranger",)  # the last one is not named by the owner
LENGTH = 11
HALF, QUARTER = Epsilon.requested("0.5"), Epsilon.requested("0.25")

# Few, so that they repeat: one of every family ...
QUESTIONS: tuple[tuple[str, LocalRandomizer], ...] = (
    ("smoker", OneBitRandomizer(HALF)),
    ("age >= 9", OneBitRandomizer(QUARTER)),
    ("ward", KaryRandomizedResponse(HALF, 3)),
    ("which(smoker, age >= 9)", KaryRandomizedResponse(QUARTER, 3)),
    ("age", OptimalLocalHashing(HALF)),
    ("vector(smoker, clip(age/20))", CoordinateSampling(QUARTER, 2)),
    ("ball(smoker, 0.05*age)", PrivUnit(QUARTER, 2, candidates=8)),
    ("parities(2, smoker, age >= 9)", HadamardMarginals(QUARTER, 2)),
    ("ward", memoised_symmetric_unary(HALF, QUARTER, 3)),
    ("age", MemoisedHashing(QUARTER, HALF)),
)
# ... and what the rules of an agent refuse.
REFUSED: tuple[tuple[str, LocalRandomizer], ...] = (
    ("weight", OneBitRandomizer(HALF)),  # no such column
    ("age", OneBitRandomizer(HALF)),  # no such kind of query
    ("ward", KaryRandomizedResponse(HALF, 4)),  # not of so many values
    ("smoker", OneBitRandomizer(Epsilon.requested(3))),  # too dear
    ("smoker", OneBitRandomizer(Epsilon.requested("0.001"))),  # too cheap
    (f"which({', '.join(['smoker'] * 300)})", KaryRandomizedResponse(HALF, 301)),  # too much work
)

Width = Literal[
    "Randomize",
    "Contribute",
    "ContributeSealed",
    "Describe",
    "Budgets",
]
_OFTEN: tuple[Width, ...] = ("Randomize",) * 7
KINDS: tuple[Width, ...] = (*_OFTEN, *get_args(Width))


What = Literal["publish", "calendar", "restart", "kill", "rotate", "retire", "lower", "lose table"]
HAPPENINGS: tuple[What, ...] = ("publish", *get_args(What))


@dataclass(frozen=True)
class Ask:
    """A call, or a quote of it."""

    kind: Width
    question: int = 0
    number: int = 0  # of the request or the collection
    cohort: Cohort = Cohort(0, PEOPLE)
    caller: str = "analyst"
    quote: bool = False
    epoch: int = 0
    mixed: bool = False
    spoilt: bool = False  # the bytes are no message

    @property
    def in_blocks(self) -> bool:
        """Whether blocks of people are asked, where shares are asked for."""
        return self.question == len(QUESTIONS) - 1 and self.kind in ("Contribute", "ContributeSealed")

    def request(self) -> Request:
        """What is asked, where it is asked for reports."""
        query, randomizer = (*QUESTIONS, *REFUSED)[self.question]
        identifier = self.number.to_bytes(16, "big")
        return Request(identifier, query, randomizer, self.mixed, self.epoch)


@dataclass(frozen=True)
class Change:
    """In one of the two histories, one person's record changes in the owner's table."""

    way: str
    person: int


@dataclass(frozen=True)
class ChangeBoth:
    """In both histories, somebody else's record changes."""

    person: int


@dataclass(frozen=True)
class Happening:
    """What an owner or a machine does, the same in both histories."""

    what: What


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    hours: float


Operation = Ask | Change | ChangeBoth | Happening | Wait


def history(seed: int, ways: tuple[str, ...]) -> list[Operation]:
    """A random history in which a record changes in one of these ways."""
    choice = random.Random(seed)  # noqa: S311 - it chooses operations, not coins
    asked: list[Ask] = []
    made = [_operation(choice, asked) for _ in range(LENGTH)]
    early = choice.random() < 0.3  # before anybody is asked
    changed = 0 if early else choice.randrange(LENGTH // 2)
    made.insert(changed, Change(choice.choice(ways), choice.randrange(PEOPLE - 1)))
    if choice.random() < 0.8:
        made.insert(1 if early else choice.randrange(changed + 1, LENGTH), Happening("publish"))
    return made


def _operation(choice: random.Random, asked: list[Ask]) -> Operation:
    kind = choice.random()
    if kind < 0.70:
        asked.append(_again(choice, asked) if asked and choice.random() < 0.5 else _ask(choice))
        return asked[-1]
    if kind < 0.74:
        return Wait(choice.choice([1, 25, 50]))
    if kind < 0.77:
        return ChangeBoth(PEOPLE - 1)
    return Happening(choice.choice(HAPPENINGS))


def _again(choice: random.Random, asked: list[Ask]) -> Ask:
    """An earlier call: as it was, as a quote or not, of other people, by somebody else, or of a named epoch."""
    ask = choice.choice(asked)
    match choice.randrange(6):
        case 0:
            return replace(ask, quote=not ask.quote)
        case 1:
            return replace(ask, cohort=_cohort(choice))
        case 2:
            return replace(ask, caller=choice.choice(CALLERS))
        case 3:
            return replace(ask, epoch=choice.randrange(4))
        case _:
            return ask


def _ask(choice: random.Random) -> Ask:
    return Ask(
        choice.choice(KINDS),
        choice.randrange(len(QUESTIONS) + (len(REFUSED) if choice.random() < 0.2 else 0)),
        choice.randrange(3),
        _cohort(choice) if choice.random() < 0.4 else Cohort(0, PEOPLE),
        choice.choice(CALLERS),
        quote=choice.random() < 0.35,
        mixed=choice.random() < 0.05,
        spoilt=choice.random() < 0.03,
    )


def _cohort(choice: random.Random) -> Cohort:
    """A range, a part of a split, one person, or somebody who is not there."""
    start = choice.randrange(PEOPLE)
    stop = choice.choice([start + 1, PEOPLE, PEOPLE, PEOPLE + 2])
    split = Split(bytes([choice.randrange(2)]) * 16, 2, choice.randrange(2))
    return Cohort(start, stop, split if choice.random() < 0.3 else None)
