"""Who is who, for as long as the ledger lives: a person keeps the number that their budget is kept under.

A ledger counts by number.  If numbers were places in the table, sorting the table or adding a row at its top would hand
one person's spent budget to another.  So the first table gives every person a number, in order of appearance; later tables
are brought into that order, newcomers get the next numbers, and a table in which somebody is missing is refused, because
everybody behind them would move up.  What is kept of a person is a keyed digest of the identifier, useless without the
party's key.

What a number stands for is written down with them, and does not change once somebody was charged: the charges of rows
would otherwise be read as those of people.  A ledger looks at it with every charge (`parties.agent.ledger`).

Where the table has no column that says whose row it is, places are all there is; then a table is not read again once
somebody was charged, unless the owner vouches that rows keep their places (`fixed_order`).

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
from parties.agent.chain import open_read_only, storage_errors, version_of

Index = Literal["row", "person", "row of a person"]  # what a ledger keeps budgets by

_DIGEST_BYTES = 16
_MEANING = "CREATE TABLE IF NOT EXISTS indices (meaning TEXT NOT NULL) STRICT"
_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS people (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT"
)


def require_index(ledger: Path, meaning: Index) -> None:
    """Refuse to read the charges of a ledger as those of something else than what its numbers stand for."""
    pinned = pinned_index(ledger) if ledger.exists() else None
    if pinned in (None, meaning):
        return
    with storage_errors(ledger), closing(open_read_only(ledger)) as file:
        charged = _has_charges(file)
    if charged:
        raise InvalidRecord(
            f"the ledger has charges, and keeps budgets by {pinned}; now they would be read as by {meaning}. "
            "Put data.person and data.rows back, or start a new agent, which begins all budgets anew"
        )


def pinned_index(ledger: Path) -> str | None:
    """What the ledger's numbers stand for; None if it has none."""
    with storage_errors(ledger), closing(open_read_only(ledger)) as file:
        try:
            found = file.execute("SELECT meaning FROM indices").fetchone()
        except sqlite3.OperationalError:
            return None
    return None if found is None else str(found[0])


def _has_charges(file: sqlite3.Connection) -> bool:
    charges = {1: "SELECT 1 FROM charges LIMIT 1", 2: "SELECT 1 FROM entries WHERE kind = 'charge' LIMIT 1"}
    version = version_of(file)
    return version in charges and file.execute(charges[version]).fetchone() is not None


class Numbers:
    """The numbers of the people in a table: those who are known keep theirs, and newcomers get the next ones.

    They are written down with the epoch that the table is published in, in one transaction: a table that is not published
    after all leaves nobody behind.
    """

    def __init__(self, ledger: Path, key: bytes, meaning: Index) -> None:
        self._ledger, self._key, self._meaning = ledger, key, meaning
        self._counted: int | None = None  # people who had numbers when the table was read
        self._new: list[tuple[int, bytes]] = []

    def __call__(self, identifiers: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of these different people, in the order given."""
        digests = [
            hmac.digest(self._key, name.encode(), hashlib.sha256)[:_DIGEST_BYTES] for name in identifiers
        ]
        known = _known(self._ledger)
        _require_everybody(known, digests)
        new = [digest for digest in digests if digest not in known]
        self._counted = len(known)
        self._new = [(len(known) + place, digest) for place, digest in enumerate(new)]
        numbers = {**known, **{digest: number for number, digest in self._new}}
        return np.array([numbers[digest] for digest in digests], np.int64)

    def write(self, file: sqlite3.Connection) -> None:
        """Write down what the numbers stand for, and those of newcomers; within a transaction."""
        file.execute(_MEANING)
        file.execute("DELETE FROM indices")
        file.execute("INSERT INTO indices VALUES (?)", (self._meaning,))
        file.execute(_LAYOUT)
        (count,) = file.execute("SELECT count(*) FROM people").fetchone()
        if self._counted not in (None, count):
            raise InvalidRecord("somebody else has published meanwhile; publish again")
        file.executemany("INSERT INTO people VALUES (?, ?)", self._new)


def _known(ledger: Path) -> dict[bytes, int]:
    """The people who have numbers."""
    if not ledger.exists():
        return {}
    with storage_errors(ledger), closing(open_read_only(ledger)) as file:
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "people" not in tables:
            return {}
        return {
            bytes(digest): number for number, digest in file.execute("SELECT number, digest FROM people")
        }


def _require_everybody(known: dict[bytes, int], digests: list[bytes]) -> None:
    missing = len(known.keys() - set(digests))
    if missing:
        raise InvalidRecord(
            f"{missing} people who were in the table are not in it any more; keep their rows, as budgets are kept by them"
        )
