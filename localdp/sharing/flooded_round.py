"""A flooded round: everything that agents, a shuffler and an analyst must agree on, bound by one digest.

The digest covers the query and its steps, the plan (epsilon, delta, noise, the n people among whom it is divided and how
many of them are honest at least), the analyst's key and that of a second shuffler, and whom the shuffler asks: the name of
each party with the range of its people.  The ledger of a party knows the round by it, coins are derived from it, and every
message is sealed under it: what was drawn for another n, or about other people, is another round at another charge, and
does not open in this one.

Checked in tests/unit/sharing/test_flooded_round.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from localdp.accounting.flood_plan import FloodPlan
from localdp.accounting.promise_ledger import TRILLION
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.sharing.collection import LONGEST_NAME, MOST_PARTIES
from localdp.sharing.hpke import PUBLIC_BYTES, require_public

ROUND_ID_BYTES = 16
RATE_GRID = (
    10**9
)  # rates are multiples of a billionth, and deltas of a trillionth: they travel as whole numbers


@dataclass(frozen=True, slots=True)
class FloodedQuestion:
    """What an analyst asks of a shuffler; whom it asks in turn is the shuffler's to say."""

    round_id: bytes
    query: str  # canonical text
    steps: int  # in which numbers are sent that are not whole
    plan: FloodPlan
    key: bytes = b""  # the analyst's, to which every message is sealed; none: a simulation, in one process
    second_key: bytes = (
        b""  # of a second shuffler, to which it is sealed once more; none: there is one shuffler
    )

    def __post_init__(self) -> None:
        if len(self.round_id) != ROUND_ID_BYTES:
            raise InvalidParameter(f"a flooded round's identifier has {ROUND_ID_BYTES} bytes")
        if len(self.key) not in (0, PUBLIC_BYTES) or len(self.second_key) not in (0, len(self.key)):
            raise InvalidParameter(
                f"the keys of a flooded round have {PUBLIC_BYTES} bytes, first the analyst's"
            )
        if (self.plan.flood.rate * RATE_GRID).denominator != 1 or (
            self.plan.delta * TRILLION
        ).denominator != 1:
            raise InvalidParameter("a flood's rate is in billionths, and its delta in trillionths")
        for key in filter(None, (self.key, self.second_key)):
            require_public(key)

    @property
    def digest(self) -> bytes:
        """Of all that the analyst says."""
        plan, moved = self.plan, self.plan.flooded.moved
        numbers = (
            self.steps,
            plan.epsilon.nanonats,
            int(plan.delta * TRILLION),
            plan.flooded.entries,
            moved.largest,
            moved.rising,
            moved.falling,
            plan.flooded.messages,
            int(plan.flood.rate * RATE_GRID),
            plan.flood.pairs,
            plan.people,
            plan.honest,
        )
        told = b" ".join(b"%d" % number for number in numbers)
        keys = self.key, self.second_key
        return digest(b"localdp flooded question v1", self.round_id, self.query.encode(), told, *keys)


@dataclass(frozen=True, slots=True)
class FloodedPart:
    """Some people of one party, who send one batch together."""

    name: str
    start: int
    stop: int

    @property
    def people(self) -> int:
        """How many they are."""
        return self.stop - self.start

    @property
    def cohort(self) -> Cohort:
        """In the party's own numbering."""
        return Cohort(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class FloodedRound:
    """A question, and whom it is put to."""

    question: FloodedQuestion
    parts: tuple[FloodedPart, ...]
    digest: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= MOST_PARTIES or not all(
            0 < len(part.name) <= LONGEST_NAME and 0 <= part.start < part.stop for part in self.parts
        ):
            raise InvalidParameter(f"a flooded round is put to 1 to {MOST_PARTIES} parts, each of somebody")
        _require_apart(self.parts)
        if sum(part.people for part in self.parts) != self.plan.people:
            raise InvalidParameter("the people of a flooded round are as many as its noise is planned for")
        object.__setattr__(self, "digest", round_digest(self.question, self.roster))

    @property
    def plan(self) -> FloodPlan:
        """The noise, and what it is for."""
        return self.question.plan

    @property
    def roster(self) -> bytes:
        """A digest of whom it is put to."""
        return digest(*(f"{part.start} {part.stop} {part.name}".encode() for part in self.parts))

    def part_of(self, name: str, cohort: Cohort) -> FloodedPart:
        """The part that these people are; raises for people who are not asked as one."""
        for part in self.parts:
            if part.name == name and part.cohort == cohort:
                return part
        raise InvalidParameter("these people are not a part of the flooded round")


def round_digest(question: FloodedQuestion, roster: bytes) -> bytes:
    """What names a round, for whoever knows of the people no more than the digest of their roster."""
    return digest(b"localdp flooded round v1", question.digest, roster)


def _require_apart(parts: Sequence[FloodedPart]) -> None:
    """Nobody is asked twice: a person would be charged once, and counted twice."""
    ordered = sorted((part.name, part.start, part.stop) for part in parts)
    for (name, _, stop), (other, start, _) in pairwise(ordered):
        if name == other and start < stop:
            raise InvalidParameter("nobody is asked twice in a flooded round")
