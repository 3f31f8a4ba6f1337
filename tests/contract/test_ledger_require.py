"""What every ledger promises of `require`: it refuses exactly what `charge` would, and leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.accounting.ledger_of_some import LedgerOfSome
from localdp.cohorts import Cohort, Split
from localdp.errors import LocalDpError
from parties.agent.ledger import SECONDS_PER_DAY
from parties.observability.observer import Observer, WatchedLedger
from tests.support.ledgers import sqlite_ledger

PEOPLE = 12
LIMIT, TENTH = Epsilon.requested(1), Epsilon.requested("0.1")
STEPS = 300
Make = Callable[[Path], Ledger]


def _watched(path: Path) -> Ledger:
    return WatchedLedger(sqlite_ledger(path, PEOPLE, LIMIT), Observer("agent", "north"))


LEDGERS: dict[str, Make] = {
    "memory": lambda path: MemoryLedger(PEOPLE, LIMIT),
    "sqlite": lambda path: sqlite_ledger(path, PEOPLE, LIMIT),
    "sqlite that forgets": lambda path: sqlite_ledger(path, PEOPLE, LIMIT, remembered_bytes=1),
    "sqlite by day": lambda path: sqlite_ledger(
        path, PEOPLE, LIMIT, limit_per_day=TENTH * 3, clock=lambda: 10**9
    ),
    "watched": _watched,
}


def charges(seed: int) -> Iterator[Charge]:
    """New and repeated requests of all kinds that a ledger refuses: too much, too late, of another epoch, a lost key."""
    random = np.random.default_rng(seed)
    for _ in range(STEPS):
        start, stop = sorted(int(edge) for edge in random.integers(0, PEOPLE + 2, 2))
        parts = int(random.integers(1, 4))
        seeded = Split(bytes([int(random.integers(3))]) * 16, parts, int(random.integers(parts)))
        request = b"%d" % random.integers(40)
        yield Charge(
            request,
            b"records",
            Cohort(start, stop, seeded if random.random() < 0.3 else None),
            Epsilon(10**7 * (1 + request[0] % 20)),
            "a test",
            "analyst" if random.random() < 0.8 else "auditor",
            f"key-{int(random.integers(2))}",
            None if random.random() < 0.5 else frozenset({f"key-{int(random.integers(2))}"}),
            1 if random.random() < 0.9 else 2,
        )


def outcome(act: Callable[[], object]) -> tuple[str, str]:
    try:
        act()
    except LocalDpError as error:
        return type(error).__name__, str(error)
    return "", ""


def files(path: Path) -> dict[str, bytes]:
    """All bytes on the disk; the index of the log is memory that processes share, and holds no row."""
    return {
        one.name: one.read_bytes() for one in path.parent.glob(path.name + "*") if one.suffix != ".db-shm"
    }


def require_agreement(ledger: Ledger, path: Path, seed: int) -> set[str]:
    """`require` foretells every `charge` of a sequence, and changes nothing; returns how the charges ended."""
    seen = set()
    for charge in charges(seed):
        before, stored = ledger.spent(), files(path)
        told = [outcome(lambda one=charge: ledger.require(one)) for _ in range(2)]  # type: ignore[misc]
        assert (ledger.spent() == before).all() and files(path) == stored
        assert told == [outcome(lambda one=charge: ledger.charge(one))] * 2  # type: ignore[misc]
        seen.add(told[0][0])
    return seen


@pytest.mark.parametrize("kind", LEDGERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_charge_is_refused_exactly_if_it_was_foretold_and_in_the_same_words(
    tmp_path: Path, kind: str, seed: int
) -> None:
    path = tmp_path / "ledger.db"
    ended = require_agreement(LEDGERS[kind](path), path, seed)
    assert ended == {"", "BudgetExhausted", "RequestExpired", "KeyRetired", "UnknownIndex"}


def test_what_is_foretold_moves_with_the_day(tmp_path: Path) -> None:
    path, now = tmp_path / "ledger.db", [10**9]
    ledger = sqlite_ledger(path, PEOPLE, LIMIT, limit_per_day=TENTH, clock=lambda: now[0])
    first, second = (Charge(name, b"records", Cohort(0, 3), TENTH, "a test") for name in (b"1", b"2"))
    ledger.charge(first)
    assert outcome(lambda: ledger.require(second))[0] == "BudgetExhausted"
    now[0] += SECONDS_PER_DAY
    assert outcome(lambda: ledger.require(second)) == ("", "")
    now[0] -= SECONDS_PER_DAY  # a look at tomorrow does not begin it
    assert outcome(lambda: ledger.charge(second))[0] == "BudgetExhausted"


def test_what_another_process_spent_is_foretold(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    one, other = (sqlite_ledger(path, PEOPLE, LIMIT) for _ in range(2))
    asked = Charge(b"2", b"records", Cohort(0, 3), TENTH, "a test")
    one.require(asked)
    other.charge(Charge(b"1", b"records", Cohort(0, PEOPLE), LIMIT, "a test"))
    assert outcome(lambda: one.require(asked))[0] == "BudgetExhausted"


def test_a_curators_view_foretells_its_charges() -> None:
    whole = MemoryLedger(PEOPLE, LIMIT)
    view = LedgerOfSome(whole, (range(4), range(8, 12)))
    everybody = Cohort(0, 8)
    for number in range(12):
        charge = Charge(
            b"%d" % number, b"records", everybody if number % 5 else Cohort(0, 3), TENTH, "a test"
        )
        before = whole.spent()
        told = outcome(lambda one=charge: view.require(one))  # type: ignore[misc]
        assert (whole.spent() == before).all()
        assert told == outcome(lambda one=charge: view.charge(one))  # type: ignore[misc]


class _Blind(MemoryLedger):
    """Broken: foretells from the limit alone."""

    def require(self, charge: Charge) -> None:
        MemoryLedger(PEOPLE, self.limit).require(charge)


class _Charging(MemoryLedger):
    """Broken: takes the question for the charge."""

    def require(self, charge: Charge) -> None:
        self.charge(charge)


class _NewRequest(MemoryLedger):
    """Broken: does not know what was paid."""

    def require(self, charge: Charge) -> None:
        self._accounts._requests, requests = {}, self._accounts._requests
        try:
            super().require(charge)
        finally:
            self._accounts._requests = requests


@pytest.mark.parametrize("broken", [_Blind, _Charging, _NewRequest])
def test_a_ledger_that_foretells_otherwise_is_noticed(tmp_path: Path, broken: Any) -> None:
    with pytest.raises(AssertionError):
        require_agreement(broken(PEOPLE, LIMIT), tmp_path / "ledger.db", 0)
