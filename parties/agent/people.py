"""Who is who, for as long as the ledger lives: a person keeps the number that their budget is kept under.

A ledger counts by number.  If numbers were places in the table, sorting the table or adding a row at its top would hand
one person's spent budget to another.  So the first table gives every person a number, in order of appearance; later tables
are brought into that order, newcomers get the next numbers, and a table in which somebody is missing is refused, because
everybody behind them would move up.  What is kept of a person is a keyed digest of the identifier, useless without the
party's key.

What a number stands for is written down with them, and does not change once somebody was charged: the charges of rows
would otherwise be read as those of people.  A ledger looks at it with every charge (`parties.agent.ledger`).

Where the table has no column that says whose row it is, places are all there is; then a table that changed since its last
charge is refused, unless the owner vouches that rows keep their places (`fixed_order`).

Checked in tests/unit/parties/test_people.py.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidRecord
from parties.agent.ledger import storage_errors
from parties.durable import open_synced, transaction

Index = Literal["row", "person", "row of a person"]  # what a ledger keeps budgets by

_DIGEST_BYTES = 16
_MEANING = "CREATE TABLE IF NOT EXISTS indices (meaning TEXT NOT NULL) STRICT"
_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS people (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT"
)


def pin_indices(ledger: Path, meaning: Index, *, write: bool = True) -> None:
    """Write down what the ledger's numbers stand for; refuse to read its charges as those of something else.

    Whoever only reads the ledger does not `write`.
    """
    with storage_errors(), closing(open_synced(ledger)) as file:
        file.execute(_MEANING)
        with transaction(file):
            pinned = file.execute("SELECT meaning FROM indices").fetchone()
            if pinned is not None and pinned[0] != meaning and _has_charges(file):
                raise InvalidRecord(
                    f"the ledger has charges, and keeps budgets by {pinned[0]}; now they would be read as by {meaning}. "
                    "Put data.person and data.rows back, or start a new agent"
                )
            if write:
                file.execute("DELETE FROM indices")
                file.execute("INSERT INTO indices VALUES (?)", (meaning,))


def _has_charges(file: sqlite3.Connection) -> bool:
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return "charges" in tables and file.execute("SELECT 1 FROM charges LIMIT 1").fetchone() is not None


def number_people(
    ledger: Path, key: bytes, identifiers: Sequence[str], *, write: bool = True
) -> NDArray[np.int64]:
    """The numbers of these different people, durably; those who are new get the next ones, in the order given."""
    digests = [hmac.digest(key, name.encode(), hashlib.sha256)[:_DIGEST_BYTES] for name in identifiers]
    with storage_errors(ledger), closing(open_synced(ledger)) as file:
        file.execute(_LAYOUT)
        return _numbers(file, digests, write)


def _numbers(file: sqlite3.Connection, digests: list[bytes], write: bool) -> NDArray[np.int64]:
    with transaction(file):
        known = {digest: number for number, digest in file.execute("SELECT number, digest FROM people")}
        _require_everybody(known, digests)
        new = [digest for digest in digests if digest not in known]
        known.update({digest: len(known) + place for place, digest in enumerate(new)})
        if write:
            file.executemany(
                "INSERT INTO people VALUES (?, ?)", [(known[digest], digest) for digest in new]
            )
    return np.array([known[digest] for digest in digests], np.int64)


def _require_everybody(known: dict[bytes, int], digests: list[bytes]) -> None:
    missing = len(known.keys() - set(digests))
    if missing:
        raise InvalidRecord(
            f"{missing} people who were in the table are not in it any more; keep their rows, or start a new agent"
        )
