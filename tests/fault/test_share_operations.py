"""Random sequences of uploads, duplicates, losses, crashes at every write, restarts and repeated questions.

Every report fills a bucket of its own, so a report that counts twice shows as a 2, a lost one as a 0 (`share_world`).  200
sequences by default, 10,000 at night; every one is determined by its number.  Planted bugs must be caught among the
default ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localdp.errors import ShareMismatch, Unreachable
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing import agreement
from localdp.sharing.blocks import Mask, Octets, Positions, Rows
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding, Job, Kept, MemoryStorage, Release, Storage
from parties.shares.storage import SqliteStorage
from tests.fault.share_world import JOB, REPORTS, Crash, World, run, task
from tests.support.shares import KEYRING

SEQUENCES = 200
STEPS = 25


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "VERIFIED_AT_ONCE", JOB)
    monkeypatch.setattr(agreement, "ADDED_AT_ONCE", JOB * REPORTS)


def test_no_sequence_of_operations_counts_twice_loses_or_releases_twice() -> None:
    outcomes = Counter(run(World(seed, servers=2 + seed % 2), STEPS) for seed in range(SEQUENCES))
    assert outcomes["released"] > SEQUENCES * 3 // 4  # or little would have been tried


def test_nor_with_proofs_and_two_lies_among_the_reports() -> None:
    outcomes = Counter(run(World(seed, tier="prio3"), STEPS) for seed in range(SEQUENCES // 10))
    assert outcomes["released"] > SEQUENCES // 20


def test_nor_on_disk(tmp_path: Path) -> None:
    for seed in range(8):
        made: list[SqliteStorage] = []

        def storage(number: int, seed: int = seed, made: list[SqliteStorage] = made) -> Storage:
            path = tmp_path / f"{seed}-{number}"
            made.append(SqliteStorage(path, f"server-{number}", KEYRING.server(number)))
            return made[-1]

        try:
            run(World(seed, make_storage=storage), STEPS)
        finally:
            for one in made:
                one.close()


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 10_000, 1_000))
def test_ten_thousand_sequences(first: int) -> None:
    for seed in range(first, first + 1_000):
        tier = "prio3" if seed % 20 == 0 else "additive"
        run(World(seed, servers=2 + seed % 3 // 2, tier=tier), STEPS)


class CommitsItsVote(ShareServer):
    """Broken twin: counts what it votes for, before all have voted."""

    def vote(self, collection: bytes, positions: Positions, messages: Octets, holds: Mask) -> Mask:
        accepted = super().vote(collection, positions, messages, holds)
        super().commit(collection, Job(len(self.jobs(collection)), positions, accepted))
        return accepted

    def decide(self, collection: bytes, positions: Positions, votes: Sequence[Mask]) -> Job:
        return self.jobs(collection)[-1]

    def commit(self, collection: bytes, job: Job) -> None:
        if self._task(collection).held(job.positions).any():
            super().commit(collection, job)


class SumsApart(MemoryStorage):
    """Broken twin: sums and identifiers in two transactions, between which the process may die."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._random = np.random.default_rng(seed)

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        self._kept[collection].sums = tuple(sums)
        if job.number and self._random.random() < 0.1:
            raise Crash
        super().commit(collection, job, sums, finished)


class FreshNoise(ShareServer):
    """Broken twin: a release is computed anew, with new noise, whenever it is asked for."""

    draws = 0

    def release(self, collection: bytes, accepted: bytes) -> tuple[int, ...]:
        first = super().release(collection, accepted)
        FreshNoise.draws += 1
        source = KeystreamSource(FreshNoise.draws.to_bytes(32, "big"))
        noise = self.collection(collection).noise.draw(source, len(first))
        return tuple(int(a) + int(b) for a, b in zip(first, noise, strict=True))


class AnswersBeforeItStores(MemoryStorage):
    """Broken twin: what was acknowledged is in memory only."""

    def kept(self) -> list[Kept]:
        return [replace(one, uploads={}) for one in super().kept()]


class ForgetsWhatItSealed(MemoryStorage):
    """Broken twin: after a crash the set of reports is open again."""

    def seal(self, collection: bytes, holding: Holding) -> None:
        pass

    def release(self, collection: bytes, released: Release) -> None:
        pass


class CountsAgain(ShareServer):
    """Broken twin: a job that is told again is counted again."""

    def commit(self, collection: bytes, job: Job) -> None:
        task = self._task(collection)
        if job.number < len(task.jobs) and task.sealed is None:
            state, _ = task.checker.init(job.positions, self._old_rows(collection, job))
            new = task.checker.sums(state, job.accepted)
            task.sums = [
                (a + b) % task.collection.field.modulus for a, b in zip(task.sums, new, strict=True)
            ]
            return
        super().commit(collection, job)

    def _old_rows(self, collection: bytes, job: Job) -> Rows:
        blocks = task(2, "additive")[1]
        return blocks[self._task(collection).server].rows.take(job.positions.astype(np.int64))


TWINS: dict[str, Callable[[int], World]] = {
    "commits before all voted": lambda seed: World(seed, make_server=CommitsItsVote),
    "sums and identifiers apart": lambda seed: World(
        seed, make_storage=lambda number: SumsApart(10 * seed + number)
    ),
    "fresh noise at every release": lambda seed: World(seed, make_server=FreshNoise),
    "acknowledges before it stores": lambda seed: World(
        seed, make_storage=lambda number: AnswersBeforeItStores()
    ),
    "forgets what it sealed": lambda seed: World(seed, make_storage=lambda number: ForgetsWhatItSealed()),
    "counts a job again": lambda seed: World(seed, make_server=CountsAgain),
}


def is_caught(make: Callable[[int], World], seed: int) -> bool:
    """By a check of the world, or because the servers will never agree again; not by a crash at the end."""
    try:
        run(make(seed), STEPS)
    except (AssertionError, ShareMismatch):
        return True
    except Unreachable:
        return False
    return False


@pytest.mark.parametrize("twin", TWINS)
def test_planted_bugs_do_not_show_as_long_as_nothing_fails(twin: str) -> None:
    world = TWINS[twin](0)
    world.heal = True
    for number in range(world.servers):
        world.upload(number, [range(4)])  # one job, and none of the bad reports
    world.agree()
    for number in range(world.servers):
        world.release(number)


@pytest.mark.parametrize("twin", TWINS)
def test_planted_bugs_are_caught(twin: str) -> None:
    assert any(is_caught(TWINS[twin], seed) for seed in range(SEQUENCES // 4))
