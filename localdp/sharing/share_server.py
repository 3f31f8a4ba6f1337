"""What one share server does, as a state machine without network or disk.

It adds up the shares that it is sent, counts every report once, releases once, never below the minimum batch, and adds
its noise to what it releases.  The noise is drawn from the server's own key, the collection and the very set of
reports that is released: asked again it gives the same number, and averaging over repeated requests is pointless.

Its view is simulatable: uniform field elements and the set of people who took part (design rule 4).

Checked in tests/unit/sharing/test_share_server.py and, over gRPC, in tests/fault/test_share_server_faults.py and
test_share_view.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort
from localdp.errors import (
    CollectionClosed,
    InvalidParameter,
    MalformedReport,
    ShareMismatch,
    TooFewReports,
    UnknownCollection,
    UnknownIndex,
)
from localdp.framing import digest
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing import field as prime_field
from localdp.sharing.collection import Collection
from localdp.sharing.field import PRIME, Elements

MOST_COLLECTIONS = 100_000


@dataclass(frozen=True, slots=True)
class ShareBatch:
    """Shares of the people of one cohort of one party, for one server."""

    collection: bytes  # digest
    party: str
    cohort: Cohort
    shares: Elements


@dataclass(frozen=True, slots=True)
class Holding:
    """Which reports a server holds: what the servers compare before they release."""

    reports: int
    accepted: bytes  # digest of the set of reports


@dataclass(slots=True)
class _Open:
    """A collection in progress."""

    collection: Collection
    counted: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    total: int = 0
    reports: int = 0
    released: int | None = None
    final: Holding | None = None  # of a released collection; the masks behind it are let go


class ShareServer:
    """One of the servers that together simulate the curator."""

    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self._key = key
        self._open: dict[bytes, _Open] = {}

    def open(self, collection: Collection) -> None:
        """Get ready for a collection; opening it again changes nothing."""
        if self.name not in collection.servers:
            raise InvalidParameter("this share server is not part of the collection")
        if len(self._open) >= MOST_COLLECTIONS:
            raise InvalidParameter("this share server holds as many collections as it can")
        self._open.setdefault(collection.digest, _Open(collection))

    def accept(self, batch: ShareBatch) -> int:
        """Add the shares of people who were not counted yet; returns how many were new."""
        state = self._state(batch.collection)
        if state.released is not None:
            raise CollectionClosed("the collection was released: it takes no more reports")
        people = state.collection.people_of(batch.party)
        if batch.cohort.stop > people:
            raise UnknownIndex(
                f"the batch ends at {batch.cohort.stop}, but the party speaks for {people} people"
            )
        counted = state.counted.setdefault(batch.party, np.zeros(people, dtype=np.bool_))
        fresh = ~counted[batch.cohort.selection()]
        if batch.shares.shape != fresh.shape:
            raise MalformedReport(f"{fresh.size} shares were announced and {batch.shares.size} came")
        return self._add(state, batch, fresh, counted)

    def holding(self, collection: bytes) -> Holding:
        """What the server holds of a collection."""
        state = self._state(collection)
        if state.final is not None:
            return state.final
        masks = [
            part
            for party in sorted(state.counted)
            if state.counted[party].any()
            for part in (party.encode(), np.packbits(state.counted[party]).tobytes())
        ]
        return Holding(state.reports, digest(b"accepted reports", collection, *masks))

    def release(self, collection: bytes, accepted: bytes) -> int:
        """The noisy sum of the shares of exactly the agreed reports; the same number when asked again."""
        state = self._state(collection)
        holding = self.holding(collection)
        if holding.accepted != accepted:
            raise ShareMismatch("the servers do not hold shares of the same reports")
        if holding.reports < state.collection.minimum_batch:
            raise TooFewReports(
                f"{holding.reports} reports are below the minimum batch of {state.collection.minimum_batch}"
            )
        if state.released is None:
            state.released = (state.total + self._noise(state.collection, accepted)) % PRIME
            state.final = holding
            state.counted.clear()
        return state.released

    def _add(
        self, state: _Open, batch: ShareBatch, fresh: NDArray[np.bool_], counted: NDArray[np.bool_]
    ) -> int:
        new = int(np.count_nonzero(fresh))
        shares = batch.shares if new == fresh.size else batch.shares[fresh]
        state.total = (state.total + prime_field.total(shares)) % PRIME
        state.reports += new
        counted[batch.cohort.selection()] = True
        return new

    def _noise(self, collection: Collection, accepted: bytes) -> int:
        source = KeystreamSource(derive_key(self._key, b"noise", collection.digest, accepted))
        return collection.noise.draw(source)

    def _state(self, collection: bytes) -> _Open:
        try:
            return self._open[collection]
        except KeyError:
            raise UnknownCollection("this share server has not opened that collection") from None
