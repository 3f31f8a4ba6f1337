"""The durable ledger: SQLite, written and synced before a report is drawn.

One row a charge, however many people it is for: a cohort is a few numbers.  The sums per person are kept in memory and
rebuilt from the rows at start.  Every charge runs in an IMMEDIATE transaction that first reads the rows that another
process may have added, so two agents on one file cannot both spend the last of a budget.  If the row cannot be written
and synced, the charge fails and nothing is answered.

Every row carries the digest of itself and of the row before it.  A row that was changed, removed or put in later breaks the
chain and the ledger is refused: it is a register of every use of epsilon (section 13.1) that can be exported and signed.

Time only serves the day's budget and the owner's reading.  It never runs backwards here: a charge is stamped with the
clock or with the last stamp, whichever is later, so turning the clock back does not bring a day's budget back.

Checked by tests/contract/test_ledger.py, tests/unit/parties/test_sqlite_ledger.py and tests/fault/.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts, Charge, Receipt
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from localdp.framing import digest

SECONDS_PER_DAY = 86_400
_BUSY_SECONDS = 30.0
_FIRST_LINK = bytes(32)
_COLUMNS = "request, records, start, stop, seed, parts, part, cost_nanonats, purpose, caller, key_name, charged_at, chain"
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
  caller TEXT NOT NULL,
  key_name TEXT NOT NULL,
  charged_at INTEGER NOT NULL,
  chain BLOB NOT NULL
) STRICT
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger."""

    number: int
    charge: Charge
    charged_at: int  # seconds since 1970
    chain: bytes  # digest of this row and of all before it


class SqliteLedger:
    """A ledger in a file.  One object belongs to one thread; several processes may share the file."""

    def __init__(
        self,
        path: Path,
        people: int,
        limit: Epsilon,
        *,
        owners: NDArray[np.int64] | None = None,
        limit_per_day: Epsilon | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._accounts = Accounts(people, limit, owners, limit_per_day)
        self._clock = clock
        self._last = 0, 0, _FIRST_LINK  # number, stamp and link of the last row that was booked
        with _storage_errors():
            _make_private(path)
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

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all; when this returns, it is on disk."""
        with _storage_errors(), self._transaction():
            self._catch_up()
            key = self._accounts.key_of(charge)
            stamp = max(int(self._clock()), self._last[1])
            self._accounts.begin_day(stamp // SECONDS_PER_DAY)
            debtors = self._accounts.debtors(charge)
            if debtors is None:
                return Receipt(False, key)
            last = self._insert(charge, stamp)
        self._accounts.take(charge, debtors)
        self._last = last
        return Receipt(True, key)

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

    def _insert(self, charge: Charge, stamp: int) -> tuple[int, int, bytes]:
        split = charge.cohort.split
        link = _link(self._last[2], charge, stamp)
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
            charge.caller,
            charge.key,
            stamp,
            link,
        )
        places = ", ".join("?" * len(row))
        cursor = self._file.execute(f"INSERT INTO charges ({_COLUMNS}) VALUES ({places})", row)  # noqa: S608
        assert cursor.lastrowid is not None
        return cursor.lastrowid, stamp, link

    def _catch_up(self) -> None:
        """Book what stands in the file and was not booked here yet: another process wrote it, or an earlier run."""
        for entry in read_entries(self._file, self._last[0], self._last[2]):
            self._accounts.begin_day(entry.charged_at // SECONDS_PER_DAY)
            self._accounts.rebook(entry.charge)
            self._last = entry.number, entry.charged_at, entry.chain


def read_entries(file: sqlite3.Connection, after: int = 0, link: bytes = _FIRST_LINK) -> Iterator[Entry]:
    """The rows after a number, each checked against the row before it."""
    rows = file.execute(
        f"SELECT number, {_COLUMNS} FROM charges WHERE number > ? ORDER BY number",  # noqa: S608
        (after,),
    )
    for row in rows.fetchall():
        entry = _entry(row)
        link = _link(link, entry.charge, entry.charged_at)
        if entry.chain != link:
            raise StorageFailed(f"row {entry.number} of the ledger does not follow from the row before it")
        yield entry


def _make_private(path: Path) -> None:
    """A new ledger is for its owner's eyes; SQLite gives its companion files the same mode."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A ledger to look at; it is neither made nor changed."""
    with _storage_errors():
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        file.execute("SELECT count(*) FROM charges")
        return file


def _entry(row: tuple[object, ...]) -> Entry:
    number, request, records, start, stop, seed, parts, part, cost, purpose, caller, key, stamp, chain = row
    try:
        split = Split(seed, parts, part) if seed is not None else None  # type: ignore[arg-type]
        cohort = Cohort(start, stop, split)  # type: ignore[arg-type]
        charge = Charge(request, records, cohort, Epsilon(cost), purpose, caller, key)  # type: ignore[arg-type]
        return Entry(number, charge, stamp, chain)  # type: ignore[arg-type]
    except (InvalidParameter, TypeError) as error:
        raise StorageFailed(f"row {number} of the ledger is not a charge") from error


def _link(before: bytes, charge: Charge, stamp: int) -> bytes:
    cohort, split = charge.cohort, charge.cohort.split
    return digest(
        b"localdp ledger v1",
        before,
        charge.request,
        charge.records,
        b"%d %d" % (cohort.start, cohort.stop),
        b"" if split is None else b"%d %d " % (split.parts, split.part) + split.seed,
        b"%d %d" % (charge.cost.nanonats, stamp),
        charge.purpose.encode(),
        charge.caller.encode(),
        charge.key.encode(),
    )


def chained(entries: Iterable[Mapping[str, Any]]) -> str:
    """The last link of exported entries, computed anew from what they say; in hexadecimal, empty for none."""
    link = _FIRST_LINK
    for entry in entries:
        part = entry.get("split")
        split = Split(bytes.fromhex(part["seed"]), part["parts"], part["part"]) if part else None
        charge = Charge(
            bytes.fromhex(entry["request"]),
            bytes.fromhex(entry["records"]),
            Cohort(entry["start"], entry["stop"], split),
            Epsilon(entry["epsilon_nanonats"]),
            entry["purpose"],
            entry["caller"],
            entry["key"],
        )
        link = _link(link, charge, entry["charged_at"])
    return "" if link == _FIRST_LINK else link.hex()


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError) as error:
        raise StorageFailed(f"the ledger could not be read or written ({type(error).__name__})") from error
