"""Collecting: the share servers behind a collector, one collection from its opening to its sums, and a round of several.

A round opens all of its collections before anybody contributes to the first one, so that what is refused costs nobody
anything.  Wherever it breaks off, it can be gone on with: agents answer for a collection again at no further charge, and
servers go on where they stopped and release the same numbers.

Checked in tests/unit/oracles/test_shared.py, test_shared_again.py and tests/fault/test_shared_again.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort
from localdp.computing.dialogue import Traffic
from localdp.computing.joint_release import combined_components
from localdp.domains import Schema
from localdp.errors import (
    Busy,
    ComputationAborted,
    DeadlineMissed,
    LocalDpError,
    ShareMismatch,
    StorageFailed,
    TooFewReports,
    Unreachable,
)
from localdp.sharing import additive
from localdp.sharing.binding import Binding
from localdp.sharing.blame import answer_of
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.field import PRIME
from localdp.sharing.proving_noise import require_as_proved
from localdp.sharing.storage import Holding, Published
from localdp.sharing.tiers import report_bytes

PASSING = (Unreachable, DeadlineMissed, Busy, StorageFailed)  # whoever is asked later may answer


Sums = NDArray[np.int64]


class ShareServers(Protocol):
    """The parties and share servers behind a shared curator, in process or over gRPC."""

    @property
    def schema(self) -> Schema:
        """What the parties' records consist of."""
        ...

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, in order, and how many people each speaks for."""
        ...

    @property
    def by_row(self) -> bool:
        """Whether what is numbered is rows, somewhere, of which one person may own several."""
        ...

    @property
    def samples(self) -> bool:
        """Whether a question looks at one row of each person, somewhere, drawn by chance."""
        ...

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the share servers; the first one leads."""
        ...

    @property
    def relayed(self) -> bool:
        """Whether somebody carries the parties' shares."""
        ...

    @property
    def traffic(self) -> Traffic:
        """What the servers have said to each other so far, to compute together."""
        ...

    def bind(self, collection_id: bytes) -> Binding:
        """What ties a new collection to the servers as they are now."""
        ...

    def open(self, collection: Collection) -> bool:
        """Announce a collection to every server; returns whether its set of reports is final somewhere already."""
        ...

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have the parties upload the shares of cohorts of all people, unless one refuses; returns how many were new."""
        ...

    def agree(self, collection: Collection) -> Holding:
        """Have the servers verify what they hold, and make the set of accepted reports final."""
        ...

    def holdings(self, collection: Collection) -> list[Holding]:
        """What each server counts."""
        ...

    def release(self, collection: Collection, accepted: bytes, signed: Sequence[bytes]) -> list[Published]:
        """What each server releases over exactly the agreed reports, for which all servers have signed."""
        ...


def run_collection(servers: ShareServers, collection: Collection, *cohorts: Cohort) -> tuple[Sums, int]:
    """The whole protocol, readably: returns the noisy sums, one for each entry, and how many reports are in them."""
    if not servers.open(collection):
        servers.contribute(collection, *cohorts)
    return _released(servers, collection)


def _released(servers: ShareServers, collection: Collection) -> tuple[Sums, int]:
    """What comes of a collection once everybody has contributed."""
    agreed = servers.agree(collection)
    holdings = servers.holdings(collection)
    for server, holding in zip(servers.servers, holdings, strict=True):
        with answer_of(server):
            _require_agreed(agreed, holding, servers.servers[0])
    if not collection.minimum_batch <= agreed.reports <= collection.people:
        raise TooFewReports(
            f"the servers hold {agreed.reports} reports; the collection is for {collection.minimum_batch}"
            f" to {collection.people}"
        )
    signed = [holding.signature for holding in holdings]
    released = servers.release(collection, agreed.accepted, signed)
    return _sums(combined(collection, released)), agreed.reports


def combined(collection: Collection, released: Sequence[Published]) -> list[int]:
    """The noisy sums, from what the servers released."""
    if collection.plan.is_joint:
        try:
            return combined_components(collection, released)
        except ComputationAborted as stopped:
            raise stopped.among(collection.servers) from None
    if collection.plan.is_proved:
        require_as_proved(collection.servers, released)
    sums = [collection.field.unpack(one.noisy_sums) for one in released]
    return additive.combined(sums, collection.field.modulus)


def _require_agreed(agreed: Holding, holding: Holding, leader: str) -> None:
    """Of a server that leads: that it says the same twice; of another one: that it says what the leader says."""
    if holding != agreed or not agreed.sealed:
        raise ShareMismatch(
            f"it does not count the reports that were agreed on, as {leader} says; nothing was released"
        )


def _sums(combined: Sequence[int]) -> Sums:
    """As 64-bit numbers, which hold every sum that a collection can have (`Collection`)."""
    if any(abs(entry) > PRIME >> 1 for entry in combined):
        raise ShareMismatch("a share server released what cannot be a part of any sum")
    return np.array(combined, dtype=np.int64)


@dataclass(slots=True)
class RoundOfCollections:
    """The collections of one round, and what came of those that are done; wherever it broke off, it can be gone on with."""

    servers: ShareServers
    collections: Sequence[Collection]
    cohorts: Sequence[Cohort]  # whose reports they are of
    done: list[tuple[Sums, int]] = field(default_factory=list)  # of the first ones, in order
    server_rounds: int = 0  # of servers that computed together
    server_bytes: int = 0  # that all of them said in these
    _final: list[bool] = field(default_factory=list)  # of each: whether its set of reports is

    def open(self) -> None:
        """Announce all that are not done, before the next one costs anybody anything."""
        done = len(self.done)
        self._final = [True] * done + [self.servers.open(one) for one in self.collections[done:]]

    def finish(self) -> None:
        """One after the other; of whoever has contributed before, nothing is charged."""
        for number in range(len(self.done), len(self.collections)):
            if not self._final[number]:
                self.servers.contribute(self.collections[number], *self.cohorts)
            rounds, octets = self.servers.traffic.rounds, sum(self.servers.traffic.octets)
            self.done.append(_released(self.servers, self.collections[number]))
            self.server_rounds += self.servers.traffic.rounds - rounds
            self.server_bytes += sum(self.servers.traffic.octets) - octets

    @property
    def moved(self) -> int:
        """Bytes of the reports that count."""
        pairs = zip(self.collections, self.done, strict=False)
        return sum(reports * report_bytes(collection) for collection, (_, reports) in pairs)


def given_up(error: LocalDpError) -> LocalDpError:
    """A refusal that came twice stays; whoever asks once more is not to be held up by it."""
    return type(error)(
        f"{error}; the round was refused again and is given up: asking once more begins another, at its price"
    )
