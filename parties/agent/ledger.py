"""The durable ledger: SQLite, written and synced before a report is drawn.

One row a charge, however many people it is for: a cohort is a few numbers.  A row of epsilon 0 says that reports which
were paid for before went to one more caller.  The sums per person are kept in memory and rebuilt from the rows at start.
Every charge runs in an IMMEDIATE transaction that first reads the rows that another process may have added, so two agents
on one file cannot both spend the last of a budget.  If the row cannot be written and synced, the charge fails and nothing
is answered.

Every row carries the digest of itself and of the row before it, and the rows are numbered without gaps.  A row that was
changed, removed, moved or put in later is noticed when the ledger is opened, and the ledger is refused: it is a register
of every use of epsilon (section 13.1) that can be exported and signed.  What this cannot see is a ledger that ends
too early: an older copy put back in place of the file is a whole ledger, and forgets what came after it.  Nor is the
chain keyed: it finds accidents and clumsy hands, and an export that somebody else keeps finds the rest.

Time only serves the day's budget and the owner's reading.  It never runs backwards here: a charge is stamped with the
clock or with the last stamp, whichever is later, so turning the clock back does not bring a day's budget back.  Turning
it forward begins the next day early, once: from then on that day lasts until the clock has come to its end.

Checked by tests/contract/test_ledger.py, tests/unit/parties/test_sqlite_ledger.py, tests/unit/parties/test_day_budget.py,
tests/unit/parties/test_ledger_chain.py and tests/fault/.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Accounts, Charge, Debtors, Receipt, as_noted, is_nobody
from localdp.cohorts import Cohort, Split
from localdp.errors import InvalidParameter, StorageFailed
from localdp.framing import digest
from parties.durable import BUSY_SECONDS, failure, open_synced, transaction

SECONDS_PER_DAY = 86_400
FIRST_LINK = bytes(32)
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
        index: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`index` is what its numbers stand for, as `parties.agent.people` has written down in the file."""
        self._index = index
        self._accounts = Accounts(people, limit, owners, limit_per_day)
        self._clock = clock
        self._last = 0, 0, FIRST_LINK  # number, stamp and link of the last row that was booked
        with storage_errors(path):
            self._file = open_synced(path)
            self._file.execute(_LAYOUT)
            require_whole(self._file)
            self._catch_up()

    @property
    def limit(self) -> Epsilon:
        """What each person may spend in total."""
        return self._accounts.limit

    def charge(self, charge: Charge) -> Receipt:
        """Take the charge, whole or not at all; when this returns, it is on disk."""
        with storage_errors(), transaction(self._file):
            charge, stamp, debtors = self._examined(charge)
            if debtors is None:
                return Receipt(False, charge.key)
            charge = as_noted(charge, debtors)
            last = self._insert(charge, stamp)
        self._accounts.take(charge, debtors, stamp // SECONDS_PER_DAY)
        self._last = last
        return Receipt(not is_nobody(debtors), charge.key)

    def require(self, charge: Charge) -> None:
        """Refuse what `charge` would refuse now, under the same lock; nothing is written."""
        with storage_errors(), transaction(self._file):
            self._examined(charge)

    def last_state(self) -> bytes | None:
        """The state of the records at the last charge; None if there was none."""
        with storage_errors():
            row = self._file.execute("SELECT records FROM charges ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else bytes(row[0])

    def spent(self) -> NDArray[np.int64]:
        """Nanonats spent by each person."""
        with storage_errors():
            self._catch_up()
        return self._accounts.spent()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _examined(self, charge: Charge) -> tuple[Charge, int, Debtors | None]:
        """The charge under its request's own key, its stamp, and who would have to pay; raises where it is refused."""
        self._catch_up()
        self._require_index()
        charge = replace(charge, key=self._accounts.key_of(charge))
        stamp = max(int(self._clock()), self._last[1])
        return charge, stamp, self._accounts.debtors(charge, stamp // SECONDS_PER_DAY)

    def _require_index(self) -> None:
        """Somebody may have opened the file meanwhile under another configuration."""
        if self._index is None:
            return
        meaning = self._file.execute("SELECT meaning FROM indices").fetchone()
        if meaning is None or meaning[0] != self._index:
            raise StorageFailed(
                "the numbers in the ledger were given another meaning since this agent was started; start it again"
            )

    def _insert(self, charge: Charge, stamp: int) -> tuple[int, int, bytes]:
        split = charge.cohort.split
        link = link_after(self._last[2], charge, stamp)
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
            self._accounts.rebook(entry.charge, entry.charged_at // SECONDS_PER_DAY)
            self._last = entry.number, entry.charged_at, entry.chain


def read_entries(file: sqlite3.Connection, after: int = 0, link: bytes = FIRST_LINK) -> Iterator[Entry]:
    """The rows after a number, each checked against the row before it."""
    rows = file.execute(
        f"SELECT number, {_COLUMNS} FROM charges WHERE number > ? ORDER BY number",  # noqa: S608
        (after,),
    )
    for number, row in enumerate(rows.fetchall(), after + 1):
        entry = _entry(row)
        link = link_after(link, entry.charge, entry.charged_at)
        if entry.number != number or entry.chain != link:
            raise StorageFailed(f"row {entry.number} of the ledger does not follow from the row before it")
        yield entry


def require_whole(file: sqlite3.Connection) -> None:
    """Refuse a ledger whose last rows were deleted: SQLite remembers the last number that it gave out."""
    given, first, last = file.execute(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'charges'), min(number), max(number) FROM charges"
    ).fetchone()
    if given != last:
        raise StorageFailed("rows at the end of the ledger are missing")
    if first not in (None, 1):
        raise StorageFailed("the rows of the ledger are not numbered from 1")


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A ledger to look at; it is neither made nor changed."""
    with storage_errors(path):
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        file.execute("SELECT count(*) FROM charges")
        return file


def _entry(row: tuple[object, ...]) -> Entry:
    number, request, records, start, stop, seed, parts, part, cost, purpose, caller, key, stamp, chain = row
    if (seed is None) != (parts is None) or (seed is None) != (part is None):
        raise StorageFailed(f"row {number} of the ledger is not a charge")
    try:
        split = Split(seed, parts, part) if seed is not None else None  # type: ignore[arg-type]
        cohort = Cohort(start, stop, split)  # type: ignore[arg-type]
        charge = Charge(request, records, cohort, Epsilon(cost), purpose, caller, key)  # type: ignore[arg-type]
        return Entry(number, charge, stamp, chain)  # type: ignore[arg-type]
    except (InvalidParameter, TypeError) as error:
        raise StorageFailed(f"row {number} of the ledger is not a charge") from error


def link_after(before: bytes, charge: Charge, stamp: int) -> bytes:
    """The digest that a row carries: of the one before it, and of all that it says."""
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


@contextmanager
def storage_errors(path: Path | None = None) -> Iterator[None]:
    """Whatever goes wrong with the file, as one error of ours."""
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError) as error:
        raise failure("the ledger", path, error) from error
