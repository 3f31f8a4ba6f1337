"""A share server's state in a file: SQLite, every step synced before it is acknowledged.

One row a collection, an upload and a job; reports are rows of bytes inside of an upload's blobs, so a million of them
are a thousand rows.  Uploads of which everything is decided are deleted with the decision, and what is left of a
collection goes with its release.  The file also holds the server's name and key, made with the file: the noise of a
release depends on the key, so a state and its key belong together.

The file is locked while a server runs: two servers on one state would count a report twice.

Checked with the other storages in tests/contract/test_share_storage.py, and with kill -9 in
tests/fault/test_share_kill_nine.py.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from localdp.errors import InvalidParameter, LocalDpError, StorageFailed
from localdp.randomness.keys import KEY_BYTES
from localdp.sharing.blocks import Positions, Rows, pack_positions, rows_from, unpack_positions
from localdp.sharing.collection import MOST_PEOPLE, Collection
from localdp.sharing.storage import Holding, Job, Kept, Release, Upload
from parties import codec
from parties.durable import failure, make_private, transaction
from parties.shares.messages import mask_from_wire, mask_to_wire
from parties.wire.v1 import collection_pb2

_ELEMENT_BYTES = 16
_PAGE_BYTES = 1 << 15  # what is stored is mostly blobs of a megabyte
_CHECKPOINT_PAGES = 1 << 11  # 64 MB
_LAYOUT = """
CREATE TABLE IF NOT EXISTS server (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL,
  key BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS collections (
  digest BLOB PRIMARY KEY,
  description BLOB NOT NULL,
  owner TEXT NOT NULL,
  verify_key BLOB NOT NULL DEFAULT x'',
  sums BLOB NOT NULL DEFAULT x'',
  reports INTEGER,
  accepted BLOB,
  jobs INTEGER,
  noise BLOB,
  noisy_sums BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS uploads (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  positions BLOB NOT NULL,
  public BLOB NOT NULL,
  inputs BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
CREATE TABLE IF NOT EXISTS jobs (
  collection BLOB NOT NULL,
  number INTEGER NOT NULL,
  positions BLOB NOT NULL,
  accepted BLOB NOT NULL,
  PRIMARY KEY (collection, number)
) STRICT;
"""


class SqliteStorage:
    """State in a file.  One object belongs to one thread at a time, and one process to the file."""

    def __init__(self, path: Path, name: str, key: bytes | None = None, *, synced: bool = True) -> None:
        """Make the file, with a new key unless one is given, or go on with one that was made for a server of that name.

        What is not `synced` outlives the process and not the machine: for simulations.
        """
        with storage_errors(path):
            make_private(path)
            self._file = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
            try:
                self._file.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._file.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
                self._file.execute("PRAGMA journal_mode = WAL")
                self._file.execute(f"PRAGMA synchronous = {'FULL' if synced else 'OFF'}")
                self._file.executescript(_LAYOUT)
                self.key = self._identified(name, key)
            except BaseException:
                self._file.close()
                raise

    def _identified(self, name: str, key: bytes | None) -> bytes:
        with self._transaction():
            row = self._file.execute("SELECT name, key FROM server").fetchone()
            if row is None:
                row = name, key or os.urandom(KEY_BYTES)
                self._file.execute("INSERT INTO server VALUES (1, ?, ?)", row)
        if row[0] != name or (key is not None and row[1] != key):
            raise InvalidParameter(f"this state belongs to another share server than {name}")
        return bytes(row[1])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def kept(self) -> list[Kept]:
        """Everything on record."""
        with storage_errors():
            rows = self._file.execute("SELECT * FROM collections ORDER BY rowid").fetchall()
            return [self._kept(*row) for row in rows]

    def open(self, collection: Collection, owner: str = "") -> None:
        """A new collection."""
        description = codec.collection_to_wire(collection).SerializeToString(deterministic=True)
        with self._transaction():
            self._file.execute(
                "INSERT INTO collections (digest, description, owner) VALUES (?, ?, ?)",
                (collection.digest, description, owner),
            )

    def keep_key(self, collection: bytes, verify_key: bytes) -> None:
        """The key of a collection that has none."""
        with self._transaction():
            self._file.execute(
                "UPDATE collections SET verify_key = ? WHERE digest = ?", (verify_key, collection)
            )

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        """New reports, all of them in one transaction."""
        with self._transaction():
            self._file.executemany(
                "INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (
                        collection,
                        upload.number,
                        len(upload.positions),
                        pack_positions(upload.positions),
                        upload.rows.public.tobytes(),
                        upload.rows.inputs.tobytes(),
                    )
                    for upload in uploads
                ),
            )

    def rows(self, collection: bytes, upload: int) -> Rows:
        """The reports of an upload."""
        with storage_errors():
            row = self._file.execute(
                "SELECT reports, public, inputs FROM uploads WHERE collection = ? AND number = ?",
                (collection, upload),
            ).fetchone()
        if row is None:
            raise StorageFailed("an upload that was acknowledged is not there")
        count, public, inputs = row
        return Rows(*(rows_from(data, count, len(data) // count) for data in (public, inputs)))

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        """A decision, the sums with it, and without the uploads that are done with."""
        row = collection, job.number, pack_positions(job.positions), mask_to_wire(job.accepted)
        with self._transaction():
            self._file.execute("INSERT INTO jobs VALUES (?, ?, ?, ?)", row)
            self._file.execute(
                "UPDATE collections SET sums = ? WHERE digest = ?", (_packed(sums), collection)
            )
            self._file.executemany(
                "DELETE FROM uploads WHERE collection = ? AND number = ?",
                ((collection, number) for number in finished),
            )

    def seal(self, collection: bytes, holding: Holding) -> None:
        """Nothing more is decided."""
        with self._transaction():
            self._file.execute(
                "UPDATE collections SET reports = ?, accepted = ?, jobs = ? WHERE digest = ?",
                (holding.reports, holding.accepted, holding.jobs, collection),
            )

    def release(self, collection: bytes, released: Release) -> None:
        """What is about to be published."""
        packed = _packed(released.noise), _packed(released.noisy_sums), collection
        with self._transaction():
            self._file.execute("UPDATE collections SET noise = ?, noisy_sums = ? WHERE digest = ?", packed)
            self._file.execute("DELETE FROM uploads WHERE collection = ?", (collection,))
            self._file.execute("DELETE FROM jobs WHERE collection = ?", (collection,))

    def _kept(
        self,
        digest: bytes,
        description: bytes,
        owner: str,
        verify_key: bytes,
        sums: bytes,
        reports: int | None,
        accepted: bytes,
        jobs: int,
        noise: bytes | None,
        noisy_sums: bytes,
    ) -> Kept:
        collection = codec.collection_from_wire(collection_pb2.Collection.FromString(description))
        if collection.digest != digest:
            raise StorageFailed(
                "the state of the share server has a collection under a digest that is not its own"
            )
        kept = Kept(collection, owner, verify_key, sums=_unpacked(sums))
        if reports is not None:
            kept.sealed = Holding(reports, accepted, jobs, sealed=True)
        if noise is not None:
            kept.released = Release(_unpacked(noise), _unpacked(noisy_sums))
        kept.uploads = {number: _positions(data) for number, data in self._of("uploads", digest)}
        kept.jobs = [_job(*row) for row in self._of("jobs", digest, ", accepted")]
        return kept

    def _of(self, table: str, digest: bytes, more: str = "") -> list[tuple[Any, ...]]:
        query = f"SELECT number, positions{more} FROM {table} WHERE collection = ? ORDER BY number"  # noqa: S608
        return self._file.execute(query, (digest,)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with storage_errors(), transaction(self._file):
            yield


def _packed(elements: Sequence[int]) -> bytes:
    """Field elements, of either field, in sixteen bytes each."""
    return b"".join(element.to_bytes(_ELEMENT_BYTES, "little") for element in elements)


def _unpacked(data: bytes) -> tuple[int, ...]:
    starts = range(0, len(data), _ELEMENT_BYTES)
    return tuple(int.from_bytes(data[at : at + _ELEMENT_BYTES], "little") for at in starts)


def _positions(data: bytes) -> Positions:
    return unpack_positions(data, MOST_PEOPLE)


def _job(number: int, data: bytes, accepted: bytes) -> Job:
    positions = _positions(data)
    return Job(number, positions, mask_from_wire(accepted, len(positions)))


@contextmanager
def storage_errors(path: Path | None = None) -> Iterator[None]:
    """Whatever goes wrong with the file, as one error of ours."""
    try:
        yield
    except LocalDpError:
        raise
    except (sqlite3.Error, OSError, OverflowError, ValueError, DecodeError) as error:
        raise failure("the share server's state", path, error) from error
