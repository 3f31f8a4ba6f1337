"""Ledgers in files, with a clock in the test's hand, and what stands in them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import Unreachable
from parties.agent.entries import LedgerEntry
from parties.agent.ledger import SECONDS_PER_DAY, SqliteLedger
from parties.agent.register import entries_of
from parties.agent.secret_file import FILE_NAME, load_secrets
from parties.witness.heads import Head, require_follows

NAT = Epsilon.requested(1)
CHAIN_KEY = bytes(range(32))


def sqlite_ledger(path: Path, people: int, limit: Epsilon, **options: Any) -> SqliteLedger:
    """The ledger in that file, under the key of these tests."""
    return SqliteLedger(path, people, limit, **{"chain_key": CHAIN_KEY, **options})


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: float = 20_000.25 * SECONDS_PER_DAY

    def __call__(self) -> float:
        return self.now

    def jump(self, days: float) -> None:
        """Move by so many days, in either direction."""
        self.now += days * SECONDS_PER_DAY


class Ticking(Clock):
    """Stands in for the module `time` of a process that sleeps, in seconds since 1970."""

    def time(self) -> float:
        """What time it is."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds


class FaithfulWitness:
    """A witness in the same process, that may be away."""

    def __init__(self, key: bytes | None = None, *, named: bool = False) -> None:
        self.key, self.named = key, named
        self._heads: list[Head] = []
        self.away = False
        self.calls = 0

    def latest(self) -> Head | None:
        """The last head that it has heard of."""
        self._require_here()
        return self._heads[-1] if self._heads else None

    def countersign(self, head: Head, after: Head | None) -> None:
        """Remember it, if it comes after the last one."""
        self.calls += 1
        self._require_here()
        require_follows(self._heads[-1] if self._heads else None, head, after)
        self._heads.append(head)

    def close(self) -> None:
        """It stays where it is for the next one who asks."""

    def _require_here(self) -> None:
        if self.away:
            raise Unreachable("the witness cannot be reached")


def charge(number: int, cohort: Cohort, cost: Epsilon = NAT, **changes: Any) -> Charge:
    """The charge of request `number` for a cohort."""
    return Charge(b"request %d" % number, b"records", cohort, cost, f"question {number}", **changes)


def a_ledger_of_four_charges(path: Path, people: int = 8) -> None:
    """A file with rows of every kind: a range, a split, a caller, a key, newcomers of an earlier request."""
    with closing(sqlite_ledger(path, people, NAT * 10, clock=Clock())) as ledger:
        ledger.charge(charge(1, Cohort(0, people)))
        ledger.charge(charge(2, Cohort(0, people, Split(b"s" * 16, 2, 1)), caller="analyst", key="key-1"))
        ledger.charge(charge(3, Cohort(0, 3), NAT * 2, caller="auditor", key="key-2"))
        ledger.charge(charge(3, Cohort(2, 6), NAT * 2, caller="analyst", key="key-3"))


def entries_in(path: Path, key: bytes = b"") -> list[LedgerEntry]:
    """The entries of a file, checked: of an agent's if its keys are beside it, of one of these tests otherwise."""
    if not key:
        kept = (path.parent / FILE_NAME).exists()
        key = load_secrets(path.parent).chain_key if kept else CHAIN_KEY
    return entries_of(path, key)


def charges_in(path: Path, key: bytes = b"") -> list[Charge]:
    """The charges of a file, checked."""
    return [entry.content for entry in entries_in(path, key) if isinstance(entry.content, Charge)]


def spent_by_day(entries: list[LedgerEntry], people: int) -> dict[int, NDArray[np.int64]]:
    """What each person spent on each day, by the stamps of the rows; newcomers of a request alone pay."""
    paid: dict[bytes, NDArray[np.bool_]] = {}
    days: dict[int, NDArray[np.int64]] = {}
    for entry in entries:
        charge = entry.content
        if not isinstance(charge, Charge):
            continue
        before = paid.setdefault(charge.request, np.zeros(people, np.bool_))
        asked = np.zeros(people, np.bool_)
        asked[charge.cohort.selection()] = True
        day = days.setdefault(entry.stamp // SECONDS_PER_DAY, np.zeros(people, np.int64))
        day += (asked & ~before) * charge.cost.nanonats
        before |= asked
    return days
