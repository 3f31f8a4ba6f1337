"""Ledgers in files, with a clock in the test's hand, and what stands in them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from parties.agent.ledger import SECONDS_PER_DAY, Entry, SqliteLedger, read_entries

NAT = Epsilon.requested(1)


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: float = 20_000.25 * SECONDS_PER_DAY

    def __call__(self) -> float:
        return self.now

    def jump(self, days: float) -> None:
        """Move by so many days, in either direction."""
        self.now += days * SECONDS_PER_DAY


def charge(number: int, cohort: Cohort, cost: Epsilon = NAT, **changes: Any) -> Charge:
    """The charge of request `number` for a cohort."""
    return Charge(b"request %d" % number, b"records", cohort, cost, f"question {number}", **changes)


def a_ledger_of_four_charges(path: Path, people: int = 8) -> None:
    """A file with rows of every kind: a range, a split, a caller, a key, newcomers of an earlier request."""
    with closing(SqliteLedger(path, people, NAT * 10, clock=Clock())) as ledger:
        ledger.charge(charge(1, Cohort(0, people)))
        ledger.charge(charge(2, Cohort(0, people, Split(b"s" * 16, 2, 1)), caller="analyst", key="key-1"))
        ledger.charge(charge(3, Cohort(0, 3), NAT * 2, caller="auditor", key="key-2"))
        ledger.charge(charge(3, Cohort(2, 6), NAT * 2, caller="analyst", key="key-3"))


def entries_in(path: Path) -> list[Entry]:
    """The rows of a file, checked."""
    with closing(sqlite3.connect(path)) as file:
        return list(read_entries(file))


def spent_by_day(entries: list[Entry], people: int) -> dict[int, NDArray[np.int64]]:
    """What each person spent on each day, by the stamps of the rows; newcomers of a request alone pay."""
    paid: dict[bytes, NDArray[np.bool_]] = {}
    days: dict[int, NDArray[np.int64]] = {}
    for entry in entries:
        before = paid.setdefault(entry.charge.request, np.zeros(people, np.bool_))
        asked = np.zeros(people, np.bool_)
        asked[entry.charge.cohort.selection()] = True
        day = days.setdefault(entry.charged_at // SECONDS_PER_DAY, np.zeros(people, np.int64))
        day += (asked & ~before) * entry.charge.cost.nanonats
        before |= asked
    return days
