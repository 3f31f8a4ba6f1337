"""A day's budget: it comes back at midnight and at no other time, whatever the clock is made to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, StorageFailed, UnknownIndex
from parties.agent.ledger import SECONDS_PER_DAY, SqliteLedger
from tests.support.ledgers import NAT, Clock, charge, entries_in, spent_by_day, sqlite_ledger

PEOPLE = 4
EVERYBODY = Cohort(0, PEOPLE)
TOTAL = NAT * 5


class Owner:
    """One file, one clock, and a ledger that can be opened again; two nats a day."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock, self._number = path, Clock(), 0
        self.ledger = self.opened()

    def opened(self) -> SqliteLedger:
        return sqlite_ledger(self.path, PEOPLE, TOTAL, limit_per_day=NAT * 2, clock=self.clock)

    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    def new(self, ledger: SqliteLedger | None = None, cost: Epsilon = NAT) -> bool:
        """Whether a new request of that cost is granted."""
        self._number += 1
        try:
            return bool((ledger or self.ledger).charge(charge(self._number, EVERYBODY, cost)))
        except BudgetExhausted:
            return False

    def granted(self, requests: int) -> int:
        """How many of so many new requests are granted."""
        return sum(self.new() for _ in range(requests))


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path / "ledger")
    yield made
    made.ledger.close()
    for day in spent_by_day(entries_in(made.path), PEOPLE).values():
        assert int(day.max()) <= 2 * NAT.nanonats


def test_a_day_has_its_budget_and_the_next_day_has_its_own(owner: Owner) -> None:
    assert owner.granted(3) == 2
    owner.clock.jump(1)
    assert owner.granted(3) == 2
    owner.clock.jump(1)
    assert owner.granted(3) == 1  # five nats in all


def test_the_refusal_says_which_budget_it_was(owner: Owner) -> None:
    owner.granted(2)
    with pytest.raises(BudgetExhausted, match="day's budget of 2"):
        owner.ledger.charge(charge(99, EVERYBODY))
    owner.clock.jump(1)
    owner.granted(2)
    owner.clock.jump(1)
    with pytest.raises(BudgetExhausted, match="the budget of 5"):
        owner.ledger.charge(charge(99, EVERYBODY, NAT * 2))


def test_midnight_is_between_two_seconds(owner: Owner) -> None:
    midnight = (owner.clock.now // SECONDS_PER_DAY + 1) * SECONDS_PER_DAY
    owner.clock.now = midnight - 0.001
    assert owner.granted(3) == 2
    owner.clock.now = midnight
    assert owner.granted(3) == 2


@pytest.mark.parametrize("days", [-0.1, -1.0, -400.0])
def test_turning_the_clock_back_brings_nothing_back(owner: Owner, days: float) -> None:
    owner.granted(2)
    owner.clock.jump(days)
    assert owner.granted(2) == 0
    owner.reopen()
    assert owner.granted(2) == 0


def test_turning_the_clock_to_and_fro_brings_one_day_however_often(owner: Owner) -> None:
    owner.granted(2)
    owner.clock.jump(3)
    assert owner.granted(2) == 2
    for days in (-3, 3, -3, 2, -2, 3):
        owner.clock.jump(days)
        assert owner.granted(1) == 0


@pytest.mark.parametrize("glimpse", ["a replay", "a refusal", "nobody"])
def test_a_day_that_was_only_glimpsed_does_not_empty_the_day_that_is(owner: Owner, glimpse: str) -> None:
    # The clock is a day ahead for one call that books nothing, and then right again.
    owner.granted(2)
    owner.clock.jump(1)
    if glimpse == "a replay":
        assert not owner.ledger.charge(charge(1, EVERYBODY))
    elif glimpse == "a refusal":
        with pytest.raises(UnknownIndex):
            owner.ledger.charge(charge(99, Cohort(0, PEOPLE + 1)))
        assert not owner.new(cost=NAT * 3)
    else:
        owner.ledger.charge(charge(99, Cohort(2, 2)))
    owner.clock.jump(-1)
    assert owner.granted(1) == 0


def test_a_restart_remembers_the_day(owner: Owner) -> None:
    owner.granted(1)
    owner.reopen()
    assert owner.granted(2) == 1


def test_a_replay_is_free_on_any_day_and_when_the_day_is_spent(owner: Owner) -> None:
    owner.granted(2)
    for days in (0, 1, -3):
        owner.clock.jump(days)
        assert not owner.ledger.charge(charge(1, EVERYBODY))
    assert len(entries_in(owner.path)) == 2


def test_two_ledgers_on_one_file_share_the_day_also_when_their_clocks_differ(owner: Owner) -> None:
    slow = Clock(owner.clock.now - 2 * SECONDS_PER_DAY)
    other = sqlite_ledger(owner.path, PEOPLE, TOTAL, limit_per_day=NAT * 2, clock=slow)
    with closing(other):
        assert owner.new() and owner.new(other)
        assert not owner.new() and not owner.new(other)
        owner.clock.jump(1)
        assert owner.new()
        assert owner.new(other)  # stamped with the day that the file has come to
        assert not owner.new() and not owner.new(other)


def test_people_have_days_of_their_own(owner: Owner) -> None:
    for number in (1, 2):
        owner.ledger.charge(charge(number, Cohort(0, 1)))
    with pytest.raises(BudgetExhausted, match="1 of 4 people"):
        owner.ledger.charge(charge(3, EVERYBODY))
    assert owner.ledger.charge(charge(3, Cohort(1, PEOPLE), NAT * 2))


def test_a_clock_beyond_all_dates_is_refused_and_nothing_is_charged(owner: Owner) -> None:
    owner.clock.now = 2.0**70
    with pytest.raises(StorageFailed):
        owner.ledger.charge(charge(1, EVERYBODY))
    owner.clock.now = Clock().now
    assert not owner.ledger.spent().any()
    assert owner.granted(3) == 2


def test_a_limit_that_was_lowered_holds_up_nobody_else(tmp_path: Path) -> None:
    with closing(sqlite_ledger(tmp_path / "ledger", 2, TOTAL)) as ledger:
        ledger.charge(charge(1, Cohort(0, 1), NAT * 4))
    with closing(sqlite_ledger(tmp_path / "ledger", 2, NAT * 3)) as ledger:
        with pytest.raises(BudgetExhausted, match="1 of 1 people"):
            ledger.charge(charge(2, Cohort(0, 1)))
        assert ledger.charge(charge(2, Cohort(1, 2)))


def test_a_days_budget_that_is_introduced_counts_what_the_day_has_seen(tmp_path: Path) -> None:
    clock = Clock()
    with closing(sqlite_ledger(tmp_path / "ledger", 2, TOTAL, clock=clock)) as ledger:
        ledger.charge(charge(1, Cohort(0, 2), NAT * 2))
        ledger._append(ledger._checkpoint)  # its sums know no days
    options = {"limit_per_day": NAT * 2, "clock": clock}
    with closing(sqlite_ledger(tmp_path / "ledger", 2, TOTAL, **options)) as ledger:
        with pytest.raises(BudgetExhausted, match="day's budget"):
            ledger.charge(charge(2, Cohort(0, 1)))
        ledger._append(ledger._checkpoint)
    with closing(sqlite_ledger(tmp_path / "ledger", 2, TOTAL, **options)) as ledger:
        with pytest.raises(BudgetExhausted, match="day's budget"):
            ledger.charge(charge(2, Cohort(0, 1)))
        clock.jump(1)
        assert ledger.charge(charge(2, Cohort(0, 1)))
