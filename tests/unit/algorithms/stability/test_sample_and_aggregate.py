"""Sample and aggregate: its aggregators, what it refuses, and when it says that something simpler does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import localdp as ldp
from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.stability.sample_and_aggregate import SampleAndAggregate
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused, SignalTooWeak
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from tests.support.people import KEYRING, ONE

SCHEMA = Schema({"x": RealDomain(-6, 6), "ill": BitDomain(), "old": BitDomain(), "tall": BitDomain()})
SLOPE = "logistic(ill, x)"


def people(number: int, seed: int = 0) -> Records:
    """Whose illness depends on x with a slope of 1, and a little on being old."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=number).clip(-6, 6)
    ill = generator.random(number) < 1 / (1 + np.exp(-x))
    old = np.where(generator.random(number) < 0.3, ill, generator.random(number) < 0.5)
    columns: dict[str, Any] = {"x": x, "ill": ill, "old": old, "tall": generator.random(number) < 0.5}
    return Records(SCHEMA, columns)


RECORDS = people(4000)


def curator(records: Records, purpose: str, epsilon: Epsilon = ONE) -> CuratorOracle:
    return CuratorOracle(records, epsilon, KEYRING.source("sample and aggregate", purpose))


@pytest.mark.parametrize("by", ["best", "mean", "histogram", "mode", "median"])
def test_every_aggregator_finds_what_the_blocks_agree_on(by: Any) -> None:
    exact = SampleAndAggregate(SLOPE, -3, 3, blocks=40, by=by).fit(ExactOracle(RECORDS))
    assert exact.value_ == pytest.approx(1.0, abs=0.2)
    noisy = SampleAndAggregate(SLOPE, -3, 3, blocks=40, by=by).fit(curator(RECORDS, by))
    assert abs(noisy.value_ - exact.value_) < (1.2 if by == "mean" else 0.5)
    assert (noisy.cost_.rounds, noisy.cost_.epsilon_promised) == (1, ONE)
    assert noisy.claim_.neighbours == "replacing one person's record"


def test_a_choice_is_told_by_its_name() -> None:
    learner = SampleAndAggregate("best(ill, tall, x > 0, old)", blocks=60)
    found = learner.fit(curator(RECORDS, "choice"))
    assert (found.choice_, found.value_) == ("x > 0", 1.0)


def test_what_would_do_without_blocks_is_said() -> None:
    oracle = ExactOracle(RECORDS)
    assert "verb mean" in str(SampleAndAggregate("mean(x)", -6, 6).fit(oracle).simpler_)
    assert "RangeRelease" in str(SampleAndAggregate("median(x)", -6, 6).fit(oracle).simpler_)
    assert SampleAndAggregate(SLOPE, -3, 3).fit(oracle).simpler_ is None


def test_too_few_blocks_for_a_median_are_refused_before_anybody_pays() -> None:
    oracle = curator(RECORDS, "few")
    with pytest.raises(SignalTooWeak, match="nothing was asked"):
        SampleAndAggregate(SLOPE, -3, 3, blocks=20).fit(oracle)
    assert oracle.cost.rounds == 0
    SampleAndAggregate(SLOPE, -3, 3, blocks=20, check_signal=False).fit(oracle)


def test_locally_there_are_no_blocks_and_the_refusal_says_why() -> None:
    with ldp.simulate(RECORDS, parties=2, budget=5, insecure_seed=1) as parties:
        for model in ("local", "shuffled"):
            with pytest.raises(
                QueryRefused, match="a block is one person, of whom nothing can be estimated"
            ):
                parties.release(SampleAndAggregate(SLOPE, -3, 3), epsilon=1, model=model)
        assert str(parties.budgets()).startswith("4,000 people have epsilon 5")


def test_everybody_pays_for_what_blocks_are_asked_and_nobody_twice() -> None:
    with ldp.simulate(RECORDS, parties=3, budget=5, insecure_seed=1) as parties:
        oracle = parties.oracle("shared", 1.0)
        view = oracle.in_blocks(SLOPE, 60, -3, 3)
        assert (view.people, view.schema.names) == (60, ("value",))
        answer = view.answer(["value > 0"])[0]
        assert (answer.people, answer.reports) == (60, 60)
        assert str(parties.budgets()).startswith("4,000 people have epsilon 4")
        assert oracle.cost.epsilon_promised == oracle.cost.epsilon_charged == ONE
        two = parties.oracle("shared", 1.0).in_rounds(2).in_blocks(SLOPE, 60, -3, 3)
        for _ in range(2):
            two.answer(["value > 0"])
        with pytest.raises(LocalDpError, match="all 2 rounds"):
            two.answer(["value > 0"])
        assert str(parties.budgets()).startswith("4,000 people have epsilon 3")


def test_blocks_have_no_blocks_and_are_asked_all_at_once() -> None:
    for oracle in (ExactOracle(RECORDS), curator(RECORDS, "within")):
        view = oracle.in_blocks(SLOPE, 50, -3, 3)
        for again in (view, view.in_rounds(2)):
            with pytest.raises(InvalidParameter, match="blocks of people already"):
                again.in_blocks("mean(value)", 5, -3, 3)
            with pytest.raises(InvalidParameter, match="all at once"):
                again.among((range(5),))


def test_what_is_no_aggregator_is_refused() -> None:
    for wrong in ({"by": "average"}, {"blocks": 1}, {"blocks": 2.5}):
        with pytest.raises(InvalidParameter):
            SampleAndAggregate(SLOPE, -3, 3, **wrong).fit(ExactOracle(RECORDS))
