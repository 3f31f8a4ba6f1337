"""Experts through an oracle: regrets under every way of asking, LinearLearner's point, and what is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.online.experts import FollowedExperts, SimplexPoint
from localdp.algorithms.online.weighted_majority import followed
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from tests.support.people import KEYRING, ONE

EXPERTS = 6
LOSSES = [f"e{number}" for number in range(EXPERTS)]
SCHEMA = Schema({name: BitDomain() for name in LOSSES})


def people(number: int, seed: int = 0) -> Records:
    """The fourth expert loses 0.3 on average, the others 0.5."""
    generator = np.random.default_rng(seed)
    columns = {
        name: generator.random(number) < (0.3 if place == 3 else 0.5) for place, name in enumerate(LOSSES)
    }
    return Records(SCHEMA, columns)


RECORDS = people(8000)


def curator(purpose: str, epsilon: Epsilon = ONE) -> CuratorOracle:
    return CuratorOracle(RECORDS, epsilon, KEYRING.source("experts", purpose))


@pytest.mark.parametrize("by", ["counts", "selection"])
def test_whoever_knows_earlier_losses_has_no_more_regret_than_the_theorem_allows(by: Any) -> None:
    for steps in (4, 16, 64):
        learner = FollowedExperts(LOSSES, steps, by=by).fit(ExactOracle(RECORDS))
        assert learner.probabilities_.shape == (steps, EXPERTS)
        assert learner.probabilities_.sum(axis=1) == pytest.approx(np.ones(steps))
        assert learner.probabilities_[0] == pytest.approx(np.full(EXPERTS, 1 / EXPERTS))
        if by == "counts":
            assert -0.2 <= learner.regret(RECORDS) <= learner.regret_bound_


@pytest.mark.parametrize("by", ["counts", "selection"])
def test_with_a_curator_the_best_expert_is_followed_before_long(by: Any) -> None:
    learner = FollowedExperts(LOSSES, 16, by=by).fit(curator(by))
    truth = FollowedExperts(LOSSES, 16, by=by).fit(ExactOracle(RECORDS))
    assert learner.regret(RECORDS) < truth.regret(RECORDS) + 0.03
    assert int(learner.probabilities_[-1].argmax()) == 3
    assert learner.cost_.epsilon_promised <= ONE
    assert set(learner.measures(truth, RECORDS)) == {"score", "score_of_truth"}


def test_the_first_action_looks_at_nobody_and_each_at_earlier_people_alone() -> None:
    for by in ("counts", "selection"):
        first = FollowedExperts(LOSSES, 8, by=by).fit(ExactOracle(RECORDS))
        columns = {name: RECORDS.column(name).copy() for name in LOSSES}
        for name in LOSSES:
            columns[name][3000:] = ~columns[name][3000:]
        other = FollowedExperts(LOSSES, 8, by=by).fit(ExactOracle(Records(SCHEMA, columns)))
        assert (first.probabilities_[:4] == other.probabilities_[:4]).all()
        assert (first.probabilities_[6:] != other.probabilities_[6:]).any()


def test_an_algorithm_that_looks_at_its_own_step_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: losses of a step are known before it."""

    def knowing(self: FollowedExperts, oracle: StatisticalQueryOracle, losses: list[str]) -> Any:
        stream = self._stream(losses)
        stream._learn(oracle)
        self.plan_ = stream.plan_
        return followed(stream.counts_ * (self.steps / oracle.people), self.eta_)

    monkeypatch.setattr(FollowedExperts, "_counted", knowing)
    with pytest.raises(AssertionError):
        test_the_first_action_looks_at_nobody_and_each_at_earlier_people_alone()


def test_sums_that_are_off_cost_no_more_than_is_said() -> None:
    """Answers are off by tau each; running sums of 16 steps by at most tau of everybody at the end."""
    tolerance = 0.01
    for strategy in ("alternate", "up", "round"):
        learner = FollowedExperts(LOSSES, 16).fit(AdversarialOracle(RECORDS, tolerance, strategy))
        off = tolerance * 16  # steps' worth
        assert learner.regret(RECORDS) <= learner.regret_bound_ + np.expm1(2 * learner.eta_ * off)


MIXED = Schema(
    {
        "dose": RealDomain(-2.0, 2.0),
        "age": IntegerDomain(0, 100),
        "ill": BitDomain(),
        "city": CategoryDomain(("a", "b")),
    }
)


def mixed(number: int, seed: int) -> Records:
    generator = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "dose": generator.uniform(-2, 2, number),
        "age": generator.integers(0, 41, number),
        "ill": generator.random(number) < 0.6,
        "city": np.zeros(number, np.int64),
    }
    return Records(MIXED, columns)


MEANS = np.array([0.5, 0.2, 0.6])  # of the columns in [0, 1], in the population


def test_the_point_of_the_simplex_is_nearly_the_best_on_people_to_come() -> None:
    """Theorem 11.6: 40 samples of 2,000 people, failure 0.05; five or more failures have a chance of 0.05."""
    failed, largest = 0, 0.0
    for run in range(40):
        learner = SimplexPoint(["dose", "age", "ill"], 64).fit(ExactOracle(mixed(2000, run)))
        assert learner.theta_.sum() == pytest.approx(1) and learner.theta_.min() >= 0
        excess = float(learner.theta_ @ MEANS - MEANS.min())
        failed += excess > learner.excess_bound(0.05)
        largest = max(largest, excess)
    assert failed < 5 and largest > 0.02
    assert learner.excess_bound(0.05) < 0.4 < 0.5 * MEANS.max() + 0.5
    assert learner.excess_bound(0.001) > learner.excess_bound(0.05)


def test_with_privacy_the_smallest_column_has_the_most_weight() -> None:
    oracle = CuratorOracle(mixed(6000, 1), ONE, KEYRING.source("simplex"))
    learner = SimplexPoint(["dose", "age", "ill"]).fit(oracle)
    assert learner.columns_[int(learner.theta_.argmax())] == "age"


def test_what_cannot_be_followed_is_refused_before_anybody_is_asked() -> None:
    oracle = curator("refused")
    for wrong in (
        FollowedExperts(["e0"]),
        FollowedExperts("e0"),
        FollowedExperts(LOSSES, 0),
        FollowedExperts(LOSSES, by="guess"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            wrong.fit(oracle)
    with pytest.raises(InvalidParameter, match="column of numbers or bits"):
        SimplexPoint(["city", "ill"]).fit(ExactOracle(mixed(100, 1)))
    for by in ("counts", "selection"):
        with pytest.raises(SignalTooWeak):
            FollowedExperts(LOSSES, 64, by=by).fit(curator(f"weak {by}", Epsilon.requested("0.001")))
    assert oracle.cost.rounds == 0
