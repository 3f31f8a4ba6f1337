"""What one share server does, as a state machine without network or disk.

It stores the reports that it is sent, verifies them together with the other servers, counts each one at most once,
and releases its noisy sums once, never below the minimum batch.

    open, accept                     from the collector, from parties
    check, vote, commit, seal        from the leader, which is the collection's first server (`agreement`)
    holding, release                 from the collector

Claims.
- A report counts at most once, and at every server or at none: its position is decided in one job, the leader decides
  a job when all servers voted, and a vote binds because reports are stored before they are acknowledged.
- There is one release: the set is sealed before, noise and noisy sums are on record before they are returned, and
  asked again they are read from there.  The noise itself is a function of the server's key, the collection, the set
  of reports and their sums.  So a server that was put back to an older state draws no second noise for the same
  reports; and if others are put in their place, the noise is another one, and does not cancel out.
- Its view is simulatable: uniform rows, who took part, and which reports were refused (design rule 4).

Checked in tests/unit/sharing/test_share_server.py, with crashes everywhere in tests/fault/test_share_operations.py,
and over gRPC in tests/fault/test_share_server_faults.py and tests/fault/test_share_view.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from localdp.errors import (
    CollectionClosed,
    InvalidParameter,
    LocalDpError,
    MalformedReport,
    ShareMismatch,
    TooFewReports,
    UnknownCollection,
)
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.blocks import Mask, Octets, Positions, ShareBlock
from localdp.sharing.checks import Checks
from localdp.sharing.collection import Collection
from localdp.sharing.prio3.prio3 import VERIFY_KEY_BYTES
from localdp.sharing.sealing import SealingKey
from localdp.sharing.storage import Holding, Job, Kept, MemoryStorage, Release, Storage, Upload
from localdp.sharing.task import Task

MOST_COLLECTIONS = 100_000
_REFUSED_ROW = 0xFF


class ShareServer:
    """One of the servers that together simulate the curator."""

    def __init__(self, name: str, key: bytes, storage: Storage | None = None) -> None:
        """With a storage, the server goes on where one of the same name and key stopped."""
        self.name = name
        self._key = key
        self._sealing = SealingKey.derived(derive_key(key, b"sealing"))
        self._storage = storage or MemoryStorage()
        self._checks = Checks()
        self._tasks = {kept.collection.digest: self._task_of(kept) for kept in self._storage.kept()}

    @property
    def sealing_key(self) -> SealingKey:
        """What opens the shares that were sealed to this server."""
        return self._sealing

    def open(self, collection: Collection, owner: str = "") -> None:
        """Get ready for a collection of somebody's; opening it again changes nothing."""
        number = collection.number_of(self.name)
        if collection.keys and collection.keys[number] != self._sealing.public:
            raise InvalidParameter("the collection has another key for this share server")
        if collection.digest in self._tasks:
            return
        if len(self._tasks) >= MOST_COLLECTIONS:
            raise InvalidParameter("this share server holds as many collections as it can")
        task = self._task_of(Kept(collection, owner))
        self._storage.open(collection, owner)
        self._tasks[collection.digest] = task

    def collection(self, collection: bytes) -> Collection:
        """The collection of a digest."""
        return self._task(collection).collection

    def owner(self, collection: bytes) -> str:
        """Who opened a collection; empty if nobody said."""
        return self._task(collection).owner

    def accept(self, *blocks: ShareBlock) -> int:
        """Store the reports of one collection that did not come before; returns how many they are."""
        outcome = self.accept_all([blocks])[0]
        if isinstance(outcome, LocalDpError):
            raise outcome
        return outcome

    def accept_all(self, groups: Sequence[Sequence[ShareBlock]]) -> list[int | LocalDpError]:
        """The same for many uploads in one write: each is taken or refused on its own."""
        expected: dict[bytes, list[Upload]] = {}
        outcomes = [self._expected(group, expected) for group in groups]
        for collection, uploads in expected.items():
            self._store(self._task(collection), uploads)
        return outcomes

    def _expected(
        self, blocks: Sequence[ShareBlock], expected: dict[bytes, list[Upload]]
    ) -> int | LocalDpError:
        """What of an upload is new is added to what is expected; returns how many reports, or why none."""
        try:
            if not blocks:
                return 0
            task = self._task(blocks[0].collection)
            if {block.collection for block in blocks} != {task.collection.digest}:
                raise InvalidParameter("blocks of different collections are uploaded separately")
            if task.released is not None:
                raise CollectionClosed("the collection was released: it takes no more reports")
            uploads = task.expect(blocks)
            if uploads and task.sealed is not None:
                task.forget(uploads)
                raise CollectionClosed("the set of reports of this collection is final: it takes no more")
        except LocalDpError as error:
            return error
        expected.setdefault(task.collection.digest, []).extend(uploads)
        return sum(len(upload.positions) for upload in uploads)

    def _store(self, task: Task, uploads: Sequence[Upload]) -> None:
        try:
            if uploads:
                self._storage.upload(task.collection.digest, uploads)
        except BaseException:
            task.forget(uploads)
            raise
        for upload in uploads:
            task.store(upload.number, upload.positions)

    def stored(self, collection: bytes) -> Positions:
        """The reports that are stored and undecided."""
        task = self._task(collection)
        return np.zeros(0, np.uint32) if task.sealed is not None else task.pending()

    def verify_key(self, collection: bytes) -> bytes:
        """The key that the servers of a collection verify with, if this one leads; no party knows it."""
        task = self._task(collection)
        if task.server != 0:
            raise InvalidParameter("the first server of a collection leads, and this is another")
        return derive_key(self._key, b"verify", collection)

    def check(self, collection: bytes, verify_key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        """Which of these reports are here, and what this server has to say about those."""
        task = self._task(collection)
        if task.sealed is not None:
            raise CollectionClosed("the set of reports of this collection is final")
        self._agree_on_key(task, verify_key)
        held = task.held(positions)
        if held.all():
            return held, self._checks.begin(task, positions)
        verifiers = np.full((len(positions), task.sharing.verifier_bytes), _REFUSED_ROW, np.uint8)
        return held, verifiers  # the leader asks again about those that all have

    def combine(self, collection: bytes, verifiers: Sequence[Octets]) -> tuple[Octets, Mask]:
        """The leader's message about each report, and which reports hold."""
        task = self._task(collection)
        _require_rows(verifiers, len(verifiers[0]), task.sharing.verifier_bytes)
        return task.checker.combine(verifiers)

    def vote(self, collection: bytes, positions: Positions, messages: Octets, holds: Mask) -> Mask:
        """Which of these reports this server accepts, all of which it has."""
        task = self._task(collection)
        _require_rows([messages], len(positions), task.sharing.message_bytes)
        _require_rows([holds], len(positions))
        checked = self._checks.recall(task, positions)
        checked.vote = task.checker.finish(checked.state, messages, holds)
        return checked.vote

    def decide(self, collection: bytes, positions: Positions, votes: Sequence[Mask]) -> Job:
        """The leader's decision, once everybody voted: accepted is what all accept."""
        task = self._task(collection)
        _require_rows(votes, len(positions))
        if len(votes) != len(task.collection.servers):
            raise InvalidParameter("every server votes")
        job = Job(len(task.jobs), positions, np.logical_and.reduce(votes))
        self.commit(collection, job)
        return job

    def commit(self, collection: bytes, job: Job) -> None:
        """Count the accepted reports of a job; a job that was committed before changes nothing."""
        task = self._task(collection)
        if task.sealed is not None and job.number < task.sealed.jobs and not task.jobs:
            return  # a release let go of its jobs
        if job.number < len(task.jobs):
            _require_same(task.jobs[job.number], job)
            return
        if task.sealed is not None:
            raise CollectionClosed("the set of reports of this collection is final")
        _require_rows([job.accepted], len(job.positions))
        if job.number > len(task.jobs) or not task.held(job.positions).all():
            raise ShareMismatch("a decision is about reports that are not here, or comes too early")
        self._count(task, job)

    def jobs(self, collection: bytes) -> list[Job]:
        """The decisions so far, in order."""
        return self._task(collection).jobs

    def require_enough(self, collection: bytes) -> None:
        """Refuse to go on below the minimum batch."""
        task = self._task(collection)
        reports, minimum = task.holding().reports, task.collection.minimum_batch
        if reports < minimum:
            raise TooFewReports(f"{reports} reports are below the minimum batch of {minimum}")

    def seal(self, collection: bytes, expected: Holding | None = None) -> Holding:
        """Make the set of reports final, if it is the expected one; sealing it again changes nothing."""
        task = self._task(collection)
        holding = replace(task.holding(), sealed=True)
        if expected is not None and holding != expected:
            raise ShareMismatch("the servers do not count the same reports")
        self.require_enough(collection)
        if task.sealed is None:
            self._storage.seal(collection, holding)
            task.sealed = holding
        return holding

    def holding(self, collection: bytes) -> Holding:
        """What the server counts."""
        return self._task(collection).holding()

    def release(self, collection: bytes, accepted: bytes) -> tuple[int, ...]:
        """The noisy sums of exactly the agreed reports; the same numbers when asked again."""
        task = self._task(collection)
        self.require_enough(collection)
        if task.sealed is None or task.sealed.accepted != accepted:
            raise ShareMismatch("the servers have not agreed on these reports")
        if task.released is None:
            released = self._released(task, accepted)
            self._storage.release(collection, released)
            task.publish(released)
        assert task.released is not None
        return task.released.noisy_sums

    def _released(self, task: Task, accepted: bytes) -> Release:
        collection = task.collection
        sums = collection.field.pack(task.sums)
        source = KeystreamSource(derive_key(self._key, b"noise", collection.digest, accepted, sums))
        noise = [int(entry) for entry in collection.noise.draw(source, collection.encoding.length)]
        p = collection.field.modulus
        noisy = tuple((a + b) % p for a, b in zip(task.sums, noise, strict=True))
        return Release(tuple(entry % p for entry in noise), noisy)

    def _count(self, task: Task, job: Job) -> None:
        checked = self._checks.recall(task, job.positions)
        if checked.vote is not None and (job.accepted & ~checked.vote).any():
            raise ShareMismatch("a decision accepts a report that this server refused")
        new = task.checker.sums(checked.state, job.accepted)
        p = task.collection.field.modulus
        sums = [(a + b) % p for a, b in zip(task.sums, new, strict=True)]
        self._storage.commit(task.collection.digest, job, sums, task.finished_by(job.positions))
        task.decide(job, sums)
        self._checks.drop(task, job.positions)

    def _agree_on_key(self, task: Task, verify_key: bytes) -> None:
        """The first key that the leader names is the key; naming another would be showing two faces."""
        if task.verify_key == verify_key:
            return
        if task.verify_key or len(verify_key) != VERIFY_KEY_BYTES:
            raise ShareMismatch("the leader has another verification key in mind")
        self._storage.keep_key(task.collection.digest, verify_key)
        task.verify_key = verify_key

    def _task_of(self, kept: Kept) -> Task:
        return Task(kept, self._storage, kept.collection.number_of(self.name))

    def _task(self, collection: bytes) -> Task:
        try:
            return self._tasks[collection]
        except KeyError:
            raise UnknownCollection("this share server has not opened that collection") from None


def _require_rows(matrices: Sequence[Octets] | Sequence[Mask], count: int, *width: int) -> None:
    if any(matrix.shape != (count, *width) for matrix in matrices):
        raise MalformedReport(f"{count} rows were expected about {count} reports, all of one length")


def _require_same(one: Job, other: Job) -> None:
    same = np.array_equal(one.positions, other.positions) and np.array_equal(one.accepted, other.accepted)
    if not same:
        raise ShareMismatch("the leader decided otherwise before")
