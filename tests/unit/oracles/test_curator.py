"""The curator: fresh noise is always paid for, and a selection is the noisy maximum of the sums."""

from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.errors import BudgetExhausted, QueryRefused
from localdp.mechanisms.noisy_maximum import NoisyMaximum
from localdp.oracles.curator import CuratorOracle
from localdp.queries.scores import LARGEST, Furthest, Quantile, Scores
from localdp.randomness.hazmat import SeededSource
from tests.support.people import KEYRING, ONE, population

PEOPLE = population(100)


def curator(ledger: MemoryLedger, purpose: str) -> CuratorOracle:
    return CuratorOracle(PEOPLE, ONE, KEYRING.source("curator", purpose), ledger=ledger)


def test_two_curators_on_one_ledger_are_both_charged_for_the_same_question() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE * 2)
    for purpose in ("first", "second"):
        curator(ledger, purpose).answer(["smoker"])
    assert set(ledger.spent()) == {2 * ONE.nanonats}
    with pytest.raises(BudgetExhausted):
        curator(ledger, "third").answer(["smoker"])


def test_views_of_two_curators_on_one_ledger_are_both_charged() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE * 2)
    for purpose in ("first", "second"):
        view = curator(ledger, purpose).in_rounds(2)
        view.answer(["smoker"])
        view.answer(["smoker"])
    assert set(ledger.spent()) == {2 * ONE.nanonats}


def test_what_views_ask_counts_in_the_curator_that_they_are_views_of() -> None:
    oracle = CuratorOracle(PEOPLE, ONE, KEYRING.source("parent"), ONE * 2)
    for _ in range(2):
        view = oracle.in_rounds(2)
        view.answer(["smoker"])
        inner = view.in_rounds(3)  # takes the second round
        for _ in range(3):
            inner.answer(["smoker"])
        with pytest.raises(BudgetExhausted):
            view.answer(["smoker"])
    assert 2 * ONE.nanonats - 8 <= oracle.cost.epsilon_promised.nanonats <= 2 * ONE.nanonats
    assert oracle.claim.epsilon == oracle.cost.epsilon_promised


def test_the_queries_of_a_round_share_its_epsilon() -> None:
    # Noise of m queries is m times as wide, each: an epsilon that is not divided would cost m epsilon.
    oracle = CuratorOracle(PEOPLE, ONE, KEYRING.source("shares"), ONE * 10**6)
    one = oracle.plan(["clip(bmi/60)"]).rows[0].standard_error
    for queries in (2, 8):
        many = oracle.plan(["clip(bmi/60)"] * queries).rows
        assert [row.standard_error / one for row in many] == pytest.approx([queries] * queries, rel=1e-3)
    told = np.array([[a.value for a in oracle.answer(["clip(bmi/60)"] * 8)] for _ in range(400)])
    # 3,200 errors: the ratio of variances has a standard error of 4 %; undivided it would be 1/64.
    assert np.var(told) / (8 * one) ** 2 == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("of", "by"),
    [
        (["smoker", "age >= 50", "age < 50"], LARGEST),
        (["smoker", "clip(bmi/60)"], Furthest([0.2, 0.4])),
        ("region", LARGEST),
        ("age", Quantile(0.5)),
    ],
)
def test_a_selection_is_the_noisy_maximum_of_the_sums_on_the_same_coins(of: Any, by: Any) -> None:
    scores = Scores.checked(of, by, PEOPLE.schema)
    law, twice = (
        NoisyMaximum.within(ONE, scores.sensitivity),
        NoisyMaximum.within(ONE * 2, scores.sensitivity),
    )
    told, expected, other = [], [], []
    for seed in range(60):
        oracle = CuratorOracle(PEOPLE, ONE, SeededSource(seed))
        told.append(oracle.select(of, by).place)
        expected.append(law.choose(scores.of(PEOPLE), SeededSource(seed)))
        other.append(twice.choose(scores.of(PEOPLE), SeededSource(seed)))
    assert told == expected
    assert len(set(told)) > 1 and told != other  # so that another law would have been seen


def test_a_selection_is_charged_once_before_it_is_made_and_not_at_all_if_it_is_none() -> None:
    ledger = MemoryLedger(PEOPLE.people, ONE)
    oracle = curator(ledger, "selects")
    with pytest.raises(QueryRefused):
        oracle.select(["smoker", "smokr"])
    assert set(ledger.spent()) == {0}
    oracle.select([f"age >= {age}" for age in range(90)])
    assert set(ledger.spent()) == {ONE.nanonats}
    with pytest.raises(BudgetExhausted):
        oracle.select(["smoker", "age < 3"])
    assert oracle.cost.rounds == 1


def test_sums_that_are_kept_belong_to_the_query_that_was_asked() -> None:
    oracle = CuratorOracle(PEOPLE, ONE * 30, KEYRING.source("kept"), ONE * 1000)
    smokers = PEOPLE.column("smoker").mean()
    for _ in range(2):
        assert oracle.answer(["smoker"])[0].value == pytest.approx(smokers, abs=0.02)
        assert oracle.answer_vectors(["smoker"])[0].values == pytest.approx(
            [1 - smokers, smokers], abs=0.02
        )
        assert oracle.select("smoker").place == (smokers > 0.5)


def test_a_view_that_cannot_be_paid_for_to_its_end_charges_nothing() -> None:
    ledger = MemoryLedger(PEOPLE.people, Epsilon.requested("1.6"))
    curator(ledger, "first").answer(["smoker"])
    view = curator(ledger, "second").in_rounds(2)
    with pytest.raises(BudgetExhausted):
        view.select(["smoker", "age < 3"])
    assert set(ledger.spent()) == {ONE.nanonats}
