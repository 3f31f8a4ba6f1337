"""The durable ledger: SQLite, written and synced before a report is drawn.

One row a charge, however many people it is for: a cohort is a few numbers.  The sums per person are kept in memory
and rebuilt from the rows at start.  Every charge runs in an IMMEDIATE transaction that first reads the rows that
another process may have added, so two agents on one file cannot both spend the last of a budget.  If the row cannot be
written and synced, the charge fails and nothing is answered.

Checked by tests/contract/test_ledger.py, tests/unit/parties/test_sqlite_ledger.py and tests/fault/.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts, Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed

_BUSY_SECONDS = 30.0
_LAYOUT = """
CREATE TABLE IF NOT EXISTS charges (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  request BLOB NOT NULL,
  records BLOB NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  seed BLOB,
  parts INTEGER,
  part INTEGER,
  cost_nanonats INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  charged_at TEXT NOT NULL
) STRICT
"""


class SqliteLedger:
    """A ledger in a file.  One object belongs to one thread; several processes may share the file."""

    def __init__(self, path: Path, people: int, limit: Epsilon) -> None:
        self._accounts = Accounts(people, limit)
        self._last_number = 0
        with _storage_errors():
            self._file = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
            self._file.execute(_LAYOUT)
            self._catch_up()

    @property
    def limit(self) -> Epsilon:
        """What each person may spend in total."""
        return self._accounts.limit

    def charge(self, charge: Charge) -> bool:
        """Take the charge, whole or not at all; when this returns, it is on disk."""
        with _storage_errors(), self._transaction():
            self._catch_up()
            debtors = self._accounts.debtors(charge)
            if debtors is None:
                return False
            number = self._insert(charge)
        self._accounts.take(charge, debtors)
        self._last_number = number
        return True

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        with _storage_errors():
            self._catch_up()
        return self._accounts.spent()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    def _insert(self, charge: Charge) -> int:
        split = charge.cohort.split
        row = (
            charge.request,
            charge.records,
            charge.cohort.start,
            charge.cohort.stop,
            split.seed if split else None,
            split.parts if split else None,
            split.part if split else None,
            charge.cost.nanonats,
            charge.purpose,
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        cursor = self._file.execute(
            "INSERT INTO charges (request, records, start, stop, seed, parts, part, cost_nanonats, purpose, charged_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _catch_up(self) -> None:
        """Book what stands in the file and was not booked here yet: another process wrote it, or an earlier run."""
        rows = self._file.execute(
            "SELECT number, request, records, start, stop, seed, parts, part, cost_nanonats, purpose FROM charges"
            " WHERE number > ? ORDER BY number",
            (self._last_number,),
        )
        for number, request, records, start, stop, seed, parts, part, cost, purpose in rows.fetchall():
            try:
                split = Split(seed, parts, part) if seed is not None else None
                charge = Charge(request, records, Cohort(start, stop, split), Epsilon(cost), purpose)
            except (InvalidParameter, TypeError) as error:
                raise StorageFailed(f"row {number} of the ledger is not a charge") from error
            self._accounts.rebook(charge)
            self._last_number = number


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise StorageFailed(f"the ledger could not be read or written ({type(error).__name__})") from error
