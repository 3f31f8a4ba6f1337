"""What one share server does, as a state machine without network or disk.

It stores the reports that it is sent, verifies them together with the other servers, counts each one at most once,
and releases its noisy sums once, never below the minimum batch.

    open, accept                     from the collector, from parties
    check, vote, commit, seal        from the leader, which is the collection's first server (`agreement`)
    holding, release                 from the collector

Claims.
- A report counts at most once, and at every server or at none: its position is decided in one job, the leader decides
  a job when all servers voted, and a vote binds because it is on record, as the reports are, before anybody hears of it.
- Who leads does not decide alone: every server sees the verifier shares of all, finds for itself which proofs hold, and
  counts nothing that it has not voted for.
- The verification key is the one that the leader committed to before the collection was fixed, so the same reports are
  never verified under two keys, whatever a server forgot.
- There is one release: the set is sealed before, at every server, each of which has signed for it (`signatures`); the noisy
  sums are on record, and the secret of the collection is destroyed, before they are returned; asked again they are read
  from there.  What is left of a collection, in copies too, cannot be read (`vault`).
  A server that was put back, state and secrets, cannot know: it needs one other honest server that remembers.
- The noise is a function of the secret, the collection, the set and the sums: the same for the same reports, also at a
  server that was put back, and another for any others.
- Its view is simulatable: uniform rows, who took part, and which reports were refused (design rule 4).

Checked in tests/unit/sharing/test_share_server.py and test_bound_servers.py, with crashes everywhere in
tests/fault/test_share_operations.py, and over gRPC in tests/fault/test_share_server_faults.py and test_share_view.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from localdp.errors import CollectionClosed, InvalidParameter, MalformedReport, ShareMismatch, TooFewReports
from localdp.framing import digest
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.binding import Opening, commitment_to
from localdp.sharing.blame import Blame, answer_of
from localdp.sharing.blocks import Mask, Octets, Positions
from localdp.sharing.checks import Checked
from localdp.sharing.joint_terms import JointRecord, JointTerms
from localdp.sharing.memory import verify_key_of
from localdp.sharing.proof_record import ProofRecord, ProofStep
from localdp.sharing.proving_noise import NoisePart
from localdp.sharing.receiving import ReceivingServer
from localdp.sharing.signatures import require_openings, require_sealed
from localdp.sharing.storage import Holding, Job, Published, Release
from localdp.sharing.task import CollectionTask

_REFUSED_ROW = 0xFF


class ShareServer(ReceivingServer):
    """One of the servers that together simulate the curator."""

    def blame(self, collection: bytes) -> Blame:
        """Which servers stood in the way of reports, as far as this one can know."""
        return self._task(collection).blame

    def stored(self, collection: bytes) -> Positions:
        """The reports that are stored and undecided."""
        if self._storage.released(collection) is not None:
            return np.zeros(0, np.uint32)
        task = self._task(collection)
        return np.zeros(0, np.uint32) if task.sealed is not None else task.pending()

    def verify_key(self, collection: bytes) -> bytes:
        """The key that the servers of a collection verify with, if this one leads; no party knows it."""
        task = self._task(collection)
        if task.server != 0:
            raise InvalidParameter("the first server of a collection leads, and this is another")
        return verify_key_of(self._key_of(task.collection)[1], task.collection.collection_id)

    def check(self, collection: bytes, verify_key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        """Which of these reports are here, and what this server has to say about those."""
        task = self._undecided(collection)
        self._agree_on_key(task, verify_key)
        held = task.held(positions)
        if held.all():
            return held, self._checks.recall(task, positions).verifiers
        verifiers = np.full((len(positions), task.sharing.verifier_bytes), _REFUSED_ROW, np.uint8)
        return held, verifiers  # the leader asks again about those that all have

    def checking(
        self, collection: bytes, verify_key: bytes, positions: Positions
    ) -> Callable[[], Checked] | None:
        """What `check` would compute, for another thread to do beforehand; None: nothing, or not all are here."""
        task = self._undecided(collection)
        self._agree_on_key(task, verify_key)
        if not len(positions) or not task.held(positions).all() or self._checks.knows(task, positions):
            return None
        return self._checks.work(task, positions)

    def note_checked(
        self, collection: bytes, positions: Positions, checked: Sequence[tuple[Mask, Octets]]
    ) -> None:
        """Refuse what servers answered if it is not about these reports; remember which of them each has not got."""
        task = self._task(collection)
        for server, (held, verifiers) in zip(task.collection.servers, checked, strict=True):
            with answer_of(server, task.blame):
                _require_rows([held], len(positions))
                _require_rows([verifiers], len(positions), task.sharing.verifier_bytes)
            task.blame.lacks(server, positions, ~held)

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        """Which of these reports this server accepts, all of which it has, given what all servers say about them.

        The first vote about a report is the vote.
        """
        task = self._undecided(collection)
        _require_rows(verifiers, len(positions), task.sharing.verifier_bytes)
        if len(verifiers) != len(task.collection.servers):
            raise InvalidParameter("every server has something to say about every report")
        voted = task.voted(positions)
        if not voted.all():
            accepted = self._found(task, positions, verifiers)
            new = ~voted if voted.any() else slice(None)  # mostly all of them, and then nothing is copied
            first = positions[new], accepted[new]
            if task.server:  # the leader's vote is on record with its decision
                self._storage.vote(collection, *first)
            task.vote(*first)
        return task.votes(positions)

    def _found(self, task: CollectionTask, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        """What follows from what all servers say; this one must be told what it said itself."""
        checked = self._checks.recall(task, positions)
        if not np.array_equal(verifiers[task.server], checked.verifiers):
            leader = task.collection.servers[0]
            task.blame.misquoted(leader)
            raise ShareMismatch(f"share server {leader} changed what this server said about reports")
        messages, holds = task.checker.combine(verifiers)
        task.blame.proofs(holds)
        return task.checker.finish(checked.state, messages, holds)

    def decide(self, collection: bytes, positions: Positions, votes: Sequence[Mask]) -> Job:
        """The leader's decision, once everybody voted: accepted is what all accept."""
        task = self._task(collection)
        if len(votes) != len(task.collection.servers):
            raise InvalidParameter("every server votes")
        for server, vote in zip(task.collection.servers, votes, strict=True):
            with answer_of(server, task.blame):
                _require_rows([vote], len(positions))
        own = task.votes(positions)
        for server, vote in zip(task.collection.servers, votes, strict=True):
            task.blame.refused(server, own & ~vote)
        job = Job(len(task.jobs), positions, np.logical_and.reduce(votes))
        self.commit(collection, job)
        return job

    def commit(self, collection: bytes, job: Job) -> None:
        """Count the accepted reports of a job; a job that was committed before changes nothing."""
        released = self._storage.released(collection)
        if released is not None and job.number < released.holding.jobs:
            return  # a release let go of its jobs
        task = self._undecided(collection, job.number)
        if job.number < len(task.jobs):
            _require_same(task.jobs[job.number], job)
            return
        _require_rows([job.accepted], len(job.positions))
        if job.number > len(task.jobs) or not task.held(job.positions).all():
            raise ShareMismatch("a decision is about reports that are not here, or comes too early")
        if not task.voted(job.positions).all():
            raise ShareMismatch("a decision is about reports on which this server was not asked to vote")
        self._count(task, job)

    def jobs(self, collection: bytes) -> list[Job]:
        """The decisions so far, in order."""
        return self._task(collection).jobs

    def require_enough(self, collection: bytes) -> None:
        """Refuse to go on below the minimum batch."""
        task = self._task(collection)
        reports = task.holding().reports
        minimum = max(task.collection.minimum_batch, self._policy.minimum_batch)
        if reports < minimum:
            raise TooFewReports(
                f"{reports} reports are below the minimum batch of {minimum}{task.blame.text}"
            )

    def seal(
        self, collection: bytes, expected: Holding | None = None, openings: Sequence[Opening] = ()
    ) -> Holding:
        """Make the set of reports final, if it is the expected one, and sign for it; doing it again changes nothing."""
        if self._final(collection) is None:
            self._seal(collection, expected, openings)
        holding = self.holding(collection)
        if expected is not None and holding != expected:
            raise ShareMismatch("the servers do not count the same reports")
        return holding

    def _seal(self, collection: bytes, expected: Holding | None, openings: Sequence[Opening]) -> None:
        task = self._task(collection)
        servers, binding = task.collection.servers, task.collection.binding
        together = require_openings(servers, collection, binding, openings, task.server)
        if openings[task.server] != self.opening(collection):
            raise ShareMismatch("this share server opened the collection otherwise")
        self.require_enough(collection)
        counted = task.holding()
        accepted = digest(b"agreed reports", counted.accepted, together)
        if task.collection.plan.is_proved:
            self._keep_proofs(task, ProofRecord(tuple(opening.secret for opening in openings)))
        holding = replace(counted, accepted=accepted, sealed=True)
        if expected is not None and holding != expected:
            raise ShareMismatch("the servers do not count the same reports")
        self._storage.seal(collection, holding)
        task.sealed = self._signed(collection, holding)

    def holding(self, collection: bytes) -> Holding:
        """What the server counts; of a final set, with its signature."""
        final = self._final(collection)
        if final is None:
            return self._task(collection).holding()
        return final if final.signature else self._signed(collection, final)

    def _signed(self, collection: bytes, final: Holding) -> Holding:
        return replace(final, signature=self._witness.sealed(collection, final.accepted))

    def _final(self, collection: bytes) -> Holding | None:
        released = self._storage.released(collection)
        if released is None:
            return self._task(collection).sealed
        return replace(released.holding, attempt=released.attempt)

    def release(
        self,
        collection: bytes,
        accepted: bytes,
        signed: Sequence[bytes] = (),
        joint: Published | None = None,
    ) -> Release:
        """The noisy sums of exactly the agreed reports; the same numbers when asked again.

        `signed`: the signature of every server, that this set of reports is on its record.
        `joint`: what this server has of the sums with joint noise, where the plan is to draw that (`joint_terms`).
        """
        released = self._storage.released(collection)
        if released is None:
            self._finish([name for name in self._vault.collections() if name not in self._tasks])
            released = self._release(self._task(collection), accepted, signed, joint)
        if self._vault.secret(collection) is not None:
            self._vault.destroy(collection, released.holding.accepted)
        self._destroy_keys()
        if released.holding.accepted != accepted:
            raise ShareMismatch("the servers have not agreed on these reports")
        return released

    def _release(
        self,
        task: CollectionTask,
        accepted: bytes,
        signed: Sequence[bytes],
        joint: Published | None = None,
    ) -> Release:
        sealed, collection = self._require_final(task, accepted, signed), task.collection
        if collection.plan.is_proved:
            published: Published | None = self._part(task, accepted).published
        else:
            published = joint if collection.plan.is_joint else Published(self._noisy_sums(task))
        if published is None:
            raise ShareMismatch("joint noise is drawn with the other servers before anything is released")
        size = len(collection.field.pack([0]))
        released = Release(task.owner, sealed, published.noisy_sums, size, published.attempt)
        self._storage.release(collection.digest, released)
        self._forget(collection.digest)
        return released

    def _require_final(self, task: CollectionTask, accepted: bytes, signed: Sequence[bytes]) -> Holding:
        """Refuse to go on before exactly these reports are on record at every server; returns what is on this one's."""
        collection = task.collection
        self.require_enough(collection.digest)
        if task.sealed is None or task.sealed.accepted != accepted:
            raise ShareMismatch("the servers have not agreed on these reports")
        require_sealed(
            collection.servers, collection.digest, accepted, collection.binding, signed, task.server
        )
        if signed[task.server] != self.holding(collection.digest).signature:
            raise ShareMismatch("this share server has signed for another set of reports")
        return task.sealed

    def prove_noise(
        self,
        collection: bytes,
        accepted: bytes,
        signed: Sequence[bytes],
        step: ProofStep,
        messages: Sequence[bytes],
    ) -> bytes:
        """What this server says at a step of proving its noise, where the plan is that (`proving_noise`); nothing once it
        has released.  Refused like a release."""
        if self._storage.released(collection) is not None:
            return b""
        task = self._task(collection)
        self._require_final(task, accepted, signed)
        return self._part(task, accepted).told(step, messages)

    def _part(self, task: CollectionTask, accepted: bytes) -> NoisePart:
        if not task.collection.plan.is_proved:
            raise InvalidParameter("noise is proved in a collection whose noise plan is proved")
        if task.proving is None:
            secret = self._vault.secret(task.collection.digest)
            assert secret is not None
            task.proving = NoisePart(
                task.collection,
                task.server,
                accepted,
                secret,
                task.sums,
                self._witness,
                task.proofs,
                lambda record: self._keep_proofs(task, record),
                task.blame,
            )
        return task.proving

    def _keep_proofs(self, task: CollectionTask, record: ProofRecord) -> None:
        self._storage.keep_joint(task.collection.digest, record.packed())
        task.proofs = record

    def joint_terms(self, collection: bytes, accepted: bytes, signed: Sequence[bytes]) -> JointTerms:
        """What this server brings to joint noise on the sums of exactly the agreed reports; refused like a release."""
        task = self._task(collection)
        self._require_final(task, accepted, signed)
        secret = self._vault.secret(collection)
        assert secret is not None
        return JointTerms.of(task.collection, task.server, accepted, secret, task.sums, task.joint)

    def keep_joint(self, collection: bytes, record: JointRecord) -> None:
        """Have it on record how far joint noise is, before another server hears of it."""
        task = self._task(collection)
        self._storage.keep_joint(collection, record.packed())
        task.joint = record

    def _noisy_sums(self, task: CollectionTask) -> bytes:
        field = task.collection.field
        noise = self._noise(task)
        return field.pack([(a + b) % field.modulus for a, b in zip(task.sums, noise, strict=True)])

    def _noise(self, task: CollectionTask) -> list[int]:
        """A function of the collection's secret, the collection, the set, and the sums.

        Without the sums, other reports in the same places would have the same noise.
        """
        collection, sealed = task.collection, task.sealed
        secret = self._vault.secret(collection.digest)
        assert secret is not None and sealed is not None
        sums = collection.field.pack(task.sums)
        source = KeystreamSource(derive_key(secret, b"noise", collection.digest, sealed.accepted, sums))
        return [int(entry) for entry in collection.noise.draw(source, collection.encoding.length)]

    def _count(self, task: CollectionTask, job: Job) -> None:
        vote = task.votes(job.positions)
        if (job.accepted & ~vote).any():
            raise ShareMismatch("a decision accepts a report that this server refused")
        checked = self._checks.recall(task, job.positions)
        new = task.checker.sums(checked.state, job.accepted)
        p = task.collection.field.modulus
        sums = [(a + b) % p for a, b in zip(task.sums, new, strict=True)]
        self._storage.commit(task.collection.digest, job, sums, task.finished_by(job.positions))
        task.decide(job, sums)
        task.blame.decided(job.accepted)
        if len(task.collection.servers) == 2 and task.server:
            task.blame.refused(task.collection.servers[0], vote & ~job.accepted)
        self._checks.drop(task, job.positions)

    def _agree_on_key(self, task: CollectionTask, verify_key: bytes) -> None:
        """The key that the leader committed to is the key."""
        if task.verify_key and task.verify_key == verify_key:
            return
        if commitment_to(verify_key) != task.collection.binding.commitment:
            leader = task.collection.servers[0]
            raise ShareMismatch(
                f"share server {leader} names another verification key than it committed to"
            )
        self._storage.keep_key(task.collection.digest, verify_key)
        task.verify_key = verify_key

    def _undecided(self, collection: bytes, job: int | None = None) -> CollectionTask:
        """A collection whose set of reports is not final, or in which this decision was taken before."""
        if self._storage.released(collection) is not None:
            raise CollectionClosed("the collection was released")
        task = self._task(collection)
        if task.sealed is not None and (job is None or job >= len(task.jobs)):
            raise CollectionClosed("the set of reports of this collection is final")
        return task


def _require_rows(matrices: Sequence[Octets] | Sequence[Mask], count: int, *width: int) -> None:
    if any(matrix.shape != (count, *width) for matrix in matrices):
        raise MalformedReport(f"{count} rows were expected about {count} reports, all of one length")


def _require_same(one: Job, other: Job) -> None:
    same = np.array_equal(one.positions, other.positions) and np.array_equal(one.accepted, other.accepted)
    if not same:
        raise ShareMismatch("the leader decided otherwise before")
