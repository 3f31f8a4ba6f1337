"""Who is who, for as long as the ledger lives: a person keeps the number that their budget is kept under.

A ledger counts by number.  If numbers were places in the table, sorting the table or adding a row at its top would hand
one person's spent budget to another.  So the first table gives every person a number, in order of appearance; later tables
are brought into that order, newcomers get the next numbers, and a table in which somebody is missing is refused, because
everybody behind them would move up.  What is kept of a person is a keyed digest of the identifier, useless without the
party's key.

Where the table has no column that says whose row it is, places are all there is; then a table that changed since its last
charge is refused, unless the owner vouches that rows keep their places (`fixed_order`).

Checked in tests/unit/parties/test_people.py.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidRecord
from parties.agent.ledger import make_private, storage_errors

_DIGEST_BYTES = 16
_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS people (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT"
)


def number_people(ledger: Path, key: bytes, identifiers: Sequence[str]) -> NDArray[np.int64]:
    """The numbers of these different people, durably; those who are new get the next ones, in the order given."""
    digests = [hmac.digest(key, name.encode(), hashlib.sha256)[:_DIGEST_BYTES] for name in identifiers]
    with storage_errors():
        make_private(ledger)
        file = sqlite3.connect(ledger, timeout=30.0, isolation_level=None)
        try:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = FULL")
            file.execute(_LAYOUT)
            return _numbers(file, digests)
        finally:
            file.close()


def _numbers(file: sqlite3.Connection, digests: list[bytes]) -> NDArray[np.int64]:
    file.execute("BEGIN IMMEDIATE")
    try:
        known = {digest: number for number, digest in file.execute("SELECT number, digest FROM people")}
        _require_everybody(known, digests)
        new = [digest for digest in digests if digest not in known]
        known.update({digest: len(known) + place for place, digest in enumerate(new)})
        file.executemany("INSERT INTO people VALUES (?, ?)", [(known[digest], digest) for digest in new])
        file.execute("COMMIT")
    except BaseException:
        file.execute("ROLLBACK")
        raise
    return np.array([known[digest] for digest in digests], np.int64)


def _require_everybody(known: dict[bytes, int], digests: list[bytes]) -> None:
    missing = len(known.keys() - set(digests))
    if missing:
        raise InvalidRecord(
            f"{missing} people who were in the table are not in it any more; keep their rows, or start a new agent"
        )
