"""What a round asks of whom: all of it is fixed, and in the journal, before anybody is asked.

The people of the enrolled parties are numbered through in the order of the roster.  A cohort of them becomes one part
for each party that has some of them, whether that party is alive or not: who is missing is missing, and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.oracles.lr import cohorts_by_party
from localdp.party.party import Request
from localdp.randomizers.definition import TalliedRandomizer, require_tallied
from parties.rounds.roster import Enrolled

_ROUND_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Headcount:
    """How many parties, and how many people they were to answer for."""

    parties: int = 0
    people: int = 0
    unknown: int = 0  # parties among them of which nobody knows how many people they have

    def __add__(self, other: Headcount) -> Headcount:
        return Headcount(
            self.parties + other.parties, self.people + other.people, self.unknown + other.unknown
        )

    def at_least(self) -> str:
        """18,710, or 12,655 or more."""
        return f"{self.people:,}" + (" or more" if self.unknown else "")

    def told(self) -> str:
        """6,055 people, or that nobody knows how many."""
        if not self.unknown:
            return f"{self.people:,} people"
        some = f"{self.people:,} people, and " if self.people else ""
        of = "" if self.unknown == self.parties else f" of {self.unknown} of them"
        return f"{some}nobody knows how many{of}"


def in_words(missing: Mapping[str, Headcount]) -> str:
    """Who is missing: 1 unreachable (6,055 people), 2 budget_exhausted (20 people)."""
    return ", ".join(f"{count.parties:,} {why} ({count.told()})" for why, count in missing.items())


@dataclass(frozen=True, slots=True)
class Quorum:
    """The least part of those asked that must have answered; of the people, or of the parties.

    Where nobody knows how many people a party has, a fraction of the people cannot be computed: then it must be met by the
    people who are known, and by the parties as well.
    """

    fraction: Fraction
    of: str = "people"

    def __post_init__(self) -> None:
        if self.of not in ("people", "parties") or not 0 < self.fraction <= 1:
            raise InvalidParameter("a quorum is a fraction above 0 and at most 1, of people or of parties")

    @classmethod
    def of_text(cls, fraction: str | float, of: str = "people") -> Quorum:
        """0.7 as it was typed: not the binary fraction near it, which would ask for one more of ten."""
        try:
            return cls(Fraction(str(fraction)), of)
        except (ValueError, ZeroDivisionError) as error:
            raise InvalidParameter(f"{fraction!s:.40} is no fraction; write 0.7") from error

    def needed(self, asked: Headcount) -> int:
        """How many must have answered."""
        return math.ceil(self.fraction * (asked.people if self.of == "people" else asked.parties))

    def met(self, answered: Headcount, asked: Headcount) -> bool:
        """Whether enough have."""
        if (answered.people if self.of == "people" else answered.parties) < self.needed(asked):
            return False
        return not asked.unknown or answered.parties >= self.fraction * asked.parties

    def __str__(self) -> str:
        return f"{self.fraction} of the {self.of}"


@dataclass(frozen=True, slots=True)
class Part:
    """What one party is asked for."""

    party: str
    address: str  # when the plan was made
    cohort: Cohort  # in the party's own numbering
    people: int  # how many the cohort has; 0 of a party of which nobody knows, who is asked for nothing

    @property
    def headcount(self) -> Headcount:
        """The party, and its people."""
        return Headcount(1, self.people, 0 if self.people else 1)


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """One round: the request that everybody gets, and everybody who gets it."""

    request: Request
    cohort: Cohort  # in the numbering of the roster
    quorum: Quorum
    schema_digest: bytes
    parts: tuple[Part, ...]

    @property
    def round_id(self) -> str:
        """What the round is called: it follows from the request's identifier, of which it has only one."""
        return digest(b"localdp round v1", self.request.request_id)[:_ROUND_ID_BYTES].hex()

    @property
    def asked(self) -> Headcount:
        """Everybody in the plan."""
        return sum((part.headcount for part in self.parts), Headcount())

    @property
    def randomizer(self) -> TalliedRandomizer:
        """The request's randomizer, which can be summed up."""
        return require_tallied(self.request.randomizer)

    @property
    def range_people(self) -> int:
        """The people whom the answer is about: also those whom a random split leaves out."""
        return self.cohort.stop - self.cohort.start


def asks_everybody(parts: Sequence[Part], parties: Sequence[Enrolled]) -> bool:
    """Whether all of these parties are asked, each about all of its people, as far as their number was known."""
    asked = {part.party: part.cohort for part in parts}
    return all(asked.get(one.name) in (Cohort(0, one.people), Cohort(0, 0)) for one in parties)


def planned(
    request: Request, cohort: Cohort | None, quorum: Quorum, parties: Sequence[Enrolled]
) -> RoundPlan:
    """The plan of a round over these parties; by default everybody is asked."""
    met = [party for party in parties if party.met]
    if not met:
        raise InvalidParameter("nobody is enrolled")
    require_tallied(request.randomizer)
    sizes = [party.people for party in parties]
    whole = cohort or Cohort(0, sum(sizes))
    parts = [
        Part(parties[number].name, parties[number].address, part, part.size())
        for number, part in cohorts_by_party(whole, sizes)
    ]
    some = [part for part in parts if part.people]
    if not some:
        raise InvalidParameter("the cohort is empty")
    some += [Part(party.name, party.address, Cohort(0, 0), 0) for party in parties if not party.people]
    return RoundPlan(request, whole, quorum, met[0].schema_digest, tuple(some))
