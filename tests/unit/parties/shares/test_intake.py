"""Uploads that come while the disk is busy are written together, and each has its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from localdp.cohorts import Cohort
from localdp.errors import StorageFailed, UnknownIndex
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.storage import MemoryStorage, Upload
from parties.shares.intake import Intake, Outcomes
from tests.support.shares import bits, blocks_of, collection_of, servers_for

COLLECTION = collection_of()


class Counting(MemoryStorage):
    """Counts writes, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []
        self.broken = False

    def upload(self, collection: bytes, uploads: object) -> None:
        if self.broken:
            raise StorageFailed("the disk is full")
        assert isinstance(uploads, list) and all(isinstance(one, Upload) for one in uploads)
        self.writes.append(len(uploads))
        super().upload(collection, uploads)


def block(start: int, people: int = 1) -> ShareBlock:
    return blocks_of(COLLECTION, bits(*[1] * people), start)[0]


async def in_thread(job: Callable[[], Outcomes]) -> Outcomes:
    return await asyncio.get_running_loop().run_in_executor(None, job)


def test_what_comes_during_a_write_is_in_the_next_one() -> None:
    disk = Counting()
    server = servers_for(COLLECTION, [disk, MemoryStorage()])[0]

    async def run() -> list[int]:
        intake = Intake(server, in_thread)
        return await asyncio.gather(*(intake.store([block(start)]) for start in range(50)))

    assert asyncio.run(run()) == [1] * 50
    assert disk.writes == [50]
    assert server.stored(COLLECTION.digest).size == 50


def test_the_same_report_in_two_uploads_of_one_write_counts_once() -> None:
    server = servers_for(COLLECTION)[0]

    async def run() -> list[int]:
        intake = Intake(server, in_thread)
        uploads: list[list[ShareBlock]] = [[block(0, 5)], [block(3, 5)], []]
        return await asyncio.gather(*(intake.store(upload) for upload in uploads))

    assert asyncio.run(run()) == [5, 3, 0]


def test_a_wrong_upload_is_refused_alone() -> None:
    server = servers_for(COLLECTION)[0]
    wrong = replace(block(0), cohort=Cohort(100, 101))

    async def run() -> list[object]:
        intake = Intake(server, in_thread)
        calls = (intake.store([block(0)]), intake.store([block(1), wrong]), intake.store([block(2)]))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, second, third = asyncio.run(run())
    assert (first, third) == (1, 1)
    assert isinstance(second, UnknownIndex)
    assert server.stored(COLLECTION.digest).tolist() == [0, 2]


def test_when_the_disk_fails_nothing_is_acknowledged_and_all_may_come_again() -> None:
    disk = Counting()
    server = servers_for(COLLECTION, [disk, MemoryStorage()])[0]

    async def run() -> None:
        intake = Intake(server, in_thread)
        disk.broken = True
        for result in await asyncio.gather(
            *(intake.store([block(n)]) for n in range(3)), return_exceptions=True
        ):
            assert isinstance(result, StorageFailed)
        assert server.stored(COLLECTION.digest).size == 0
        disk.broken = False
        assert await intake.store([block(0, 3)]) == 3

    asyncio.run(run())


def test_somebody_who_does_not_wait_does_not_stop_the_others() -> None:
    server = servers_for(COLLECTION)[0]

    async def run() -> None:
        intake = Intake(server, in_thread)
        gone = asyncio.ensure_future(intake.store([block(0)]))
        stays = asyncio.ensure_future(intake.store([block(1)]))
        await asyncio.sleep(0)
        gone.cancel()
        assert await stays == 1
        with pytest.raises(asyncio.CancelledError):
            await gone

    asyncio.run(run())
