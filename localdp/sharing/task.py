"""What a share server knows of one collection in progress: which report stands where, and what was decided about it.

Two numbers a position: its status, and the upload that holds it.  Both arrays are as long as the collection has
people, and take memory only where reports came.  All of it follows from what is on record (`storage.Kept`), so a
server that starts again knows what it knew.

Checked in tests/unit/sharing/test_share_server.py and tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localdp.errors import MalformedReport, ShareMismatch, StorageFailed, UnknownIndex
from localdp.framing import digest
from localdp.sharing.binding import Opening, commitment_to
from localdp.sharing.blame import Blame
from localdp.sharing.blocks import Mask, Positions, Rows, ShareBlock, is_run, joined, positions_in, run_of
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointRecord
from localdp.sharing.proof_record import ProofRecord
from localdp.sharing.proving_noise import NoisePart
from localdp.sharing.storage import Holding, Job, KeptCollection, ShareStorage, Upload
from localdp.sharing.tiers import Checker, sharing_of

_ABSENT, _EXPECTED, _STORED, _REFUSED, _ACCEPTED = range(5)
_NO, _YES = 1, 2
_MOST_CACHED_BLOCKS = 8
_PARTY_BYTES = 16  # beside its name


class CollectionTask:
    """One collection, as one server sees it."""

    def __init__(self, kept: KeptCollection, storage: ShareStorage, server: int) -> None:
        self.collection = kept.collection
        self.owner = kept.owner
        self.sharing = sharing_of(kept.collection)
        self.server = server
        self.verify_key = _committed(kept)
        self.sums = list(kept.sums) or [0] * kept.collection.encoding.length
        self.jobs: list[Job] = []
        self.sealed = kept.sealed
        proved = kept.collection.plan.is_proved
        self.joint = JointRecord.unpacked(b"" if proved else kept.joint)
        self.proofs = ProofRecord.unpacked(kept.joint if proved else b"")
        self.proving: NoisePart | None = None  # from the first step on
        self.opening: Opening | None = None  # signed when it is first asked for
        self.blame = Blame(kept.collection.people, proved=kept.collection.tier != "additive")
        self._storage = storage
        self._described_bytes = described_bytes(kept.collection)
        self._row_bytes = self.sharing.public_bytes + self.sharing.input_bytes(server)
        people = kept.collection.people
        self._status = np.zeros(people, np.uint8)
        self._vote = np.zeros(people, np.uint8)
        self._upload = np.zeros(people, np.uint32)
        self._stored: dict[int, Positions] = {}
        self._left: dict[int, int] = {}  # how many reports of an upload are undecided
        self._rows_held = 0  # of uploads that are expected, or stored and not wholly decided
        self._cache: dict[int, Rows] = {}
        self._checker: Checker | None = None
        self._accepted = 0
        self._digest: bytes | None = None  # of the set of accepted reports, until it changes
        self._next = 1
        self._replay(kept)

    def _replay(self, kept: KeptCollection) -> None:
        """Know what is on record."""
        for number, positions in sorted(kept.uploads.items()):
            self._rows_held += len(positions)
            self.store(number, positions)
        for positions, accepted in kept.votes:
            self.vote(positions, accepted)
        for job in kept.jobs:
            self.decide(job, self.sums)
        if self.sealed is not None and (self.sealed.reports, self.sealed.jobs) != (
            self._accepted,
            len(self.jobs),
        ):
            raise StorageFailed(
                "a final set of reports on record is not what the decisions on record are about"
            )

    @property
    def checker(self) -> Checker:
        """This server's side of the verification, under the collection's key; there is none before the leader named it."""
        if not self.verify_key:
            raise ShareMismatch("the leader asks about reports before it names its verification key")
        if self._checker is None:
            self._checker = self.sharing.checker(self.server, self.verify_key)
        return self._checker

    def expect(self, blocks: Sequence[ShareBlock]) -> list[Upload]:
        """What is new in these blocks, ready to be stored; nothing if one of them is refused.

        From here on these reports are not new any more.  Either `store` or `forget` follows.
        """
        places = [self._checked(block) for block in blocks]
        uploads: list[Upload] = []
        try:
            for block, positions in zip(blocks, places, strict=True):
                fresh = np.asarray(self._status[_at(positions)] == _ABSENT)
                if fresh.any():
                    whole = bool(fresh.all())
                    new, rows = (
                        (positions, block.rows) if whole else (positions[fresh], block.rows.take(fresh))
                    )
                    uploads.append(self._upcoming(new, rows))
        except BaseException:
            self.forget(uploads)
            raise
        return uploads

    def _upcoming(self, positions: Positions, rows: Rows) -> Upload:
        upload = Upload(self._next, positions, rows)
        self._status[_at(positions)] = _EXPECTED
        self._rows_held += len(positions)
        self._next += 1
        return upload

    def forget(self, uploads: Sequence[Upload]) -> None:
        """The uploads could not be stored: they may come again."""
        for upload in uploads:
            self._status[_at(upload.positions)] = _ABSENT
            self._rows_held -= len(upload.positions)

    def _checked(self, block: ShareBlock) -> Positions:
        """Where the reports of a block stand in the collection; refuses a block that does not fit."""
        own = self.collection.positions_of(block.party)
        if block.cohort.stop > len(own):
            raise UnknownIndex(
                f"the batch ends at {block.cohort.stop}, but the party speaks for {len(own)} people"
            )
        positions = positions_in(block.cohort, own.start)
        count, public, inputs = (
            len(positions),
            self.sharing.public_bytes,
            self.sharing.input_bytes(self.server),
        )
        if block.rows.public.shape != (count, public) or block.rows.inputs.shape != (count, inputs):
            raise MalformedReport(
                f"{count} reports of {public} and {inputs} bytes were announced, and others came"
            )
        return positions

    def store(self, number: int, positions: Positions) -> None:
        """An upload is on record."""
        self._status[_at(positions)] = _STORED
        self._upload[_at(positions)] = number
        self._stored[number] = positions
        self._left[number] = len(positions)
        self._next = max(self._next, number + 1)

    def pending(self) -> Positions:
        """The reports that are here and undecided."""
        stored = self._status == _STORED
        if stored.all():
            return run_of(0, len(stored))
        return np.flatnonzero(stored).astype(np.uint32)

    def held(self, positions: Positions) -> Mask:
        """Which of these reports are here and undecided."""
        if positions.size and int(positions.max()) >= len(self._status):
            raise UnknownIndex("a report stands beyond the last person of the collection")
        return np.asarray(self._status[_at(positions)] == _STORED)

    @property
    def bytes_held(self) -> int:
        """What the collection takes: its description, uploads, each whole until all of it is decided, and a proof."""
        proof = 0 if self.proving is None else self.proving.bytes_held
        return self._described_bytes + self._row_bytes * self._rows_held + proof

    def vote(self, positions: Positions, accepted: Mask) -> None:
        """A vote is on record."""
        self._vote[_at(positions)] = np.where(accepted, np.uint8(_YES), np.uint8(_NO))

    def voted(self, positions: Positions) -> Mask:
        """On which of these reports there is a vote."""
        return np.asarray(self._vote[_at(positions)] != 0)

    def votes(self, positions: Positions) -> Mask:
        """Which of these reports this server voted for."""
        return np.asarray(self._vote[_at(positions)] == _YES)

    def rows_of(self, positions: Positions) -> Rows:
        """The rows of reports that are here and undecided."""
        parts = [
            self._rows(number).take(_places(self._stored[number], positions[start:stop]))
            for number, start, stop in self._stretches(positions)
        ]
        return joined(parts)

    def _stretches(self, positions: Positions) -> Iterator[tuple[int, int, int]]:
        """Consecutive ones of these positions that stand in one upload: its number, the first and after the last."""
        number = int(self._upload[positions[0]])
        if _has_run(self._stored.get(number), positions):
            yield number, 0, len(positions)
            return
        uploads = self._upload[_at(positions)]
        cuts = np.flatnonzero(uploads[1:] != uploads[:-1]) + 1
        edges = [0, *cuts.tolist(), len(uploads)]
        for start, stop in pairwise(edges):
            yield int(uploads[start]), start, stop

    def _rows(self, number: int) -> Rows:
        if number not in self._cache:
            if len(self._cache) >= _MOST_CACHED_BLOCKS:
                del self._cache[next(iter(self._cache))]
            self._cache[number] = self._storage.rows(self.collection.digest, number)
        return self._cache[number]

    def finished_by(self, positions: Positions) -> list[int]:
        """The uploads of which nothing is left to decide once these reports are decided."""
        counts = self._counts(positions)
        return [number for number, count in counts.items() if self._left[number] == count]

    def _counts(self, positions: Positions) -> Counter[int]:
        """How many of these stored reports are in each upload."""
        counts = Counter[int]()
        for number, start, stop in self._stretches(positions) if len(positions) else ():
            counts[number] += stop - start
        return counts

    def decide(self, job: Job, sums: Sequence[int]) -> None:
        """A job is on record."""
        at = _at(job.positions)
        # All of them, but for uploads that went with an earlier decision.
        stored = self._status[at] == _STORED
        for number, count in self._counts(job.positions if stored.all() else job.positions[stored]).items():
            self._left[number] -= count
            if self._left[number] == 0:
                self._rows_held -= len(self._stored[number])
                del self._left[number], self._stored[number]
                self._cache.pop(number, None)
        accepted = int(np.count_nonzero(job.accepted))
        self._status[at] = _ACCEPTED
        if accepted < len(job.accepted):
            self._status[job.positions[~job.accepted]] = _REFUSED
        self._accepted += accepted
        self._digest = None
        self.sums = list(sums)
        self.jobs.append(job)

    def holding(self) -> Holding:
        """What the server counts."""
        if self.sealed is not None:
            return self.sealed
        if self._digest is None:
            bitmap = np.packbits(self._status == _ACCEPTED).tobytes()
            self._digest = digest(b"accepted reports", self.collection.digest, bitmap)
        return Holding(self._accepted, self._digest, len(self.jobs), sealed=False)


def _committed(kept: KeptCollection) -> bytes:
    """The verification key on record, if it is the one that the leader committed to: a record can be changed."""
    key = kept.verify_key
    return key if key and commitment_to(key) == kept.collection.binding.commitment else b""


def described_bytes(collection: Collection) -> int:
    """About how long a collection's description is: its query and its parties, which are as many as somebody wants."""
    names = sum(len(party.name.encode()) for party in collection.parties)
    return len(collection.query.encode()) + names + _PARTY_BYTES * len(collection.parties)


def _at(positions: Positions) -> Positions | slice:
    """What to index an array of reports with: a slice where no position is left out."""
    if len(positions) == 0 or not is_run(positions):
        return positions
    return slice(int(positions[0]), int(positions[-1]) + 1)


def _has_run(stored: Positions | None, wanted: Positions) -> bool:
    """Whether an upload that holds the first of these positions holds all, and there are gaps in neither."""
    return stored is not None and is_run(stored) and is_run(wanted) and bool(wanted[-1] <= stored[-1])


def _places(stored: Positions, wanted: Positions) -> NDArray[np.int64] | slice:
    """Where increasing positions stand in an upload; without looking at each of them where none is left out."""
    if not is_run(wanted) or not is_run(stored):
        return np.searchsorted(stored, wanted)
    first = int(wanted[0]) - int(stored[0])
    return slice(first, first + len(wanted))
