"""Quotas within a budget: what one analyst uses is never another one's, and nobody is asked beyond the budget."""

from __future__ import annotations

import contextlib
import itertools
import random

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.accounting.quotas import OTHERS, Quotas
from localdp.cohorts import Cohort, Split
from localdp.errors import BudgetExhausted

PEOPLE = 6
EVERYBODY = Cohort(0, PEOPLE)
TENTH = Epsilon.requested("0.1")
BUDGET = Epsilon.requested(1)
QUOTAS = Quotas(
    {"ada": Epsilon.requested("0.5"), "bob": Epsilon.requested("0.3")}, Epsilon.requested("0.2")
)
_numbers = itertools.count()


def charge(caller: str, cohort: Cohort = EVERYBODY, cost: Epsilon = TENTH, request: bytes = b"") -> Charge:
    return Charge(request or b"%d" % next(_numbers), b"records", cohort, cost, "a test", caller)


def granted(ledger: MemoryLedger, caller: str, cohort: Cohort = EVERYBODY) -> int:
    """How often somebody is answered who asks until refused."""
    for number in itertools.count():
        try:
            ledger.charge(charge(caller, cohort))
        except BudgetExhausted:
            return number
    raise AssertionError


@pytest.mark.parametrize("first", ["ada", "bob", "eve", ""])
def test_one_who_asks_until_refused_leaves_the_others_theirs(first: str) -> None:
    ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
    expected = {"ada": 5, "bob": 3, "eve": 2, "": 2}
    assert granted(ledger, first) == expected[first]
    rest = {"ada": 5, "bob": 3, "eve": 2} if first in ("ada", "bob") else {"ada": 5, "bob": 3, "eve": 0}
    for caller, left in rest.items():
        assert granted(ledger, caller) == (0 if caller == first else left)
    assert ledger.spent().tolist() == [BUDGET.nanonats] * PEOPLE


def test_without_quotas_the_first_one_takes_all() -> None:
    """The broken twin of the test above: it would find it out."""
    ledger = MemoryLedger(PEOPLE, BUDGET)
    assert granted(ledger, "ada") == 10 and granted(ledger, "bob") == 0


def test_a_quota_is_of_each_person() -> None:
    ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
    assert granted(ledger, "bob", Cohort(0, 2)) == 3
    assert granted(ledger, "bob", Cohort(2, PEOPLE)) == 3
    parts = [Cohort(0, PEOPLE, Split(b"s" * 16, 3, part)) for part in range(3)]
    assert [granted(ledger, "ada", part) for part in parts] == [5, 5, 5]


def test_others_share_one_quota() -> None:
    ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
    assert [granted(ledger, name) for name in ("eve", "mallory", "")] == [2, 0, 0]


def test_a_refusal_names_the_quota_and_charges_nothing() -> None:
    ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
    with pytest.raises(
        BudgetExhausted, match=r"quota of this analyst, 0.3, for 6 of 6 people \(quotas.bob\)"
    ):
        ledger.charge(charge("bob", cost=Epsilon.requested("0.4")))
    with pytest.raises(
        BudgetExhausted, match=r"all analysts without one of their own, 0.2, .*\(quotas.others\)"
    ):
        ledger.require(charge("eve", cost=Epsilon.requested("0.4")))
    assert not ledger.spent().any()


def test_repetitions_cost_no_quota_and_the_first_to_ask_pays() -> None:
    ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
    for caller in ("bob", "bob", "ada", "eve"):
        ledger.charge(charge(caller, request=b"one"))
    assert granted(ledger, "bob") == 2 and granted(ledger, "ada") == 5 and granted(ledger, "eve") == 2


def test_no_order_of_questions_takes_what_is_anothers_or_exceeds_the_budget() -> None:
    coins = random.Random(5)  # noqa: S311
    for _ in range(60):
        ledger = MemoryLedger(PEOPLE, BUDGET, QUOTAS)
        for _ in range(60):
            caller, start = coins.choice(("ada", "bob", "eve", "")), coins.randrange(PEOPLE)
            cohort = Cohort(start, coins.randrange(start, PEOPLE) + 1)
            cost = Epsilon(coins.randrange(1, 2 * 10**8))
            with contextlib.suppress(BudgetExhausted):
                ledger.charge(charge(caller, cohort, cost))
        assert ledger.spent().max() <= BUDGET.nanonats


def test_quotas_that_leave_nobody_theirs_are_known() -> None:
    assert QUOTAS.leaves_theirs(BUDGET) and not QUOTAS.leaves_theirs(Epsilon(BUDGET.nanonats - 1))
    assert QUOTAS.accounts == (OTHERS, "ada", "bob") and QUOTAS.account("eve") == OTHERS
    assert str(QUOTAS) == "ada 0.5, bob 0.3, others 0.2"
    assert QUOTAS.divided_by(2).limit("ada") == Epsilon.requested("0.25")
