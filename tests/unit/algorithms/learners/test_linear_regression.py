"""Linear regression: ordinary least squares on exact answers, and close to it within tolerance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Reference

from localdp.algorithms.learners.descent import ROUNDS
from localdp.algorithms.learners.linear_regression import LinearRegression, _first_fit
from localdp.algorithms.learners.noisy_moments import symmetric
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
@pytest.mark.parametrize("rounds", [1, 3])
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


class Uphill(LinearRegression):
    """Goes against the residuals."""

    def _refined(self, oracle: Any, fit: Any, regressors: Any) -> Any:
        after = super()._refined(oracle, fit, regressors)
        return replace(after, weights=2 * fit.weights - after.weights)


def _after_rounds_of_residuals(learner: LinearRegression) -> float:
    """The distance from the least squares, started with everything at half its length."""
    oracle = ExactOracle(PEOPLE)
    learner._announced(oracle)
    moments = oracle.answer_vectors([learner._moments_query()])[0].values
    exact, regressors = _first_fit(symmetric(moments, 5), 0.0)
    fit = replace(exact, weights=exact.weights / 2, constant=0.0, spread=0.2)
    for _ in range(4):
        fit = learner._refined(oracle, fit, regressors)
    away, whole = (
        [*(fit.weights - exact.weights), fit.constant - exact.constant],
        [*exact.weights, exact.constant],
    )
    return float(np.linalg.norm(away) / np.linalg.norm(whole))


def test_rounds_of_residuals_find_the_least_squares_and_their_opposite_does_not() -> None:
    assert _after_rounds_of_residuals(LinearRegression(rounds=5)) < 0.03
    assert _after_rounds_of_residuals(Uphill(rounds=5)) > 0.5


def test_noise_that_was_fitted_is_counted_among_the_residuals() -> None:
    moments = np.diag(
        [0.05] * 10 + [0.1, 0.04]
    )  # ten features, and a target of spread 0.32 that depends on none
    fit, regressors = _first_fit(moments, 0.01)
    assert not fit.weights.any()
    # The products have a standard error of 0.0158, and the fit is off by the square of that times the trace.
    expected = 0.1 + 2 * np.trace(regressors.inverse) * 0.0158**2
    assert fit.spread**2 == pytest.approx(expected, rel=0.01) and fit.spread > 0.38


def test_residuals_are_asked_about_in_further_rounds_where_they_are_wanted() -> None:
    many = table_of(np.tile(SPHERE, (10, 1)), 1.0, np.tile(TARGET, 10))
    counted = CountingOracle(oracle_about(many, "local", "regression"))
    learner = LinearRegression(radius=0.58, rounds=3).fit(counted)
    assert learner.rounds_ == 3 and counted.counts.rounds == 3 and counted.counts.queries == 1 + 4 + 4
    assert learner.score(SPHERE, TARGET) > 0.85


@pytest.mark.parametrize("model", ["local", "curator"])
def test_with_noise_and_nothing_set_it_descends_and_asks_as_often_as_it_announced(model: str) -> None:
    many = table_of(np.tile(SPHERE, (10, 1)), 1.0, np.tile(TARGET, 10))
    counted = CountingOracle(oracle_about(many, model, "regression"))
    learner = LinearRegression().fit(counted)
    assert counted.counts.rounds == learner.rounds_ == counted.counts.rounds_announced[-1]
    assert learner.rounds_ in ROUNDS and learner.score(SPHERE, TARGET) > 0.85


def test_what_cannot_be_learned_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="rounds"):
        LinearRegression(rounds=0).fit(ExactOracle(PEOPLE))
    with pytest.raises(InvalidParameter, match="no column 'salary'"):
        LinearRegression("salary").fit(ExactOracle(PEOPLE))
    with pytest.raises(SignalTooWeak, match="linear dependence"):
        LinearRegression().fit(AdversarialOracle(PEOPLE, 0.3))
