"""Who is who, for as long as the ledger lives: a person keeps the number that their budget is kept under.

A ledger counts by number.  If numbers were places in the table, sorting the table or adding a row at its top would hand
one person's spent budget to another.  So the first table gives every person a number, in order of appearance; later tables
are brought into that order, newcomers get the next numbers, and a table in which somebody is missing is refused, because
everybody behind them would move up.  What is kept of a person is a keyed digest of the identifier, useless without the
party's key.

What a number stands for is written down with them, in words, and does not change once somebody was charged: the charges
of rows would otherwise be read as those of people, and those of one column's people as those of another's.  The party's
name is a part of it: collections count people by it, so under a second name they would be counted twice at one charge.  A
ledger looks at it with every charge (`parties.agent.ledger`).  What an older version wrote down of it is completed at the
next start.

Where the table has no column that says whose row it is, places are all there is; then a table is not read again once
somebody was charged, unless the owner vouches that rows keep their places (`fixed_order`).

Checked in tests/unit/parties/agent/test_people.py and tests/unit/parties/agent/test_whose_budgets.py.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidRecord
from parties.agent.chain import ledger_errors, open_read_only, version_of
from parties.durable import Data, open_synced, transaction

Index = Literal["row", "person", "row of a person"]  # what a ledger keeps budgets by

_DIGEST_BYTES = 16
_MEANING = "CREATE TABLE IF NOT EXISTS indices (meaning TEXT NOT NULL) STRICT"
_LAYOUT = (
    "CREATE TABLE IF NOT EXISTS people (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the numbers of a ledger stand for."""

    party: str  # whose people they are
    index: Index
    column: str | None = None  # that says whose row it is

    def __str__(self) -> str:
        by = "" if self.column is None else f", by {_quoted(self.column)}"
        return f"{self.index}{by}, of {_quoted(self.party)}"

    def agrees(self, pinned: str | None) -> bool:
        """Whether a ledger says this, or as much of it as an older version wrote down."""
        return pinned in (str(self), self.index)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def require_meaning(ledger: Path, meaning: Meaning) -> None:
    """Refuse to read the charges of a ledger as those of something else than what its numbers stand for."""
    pinned = pinned_meaning(ledger) if ledger.exists() else None
    if pinned is None or meaning.agrees(pinned):
        return
    with ledger_errors(ledger), closing(open_read_only(ledger)) as file:
        charged = _has_charges(file)
    if charged:
        raise InvalidRecord(
            f"the ledger has charges, and keeps budgets by {pinned}; now they would be read as by {meaning}. "
            "Put name, data.person and data.rows back, or start a new agent, which begins all budgets anew"
        )


def complete_meaning(ledger: Path, meaning: Meaning) -> None:
    """Write down in full what an older version wrote down in part; before the ledger is opened."""
    if pinned_meaning(ledger) == str(meaning):
        return
    with ledger_errors(ledger), closing(open_synced(ledger)) as file, transaction(file):
        file.execute("UPDATE indices SET meaning = ? WHERE meaning = ?", (str(meaning), meaning.index))


def pinned_meaning(ledger: Path) -> str | None:
    """What the ledger's numbers stand for; None if it has none."""
    with ledger_errors(ledger), closing(open_read_only(ledger)) as file:
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

    def __init__(self, ledger: Path, key: bytes, meaning: Meaning) -> None:
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

    def noted(self) -> dict[str, object]:
        """What was found out about a table, to be written down until it is published."""
        new = [[number, digest.hex()] for number, digest in self._new]
        return {"meaning": str(self._meaning), "counted": self._counted, "new": new}

    def note(self, noted: Data) -> bool:
        """Take it up again; False if numbers stand for something else by now."""
        self._counted = noted["counted"]
        self._new = [(number, bytes.fromhex(digest)) for number, digest in noted["new"]]
        return bool(noted["meaning"] == str(self._meaning))

    def write(self, file: sqlite3.Connection) -> None:
        """Write down what the numbers stand for, and those of newcomers; within a transaction."""
        file.execute(_MEANING)
        file.execute("DELETE FROM indices")
        file.execute("INSERT INTO indices VALUES (?)", (str(self._meaning),))
        file.execute(_LAYOUT)
        (count,) = file.execute("SELECT count(*) FROM people").fetchone()
        if self._counted not in (None, count):
            raise InvalidRecord("somebody else has published meanwhile; publish again")
        file.executemany("INSERT INTO people VALUES (?, ?)", self._new)


def _known(ledger: Path) -> dict[bytes, int]:
    """The people who have numbers."""
    if not ledger.exists():
        return {}
    with ledger_errors(ledger), closing(open_read_only(ledger)) as file:
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
