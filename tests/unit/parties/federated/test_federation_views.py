"""Some parties of a federation: answers are about their people, the books are those of the whole, and nobody else pays."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.experiments.population import made_up_people
from localdp.oracles.models import MODELS
from localdp.randomness.hazmat import SeededSource
from parties.federated.events import Event
from parties.federation import Federation

PEOPLE = made_up_people(300, SeededSource(1))
SMOKERS = PEOPLE.column("smoker")
SOME = ["party-3", "party-1"]  # in whatever order
THEIRS = np.concatenate([SMOKERS[50:110], SMOKERS[220:300]])


def launched(**options: Any) -> Federation:
    named = {"parties": [50, 60, 110, 80], "processes": False, "insecure_seed": 3, **options}
    return Federation.launch(PEOPLE, **named)


def spent(federation: Federation) -> list[set[int]]:
    """Of each party's people."""
    return [set(ledger.spent().tolist()) for ledger in federation._place.ledgers]


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_about_the_people_of_these_parties(model: str) -> None:
    with launched() as federation:
        some = federation.of(SOME)
        assert some.parties == {"party-1": 60, "party-3": 80}
        answer = some.oracle(model, None if model == "exact" else 4).answer(["smoker"])[0]
        assert answer.people == answer.reports == some.people == 140
        assert abs(answer.value - THEIRS.mean()) <= 6 * answer.standard_error + 1e-12
        assert model != "exact" or answer.value == pytest.approx(THEIRS.mean())


@pytest.mark.parametrize("model", ["local", "shuffled", "shared"])
def test_nobody_else_is_charged(model: str) -> None:
    with launched() as federation:
        federation.of(SOME).oracle(model, 1).in_rounds(1).answer(["smoker"])
        paid = [0 not in amounts for amounts in spent(federation)]
        assert paid == [False, True, False, True]
        ledgers = np.concatenate([ledger.spent() for ledger in federation._place.ledgers])
        assert np.array_equal(federation._spending.nanonats, ledgers)


def test_the_account_of_what_was_asked_is_right_where_people_are_split() -> None:
    with launched() as federation:
        some = federation.of(SOME)
        some.oracle("local", 1).answer(["smoker", "age >= 65", "bmi >= 30"])
        some.oracle("local", 1).in_rounds(3).answer(["smoker"])
        federation.oracle("local", 1).in_rounds(2).answer(["smoker"])
        ledgers = np.concatenate([ledger.spent() for ledger in federation._place.ledgers])
        assert np.array_equal(federation._spending.nanonats, ledgers)


def test_a_budget_is_one_for_the_whole_and_its_parts() -> None:
    with launched(budget=2) as federation:
        some, other = federation.of(SOME), federation.of(["party-1", "party-2"])
        some.oracle("shared", 1).answer(["smoker"])
        other.oracle("shared", 1).answer(["smoker"])
        assert some.budgets().remaining == {Epsilon(0): 60, Epsilon.requested(1): 80}
        with pytest.raises(BudgetExhausted):
            some.oracle("shared", 1).answer(["smoker"])
        with pytest.raises(BudgetExhausted):
            federation.oracle("local", 1).answer(["smoker"])
        federation.of(["party-0"]).oracle("local", 1).answer(["smoker"])


def test_a_curator_charges_those_whose_records_it_has_or_nobody() -> None:
    with launched(budget=2) as federation:
        federation.of(["party-3"]).oracle("curator", 2).answer(["smoker"])
        two, three = Epsilon(0), Epsilon.requested(2)
        assert federation.budgets("curator").remaining == {two: 80, three: 220}
        with pytest.raises(BudgetExhausted, match="nobody was charged"):
            federation.of(SOME).oracle("curator", 1).answer(["smoker"])
        assert federation.budgets("curator").remaining == {two: 80, three: 220}
        assert federation.of(SOME).budgets("curator").remaining == {two: 80, three: 60}
        assert federation.budgets().remaining == {Epsilon.requested(2): 300}


def test_a_curator_asked_twice_through_two_equal_parts_charges_twice() -> None:
    with launched(budget=2) as federation:
        for _ in range(2):
            federation.of(SOME).oracle("curator", 1).answer(["smoker"])
        assert federation.of(SOME).budgets("curator").remaining == {Epsilon(0): 140}
        ledger = federation.of(SOME)._curator
        assert ledger is not None
        with pytest.raises(InvalidParameter):
            ledger.charge(Charge(b"r" * 32, b"", Cohort(0, 10), Epsilon.requested(1), ""))


def test_no_two_oracles_share_coins_whichever_part_they_are_of() -> None:
    """The same noise on two sums would give away the people in which they differ."""
    with launched() as federation:
        every = list(federation.parties)
        noises = set()
        for _ in range(4):
            for asked in (federation, federation.of(every), federation.of(every)):
                answer = asked.oracle("curator", "0.01").answer(["smoker"])[0]
                noises.add(round(answer.count - SMOKERS.sum()))
        assert len(noises) > 8  # of twelve, with a standard deviation of 141


def test_events_and_plans_are_told_of_parts_as_well() -> None:
    told: list[Event] = []
    with launched() as federation:
        federation.events.subscribe(told.append)
        some = federation.of(SOME)
        assert some.plan(["smoker"], epsilon=1).people == 140
        some.oracle("local", 1).answer(["smoker"])
    assert [event.party for event in told if event.kind == "party answered"] == ["party-1", "party-3"]
    assert told[0].people == 140


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "at least one"),
        (["party-1", "party-1"], "each of them once"),
        (["party-9"], "no party is called party-9; there are party-0, party-1"),
    ],
)
def test_parties_that_there_are_not_are_refused(names: list[str], why: str) -> None:
    with launched() as federation, pytest.raises(InvalidParameter, match=why):
        federation.of(names)


def test_a_part_has_no_parts_and_ends_with_the_whole() -> None:
    with launched() as federation:
        some, other = federation.of(SOME), federation.of(SOME)
        with pytest.raises(InvalidParameter, match="ask the whole one"):
            some.of(["party-1"])
        other.close()
        with pytest.raises(InvalidParameter, match="closed"):
            other.oracle("local", 1)
        some.oracle("local", 1).answer(["smoker"])
    with pytest.raises(InvalidParameter, match="closed"):
        some.oracle("local", 1)


def test_an_oracle_of_a_part_keeps_the_whole_alive() -> None:
    federation = launched()
    known = weakref.ref(federation)
    oracle = federation.of(SOME).oracle("local", 1)
    del federation
    gc.collect()
    assert known() is not None
    assert oracle.answer(["smoker"])[0].reports == 140
