"""Reports in memory beside the file: bounded, and gone with their upload or their collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from localdp.sharing.blocks import Rows, run_of
from localdp.sharing.storage import Job, Upload
from localdp.sharing.vault import MemoryVault
from parties.shares.recent_rows import UPLOAD_BYTES, RecentRows
from parties.shares.storage import SqliteStorage
from tests.support.shares import collection_of

ROW_BYTES = 100


def rows_of(reports: int = 1) -> Rows:
    """Rows of which each report takes a hundred bytes."""
    return Rows(np.zeros((reports, ROW_BYTES - 8), np.uint8), np.ones((reports, 8), np.uint8))


def test_the_first_uploads_stay_and_what_finds_no_room_is_not_kept() -> None:
    recent = RecentRows(2 * (UPLOAD_BYTES + ROW_BYTES) + UPLOAD_BYTES)
    first, second = rows_of(), rows_of()
    for number, rows in enumerate((first, second, rows_of())):
        recent.keep(b"one", number, rows)
    assert recent.get(b"one", 0) is first and recent.get(b"one", 1) is second
    assert recent.get(b"one", 2) is None and recent.get(b"two", 0) is None


def test_what_is_dropped_makes_room_once() -> None:
    recent = RecentRows(2 * (UPLOAD_BYTES + ROW_BYTES))
    for collection in (b"one", b"two"):
        recent.keep(collection, 1, rows_of())
    recent.drop(b"one", [1, 7])
    recent.drop(b"one", [1])
    recent.drop_all(b"one")
    recent.keep(b"three", 1, rows_of())
    recent.keep(b"three", 2, rows_of())
    assert recent.get(b"one", 1) is None and recent.get(b"two", 1) is not None
    assert recent.get(b"three", 1) is not None and recent.get(b"three", 2) is None
    recent.drop_all(b"two")
    recent.keep(b"three", 2, rows_of())
    assert recent.get(b"two", 1) is None and recent.get(b"three", 2) is not None


def test_a_storage_reads_the_same_rows_with_and_without_it_and_keeps_none_that_are_done_with(
    tmp_path: Path,
) -> None:
    collection = collection_of()
    storage = SqliteStorage(tmp_path / "state", "server-0", MemoryVault(bytes(32)))
    storage.open(collection)
    name = collection.digest
    for number in (1, 2):
        storage.upload(name, [Upload(number, run_of(number, number + 1), rows_of())])
    kept = storage.rows(name, 1)
    storage._recent.drop(name, [1])
    read = storage.rows(name, 1)
    assert read is not kept
    assert np.array_equal(read.public, kept.public) and np.array_equal(read.inputs, kept.inputs)
    storage.commit(name, Job(0, run_of(2, 3), np.ones(1, np.bool_)), [0], [2])
    assert storage._recent.get(name, 2) is None
    storage.upload(name, [Upload(3, run_of(3, 4), rows_of())])
    storage.drop(name)
    assert storage._recent.get(name, 3) is None
    storage.close()
