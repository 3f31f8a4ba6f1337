"""Linear regression: ordinary least squares on exact answers, and close to it within tolerance."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Reference

from localdp.algorithms.learners import linear_regression
from localdp.algorithms.learners.descent import CONDITIONED, ROUNDS
from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.domains import RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.number_tables import Floats, matrix_of, oracle_about, table_of

WEIGHTS, CONSTANT = np.array([0.6, -0.3, 0.2]), 0.1


def _sphere(people: int, seed: int) -> Floats:
    directions = np.random.default_rng(seed).normal(size=(people, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions


SPHERE = _sphere(4000, 1)
TARGET = SPHERE @ WEIGHTS + CONSTANT + np.random.default_rng(2).normal(0, 0.1, 4000)
PEOPLE = table_of(SPHERE, 1.0, TARGET)
SKEWED = np.random.default_rng(3).gamma(1.0, size=(500, 3)) * [1.0, 2.0, 0.1] - 1
OTHERS = table_of(SKEWED, 9.0, 0.05 * SKEWED @ [1.0, -2.0, 3.0] + 0.2)


@pytest.mark.parametrize("records", [PEOPLE, OTHERS])
def test_on_exact_answers_one_round_is_ordinary_least_squares(records: Records) -> None:
    learner = LinearRegression().fit(ExactOracle(records))
    reference = Reference().fit(matrix_of(records), records.column("target"))
    assert learner.rounds_ == 1
    np.testing.assert_allclose(learner.coef_, reference.coef_, atol=1e-6)
    assert learner.intercept_ == pytest.approx(reference.intercept_, abs=1e-6)
    expected = reference.score(matrix_of(records), records.column("target"))
    assert learner.score(matrix_of(records), records.column("target")) == pytest.approx(expected, abs=1e-9)


def test_columns_of_other_ranges_come_out_in_their_own_units() -> None:
    features = np.random.default_rng(4).uniform(0, 1, (2000, 2)) * [1e4, 1e-3]
    target = features @ [2.0, 1e6] - 700
    schema = Schema(
        {"salary": RealDomain(0, 1e4), "dose": RealDomain(0, 1e-3), "rent": RealDomain(-1e5, 1e5)}
    )
    columns = {"salary": features[:, 0], "dose": features[:, 1], "rent": target}
    learner = LinearRegression("rent").fit(ExactOracle(Records(schema, columns)))
    assert learner.coef_ == pytest.approx([2.0, 1e6], rel=1e-4)
    assert learner.predict(columns) == pytest.approx(target, abs=0.1)


def test_a_feature_that_repeats_another_or_never_changes_does_no_harm() -> None:
    twice = np.column_stack([SPHERE, SPHERE[:, 0], np.full(4000, 0.25)])
    learner = LinearRegression().fit(ExactOracle(table_of(twice, 1.0, TARGET)))
    expected = Reference().fit(SPHERE, TARGET.clip(-1, 1)).predict(SPHERE)
    np.testing.assert_allclose(learner.predict(twice), expected, atol=1e-7)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounds", [1, 100])
def test_within_tolerance_little_is_lost(strategy: str, rounds: int) -> None:
    learner = LinearRegression(rounds=rounds, radius=0.58).fit(AdversarialOracle(PEOPLE, 0.003, strategy))
    best = Reference().fit(SPHERE, TARGET).score(SPHERE, TARGET)
    assert best > 0.9 and learner.score(SPHERE, TARGET) >= best - 0.01


def test_beyond_the_tolerance_an_adversary_wins() -> None:
    learner = LinearRegression(rounds=1, check_signal=False)
    scores = [
        learner.fit(AdversarialOracle(PEOPLE, 0.1, each)).score(SPHERE, TARGET) for each in STRATEGIES
    ]
    assert min(scores) < 0.5


@pytest.mark.parametrize("rounds", [1, 40])
def test_as_many_rounds_are_asked_as_are_wanted(rounds: int) -> None:
    many = table_of(np.tile(SPHERE, (10, 1)), 1.0, np.tile(TARGET, 10))
    counted = CountingOracle(oracle_about(many, "local", "regression"))
    learner = LinearRegression(radius=0.58, rounds=rounds).fit(counted)
    assert learner.rounds_ == counted.counts.rounds == counted.counts.queries == rounds
    assert learner.score(SPHERE, TARGET) > 0.6


@pytest.mark.parametrize("model", ["local", "curator"])
def test_with_noise_and_nothing_set_it_descends_and_asks_as_often_as_it_announced(model: str) -> None:
    many = table_of(np.tile(SPHERE, (10, 1)), 1.0, np.tile(TARGET, 10))
    counted = CountingOracle(oracle_about(many, model, "regression"))
    learner = LinearRegression().fit(counted)
    assert counted.counts.rounds == learner.rounds_ == counted.counts.rounds_announced[-1]
    assert learner.rounds_ in ROUNDS and learner.score(SPHERE, TARGET) > 0.85


@pytest.mark.parametrize("stages", [1, 3])
def test_where_noise_is_small_a_line_without_residuals_is_learned_in_stages(
    stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng(8)
    features = draws.normal(size=(50_000, 4)) * [1.5, 1, 0.6, 0.4]
    records = table_of(features, 5.0, features @ [0.05, -0.1, 0.2, 0.3])
    monkeypatch.setattr(linear_regression, "_STAGES", stages)
    learner = LinearRegression().fit(oracle_about(records, "curator", "stages"))
    score = learner.score(matrix_of(records), records.column("target"))
    assert learner.rounds_ == CONDITIONED == learner.cost_.rounds
    assert (score > 0.995) == (
        stages == 3
    )  # a single stage, the twin, is lost in the shifts of its steps: 0.98


def test_what_cannot_be_learned_is_refused() -> None:
    for rounds in (0, 3, 1025):
        with pytest.raises(InvalidParameter, match="rounds"):
            LinearRegression(rounds=rounds).fit(ExactOracle(PEOPLE))
    with pytest.raises(InvalidParameter, match="no column 'salary'"):
        LinearRegression("salary").fit(ExactOracle(PEOPLE))
    with pytest.raises(SignalTooWeak, match="linear dependence"):
        LinearRegression().fit(AdversarialOracle(PEOPLE, 0.3))
