"""What a share server writes down: the interface, and the implementation that forgets when the process ends.

Every method is one transaction: it is on record whole when it returns, or not at all when it raises.
`parties.shares.storage` keeps the same in a file.  A server changes what it knows only after its storage has
returned, and can be built again from its storage at any time; so a crash between any two steps loses nothing that was
acknowledged.

    open      a collection to take part in
    keep_key  the key that the servers verify with, from the leader, once
    upload    blocks of reports
    vote      which reports the server accepts, before anybody hears of it
    commit    a job: which of its reports count, with the new sums          (both or neither)
    seal      the set of reports is final
    keep_joint  how far this server is in drawing joint noise with the others, before they hear of it
    release   the noisy sums, before anybody sees them; everything else about the collection goes
    drop      everything about a collection that ended without a release

Checked for every implementation in tests/contract/test_share_storage.py, with crashes in
tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from localdp.errors import StorageFailed
from localdp.framing import digest
from localdp.sharing.blocks import Mask, Positions, Rows
from localdp.sharing.collection import Collection

NOTHING_RELEASED = bytes(32)


@dataclass(frozen=True, slots=True)
class Upload:
    """A block as a server stores it: reports that it had not seen before, in the order of their positions."""

    number: int
    positions: Positions
    rows: Rows


@dataclass(frozen=True, slots=True)
class Job:
    """A decision of all servers about some reports: accepted, or refused for good."""

    number: int
    positions: Positions
    accepted: Mask


@dataclass(frozen=True, slots=True)
class Holding:
    """Which reports a server counts: what the servers compare before they release."""

    reports: int
    accepted: bytes  # digest of the set of reports; of a sealed one, with the openings of all servers
    jobs: int
    sealed: bool  # the set is final
    signature: bytes = field(default=b"", compare=False)  # of the server, that it is
    attempt: bytes = field(
        default=b"", compare=False
    )  # of a release with joint noise: which one it came from


class Published(NamedTuple):
    """What a server gives to the collector."""

    # One little-endian field element for each entry; with joint noise two; of a selection one in all, the index.
    noisy_sums: bytes
    attempt: bytes = (
        b""  # with joint noise: its tag; with proved noise: a digest for each server, of what it proved
    )


@dataclass(frozen=True, slots=True)
class Release:
    """What a server published, and all that it still knows of the collection."""

    owner: str
    holding: Holding
    noisy_sums: bytes  # as they were published
    element_bytes: int
    attempt: bytes = b""

    @property
    def published(self) -> Published:
        """What it gave to the collector."""
        return Published(self.noisy_sums, self.attempt)


def followed(history: bytes, collection: bytes, accepted: bytes) -> bytes:
    """A history of releases, and then that of this set of reports of a collection, as one digest.

    State and vault each have it: the state from the releases on record, the vault from what it was told.  Where the two
    agree, every release of this memory is on record, in the order in which they were; a state that lacks some, first,
    last or in between, has another history.
    """
    return digest(b"released", history, collection, accepted)


@dataclass(slots=True)
class KeptCollection:
    """All that is on record about a collection in progress; what is in uploads is read when it is needed."""

    collection: Collection
    owner: str = ""  # who opened it, by the name in the certificate
    verify_key: bytes = b""
    uploads: dict[int, Positions] = field(default_factory=dict)
    votes: list[tuple[Positions, Mask]] = field(default_factory=list)  # on what is undecided
    jobs: list[Job] = field(default_factory=list)
    sums: tuple[int, ...] = ()
    sealed: Holding | None = None
    joint: bytes = b""  # what was kept of joint noise (`joint_release`)


class ShareStorage(Protocol):
    """Where a share server's state outlives it."""

    def kept(self) -> Iterable[KeptCollection]:
        """Every collection in progress, when a server starts."""
        ...

    def released(self, collection: bytes) -> Release | None:
        """A collection that was released."""
        ...

    @property
    def history(self) -> bytes:
        """The releases on record, in order (`followed`)."""
        ...

    def open(self, collection: Collection, owner: str = "") -> None:
        """A new collection."""
        ...

    def keep_key(self, collection: bytes, verify_key: bytes) -> None:
        """The key of a collection that has none."""
        ...

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        """New reports."""
        ...

    def rows(self, collection: bytes, upload: int) -> Rows:
        """The reports of an upload."""
        ...

    def vote(self, collection: bytes, positions: Positions, accepted: Mask) -> None:
        """What the server says about reports on which it has not voted before."""
        ...

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        """A decision, the sums with it, and the uploads of which nothing is left to be decided: they may go."""
        ...

    def seal(self, collection: bytes, holding: Holding) -> None:
        """Nothing more is decided."""
        ...

    def keep_joint(self, collection: bytes, record: bytes) -> None:
        """How far joint noise is; in the place of what was kept before."""
        ...

    def release(self, collection: bytes, released: Release) -> None:
        """What is about to be published; the rest goes."""
        ...

    def drop(self, collection: bytes) -> None:
        """Forget a collection that was not released."""
        ...


class MemoryStorage:
    """For simulations and tests."""

    def __init__(self) -> None:
        self._kept: dict[bytes, KeptCollection] = {}
        self._rows: dict[tuple[bytes, int], Rows] = {}
        self._released: dict[bytes, Release] = {}
        self.history = NOTHING_RELEASED

    def kept(self) -> list[KeptCollection]:
        """Copies, so that a server that was built again shares nothing with the one before."""
        return [
            replace(one, uploads=dict(one.uploads), votes=list(one.votes), jobs=list(one.jobs))
            for one in self._kept.values()
        ]

    def released(self, collection: bytes) -> Release | None:
        return self._released.get(collection)

    def open(self, collection: Collection, owner: str = "") -> None:
        self._kept[collection.digest] = KeptCollection(collection, owner)

    def keep_key(self, collection: bytes, verify_key: bytes) -> None:
        self._kept[collection].verify_key = verify_key

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        for upload in uploads:
            self._kept[collection].uploads[upload.number] = upload.positions
            self._rows[collection, upload.number] = upload.rows

    def rows(self, collection: bytes, upload: int) -> Rows:
        if (collection, upload) not in self._rows:
            raise StorageFailed("an upload that was acknowledged is not there")
        return self._rows[collection, upload]

    def vote(self, collection: bytes, positions: Positions, accepted: Mask) -> None:
        """What the server says about reports."""
        self._kept[collection].votes.append((positions, accepted))

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        """A decision, with the sums."""
        kept = self._kept[collection]
        kept.jobs.append(job)
        kept.sums = tuple(sums)
        for number in finished:
            del kept.uploads[number], self._rows[collection, number]

    def seal(self, collection: bytes, holding: Holding) -> None:
        self._kept[collection].sealed = holding

    def keep_joint(self, collection: bytes, record: bytes) -> None:
        self._kept[collection].joint = record

    def release(self, collection: bytes, released: Release) -> None:
        """What is about to be published."""
        self._released[collection] = released
        self.history = followed(self.history, collection, released.holding.accepted)
        self.drop(collection)

    def drop(self, collection: bytes) -> None:
        """Forget a collection."""
        for number in self._kept.pop(collection).uploads:
            del self._rows[collection, number]
