"""What every storage of a share server promises: a server built from it again knows what the one before knew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from localdp.errors import InvalidParameter, StorageFailed
from localdp.sharing.agreement import agree
from localdp.sharing.blocks import Rows
from localdp.sharing.encoding import Encoding
from localdp.sharing.storage import Holding, Job, MemoryStorage, Release, Storage, Upload
from parties.shares.storage import SqliteStorage
from tests.support.shares import (
    KEYRING,
    bits,
    blocks_of,
    collection_of,
    one_hot,
    released,
    servers_for,
    upload,
)

COLLECTION = collection_of(encoding=Encoding.histogram(3), tier="prio3")
DIGEST = COLLECTION.digest

Again = Callable[[], Storage]  # the storage as the next process finds it


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Again]:
    if request.param == "memory":
        kept = MemoryStorage()
        yield lambda: kept
        return
    opened: list[SqliteStorage] = []

    def again() -> Storage:
        for before in opened:
            before.close()
        opened.append(SqliteStorage(tmp_path / "state", "server-0", KEYRING.server(0)))
        return opened[-1]

    yield again
    opened[-1].close()


def positions(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(numbers, np.uint32)


def some(number: int, *at: int) -> Upload:
    rows = Rows(
        np.full((len(at), 2), number, np.uint8), np.arange(len(at) * 3, dtype=np.uint8).reshape(-1, 3)
    )
    return Upload(number, positions(*at), rows)


def test_a_new_storage_is_empty(storage: Again) -> None:
    assert list(storage().kept()) == []


def test_everything_is_there_again_in_its_order(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION, "analyst")
    made.open(collection_of())
    made.keep_key(DIGEST, b"k" * 32)
    made.upload(DIGEST, [some(1, 0, 1, 2), some(2, 7)])
    made.commit(DIGEST, Job(0, positions(0, 7), np.array([True, False])), [5, 2**100, 0], [2])
    first, second = storage().kept()
    assert (first.collection, second.collection) == (COLLECTION, collection_of())
    assert (first.owner, second.owner) == ("analyst", "")
    assert (first.verify_key, first.sums) == (b"k" * 32, (5, 2**100, 0))
    assert {number: at.tolist() for number, at in first.uploads.items()} == {1: [0, 1, 2]}
    assert [(j.number, j.positions.tolist(), j.accepted.tolist()) for j in first.jobs] == [
        (0, [0, 7], [True, False])
    ]
    assert (first.sealed, first.released) == (None, None)
    assert (second.verify_key, second.sums, second.uploads, second.jobs) == (b"", (), {}, [])


def test_rows_come_back_as_they_went(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0, 5)])
    rows = storage().rows(DIGEST, 1)
    assert rows.inputs.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert rows.public.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(StorageFailed):
        storage().rows(DIGEST, 2)


def test_a_release_is_kept_and_what_led_to_it_goes(storage: Again) -> None:
    made = storage()
    made.open(COLLECTION)
    made.upload(DIGEST, [some(1, 0, 1, 2)])
    made.commit(DIGEST, Job(0, positions(0), np.array([True])), [1, 2, 3], [])
    holding = Holding(1, b"set", 1, True)
    made.seal(DIGEST, holding)
    assert next(iter(storage().kept())).sealed == holding
    storage().release(DIGEST, Release((1, 2, 3), (4, 5, 6)))
    kept = next(iter(storage().kept()))
    assert (kept.released, kept.uploads, kept.jobs) == (Release((1, 2, 3), (4, 5, 6)), {}, [])
    with pytest.raises(StorageFailed):
        storage().rows(DIGEST, 1)


def test_a_server_goes_on_after_every_step(storage: Again) -> None:
    others = MemoryStorage()
    values = one_hot(3, *[0, 1, 2, 2] * 3)
    straight = servers_for(COLLECTION)
    upload(straight, blocks_of(COLLECTION, values))
    expected = released(straight, COLLECTION)

    upload(servers_for(COLLECTION, [storage(), others]), blocks_of(COLLECTION, values[:7]))
    upload(servers_for(COLLECTION, [storage(), others]), blocks_of(COLLECTION, values[5:], start=5))
    servers = servers_for(COLLECTION, [storage(), others])
    agree(servers[0], servers[1:], COLLECTION)
    for _ in range(2):
        assert released(servers_for(COLLECTION, [storage(), others]), COLLECTION) == expected


def test_a_file_belongs_to_one_server_of_one_name_and_key(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = SqliteStorage(path, "server-0")
    with pytest.raises(StorageFailed):  # somebody else has it open
        SqliteStorage(path, "server-0")
    first.close()
    again = SqliteStorage(path, "server-0")
    assert again.key == first.key
    again.close()
    for name, key in (("server-1", None), ("server-0", bytes(32))):
        with pytest.raises(InvalidParameter):
            SqliteStorage(path, name, key)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"this is not a database, but long enough to look like one" * 20)
    with pytest.raises(StorageFailed):
        SqliteStorage(path, "server-0")


def test_a_collection_that_was_tampered_with_on_disk_is_noticed(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "state"
    made = SqliteStorage(path, "server-0")
    made.open(COLLECTION)
    made.close()
    other = tmp_path / "other"
    changed = SqliteStorage(other, "server-0")
    changed.open(collection_of())
    changed.close()
    with sqlite3.connect(other) as file:
        description = file.execute("SELECT description FROM collections").fetchone()
    file.close()
    with sqlite3.connect(path) as file:
        file.execute("UPDATE collections SET description = ?", description)
    file.close()
    again = SqliteStorage(path, "server-0")
    with pytest.raises(StorageFailed):
        again.kept()
    again.close()


def test_bits_are_for_counts(storage: Again) -> None:
    collection = collection_of()
    servers = servers_for(collection, [storage(), MemoryStorage()])
    upload(servers, blocks_of(collection, bits(*[1] * 20)))
    assert agree(servers[0], servers[1:], collection).reports == 20
