"""What every ledger promises: Definition 12.3, whole charges, and free replays."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, PolicyRefused, RequestExpired, UnknownIndex
from tests.support.ledgers import sqlite_ledger

PEOPLE = 10
TENTH = Epsilon.requested("0.1")
Open = Callable[[Epsilon], Ledger]


@pytest.fixture(params=["memory", "sqlite"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        return lambda limit: MemoryLedger(PEOPLE, limit)
    return lambda limit: sqlite_ledger(tmp_path / "ledger", PEOPLE, limit)


def charge(
    request: bytes,
    cohort: Cohort,
    cost: Epsilon = TENTH,
    epoch: int = 1,
    caller: str = "analyst",
) -> Charge:
    return Charge(request, b"records", cohort, cost, "a test", caller, epoch=epoch)


def test_a_charge_is_booked_for_everybody_in_the_cohort_and_nobody_else(open_ledger: Open) -> None:
    ledger = open_ledger(Epsilon.requested(1))
    assert ledger.charge(charge(b"a", Cohort(2, 5)))
    assert ledger.spent().tolist() == [0, 0, 10**8, 10**8, 10**8, 0, 0, 0, 0, 0]


def test_ten_tenths_fit_into_one_and_the_eleventh_does_not(open_ledger: Open) -> None:
    ledger = open_ledger(Epsilon.requested(1))
    for number in range(10):
        ledger.charge(charge(b"%d" % number, Cohort(0, PEOPLE)))
    with pytest.raises(BudgetExhausted):
        ledger.charge(charge(b"one more", Cohort(0, PEOPLE)))
    assert (ledger.spent() == 10**9).all()


def test_a_refused_charge_changes_nothing_even_for_people_who_could_pay(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    ledger.charge(charge(b"a", Cohort(0, 1)))
    before = ledger.spent()
    with pytest.raises(BudgetExhausted):
        ledger.charge(charge(b"b", Cohort(0, PEOPLE)))
    assert (ledger.spent() == before).all()
    assert ledger.charge(charge(b"b", Cohort(1, PEOPLE)))


def test_the_same_charge_again_costs_nothing_even_when_the_budget_is_gone(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    assert ledger.charge(charge(b"a", Cohort(0, PEOPLE)))
    assert not ledger.charge(charge(b"a", Cohort(0, PEOPLE)))
    assert (ledger.spent() == TENTH.nanonats).all()


def test_an_overlapping_charge_of_the_same_request_is_paid_by_the_newcomers_only(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    ledger.charge(charge(b"a", Cohort(0, 6)))
    ledger.charge(charge(b"a", Cohort(4, PEOPLE)))
    assert (ledger.spent() == TENTH.nanonats).all()


def test_parts_of_a_split_are_charged_apart(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    for part in range(3):
        ledger.charge(charge(b"%d" % part, Cohort(0, PEOPLE, Split(bytes(16), 3, part))))
    assert (ledger.spent() == TENTH.nanonats).all()


def test_a_request_is_not_answered_again_in_another_epoch(open_ledger: Open) -> None:
    ledger = open_ledger(Epsilon.requested(1))
    ledger.charge(charge(b"a", Cohort(0, 3)))
    for cohort in (Cohort(0, 3), Cohort(5, 6)):
        with pytest.raises(RequestExpired):
            ledger.charge(charge(b"a", cohort, epoch=2))
    assert ledger.spent().sum() == 3 * TENTH.nanonats


def test_whether_a_record_changed_makes_no_difference(open_ledger: Open) -> None:
    ledger = open_ledger(Epsilon.requested(1))
    first = charge(b"a", Cohort(0, 3))
    ledger.charge(first)
    assert not ledger.charge(replace(first, records=b"others"))
    assert ledger.charge(replace(first, records=b"others", cohort=Cohort(0, 4)))


def test_what_one_request_makes_a_ledger_remember_is_bounded(open_ledger: Open) -> None:
    ledger = open_ledger(Epsilon.requested(1))
    splits = [Cohort(0, PEOPLE, Split(number.to_bytes(16, "big"), 2, 0)) for number in range(65)]
    for number, split in enumerate(splits[:64]):
        ledger.charge(charge(b"a", split, caller=f"caller {number}"))
    with pytest.raises(PolicyRefused, match="64 different splits"):
        ledger.charge(charge(b"a", splits[64], caller="caller 64"))
    assert not ledger.charge(charge(b"a", splits[0], caller="caller 0"))  # what was heard stays free
    assert ledger.charge(charge(b"b", splits[64]))
    ledger.charge(charge(b"a", Cohort(0, PEOPLE), caller="caller 64"))


def test_people_whom_the_party_does_not_hold_are_refused(open_ledger: Open) -> None:
    with pytest.raises(UnknownIndex):
        open_ledger(TENTH).charge(charge(b"a", Cohort(0, PEOPLE + 1)))


def test_nobody_pays_for_an_empty_cohort(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    ledger.charge(charge(b"a", Cohort(3, 3)))
    assert not ledger.spent().any()


def test_a_second_caller_is_given_the_report_of_before_and_nobody_pays_twice(open_ledger: Open) -> None:
    ledger = open_ledger(TENTH)
    assert ledger.charge(charge(b"a", Cohort(0, 6)))
    assert not ledger.charge(charge(b"a", Cohort(0, 6), caller="auditor"))
    assert ledger.charge(charge(b"a", Cohort(4, PEOPLE), caller="auditor"))  # four of them are newcomers
    assert (ledger.spent() == TENTH.nanonats).all()


def test_splits_of_one_request_that_overlap_are_paid_once_however_many_they_are(open_ledger: Open) -> None:
    ledger, everybody = open_ledger(TENTH), Cohort(0, PEOPLE)
    for number in range(40):
        ledger.charge(charge(b"a", Cohort(0, PEOPLE, Split(number.to_bytes(16, "big"), 3, number % 3))))
    ledger.charge(charge(b"a", everybody))
    assert not ledger.charge(charge(b"a", everybody))
    assert (ledger.spent() == TENTH.nanonats).all()


def test_random_charges_never_exceed_the_limit(open_ledger: Open) -> None:
    limit = Epsilon.requested(1)
    ledger, random = open_ledger(limit), np.random.default_rng(7)
    expected = np.zeros(PEOPLE, dtype=np.int64)
    for number in range(200):
        start, stop = sorted(int(edge) for edge in random.integers(0, PEOPLE + 1, 2))
        cost = Epsilon(int(random.integers(1, 3 * 10**8)))
        try:
            ledger.charge(charge(b"%d" % number, Cohort(start, stop), cost))
        except BudgetExhausted:
            assert (expected[start:stop] + cost.nanonats > limit.nanonats).any()
        else:
            expected[start:stop] += cost.nanonats
    assert (ledger.spent() == expected).all()
    assert limit.nanonats - 3 * 10**8 < expected.max() <= limit.nanonats
