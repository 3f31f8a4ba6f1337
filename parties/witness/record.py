"""What a witness knows, in a file: SQLite, one row a party, synced before a countersignature leaves.

Only the newest head of each party is kept, with the key that signed it: that is enough to refuse whatever does not come
after it (`parties.witness.heads`), and state that grew with every charge would be a reason to turn the witness off.  A key
is on record under one name alone: an agent does not get rid of its past by another name.  At most `MOST_PARTIES` parties
are on record.  The witness's own key is made with the file and stays in it, so a record that was
lost and begun anew has another key, which agents that pinned the old one refuse.

An older copy of this file is an older witness, and the file cannot show it: it countersigns again what it has forgotten.
Nothing is lost by that as long as the agent's own state is not put back at the same time.

Checked in tests/unit/parties/witness/test_witness_record.py, and with kill -9 in tests/fault/test_witness_kill_nine.py.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, StorageFailed
from parties.durable import (
    make_private_directory,
    open_synced,
    require_there_or_new,
    storage_errors,
    transaction,
)
from parties.witness.heads import (
    KEY_BYTES,
    CountersignedHead,
    Head,
    SignedHead,
    SignedStep,
    countersign,
    public_key_of,
    require_follows,
)

FILE_NAME = "witness.sqlite"
MOST_PARTIES = 1 << 16
VERSION = 1
_LAYOUT = f"""
CREATE TABLE witness (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL) STRICT;
CREATE TABLE heads (
  party TEXT PRIMARY KEY,
  entries INTEGER NOT NULL,
  link BLOB NOT NULL,
  public_key BLOB NOT NULL,
  signature BLOB NOT NULL,
  countersignature BLOB NOT NULL,
  countersigned_at INTEGER NOT NULL
) STRICT;
PRAGMA user_version = {VERSION};
"""
_COLUMNS = "party, entries, link, public_key, signature, countersignature, countersigned_at"


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A head on record, and when it was countersigned, in seconds since 1970."""

    countersigned: CountersignedHead
    countersigned_at: int


class WitnessRecord:
    """The record in a directory.  One object belongs to one thread at a time; several processes may share the file."""

    def __init__(
        self, directory: Path, *, new: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        """Open a record, or make a `new` one: one that is gone would forget how far ledgers had come."""
        path = directory / FILE_NAME
        require_there_or_new(path, new, "witness's record", "would know no ledger", "witness", "--state")
        self._clock = clock
        with _storage_errors(path):
            if new:
                make_private_directory(directory)
            self._file = open_synced(path)
            if new:
                self._make()
            self._path, self._place = path, _place(path)
            self.signer = self._signer()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def latest(self, party: str) -> CountersignedHead | None:
        """The newest head of a party."""
        with _storage_errors():
            self._require_its_file()
            kept = self._kept(party)
        return None if kept is None else kept.countersigned

    def countersign(self, step: SignedStep) -> CountersignedHead:
        """Keep a head that comes after the newest one; when this returns, it is on disk."""
        signed = step.signed
        with _storage_errors(), transaction(self._file):
            self._require_its_file()
            kept = self._kept(signed.head.party)
            if kept is None:
                self._require_new(signed)
            else:
                _require_key(kept.countersigned.signed, signed)
            newest = None if kept is None else kept.countersigned.signed.head
            require_follows(newest, signed.head, step.after)
            if kept is not None and newest == signed.head:
                return kept.countersigned
            countersigned = countersign(signed, self.signer)
            self._file.execute(
                f"INSERT OR REPLACE INTO heads ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (*_columns(countersigned), int(self._clock())),
            )
        return countersigned

    def forget(self, party: str) -> Head:
        """Take a party off the record: its next head is its first."""
        with _storage_errors(), transaction(self._file):
            kept = self._kept(party)
            if kept is None:
                raise InvalidParameter(f"no party named {party!r} is on record")
            self._file.execute("DELETE FROM heads WHERE party = ?", (party,))
        return kept.countersigned.signed.head

    def everybody(self) -> list[KeptHead]:
        """All heads on record, by name."""
        with _storage_errors():
            rows = self._file.execute(f"SELECT {_COLUMNS} FROM heads ORDER BY party").fetchall()  # noqa: S608
            return [self._kept_of(row) for row in rows]

    def _require_its_file(self) -> None:
        """Refuse to go on with a file that was deleted or replaced: what is written to it now, nobody would find again."""
        if _place(self._path) != self._place:
            raise StorageFailed("the witness's record was deleted or replaced while it was open")

    def _make(self) -> None:
        with transaction(self._file):
            for statement in filter(str.strip, _LAYOUT.split(";")):
                self._file.execute(statement)
            self._file.execute("INSERT INTO witness VALUES (1, ?)", (os.urandom(KEY_BYTES),))

    def _signer(self) -> Ed25519PrivateKey:
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise StorageFailed(f"this is not a witness's record of version {VERSION}")
        (key,) = self._file.execute("SELECT key FROM witness").fetchone()
        return Ed25519PrivateKey.from_private_bytes(key)

    def _kept(self, party: str) -> KeptHead | None:
        row = self._file.execute(
            f"SELECT {_COLUMNS} FROM heads WHERE party = ?",  # noqa: S608
            (party,),
        ).fetchone()
        return None if row is None else self._kept_of(row)

    def _kept_of(self, row: tuple[str, int, bytes, bytes, bytes, bytes, int]) -> KeptHead:
        """A row, if it is what this witness has signed: a changed one is not."""
        party, entries, link, public_key, signature, countersignature, at = row
        try:
            signed = SignedHead(Head(party, entries, link), public_key, signature)
            return KeptHead(CountersignedHead(signed, public_key_of(self.signer), countersignature), at)
        except LocalDpError as error:
            raise StorageFailed(f"the record of {party!r} is not what the witness has signed") from error

    def _require_new(self, signed: SignedHead) -> None:
        """Refuse a party that there is no room for, and one whose key is another's."""
        found = self._file.execute(
            "SELECT party FROM heads WHERE public_key = ?", (signed.public_key,)
        ).fetchone()
        if found is not None:
            raise PolicyRefused(
                f"the witness knows the key of {signed.head.party!r} as that of {found[0]!r}; give the agent its name back"
            )
        (parties,) = self._file.execute("SELECT count(*) FROM heads").fetchone()
        if parties >= MOST_PARTIES:
            raise PolicyRefused(f"this witness has {MOST_PARTIES} parties on record, and takes no more")


def _require_key(newest: SignedHead, signed: SignedHead) -> None:
    if newest.public_key != signed.public_key:
        raise PolicyRefused("the witness knows this party by another key")


def _place(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _columns(countersigned: CountersignedHead) -> tuple[object, ...]:
    signed, head = countersigned.signed, countersigned.signed.head
    signatures = signed.public_key, signed.signature, countersigned.countersignature
    return head.party, head.entries, head.link, *signatures


_storage_errors = functools.partial(storage_errors, "the witness's record", also=(ValueError, TypeError))
