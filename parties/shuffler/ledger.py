"""What a shuffler has promised, in SQLite or PostgreSQL: written and synced before mixed reports leave.

A row for each party of a request, however many people it is for; the sums per person are kept in memory and rebuilt from
the rows at start.  A request is booked in one IMMEDIATE transaction that first reads what another process may have added,
so two shufflers on one ledger cannot both spend the last of a total.  If it cannot be written, nothing leaves.  With it
stands which reports were mixed, by a keyed digest; files of before do not have that, and what they name is not mixed again.

Rows are numbered without gaps, and the last number that was given out is on record beside them: rows that were deleted are
noticed when the ledger is opened.  An older copy put in its place is not: it forgets what came after it.  A database that
was away is opened again by whoever asks next; if it has come back as an older copy, the shuffler that runs knows more, and
refuses.

Checked by tests/contract/test_promise_ledger.py and tests/unit/parties/shuffler/test_promise_ledger_file.py.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import Outlay, PromisedSums
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from parties.database import Database, is_address, run_all
from parties.durable import add_column, open_synced, require_there_or_new, storage_errors, transaction
from parties.postgres import PostgresDatabase

_WHAT = "the shuffler's ledger"
_COLUMNS = "request, party, start, stop, seed, parts, part, epsilon_nanonats, delta_trillionths, reports"
_LAYOUT = """
CREATE TABLE promised (
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
) STRICT;
"""
# Of the rows that were given a number, the last: SQLite keeps that by itself.
_LAST_LAYOUT = """
CREATE TABLE last_promised (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
INSERT INTO last_promised VALUES (1, 0);
"""
_LOSS = "would forget what was promised"

Row = tuple[int, bytes, str, int, int, bytes | None, int | None, int | None, int, int, bytes | None]


class TablePromiseLedger:
    """What was promised so far, in a table.  One object belongs to one thread; several processes may share the table."""

    _last_given: str  # asks for the last number that was given out

    def __init__(
        self, connect: Callable[[], Database], epsilon_total: Epsilon, delta_total: Fraction
    ) -> None:
        """`connect` opens what is there already."""
        self._sums = PromisedSums(epsilon_total, delta_total)
        self._last = 0  # number of the last row that was booked
        self._connect = connect
        with _storage_errors():
            self._file = self._opened()
            try:
                self._catch_up()
            except BaseException:
                self._file.close()
                raise

    def _opened(self) -> Database:
        """A connection to what is on record, all of it."""
        file = self._connect()
        try:
            with transaction(file):
                given = file.execute(self._last_given).fetchone()
                last = file.execute("SELECT coalesce(max(number), 0) FROM promised").fetchone()
            if given != last:
                raise StorageFailed("rows at the end of the shuffler's ledger are missing")
            if last[0] < self._last:
                raise StorageFailed(
                    "the shuffler's ledger is an older copy: it has forgotten what was promised"
                )
        except BaseException:
            file.close()
            raise
        return file

    def require(self, outlay: Outlay) -> None:
        """Refuse what somebody could not pay."""
        with _storage_errors():
            self._reach()
            self._catch_up()
        self._sums.require(outlay)

    def charge(self, outlay: Outlay) -> None:
        """Book it, whole or not at all; when this returns, it is on disk."""
        with _storage_errors():
            self._reach()
            with transaction(self._file):
                self._catch_up()
                self._sums.require(outlay)
                if self._sums.is_booked(outlay):
                    return
                self._add(list(_rows(outlay)))
            self._catch_up()

    def _add(self, rows: list[tuple[object, ...]]) -> None:
        places = ", ".join("?" * (_COLUMNS.count(",") + 2))
        numbered = [(number, *row) for number, row in enumerate(rows, self._last + 1)]
        statement = f"INSERT INTO promised (number, {_COLUMNS}) VALUES ({places})"  # noqa: S608
        self._file.executemany(statement, numbered)  # type: ignore[arg-type]

    def _reach(self) -> None:
        """Go on with another connection, where a database has lost this one."""
        if isinstance(self._file, PostgresDatabase) and self._file.lost:
            self._file = self._opened()

    def spent(self, name: str, people: int) -> NDArray[np.int64]:
        """Nanonats and trillionths of delta, in two rows, of so many people of a party."""
        return self._sums.spent(name, people)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def _catch_up(self) -> None:
        """Book what is on record and was not booked here yet; the rows of a request were written together."""
        rows: list[Row] = self._file.execute(
            f"SELECT number, {_COLUMNS} FROM promised WHERE number > ? ORDER BY number",  # noqa: S608
            (self._last,),
        ).fetchall()
        if [row[0] for row in rows] != list(range(self._last + 1, self._last + 1 + len(rows))):
            raise StorageFailed("rows of the shuffler's ledger are missing")
        for _, some in groupby(rows, key=lambda row: row[1]):
            self._sums.book(_outlay(list(some)))
        self._last += len(rows)


class SqlitePromiseLedger(TablePromiseLedger):
    """In a file."""

    _last_given = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'promised'), 0)"

    def __init__(
        self, path: Path, epsilon_total: Epsilon, delta_total: Fraction, *, new: bool = False
    ) -> None:
        """Open a file, or make a `new` one: one that is gone or empty would forget what was promised."""
        require_there_or_new(path, new, "ledger", _LOSS, "shuffler", "--ledger")
        super().__init__(lambda: _file(path, new=new), epsilon_total, delta_total)


class PostgresPromiseLedger(TablePromiseLedger):
    """In a PostgreSQL database, or in a schema of one."""

    _last_given = "SELECT number FROM last_promised"

    def __init__(
        self, address: str, epsilon_total: Epsilon, delta_total: Fraction, *, new: bool = False
    ) -> None:
        """Go on with the tables, or make `new` ones."""
        with closing(PostgresDatabase(address, _WHAT)) as database:
            _make_or_find(database, new=new)
        super().__init__(lambda: PostgresDatabase(address, _WHAT), epsilon_total, delta_total)

    def _add(self, rows: list[tuple[object, ...]]) -> None:
        super()._add(rows)
        self._file.execute("UPDATE last_promised SET number = ?", (self._last + len(rows),))


def promise_ledger(
    place: str | Path, epsilon_total: Epsilon, delta_total: Fraction, *, new: bool = False
) -> TablePromiseLedger:
    """The ledger at the address of a database, or in a file."""
    if is_address(str(place)):
        return PostgresPromiseLedger(str(place), epsilon_total, delta_total, new=new)
    return SqlitePromiseLedger(Path(place), epsilon_total, delta_total, new=new)


def _file(path: Path, *, new: bool) -> sqlite3.Connection:
    file = open_synced(path)
    try:
        with transaction(file):
            if new:
                run_all(file, _LAYOUT)
            add_column(file, "promised", "reports", "BLOB")  # files of before do not have it
    except BaseException:
        file.close()
        raise
    return file


def _make_or_find(database: PostgresDatabase, *, new: bool) -> None:
    with transaction(database):
        there = database.execute("SELECT to_regclass('promised')").fetchone() != (None,)
        if new and there:
            raise InvalidParameter(
                "the database has a ledger already; go on with it, or give another --ledger"
            )
        if not new and not there:
            raise InvalidParameter(
                f"there is no ledger in the database; a new one {_LOSS}. If this shuffler is new, say --new"
            )
        if new:
            run_all(database, _LAYOUT + _LAST_LAYOUT)


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


_storage_errors = functools.partial(storage_errors, _WHAT)
