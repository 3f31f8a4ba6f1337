"""A collection: everything that parties and share servers must agree on, bound by one digest.

The digest covers the query, the encoding, epsilon, the noise plan, the minimum batch, the tier, the servers in order, the
parties, whether somebody carries their shares, whether sums are released or one candidate is selected (`selection`), and
what binds the servers as they are now (`binding`): their keys, the commitment to the key that they verify with, and the
end.  Coins, uploads and releases all carry it, and in the prio3 tier it is the context of every proof: who changes any of
it makes the verification of every report fail.

A report is the answer of one person.  It is known by its position: the people of all parties, counted in the order of the
collection.  So a report that comes twice, by whatever way, has the same position, and counting once is a bitmap.

Claim.  With `_check_room` passed, the sum of all answers plus the noise of all servers is the representative of least
absolute value but with probability below length * exp(-100): the noise is a sum of at most m discrete Laplace
variables, of which one exceeds t with probability at most 2 exp(-epsilon t / sensitivity).

Checked in tests/unit/sharing/test_collection.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Literal, TypeAlias, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.sharing.additive import FEWEST_SERVERS, MOST_SERVERS
from localdp.sharing.binding import Binding
from localdp.sharing.digit_coins import require_small
from localdp.sharing.encoding import Encoding
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan, ServerNoise
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.proved.shape import shape_for
from localdp.sharing.selection import Selection
from localdp.sharing.selection_law import SelectionLaw

COLLECTION_ID_BYTES = 16
LONGEST_NAME = 128
MOST_PARTIES = 1 << 16
MOST_PEOPLE = 1 << 32
_TAIL_NATS = 110  # minus the logarithms of 2 m, still 100

Tier: TypeAlias = Literal["prio3", "additive"]


@dataclass(frozen=True, slots=True)
class Contributor:
    """A party that may upload, and how many people it speaks for."""

    name: str
    people: int


@dataclass(frozen=True, slots=True)
class Collection:
    """What is collected, from whom, by whom, how it is checked, and with which noise."""

    collection_id: bytes
    query: str  # canonical text of a statistical query
    encoding: Encoding  # of its answers
    epsilon: Epsilon  # per person, for the whole collection, replace-one neighbours
    plan: NoisePlan
    servers: tuple[str, ...]  # in the order of the shares; the first one leads
    parties: tuple[Contributor, ...]
    minimum_batch: int
    binding: Binding  # the servers as they are now
    tier: Tier = "additive"
    relayed: bool = False  # whether somebody carries the shares, who can then put others in their place
    selection: Selection | None = None  # which candidate is told, in the place of noisy sums
    blocks: str = ""  # canonical text: who reports is blocks of people, and each party has so many of them
    digest: bytes = field(init=False, repr=False, compare=False)
    _ranges: dict[str, range] = field(init=False, repr=False, compare=False)  # each party's positions

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if len(self.collection_id) != COLLECTION_ID_BYTES:
            raise InvalidParameter(f"a collection's identifier has {COLLECTION_ID_BYTES} bytes")
        if not FEWEST_SERVERS <= len(self.servers) <= MOST_SERVERS:
            raise InvalidParameter(f"a collection has {FEWEST_SERVERS} to {MOST_SERVERS} share servers")
        if not 1 <= len(self.parties) <= MOST_PARTIES:
            raise InvalidParameter(f"a collection has 1 to {MOST_PARTIES} parties")
        if self.minimum_batch < 1:
            raise InvalidParameter("the minimum batch of a collection is at least 1")
        if self.tier not in get_args(Tier):
            raise InvalidParameter("the tier of a collection is prio3 or additive")
        if len(self.binding.keys) != len(self.servers):
            raise InvalidParameter("a collection names the keys of all of its share servers")
        self._check_names()
        if self.selection is None:
            self._check_room()
        else:
            self._check_selection(self.selection)
        object.__setattr__(self, "digest", self._digest())
        object.__setattr__(self, "_ranges", self._positions())

    @property
    def keys(self) -> tuple[bytes, ...]:
        """What shares are sealed to, one for each server."""
        return self.binding.keys

    @property
    def people(self) -> int:
        """How many reports there can be."""
        return sum(party.people for party in self.parties)

    @property
    def field(self) -> PrimeField:
        """Where shares and sums live."""
        small = self.tier == "additive" or self.encoding.kind in ("count", "sum")
        return FIELD64 if small else FIELD128

    @property
    def noise(self) -> ServerNoise:
        """What each server adds to every entry before it releases."""
        return ServerNoise(self.plan, self.epsilon, self.encoding.sensitivity, len(self.servers))

    @property
    def purpose(self) -> str:
        """What the answers are collected for, as it stands in ledgers."""
        whose = f"blocks, {self.blocks}: " if self.blocks else ""
        return whose + (
            "collection of" if self.selection is None else f"selection, {self.selection.rule} of"
        )

    @property
    def selection_law(self) -> SelectionLaw | None:
        """What the servers draw together to select one candidate, if that is what they do."""
        if self.selection is None:
            return None
        return SelectionLaw.of(self.epsilon, self.selection.sensitivity(self.encoding))

    @property
    def delta(self) -> Fraction:
        """With which probability, at most, epsilon does not hold."""
        if self.selection is None:
            return self.noise.delta(self.encoding.length)
        law = self.selection_law
        assert law is not None
        return law.delta(self.selection.candidates)

    @property
    def published_elements(self) -> int:
        """How many field elements a server publishes: its sums, two components of each, or an index."""
        if self.selection is not None:
            return 1
        return (1 + self.plan.is_joint) * self.encoding.length

    def positions_of(self, party: str) -> range:
        """The positions of a party's reports; raises for a party that was not invited."""
        if party not in self._ranges:
            raise InvalidParameter("this party is not part of the collection")
        return self._ranges[party]

    def people_of(self, party: str) -> int:
        """How many people a party speaks for; raises for a party that was not invited."""
        return len(self.positions_of(party))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each party makes, in order."""
        return tuple(party.people for party in self.parties)

    def number_of(self, server: str) -> int:
        """Which of the servers this is; raises for a server that is none of them."""
        if server not in self.servers:
            raise InvalidParameter("this share server is not part of the collection")
        return self.servers.index(server)

    def require_way(self, *, relayed: bool) -> None:
        """Refuse shares that travel otherwise than all of this collection do."""
        if relayed and not self.relayed:
            raise InvalidParameter(
                "the parties of this collection upload themselves: nobody carries shares"
            )
        if self.relayed and not relayed:
            raise InvalidParameter("the shares of this collection are carried, sealed: nobody uploads them")

    def _positions(self) -> dict[str, range]:
        ranges, first = dict[str, range](), 0
        for party in self.parties:
            ranges[party.name] = range(first, first + party.people)
            first += party.people
        return ranges

    def _digest(self) -> bytes:
        encoding = self.encoding
        numbers = (encoding.length, encoding.bound, encoding.sensitivity, encoding.weight)
        return digest(
            b"localdp collection v3",
            self.collection_id,
            self.query.encode(),
            encoding.kind.encode() + b" %d %d %d %d" % numbers,
            b"%d" % self.epsilon.nanonats,
            self.plan.value.encode(),
            digest(*(name.encode() for name in self.servers)),
            digest(*(f"{party.people} {party.name}".encode() for party in self.parties)),
            b"%d" % self.minimum_batch,
            self.tier.encode(),
            self.binding.digest,
            *([b"relayed"] if self.relayed else []),
            *([self.selection.digest] if self.selection is not None else []),
            *([digest(b"blocks", self.blocks.encode())] if self.blocks else []),
        )

    def _check_names(self) -> None:
        for names in (self.servers, tuple(party.name for party in self.parties)):
            if len(set(names)) != len(names) or not all(0 < len(name) <= LONGEST_NAME for name in names):
                raise InvalidParameter(f"names are different and have 1 to {LONGEST_NAME} characters")

    def _check_selection(self, selection: Selection) -> None:
        self._check_people()
        if not self.plan.is_joint:
            raise InvalidParameter(
                "a selection on shares is made by three servers, with the noise plan joint"
            )
        selection.require_fitting(self.encoding, self.people)
        require_small(self.delta)

    def _check_people(self) -> None:
        if any(party.people < 0 for party in self.parties) or self.people > MOST_PEOPLE:
            raise InvalidParameter(f"a collection is about at most {MOST_PEOPLE} people")

    def _check_room(self) -> None:
        self._check_people()
        encoding, servers = self.encoding, len(self.servers)
        self.noise.require_drawable(encoding.length)
        if self.plan.is_proved:
            shape_for(self.noise.coin_law, self.field, encoding.length)
        noise = servers * _TAIL_NATS * ceil(encoding.sensitivity / self.epsilon.exact)
        if (
            self.people * encoding.bound + noise >= PRIME >> 1
        ):  # also of the larger field: sums are 64-bit numbers
            raise InvalidParameter(
                "the sums of all answers would not fit into the field together with the noise"
            )
