"""Random schedules of share servers: uploads, agreements, crashes at every write, old copies, lost disks, lying servers.

Every report fills a bucket of its own, so a report that counts twice shows as a 2, a lost one as a 0 (`share_world`, and
the rules in `share_book`).  150 schedules with two servers and as many with three by default, 10,000 of each at night;
every one is determined by its number.  Planted bugs must be caught among the default ones, by the rule that they break.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.framing import digest
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing import agreement
from localdp.sharing.binding import Opening
from localdp.sharing.blocks import Mask, Octets, Positions
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Job, KeptCollection, Published, Release
from localdp.sharing.task import CollectionTask
from tests.fault.share_adversary import JOB
from tests.fault.share_book import REPORTS
from tests.fault.share_disks import Crash, DatabaseDisk, Draw, FileDisk, MemoryDisk, RestingStorage
from tests.fault.share_world import MakeServer, Setting, World, run

SCHEDULES = 150
STEPS = 30
SERVERS = (2, 3)


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "VERIFIED_AT_ONCE", JOB)
    monkeypatch.setattr(agreement, "ADDED_AT_ONCE", JOB * REPORTS)


def world(seed: int, servers: int, **more: Any) -> World:
    return World(seed, Setting.drawn(seed, servers), **more)


@pytest.mark.parametrize("servers", SERVERS)
def test_no_schedule_counts_twice_loses_or_draws_a_second_noise(servers: int) -> None:
    outcomes = Counter[str]()
    for seed in range(SCHEDULES):
        outcomes.update(run(world(seed, servers), STEPS))
    assert (
        outcomes["released"] > SCHEDULES // 8 and outcomes["tried"] > SCHEDULES // 2
    )  # or little was tried


@pytest.mark.parametrize("servers", SERVERS)
def test_nor_with_proofs(servers: int) -> None:
    for seed in range(6):
        run(World(seed, Setting.drawn(seed, servers, "prio3")), STEPS // 2)


def test_nor_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(8):
        in_files(seed, tmp_path, monkeypatch)


def test_nor_in_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        in_files(seed, tmp_path, monkeypatch, DatabaseDisk)


def in_files(
    seed: int, directory: Path, monkeypatch: pytest.MonkeyPatch, kind: type[FileDisk] = FileDisk
) -> None:
    """A schedule on files, with two servers or three; what the vaults draw follows from the seed, too."""
    monkeypatch.setattr(os, "urandom", np.random.default_rng([seed, 3]).bytes)

    def disk(number: int, draw: Draw) -> FileDisk:
        return kind(directory / f"{seed}-{number}", f"server-{number}")

    run(world(seed, SERVERS[seed % 2], make_disk=disk), STEPS)


@pytest.mark.nightly
@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("first", range(0, 10_000, 1_000))
def test_ten_thousand_schedules(first: int, servers: int) -> None:
    for seed in range(first, first + 1_000):
        run(world(seed, servers), STEPS)


@pytest.mark.nightly
@pytest.mark.parametrize("servers", SERVERS)
def test_many_schedules_with_proofs(servers: int) -> None:
    for seed in range(300):
        run(World(seed, Setting.drawn(seed, servers, "prio3")), STEPS)


@pytest.mark.nightly
def test_many_schedules_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(300):
        in_files(seed, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_ten_thousand_schedules_in_a_database(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(first, first + 500):
        in_files(seed, tmp_path, monkeypatch, DatabaseDisk)


# Broken twins: what the claims of `share_server` and `binding` rest on, left out one by one.


class AnyKey(ShareServer):
    """Takes the first verification key that the leader names, whatever it committed to."""

    def _agree_on_key(self, task: CollectionTask, verify_key: bytes) -> None:
        if not task.verify_key:
            self._storage.keep_key(task.collection.digest, verify_key)
            task.verify_key = verify_key


class VotesInMemory(ShareServer):
    """Tells its vote without writing it down, and counts reports on which it does not know of a vote."""

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        task = self._task(collection)
        server, task.server = task.server, 0
        try:
            return super().vote(collection, positions, _swapped(verifiers, server))
        finally:
            task.server = server

    def commit(self, collection: bytes, job: Job) -> None:
        task = self._task(collection)
        if job.number == len(task.jobs) and task.held(job.positions).all():
            new = job.positions[~task.voted(job.positions)]
            task.vote(new, np.ones(len(new), np.bool_))
        super().commit(collection, job)


def _swapped(verifiers: Sequence[Octets], server: int) -> list[Octets]:
    """With the word of a server in the leader's place."""
    rows = list(verifiers)
    rows[0], rows[server] = rows[server], rows[0]
    return rows


class ReleasesFirst(ShareServer):
    """Draws the noise and writes the release down before it looks at the signatures."""

    def _release(
        self,
        task: CollectionTask,
        accepted: bytes,
        signed: Sequence[bytes],
        joint: Published | None = None,
    ) -> Release:
        collection, sealed = task.collection, task.sealed
        if sealed is None or sealed.accepted != accepted:
            return super()._release(task, accepted, signed)
        modulus, noise = collection.field.modulus, self._noise(task)
        noisy = collection.field.pack([(a + b) % modulus for a, b in zip(task.sums, noise, strict=True)])
        released = Release(task.owner, sealed, noisy, len(noisy) // REPORTS)
        self._storage.release(collection.digest, released)
        del self._tasks[collection.digest]
        return released


class KeepsSecrets(ShareServer):
    """Releases, and does not destroy the secret."""

    def release(
        self,
        collection: bytes,
        accepted: bytes,
        signed: Sequence[bytes] = (),
        joint: Published | None = None,
    ) -> Release:
        released = self._storage.released(collection)
        return released or self._release(self._task(collection), accepted, signed)


class NeverForgets(ShareServer):
    """Believes that it remembers everything, however old its state is."""

    def _knows_history(self) -> bool:
        return True


class CountsReleases(ShareServer):
    """Knows its state by the number of releases on record."""

    def _knows_history(self) -> bool:
        vault: Any = self._vault
        on_record, known = len(self._storage._released), vault.inner.releases  # type: ignore[attr-defined]
        vault.inner.releases = min(on_record, known)
        return bool(on_record >= known)


class SealsWithoutOpenings(ShareServer):
    """Signs for the set alone: the same whatever the secrets are."""

    def _seal(self, collection: bytes, expected: Holding | None, openings: Sequence[Opening]) -> None:
        self.require_enough(collection)
        task = self._task(collection)
        counted = task.holding()
        holding = replace(counted, accepted=digest(b"agreed reports", counted.accepted), sealed=True)
        self._storage.seal(collection, holding)
        task.sealed = holding


class FreshNoise(ShareServer):
    """Draws its noise from coins of the day."""

    draws = 0

    def _noise(self, task: CollectionTask) -> list[int]:
        FreshNoise.draws += 1
        source = KeystreamSource(FreshNoise.draws.to_bytes(32, "big"))
        return [int(entry) for entry in task.collection.noise.draw(source, REPORTS)]


class ReleasesAgain(ShareServer):
    """Computes a release whenever it is asked for one."""

    def release(
        self,
        collection: bytes,
        accepted: bytes,
        signed: Sequence[bytes] = (),
        joint: Published | None = None,
    ) -> Release:
        first = super().release(collection, accepted, signed)
        FreshNoise.draws += 1
        return replace(first, noisy_sums=first.noisy_sums[:-1] + bytes([FreshNoise.draws % 256]))


class CommitsItsVote(ShareServer):
    """Counts what it votes for, as helper, before all have voted."""

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        accepted = super().vote(collection, positions, verifiers)
        task = self._task(collection)
        if task.server and task.held(positions).all():
            super().commit(collection, Job(len(task.jobs), positions, accepted))
        return accepted

    def commit(self, collection: bytes, job: Job) -> None:
        task = self._task(collection)
        if not task.server or task.held(job.positions).any():
            super().commit(collection, job)


class CountsAgain(ShareServer):
    """A job that is told again is counted again."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._counted: dict[tuple[bytes, int], list[int]] = {}

    def commit(self, collection: bytes, job: Job) -> None:
        task = self._tasks.get(collection)
        again = None if task is None or task.sealed else self._counted.get((collection, job.number))
        if task is None or again is None:
            before = list(task.sums) if task else []
            super().commit(collection, job)
            if task and len(task.jobs) == job.number + 1:
                self._counted[collection, job.number] = _minus(task, before)
        else:
            task.sums = [
                (a + b) % task.collection.field.modulus for a, b in zip(task.sums, again, strict=True)
            ]


def _minus(task: CollectionTask, before: Sequence[int]) -> list[int]:
    modulus = task.collection.field.modulus
    return [(a - b) % modulus for a, b in zip(task.sums, before, strict=True)]


class SumsApart(RestingStorage):
    """Sums and identifiers in two transactions, between which the process may die."""

    commits = 0

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        self._kept[collection].sums = tuple(sums)
        SumsApart.commits += 1
        if job.number and SumsApart.commits % 10 == 0:
            raise Crash
        super().commit(collection, job, sums, finished)


class AnswersBeforeItStores(RestingStorage):
    """What was acknowledged is in memory only."""

    def kept(self) -> list[KeptCollection]:
        return [replace(one, uploads={}) for one in super().kept()]


class ForgetsWhatItSealed(RestingStorage):
    """After a crash the set of reports is open again."""

    def kept(self) -> list[KeptCollection]:
        return [replace(one, sealed=None) for one in super().kept()]


@dataclass(frozen=True)
class Twin:
    """A planted bug, what the world says when it shows, and where it is sure to show."""

    complaint: str
    servers: int = 2
    server: MakeServer = ShareServer
    storage: Callable[[], RestingStorage] = RestingStorage
    at_once: bool = False  # without any accident

    def world(self, seed: int, setting: Setting | None = None) -> World:
        def disk(number: int, draw: Draw) -> MemoryDisk:
            return MemoryDisk(draw, self.storage)

        return World(seed, setting or Setting.drawn(seed, self.servers), self.server, disk)

    def is_caught(self, seed: int) -> bool:
        """For what it is, in a default schedule."""
        try:
            run(self.world(seed), STEPS)
        except AssertionError as error:
            return re.search(self.complaint, str(error)) is not None
        return False


TWINS = {
    "any verification key": Twin("under two keys|believed a lie", 3, AnyKey),
    "votes in memory": Twin("a bad report counts", 2, VotesInMemory),
    "signatures after the noise": Twin("not what all honest servers have on record", 3, ReleasesFirst),
    "secrets outlive their release": Twin("two releases", 2, KeepsSecrets),
    "an old memory goes on": Twin("two releases", 2, NeverForgets),
    "a number for a memory": Twin("two releases", 2, CountsReleases),
    "seals without openings": Twin("two releases", 3, SealsWithoutOpenings),
    "noise of the day": Twin("not the agreed set and the noise", 2, FreshNoise, at_once=True),
    "releases again": Twin("not on record", 2, ReleasesAgain, at_once=True),
    "commits before all voted": Twin("stuck", 2, CommitsItsVote),
    "counts a job again": Twin("not the agreed set and the noise", 2, CountsAgain),
    "sums and identifiers apart": Twin("not the agreed set and the noise", 2, storage=SumsApart),
    "acknowledges before it stores": Twin("stuck|missing", 2, storage=AnswersBeforeItStores),
    "forgets what it sealed": Twin("is another now", 3, storage=ForgetsWhatItSealed),
}


@pytest.mark.parametrize("twin", [name for name, twin in TWINS.items() if not twin.at_once])
def test_planted_bugs_do_not_show_as_long_as_nothing_fails(twin: str) -> None:
    world = TWINS[twin].world(0, Setting(2))
    world.well = True
    for number in range(world.servers):
        world.upload(world.batches[0], number, [range(JOB)])  # one job, and none of the bad reports
    world.agree(world.batches[0])
    for number in range(world.servers):
        world.release(world.batches[0], number)


@pytest.mark.parametrize("twin", TWINS)
def test_planted_bugs_are_caught(twin: str) -> None:
    assert any(TWINS[twin].is_caught(seed) for seed in range(SCHEDULES))
