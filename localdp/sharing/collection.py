"""A collection: everything that parties and share servers must agree on, bound by one digest.

The digest covers the query, the encoding, epsilon, the noise plan, the minimum batch, the servers and the parties.
Coins, uploads and releases all carry it, so nobody can show one collection to the parties and another to a server.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.sharing.additive import FEWEST_SERVERS, MOST_SERVERS
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan, ServerNoise

COLLECTION_ID_BYTES = 16
LARGEST_RESOLUTION = 1 << 20
LONGEST_NAME = 128
MOST_PARTIES = 1 << 16
MOST_PEOPLE = 1 << 32


@dataclass(frozen=True, slots=True)
class Contributor:
    """A party that may upload, and how many people it speaks for."""

    name: str
    people: int


@dataclass(frozen=True, slots=True)
class Collection:
    """What is collected, from whom, by whom, and with which noise."""

    collection_id: bytes
    query: str  # canonical text of a statistical query
    resolution: int  # its values are encoded on 0 .. resolution
    epsilon: Epsilon  # per person, for the whole collection, replace-one neighbours
    plan: NoisePlan
    servers: tuple[str, ...]
    parties: tuple[Contributor, ...]
    minimum_batch: int
    digest: bytes = field(
        init=False, repr=False, compare=False
    )  # what binds everybody to the same collection

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if len(self.collection_id) != COLLECTION_ID_BYTES:
            raise InvalidParameter(f"a collection's identifier has {COLLECTION_ID_BYTES} bytes")
        if not 1 <= self.resolution <= LARGEST_RESOLUTION:
            raise InvalidParameter(
                f"the resolution of a collection lies between 1 and {LARGEST_RESOLUTION}"
            )
        if not FEWEST_SERVERS <= len(self.servers) <= MOST_SERVERS:
            raise InvalidParameter(f"a collection has {FEWEST_SERVERS} to {MOST_SERVERS} share servers")
        if not 1 <= len(self.parties) <= MOST_PARTIES:
            raise InvalidParameter(f"a collection has 1 to {MOST_PARTIES} parties")
        if self.minimum_batch < 1:
            raise InvalidParameter("the minimum batch of a collection is at least 1")
        self._check_names()
        self._check_room()
        object.__setattr__(self, "digest", self._digest())

    @property
    def people(self) -> int:
        """How many reports there can be."""
        return sum(party.people for party in self.parties)

    def _digest(self) -> bytes:
        parties = [f"{party.people} {party.name}".encode() for party in self.parties]
        return digest(
            b"localdp collection v1",
            self.collection_id,
            self.query.encode(),
            b"%d" % self.resolution,
            b"%d" % self.epsilon.nanonats,
            self.plan.value.encode(),
            digest(*(name.encode() for name in self.servers)),
            digest(*parties),
            b"%d" % self.minimum_batch,
        )

    @property
    def noise(self) -> ServerNoise:
        """What each server adds before it releases."""
        return ServerNoise(self.plan, self.epsilon, self.resolution, len(self.servers))

    def people_of(self, party: str) -> int:
        """How many people a party speaks for; raises for a party that was not invited."""
        for contributor in self.parties:
            if contributor.name == party:
                return contributor.people
        raise InvalidParameter("this party is not part of the collection")

    def _check_names(self) -> None:
        for names in (self.servers, tuple(party.name for party in self.parties)):
            if len(set(names)) != len(names) or not all(0 < len(name) <= LONGEST_NAME for name in names):
                raise InvalidParameter(f"names are different and have 1 to {LONGEST_NAME} characters")

    def _check_room(self) -> None:
        if any(not 0 <= party.people <= MOST_PEOPLE for party in self.parties):
            raise InvalidParameter(f"a party speaks for at most {MOST_PEOPLE} people")
        if self.people * self.resolution >= PRIME >> 2:
            raise InvalidParameter(
                "people times resolution would not fit into the field together with the noise"
            )
