"""Uploads that a server takes in one call: what fails for one collection is told to that one, and to no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localdp.errors import CollectionClosed, LocalDpError, StorageFailed
from localdp.oracles.shared import binding_of
from localdp.sharing.blocks import Rows, ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import MemoryStorage, Upload
from localdp.sharing.vault import MemoryVault
from tests.support.shares import KEYRING, bits, blocks_of, collection_of, servers_for

FIRST, SECOND, THIRD = (collection_of(minimum_batch=minimum) for minimum in (10, 11, 12))


class FullFor(MemoryStorage):
    """A disk that has no room for the reports of some collections."""

    def __init__(self, *full: Collection) -> None:
        super().__init__()
        self.full = {one.digest for one in full}
        self.error: BaseException = StorageFailed("the disk is full")

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        if collection in self.full:
            raise self.error
        super().upload(collection, uploads)


def ones(collection: Collection, start: int, stop: int) -> list[ShareBlock]:
    """An upload of some people's reports to the first server."""
    return blocks_of(collection, bits(*[1] * (stop - start)), start)[:1]


def serving(disk: MemoryStorage) -> ShareServer:
    """The first server of three collections."""
    server = servers_for(FIRST, [disk, MemoryStorage()])[0]
    server.open(SECOND)
    server.open(THIRD)
    return server


def on_disk(disk: MemoryStorage) -> list[int]:
    """How many reports of each collection would be there after a restart."""
    return [sum(map(len, one.uploads.values())) for one in disk.kept()]


@pytest.mark.parametrize("full", [FIRST, SECOND, THIRD])
def test_a_write_that_fails_is_told_to_its_own_collection_and_the_others_go_on(full: Collection) -> None:
    disk = FullFor(full)
    server = serving(disk)
    uploads = [ones(one, 0, 5) for one in (FIRST, SECOND, THIRD)]
    first = server.accept_all(uploads)
    assert [isinstance(one, StorageFailed) for one in first] == [
        one is full for one in (FIRST, SECOND, THIRD)
    ]
    disk.full.clear()
    again = server.accept_all(uploads)
    assert again == [5 if one is full else 0 for one in (FIRST, SECOND, THIRD)]
    assert on_disk(disk) == [5, 5, 5]  # what was acknowledged is there


def test_after_a_failure_that_nobody_foresaw_nothing_is_taken_for_stored() -> None:
    disk = FullFor(FIRST)
    disk.error = MemoryError()
    server = serving(disk)
    uploads = [ones(one, 0, 5) for one in (FIRST, SECOND, THIRD)]
    with pytest.raises(MemoryError):
        server.accept_all(uploads)
    disk.full.clear()
    server.accept_all(uploads)
    assert on_disk(disk) == [5, 5, 5]


class Large(Rows):
    """Reports of which no copy fits into memory."""

    def take(self, which: object) -> Rows:
        raise MemoryError


def test_nor_after_a_failure_before_the_write() -> None:
    disk = MemoryStorage()
    server = serving(disk)
    (fits,), (other,) = ones(FIRST, 0, 5), ones(FIRST, 3, 8)
    large = replace(other, rows=Large(other.rows.public, other.rows.inputs))
    with pytest.raises(MemoryError):
        server.accept(fits, large)
    assert server.accept(fits, other) == 8
    assert on_disk(disk) == [8, 0, 0]


def test_a_repetition_of_what_could_not_be_written_is_not_acknowledged() -> None:
    disk = FullFor(FIRST)
    server = serving(disk)
    outcomes = server.accept_all([ones(FIRST, 0, 5), ones(FIRST, 0, 5), ones(FIRST, 3, 8), []])
    assert [isinstance(one, LocalDpError) for one in outcomes] == [True, True, True, False]
    disk.full.clear()
    assert server.accept_all([ones(FIRST, 0, 5), ones(FIRST, 0, 5), ones(FIRST, 3, 8)]) == [5, 0, 3]


def test_a_collection_that_ends_between_two_looks_at_the_clock_takes_nothing_of_others_with_it() -> None:
    for looks in range(8):
        times = [1000.0] * looks
        disk = MemoryStorage()
        server = ShareServer(
            "server-0",
            MemoryVault(KEYRING.server(0)),
            disk,
            clock=lambda times=times: times.pop() if times else 2000.0,  # type: ignore[misc]
        )
        binding = binding_of([server, ShareServer("server-1", MemoryVault(bytes(32)))], bytes(16))
        short = collection_of(binding=replace(binding, ends=1500))
        long = collection_of(binding=replace(binding, ends=3000))
        times.extend([1000.0] * 9)
        for one in (short, long):
            server.open(one)
        del times[looks:]
        first, second = server.accept_all([ones(short, 0, 5), ones(long, 0, 5)])
        assert second == 5
        assert first == 5 or isinstance(first, CollectionClosed)
        assert on_disk(disk) == ([5, 5] if first == 5 else [0, 5])
