"""Checkpoints: what a ledger begins from is what adding everything up comes to, or everything is added up."""

from __future__ import annotations

import random
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Sums
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, StorageFailed
from parties.agent import ledger as module
from parties.agent.checkpoint import MOST_STEPS, digest_of, steps_of
from parties.agent.entries import Checkpoint
from parties.agent.ledger import SqliteLedger
from tests.support.ledgers import NAT, Clock, charge, entries_in, sqlite_ledger

PEOPLE = 9


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 500_000)
    monkeypatch.setattr(module, "_WORTH_A_CHECKPOINT", 250_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def opened(path: Path, people: int = PEOPLE, **options: Any) -> closing[SqliteLedger]:
    return closing(sqlite_ledger(path, people, NAT * 50, **{"clock": Clock(), **options}))


def checkpoints(path: Path) -> int:
    return sum(isinstance(entry.content, Checkpoint) for entry in entries_in(path))


def charges(seed: int, ledger: SqliteLedger) -> Iterator[None]:
    """Charges of all kinds, and losses."""
    choice = random.Random(seed)  # noqa: S311 - it chooses charges
    for _ in range(30):
        start, stop = sorted(choice.choices(range(PEOPLE + 1), k=2))
        split = Split(bytes([choice.randrange(3)]) * 16, 2, choice.randrange(2))
        cohort = Cohort(start, stop, split if choice.random() < 0.4 else None)
        ledger.charge(charge(choice.randrange(12), cohort, Epsilon(10**8), caller=choice.choice("ab")))
        if choice.random() < 0.1:
            ledger.charge_everybody(Epsilon(choice.randrange(10**6)), "a test")
        yield


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("by_day", [False, True])
def test_a_start_from_a_checkpoint_is_a_start_from_nothing(path: Path, seed: int, by_day: bool) -> None:
    options: dict[str, Any] = {"limit_per_day": NAT * 50} if by_day else {}
    with opened(path, **options) as ledger:
        for _ in charges(seed, ledger):
            pass
        spent, standing, day = ledger.spent(), ledger._standing, ledger._accounts.sums().today.copy()
    assert checkpoints(path) > 3
    with opened(path, **options) as ledger:
        assert (ledger.spent() == spent).all()
        assert (ledger._accounts.sums().today == day).all()
        assert ledger._standing.total == standing.total and ledger._standing.requests == standing.requests
    with closing(sqlite3.connect(path)) as file:
        file.execute("DELETE FROM checkpoints")
        file.commit()
    with opened(path, **options) as ledger:
        assert (ledger.spent() == spent).all()
        assert ledger._standing.total == standing.total and ledger._standing.requests == standing.requests


def test_one_is_written_when_adding_up_would_take_about_a_second_and_at_close(path: Path) -> None:
    with opened(path) as ledger:
        for number in range(4):
            ledger.charge(charge(number, Cohort(0, 1)))
        assert checkpoints(path) == 0
        ledger.charge(charge(4, Cohort(0, 1)))
        assert checkpoints(path) == 1
        ledger.charge(charge(5, Cohort(0, 1)))
    assert checkpoints(path) == 1  # not worth it
    with opened(path) as ledger:
        for number in range(6, 9):
            ledger.charge(charge(number, Cohort(0, 1)))
    assert checkpoints(path) == 2


def test_splits_count_for_what_they_take() -> None:
    everybody, half = Cohort(0, 10**6), Cohort(0, 10**6, Split(bytes(16), 2, 0))
    assert 10 < MOST_STEPS / steps_of(half) < 100
    assert MOST_STEPS / steps_of(everybody) > 1000


DAMAGE = {
    "nothing spent": b"0 0 %d\n" % (8 * PEOPLE) + zlib.compress(bytes(8 * PEOPLE)),
    "no text": b"?",
    "nothing": b"",
    "half of it": None,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_sums_that_the_chain_does_not_name_are_not_believed(path: Path, damage: str) -> None:
    with opened(path) as ledger:
        for _ in charges(1, ledger):
            pass
        spent = ledger.spent()
    with closing(sqlite3.connect(path)) as file:
        (whole,) = file.execute("SELECT sums FROM checkpoints").fetchone()
        file.execute("UPDATE checkpoints SET sums = ?", (DAMAGE[damage] or whole[: len(whole) // 2],))
        file.commit()
    with opened(path) as ledger:
        assert (ledger.spent() == spent).all()


def test_sums_of_another_entry_are_not_believed(path: Path) -> None:
    with opened(path) as ledger:
        everything = charges(1, ledger)
        old: bytes = b""
        for _ in everything:
            found = ledger._file.execute("SELECT sums FROM checkpoints").fetchone()
            if found and not old:
                old = bytes(found[0])
        spent = ledger.spent()
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE checkpoints SET sums = ?", (old,))
        file.commit()
    with opened(path) as ledger:
        assert (ledger.spent() == spent).all()


def test_an_entry_before_the_checkpoint_that_was_changed_is_noticed(path: Path) -> None:
    with opened(path) as ledger:
        for _ in charges(1, ledger):
            pass
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE entries SET stamp = stamp + 1 WHERE number = 2")
        file.commit()
    with pytest.raises(StorageFailed, match="entry 2"):
        opened(path)


def test_newcomers_have_spent_what_everybody_lost(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge_everybody(NAT, "a loss")
        for number in range(5):
            ledger.charge(charge(number, Cohort(0, PEOPLE)))
    assert checkpoints(path) == 1
    with opened(path, PEOPLE + 2) as ledger:
        assert ledger.spent().tolist() == [6 * NAT.nanonats] * PEOPLE + [NAT.nanonats] * 2
    with pytest.raises(StorageFailed, match="more people"):
        opened(path, PEOPLE - 1)


def test_a_full_disk_at_a_checkpoint_costs_nobody_an_answer(path: Path) -> None:
    class Full(SqliteLedger):
        def _checkpoint(self) -> Checkpoint:
            raise sqlite3.OperationalError("database or disk is full")

    with closing(Full(path, PEOPLE, NAT * 50, chain_key=bytes(32))) as ledger:
        for number in range(12):
            assert ledger.charge(charge(number, Cohort(0, PEOPLE)))


def test_the_digest_tells_all_sums_apart() -> None:
    def sums(spent: list[int], losses: int, day: int, today: list[int]) -> Sums:
        return Sums(np.array(spent, np.int64), losses, day, np.array(today, np.int64))

    different = [
        sums([1, 2], 0, 0, []),
        sums([1], 0, 0, [2]),
        sums([], 0, 0, [1, 2]),
        sums([1, 2], 1, 0, []),
        sums([1, 2], 0, 1, []),
        sums([2, 1], 0, 0, []),
    ]
    assert len({digest_of(one) for one in different}) == len(different)


def test_a_budget_is_spent_once_whatever_was_saved(path: Path) -> None:
    for number in range(60):
        with opened(path) as ledger:
            try:
                ledger.charge(charge(number, Cohort(0, PEOPLE)))
            except BudgetExhausted:
                assert number == 50
                break
    else:
        raise AssertionError("nobody said that the budget is spent")
