"""The state of a share server as version 0.1 wrote it: with its key, exact sums and noise in clear.

Releases are kept, and nothing else; a collection in progress cannot be finished here, because it is not bound to its
servers (`localdp.sharing.binding`), so a state that has one is refused.  The key goes to the vault: agents that know the
server by it need not be told.

Checked in tests/unit/parties/shares/test_old_share_state.py.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from localdp.errors import StorageFailed
from parties.database import run_all
from parties.durable import transaction
from parties.shares import layout
from parties.wire.v1 import collection_pb2 as pb

_WIDE = (pb.ENCODING_KIND_HISTOGRAM, pb.ENCODING_KIND_MULTIHOT, pb.ENCODING_KIND_VECTOR)
_STORED_BYTES = 16


def is_old(file: sqlite3.Connection) -> bool:
    """Whether this is a state of version 0.1."""
    return "key" in {row[1] for row in file.execute("PRAGMA table_info(server)")}


def key_of(path: Path) -> bytes | None:
    """The key in a state of version 0.1; None in any other, and where there is none.  Refuses what cannot be upgraded."""
    if not path.exists() or path.stat().st_size == 0:
        return None
    file = sqlite3.connect(path, isolation_level=None)
    try:
        if not is_old(file):
            return None
        _require_finished(file, path)
        row = file.execute("SELECT key FROM server").fetchone()
        return None if row is None else bytes(row[0])
    finally:
        file.close()


def _require_finished(file: sqlite3.Connection, path: Path) -> None:
    """Refuse a state with a collection in progress."""
    pending = file.execute("SELECT count(*) FROM collections WHERE noisy_sums IS NULL").fetchone()[0]
    if pending:
        raise StorageFailed(
            f"{path} was written by version 0.1 and has {pending} collections in progress: release them with that"
            " version, or move the file away and tell the agents the new key"
        )


def upgrade(file: sqlite3.Connection, path: Path) -> None:
    """Bring the file into the form of today, with every release; exact sums, noise and the key are wiped."""
    _require_finished(file, path)
    name = file.execute("SELECT name FROM server").fetchone()[0]
    rows = file.execute(
        "SELECT digest, description, owner, reports, jobs, accepted, noisy_sums FROM collections"
    ).fetchall()
    file.execute("PRAGMA secure_delete = ON")
    with transaction(file):
        for table in ("server", "collections", "uploads", "jobs"):
            file.execute(f"DROP TABLE {table}")
        run_all(file, layout.TABLES)
        file.execute("INSERT INTO server VALUES (1, ?)", (name,))
        file.executemany(
            "INSERT INTO released VALUES (?, ?, ?, ?, ?, ?, ?, ?, x'')",  # no attempt at joint noise
            map(_released, range(len(rows)), rows),
        )
        file.execute(f"PRAGMA user_version = {layout.VERSION}")
    file.execute("VACUUM")
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _released(number: int, row: tuple[bytes, bytes, str, int, int, bytes, bytes]) -> tuple[object, ...]:
    digest, description, owner, reports, jobs, accepted, noisy = row
    collection = pb.Collection.FromString(description)
    wide = collection.tier == pb.TIER_PRIO3 and collection.encoding.kind in _WIDE
    width = 16 if wide else 8
    starts = range(0, len(noisy), _STORED_BYTES)
    sums = b"".join(noisy[at : at + width] for at in starts)
    return digest, number, owner, reports, jobs, accepted, width, sums
