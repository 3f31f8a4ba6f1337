"""What every ledger of promises keeps, in memory, file and database: nobody has more epsilon or delta than the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import MemoryPromiseLedger, Outlay, trillionths_above
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted, RequestExpired
from parties.shuffler.ledger import TablePromiseLedger, promise_ledger
from tests.support.postgres import new_database

AnyLedger = MemoryPromiseLedger | TablePromiseLedger
Make = Callable[[int, int], AnyLedger]


@pytest.fixture(params=["memory", "file", "database"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    opened: list[TablePromiseLedger] = []
    place = new_database() if request.param == "database" else tmp_path / "promised"

    def made(nanonats: int, trillionths: int) -> AnyLedger:
        totals = Epsilon(nanonats), Fraction(trillionths, 10**12)
        if request.param == "memory":
            return MemoryPromiseLedger(*totals)
        opened.append(promise_ledger(place, *totals, new=not opened))
        return opened[-1]

    yield made
    for ledger in opened:
        ledger.close()


def outlay(
    number: int,
    *cohorts: Cohort,
    nanonats: int = 10,
    trillionths: int = 1,
) -> Outlay:
    parts = tuple((f"party-{place}", cohort) for place, cohort in enumerate(cohorts))
    return Outlay(b"request %d" % number, parts, Epsilon(nanonats), trillionths)


def test_sums_are_kept_for_each_person_of_each_party(make: Make) -> None:
    ledger = make(100, 100)
    ledger.charge(outlay(0, Cohort(0, 3), Cohort(1, 2)))
    ledger.charge(outlay(1, Cohort(2, 4), nanonats=7, trillionths=0))
    assert ledger.spent("party-0", 5).tolist() == [[10, 10, 17, 7, 0], [1, 1, 1, 0, 0]]
    assert ledger.spent("party-1", 3).tolist() == [[0, 10, 0], [0, 1, 0]]
    assert not ledger.spent("party-2", 3).any()


@pytest.mark.parametrize(("nanonats", "trillionths"), [(39, 1000), (1000, 3)])
def test_the_request_that_would_exceed_either_total_is_refused_whole(
    make: Make, nanonats: int, trillionths: int
) -> None:
    ledger = make(nanonats, trillionths)
    for number in range(3):
        ledger.charge(outlay(number, Cohort(0, 2), Cohort(0, 5)))
    before = ledger.spent("party-0", 9)
    for refused in (outlay(3, Cohort(4, 9), Cohort(4, 9)), outlay(3, Cohort(1, 9))):
        for way in (ledger.require, ledger.charge):
            with pytest.raises(BudgetExhausted):
                way(refused)
    assert (ledger.spent("party-0", 9) == before).all()
    ledger.charge(outlay(3, Cohort(2, 9), Cohort(5, 9)))


def test_a_total_may_be_spent_to_the_last_bit(make: Make) -> None:
    ledger = make(30, 3)
    for number in range(3):
        ledger.charge(outlay(number, Cohort(0, 2)))
    assert ledger.spent("party-0", 2).tolist() == [[30, 30], [3, 3]]


def test_the_same_request_again_costs_nothing_also_when_nothing_is_left(make: Make) -> None:
    ledger = make(10, 1)
    for _ in range(3):
        ledger.require(outlay(0, Cohort(0, 2)))
        ledger.charge(outlay(0, Cohort(0, 2)))
    assert ledger.spent("party-0", 2).tolist() == [[10, 10], [1, 1]]
    with pytest.raises(BudgetExhausted):
        ledger.require(outlay(1, Cohort(0, 2)))


def test_other_reports_under_the_name_of_a_booked_request_are_refused(make: Make) -> None:
    ledger, booked = make(30, 3), outlay(0, Cohort(0, 2))
    ledger.charge(replace(booked, reports=b"these"))
    ledger.charge(replace(booked, reports=b"these"))
    ledger.require(booked)  # nobody knows yet which reports they will be
    for other in (b"those", b""):
        with pytest.raises(RequestExpired, match="new request"):
            ledger.charge(replace(booked, reports=other))
    assert ledger.spent("party-0", 2).tolist() == [[10, 10], [1, 1]]


def test_asking_whether_it_can_be_paid_books_nothing(make: Make) -> None:
    ledger = make(10, 1)
    for number in range(3):
        ledger.require(outlay(number, Cohort(0, 2)))
    assert not ledger.spent("party-0", 2).any()


def test_of_a_random_part_those_pay_who_are_in_it(make: Make) -> None:
    ledger = make(10, 1)
    halves = [Cohort(0, 40, Split(bytes(16), 2, half)) for half in (0, 1)]
    ledger.charge(outlay(0, halves[0]))
    paid = ledger.spent("party-0", 40)[0] == 10
    assert sorted(np.flatnonzero(paid)) == sorted(np.asarray(halves[0].lanes()))
    ledger.charge(outlay(1, halves[1]))
    assert (ledger.spent("party-0", 40) == [[10], [1]]).all()


def test_random_requests_are_granted_and_refused_as_by_a_dictionary_of_sums(make: Make) -> None:
    draw, ledger = np.random.default_rng(7), make(60, 6)
    epsilons: Counter[int] = Counter()
    deltas: Counter[int] = Counter()
    granted = refused = 0
    for number in range(200):
        start, length, cost, delta = (
            int(draw.integers(*ends)) for ends in ((0, 30), (1, 9), (1, 12), (0, 2))
        )
        people = range(start, start + length)
        fits = all(epsilons[one] + cost <= 60 and deltas[one] + delta <= 6 for one in people)
        asked = outlay(number, Cohort(start, start + length), nanonats=cost, trillionths=delta)
        if fits:
            ledger.charge(asked)
            epsilons.update(dict.fromkeys(people, cost))
            deltas.update(dict.fromkeys(people, delta))
            granted += 1
        else:
            with pytest.raises(BudgetExhausted):
                ledger.charge(asked)
            refused += 1
    assert granted > 30 and refused > 30
    assert ledger.spent("party-0", 40).tolist() == [
        [book[one] for one in range(40)] for book in (epsilons, deltas)
    ]


@pytest.mark.parametrize(
    ("delta", "told"), [(Fraction(1, 10**12), 1), (Fraction(1, 3 * 10**11), 4), (Fraction(1, 10**6), 10**6)]
)
def test_a_delta_is_counted_in_trillionths_and_rounded_up(delta: Fraction, told: int) -> None:
    assert trillionths_above(delta) == told
