"""A share server's state in a file (SQLite) or a database (PostgreSQL), every step synced before it is acknowledged.

One row a collection in progress, an upload, a vote and a job; reports are rows of bytes inside of an upload's blob, so a
million of them are a thousand rows.  Reports, sums and shares of joint noise rest under the secret of their collection,
which is elsewhere (`vault`).  Uploads of which everything is decided are deleted with the decision, and with its release
everything about a collection goes but its digest, its noisy sums, and what is needed to give them to the right one again.

State is locked while a server runs: two servers on one would count a report twice.  The tables are those of `layout`; what
version 0.1 wrote is brought into this form, with every release, or refused where a collection is in progress.

Checked with the other storages in tests/contract/test_share_storage.py, and with kill -9 in
tests/fault/test_share_kill_nine.py.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from localdp.errors import InvalidParameter, StorageFailed
from localdp.framing import digest
from localdp.sharing.blocks import Mask, Positions, Rows, pack_positions, rows_from, unpack_positions
from localdp.sharing.collection import MOST_PEOPLE, Collection
from localdp.sharing.storage import (
    NOTHING_RELEASED,
    Holding,
    Job,
    KeptCollection,
    Release,
    Upload,
    followed,
)
from localdp.sharing.vault import Vault
from parties import codec, durable
from parties.database import Database, Value, is_address
from parties.durable import make_private, transaction
from parties.postgres import PostgresDatabase
from parties.shares import layout, old_state
from parties.shares.messages import mask_from_wire, mask_to_wire
from parties.shares.recent_rows import RecentRows
from parties.shares.rest import Rest
from parties.wire.v1 import collection_pb2

WHAT = "the share server's state"
_ELEMENT_BYTES = 16
_PAGE_BYTES = 1 << 15  # what is stored is mostly blobs of a megabyte
_CHECKPOINT_PAGES = 1 << 11  # 64 MB
_SUMS = b"sums"
_PARTS = ("uploads", "votes", "jobs")
_COLLECTION = "digest, description, owner, verify_key, sums, reports, accepted, jobs, joint"
_RELEASED = "owner, reports, jobs, accepted, element_bytes, noisy_sums, attempt"


class TableStorage:
    """State in the tables of a database.  One object belongs to one thread at a time, and one process to the database."""

    def __init__(self, file: Database, name: str, vault: Vault, where: str) -> None:
        """Go on with tables that were made for a server of that name; `vault` has the secrets."""
        self._file, self._vault = file, vault
        self._releases, self.history = 0, NOTHING_RELEASED
        self._recent = RecentRows()
        self._decided: dict[bytes, bytes] = {}  # of each collection, what sums so far are about
        with self._transaction():
            layout.bring_up_to_date(file, where)
            file.execute("INSERT INTO server VALUES (1, ?) ON CONFLICT DO NOTHING", (name,))
        found = file.execute("SELECT name FROM server").fetchone()[0]
        if found != name:
            raise InvalidParameter(f"this state belongs to another share server than {name}")
        for row in file.execute("SELECT digest, accepted FROM released ORDER BY number").fetchall():
            self._follow(*row)

    def _follow(self, collection: bytes, accepted: bytes) -> None:
        self._releases += 1
        self.history = followed(self.history, collection, accepted)

    @property
    def lost(self) -> bool:
        """Whether what is on record has to be read again, because the connection to it broke."""
        return isinstance(self._file, PostgresDatabase) and self._file.lost

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def kept(self) -> list[KeptCollection]:
        """Every collection in progress that there is a secret for, and of the others what they were."""
        with storage_errors():
            rows = self._file.execute(
                f"SELECT {_COLLECTION} FROM collections ORDER BY opened"  # noqa: S608
            ).fetchall()
            return [self._kept(*row) for row in rows]

    def released(self, collection: bytes) -> Release | None:
        with storage_errors():
            row = self._file.execute(
                f"SELECT {_RELEASED} FROM released WHERE digest = ?",  # noqa: S608
                (collection,),
            ).fetchone()
        if row is None:
            return None
        owner, reports, jobs, accepted, element_bytes, noisy_sums, attempt = row
        holding = Holding(reports, accepted, jobs, sealed=True)
        return Release(owner, holding, noisy_sums, element_bytes, attempt)

    def open(self, collection: Collection, owner: str = "") -> None:
        description = codec.collection_to_wire(collection).SerializeToString(deterministic=True)
        with self._transaction():
            self._file.execute(
                "INSERT INTO collections (digest, description, owner, opened)"
                " VALUES (?, ?, ?, (SELECT coalesce(max(opened), 0) + 1 FROM collections))",
                (collection.digest, description, owner),
            )

    def keep_key(self, collection: bytes, verify_key: bytes) -> None:
        with self._transaction():
            self._file.execute(
                "UPDATE collections SET verify_key = ? WHERE digest = ?", (verify_key, collection)
            )

    def upload(self, collection: bytes, uploads: Sequence[Upload]) -> None:
        """New reports, all of them in one transaction."""
        rest = self._rest(collection)
        with self._transaction():
            self._file.executemany(
                "INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)",
                (_row(collection, upload, rest) for upload in uploads),
            )
        for upload in uploads:
            self._recent.keep(collection, upload.number, upload.rows)

    def rows(self, collection: bytes, upload: int) -> Rows:
        rest, recent = self._rest(collection), self._recent.get(collection, upload)
        return self._read(rest, collection, upload) if recent is None else recent

    def _read(self, rest: Rest, collection: bytes, upload: int) -> Rows:
        with storage_errors():
            row = self._file.execute(
                "SELECT reports, public_bytes, positions, rows FROM uploads WHERE collection = ? AND number = ?",
                (collection, upload),
            ).fetchone()
        if row is None:
            raise StorageFailed("an upload that was acknowledged is not there")
        count, public, positions, stored = row
        data = memoryview(rest.opened(stored, _name(upload, positions), _old_name(upload)))
        parts = data[:public], data[public:]
        return Rows(*(rows_from(part, count, len(part) // count) for part in parts))

    def vote(self, collection: bytes, positions: Positions, accepted: Mask) -> None:
        """What the server says about reports: on disk before anybody hears of it."""
        row = collection, collection, pack_positions(positions), mask_to_wire(accepted)
        with self._transaction():
            self._file.execute(
                "INSERT INTO votes VALUES (?,"
                " (SELECT coalesce(max(number), 0) + 1 FROM votes WHERE collection = ?), ?, ?)",
                row,
            )

    def commit(self, collection: bytes, job: Job, sums: Sequence[int], finished: Sequence[int]) -> None:
        """A decision, the sums with it, and without the uploads that are done with."""
        row = collection, job.number, pack_positions(job.positions), mask_to_wire(job.accepted)
        decided = _decided_then(self._decided.get(collection, b""), *row[1:])
        sealed = self._rest(collection).sealed(_packed(sums), _SUMS + decided)
        with self._transaction():
            self._file.execute("INSERT INTO jobs VALUES (?, ?, ?, ?)", row)
            self._file.execute("UPDATE collections SET sums = ? WHERE digest = ?", (sealed, collection))
            self._file.execute(
                "DELETE FROM votes WHERE collection = ? AND positions = ?", (collection, row[2])
            )
            self._file.executemany(
                "DELETE FROM uploads WHERE collection = ? AND number = ?",
                ((collection, number) for number in finished),
            )
        self._decided[collection] = decided
        self._recent.drop(collection, finished)

    def seal(self, collection: bytes, holding: Holding) -> None:
        with self._transaction():
            self._file.execute(
                "UPDATE collections SET reports = ?, accepted = ?, jobs = ? WHERE digest = ?",
                (holding.reports, holding.accepted, holding.jobs, collection),
            )

    def keep_joint(self, collection: bytes, record: bytes) -> None:
        sealed = self._rest(collection).sealed(record, b"joint")
        with self._transaction():
            self._file.execute("UPDATE collections SET joint = ? WHERE digest = ?", (sealed, collection))

    def release(self, collection: bytes, released: Release) -> None:
        """What is about to be published, in the place of everything else about the collection."""
        holding = released.holding
        row = (
            collection,
            self._releases,
            released.owner,
            holding.reports,
            holding.jobs,
            holding.accepted,
            released.element_bytes,
            released.noisy_sums,
            released.attempt,
        )
        with self._transaction():
            self._file.execute("INSERT INTO released VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._drop(collection)
        self._follow(collection, holding.accepted)
        self._forget(collection)

    def drop(self, collection: bytes) -> None:
        with self._transaction():
            self._drop(collection)
        self._forget(collection)

    def _forget(self, collection: bytes) -> None:
        self._recent.drop_all(collection)
        self._decided.pop(collection, None)

    def _drop(self, collection: bytes) -> None:
        self._file.execute("DELETE FROM collections WHERE digest = ?", (collection,))
        for table in _PARTS:
            self._file.execute(f"DELETE FROM {table} WHERE collection = ?", (collection,))  # noqa: S608

    def _rest(self, collection: bytes) -> Rest:
        secret = self._vault.secret(collection)
        if secret is None:
            raise StorageFailed("the secret of this collection is gone, and its reports with it")
        return Rest(secret)

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
        joint: bytes,
    ) -> KeptCollection:
        collection = codec.collection_from_wire(collection_pb2.Collection.FromString(description))
        if collection.digest != digest:
            raise StorageFailed(
                "the state of the share server has a collection under a digest that is not its own"
            )
        kept = KeptCollection(collection, owner, verify_key)
        if self._vault.secret(digest) is None:
            return kept
        jobs_kept = self._of("jobs", digest, ", accepted")
        self._decided[digest] = functools.reduce(
            lambda before, row: _decided_then(before, *row), jobs_kept, b""
        )
        if sums or jobs_kept:  # and neither without the other
            kept.sums = _unpacked(self._rest(digest).opened(sums, _SUMS + self._decided[digest], _SUMS))
        if joint:
            kept.joint = self._rest(digest).opened(joint, b"joint")
        if reports is not None:
            kept.sealed = Holding(reports, accepted, jobs, sealed=True)
        kept.uploads = {number: _positions(data) for number, data in self._of("uploads", digest)}
        kept.votes = [_decided(*row[1:]) for row in self._of("votes", digest, ", accepted")]
        kept.jobs = [Job(row[0], *_decided(*row[1:])) for row in jobs_kept]
        return kept

    def _of(self, table: str, digest: bytes, more: str = "") -> list[tuple[Any, ...]]:
        query = f"SELECT number, positions{more} FROM {table} WHERE collection = ? ORDER BY number"  # noqa: S608
        return self._file.execute(query, (digest,)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with storage_errors(), transaction(self._file):
            yield


class SqliteStorage(TableStorage):
    """State in a file."""

    def __init__(self, path: Path, name: str, vault: Vault, *, synced: bool = True) -> None:
        """Make the file, or go on with it.

        What is not `synced` outlives the process and not the machine: for simulations.
        """
        with storage_errors(path):
            make_private(path)
            file = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
            try:
                file.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                file.execute("PRAGMA locking_mode = EXCLUSIVE")
                file.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
                file.execute("PRAGMA journal_mode = WAL")
                file.execute(f"PRAGMA synchronous = {'FULL' if synced else 'OFF'}")
                if old_state.is_old(file):
                    old_state.upgrade(file, path)
                super().__init__(file, name, vault, str(path))
            except BaseException:
                file.close()
                raise


class PostgresStorage(TableStorage):
    """State in a PostgreSQL database, or in a schema of one (`options=-csearch_path=...` in its address)."""

    def __init__(self, address: str, name: str, vault: Vault) -> None:
        """Make the tables, or go on with them."""
        database = PostgresDatabase(address, WHAT, held=True)
        try:
            super().__init__(database, name, vault, "the database")
        except BaseException:
            database.close()
            raise


def storage_of(state: str | Path, name: str, vault: Vault) -> TableStorage:
    """The state at an address of a database, or in a file."""
    if is_address(str(state)):
        return PostgresStorage(str(state), name, vault)
    return SqliteStorage(Path(state), name, vault)


def has_state(address: str) -> bool:
    """Whether a database has the state of a share server."""
    with closing(PostgresDatabase(address, WHAT)) as database:
        if database.execute("SELECT to_regclass('server')").fetchone() == (None,):
            return False
        return database.execute("SELECT name FROM server").fetchone() is not None


def _packed(elements: Sequence[int]) -> bytes:
    """Field elements, of either field, in sixteen bytes each."""
    return b"".join(element.to_bytes(_ELEMENT_BYTES, "little") for element in elements)


def _unpacked(data: bytes) -> tuple[int, ...]:
    starts = range(0, len(data), _ELEMENT_BYTES)
    return tuple(int.from_bytes(data[at : at + _ELEMENT_BYTES], "little") for at in starts)


def _positions(data: bytes) -> Positions:
    return unpack_positions(data, MOST_PEOPLE)


def _decided(data: bytes, accepted: bytes) -> tuple[Positions, Mask]:
    positions = _positions(data)
    return positions, mask_from_wire(accepted, len(positions))


def _joined(rows: Rows) -> bytes:
    return b"".join(np.ascontiguousarray(part).data for part in (rows.public, rows.inputs))


def _row(collection: bytes, upload: Upload, rest: Rest) -> tuple[Value, ...]:
    positions, rows = pack_positions(upload.positions), upload.rows
    sealed = rest.sealed(_joined(rows), _name(upload.number, positions))
    return collection, upload.number, len(upload.positions), positions, rows.public.nbytes, sealed


def _name(upload: int, positions: bytes) -> bytes:
    """What an upload's reports are stored as: nobody who can write into the database gives them to other people."""
    return digest(b"upload", b"%d" % upload, positions)


def _old_name(upload: int) -> bytes:
    """The same of uploads that version 4 stored."""
    return b"upload %d" % upload


def _decided_then(before: bytes, number: int, positions: bytes, accepted: bytes) -> bytes:
    """All decisions that sums are about: whoever takes one off the record, to have it taken again, spoils the sums."""
    return digest(b"decided", before, b"%d" % number, positions, accepted)


storage_errors = functools.partial(durable.storage_errors, WHAT, also=(ValueError, DecodeError))
