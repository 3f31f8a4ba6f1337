"""What a shuffler has promised, in a file: SQLite, written and synced before mixed reports leave.

A row for each party of a request, however many people it is for; the sums per person are kept in memory and rebuilt from
the rows at start.  A request is booked in one IMMEDIATE transaction that first reads what another process may have added,
so two shufflers on one file cannot both spend the last of a total.  If it cannot be written, nothing leaves.  With it
stands which reports were mixed, by a keyed digest; files of before do not have that, and what they name is not mixed again.

Rows are numbered without gaps, and SQLite remembers the last number that it gave out: rows that were deleted are noticed
when the file is opened.  An older copy put in its place is not: it forgets what came after it.

Checked by tests/contract/test_promise_ledger.py and tests/unit/parties/shuffler/test_promise_ledger_file.py.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promised import Outlay, PromisedSums
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from parties.durable import add_column, open_synced, require_there_or_new, storage_errors, transaction

_COLUMNS = "request, party, start, stop, seed, parts, part, epsilon_nanonats, delta_trillionths, reports"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS promised (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  request BLOB NOT NULL,
  party TEXT NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  seed BLOB,
  parts INTEGER,
  part INTEGER,
  epsilon_nanonats INTEGER NOT NULL,
  delta_trillionths INTEGER NOT NULL,
  reports BLOB
) STRICT
"""

Row = tuple[int, bytes, str, int, int, bytes | None, int | None, int | None, int, int, bytes | None]


class SqlitePromiseLedger:
    """What was promised so far, in a file.  One object belongs to one thread; several processes may share the file."""

    def __init__(
        self, path: Path, epsilon_total: Epsilon, delta_total: Fraction, *, new: bool = False
    ) -> None:
        """Open a file, or make a `new` one: one that is gone or empty would forget what was promised."""
        self._sums = PromisedSums(epsilon_total, delta_total)
        self._last = 0  # number of the last row that was booked
        require_there_or_new(path, new, "ledger", "would forget what was promised", "shuffler", "--ledger")
        with _storage_errors():
            self._file = open_synced(path)
            if new:
                self._file.execute(_LAYOUT)
            _require_whole(self._file)
            _complete(self._file)
            self._catch_up()

    def require(self, outlay: Outlay) -> None:
        """Refuse what somebody could not pay."""
        with _storage_errors():
            self._catch_up()
        self._sums.require(outlay)

    def charge(self, outlay: Outlay) -> None:
        """Book it, whole or not at all; when this returns, it is on disk."""
        with _storage_errors(), transaction(self._file):
            self._catch_up()
            self._sums.require(outlay)
            if self._sums.is_booked(outlay):
                return
            places = ", ".join("?" * (_COLUMNS.count(",") + 1))
            self._file.executemany(
                f"INSERT INTO promised ({_COLUMNS}) VALUES ({places})",  # noqa: S608
                list(_rows(outlay)),
            )
        with _storage_errors():
            self._catch_up()

    def spent(self, name: str, people: int) -> NDArray[np.int64]:
        """Nanonats and trillionths of delta, in two rows, of so many people of a party."""
        return self._sums.spent(name, people)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _catch_up(self) -> None:
        """Book what stands in the file and was not booked here yet; the rows of a request were written together."""
        rows: list[Row] = self._file.execute(
            f"SELECT number, {_COLUMNS} FROM promised WHERE number > ? ORDER BY number",  # noqa: S608
            (self._last,),
        ).fetchall()
        if [row[0] for row in rows] != list(range(self._last + 1, self._last + 1 + len(rows))):
            raise StorageFailed("rows of the shuffler's ledger are missing")
        for _, some in groupby(rows, key=lambda row: row[1]):
            self._sums.book(_outlay(list(some)))
        self._last += len(rows)


def _rows(outlay: Outlay) -> Iterator[tuple[object, ...]]:
    for name, cohort in outlay.parts:
        split = cohort.split
        divided = (None, None, None) if split is None else (split.seed, split.parts, split.part)
        cost = outlay.epsilon.nanonats, outlay.delta_trillionths
        yield outlay.request, name, cohort.start, cohort.stop, *divided, *cost, outlay.reports


def _outlay(rows: list[Row]) -> Outlay:
    try:
        parts = tuple((row[2], Cohort(row[3], row[4], _split(*row[5:8]))) for row in rows)
        return Outlay(rows[0][1], parts, Epsilon(rows[0][8]), rows[0][9], rows[0][10] or b"")
    except (InvalidParameter, TypeError) as error:
        raise StorageFailed(f"row {rows[0][0]} of the shuffler's ledger is not a request") from error


def _split(seed: bytes | None, parts: int | None, part: int | None) -> Split | None:
    if seed is None or parts is None or part is None:
        return None  # everybody of the range: at least whom it was about
    return Split(seed, parts, part)


def _require_whole(file: sqlite3.Connection) -> None:
    given, last = file.execute(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'promised'), max(number) FROM promised"
    ).fetchone()
    if given != last:
        raise StorageFailed("rows at the end of the shuffler's ledger are missing")


def _complete(file: sqlite3.Connection) -> None:
    """Add what files of before do not have."""
    with transaction(file):
        add_column(file, "promised", "reports", "BLOB")


_storage_errors = functools.partial(storage_errors, "the shuffler's ledger")
