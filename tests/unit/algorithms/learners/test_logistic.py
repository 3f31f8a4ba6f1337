"""Logistic regression: that of scikit-learn on exact answers, and a good separation within tolerance."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as Reference

from localdp.algorithms.learners.descent import ROUNDS
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.number_tables import Floats, oracle_about, table_of

WEIGHTS, CONSTANT = np.array([1.5, -1.0, 0.5]), 0.4


def _sphere(people: int, seed: int) -> Floats:
    directions = np.random.default_rng(seed).normal(size=(people, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions


def _labels(features: Floats, seed: int) -> NDArray[np.bool_]:
    margins = features @ WEIGHTS + CONSTANT
    holds: NDArray[np.bool_] = np.random.default_rng(seed).random(len(features)) < 1 / (
        1 + np.exp(-margins)
    )
    return holds


SKEWED = np.random.default_rng(1).gamma(1.0, size=(3000, 3)) - np.array([0.5, 1.0, 0.0])
NOISY = table_of(SKEWED, 8.0, _labels(SKEWED, 2))
SPHERE = _sphere(4000, 3)
SEPARATED = table_of(SPHERE, 1.0, SPHERE @ WEIGHTS > 0)


def test_on_exact_answers_the_rounds_converge_to_the_maximum_of_the_likelihood() -> None:
    learner = LogisticRegression(rounds=60).fit(ExactOracle(NOISY))
    reference = Reference(C=np.inf, tol=1e-10, max_iter=1000).fit(
        SKEWED.clip(-8, 8), NOISY.column("target")
    )
    np.testing.assert_allclose(learner.coef_, reference.coef_[0], atol=1e-3)
    assert learner.intercept_ == pytest.approx(float(reference.intercept_[0]), abs=1e-3)
    np.testing.assert_allclose(
        learner.predict_proba(SKEWED[:50]), reference.predict_proba(SKEWED[:50]), atol=1e-3
    )


def test_the_default_rounds_come_close_already() -> None:
    learner = LogisticRegression().fit(ExactOracle(NOISY))
    reference = Reference(C=np.inf).fit(SKEWED.clip(-8, 8), NOISY.column("target"))
    assert learner.rounds_ == 20
    assert np.abs(learner.coef_ - reference.coef_[0]).max() < 0.05


def test_one_round_has_the_direction_and_the_length_of_normal_features() -> None:
    features = np.random.default_rng(4).normal(size=(40_000, 3)) @ np.diag([1.5, 1.0, 0.3])
    labels = _labels(features, 5)
    learner = LogisticRegression(rounds=1).fit(ExactOracle(table_of(features, 8.0, labels)))
    np.testing.assert_allclose(learner.coef_, WEIGHTS, atol=0.12)
    assert learner.intercept_ == pytest.approx(CONSTANT, abs=0.08)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounds", [1, 5])
def test_within_tolerance_at_least_95_percent_are_predicted_right(strategy: str, rounds: int) -> None:
    oracle = AdversarialOracle(SEPARATED, 0.01, strategy)
    learner = LogisticRegression(rounds=rounds, radius=1.0).fit(oracle)
    assert learner.score(SPHERE, SPHERE @ WEIGHTS > 0) >= 0.95


def test_beyond_the_tolerance_an_adversary_wins() -> None:
    learner = LogisticRegression(rounds=1, radius=1.0, check_signal=False)
    scores = [
        learner.fit(AdversarialOracle(SEPARATED, 0.3, strategy)).score(SPHERE, SPHERE @ WEIGHTS > 0)
        for strategy in STRATEGIES
    ]
    assert min(scores) < 0.9


def test_with_noise_it_descends_and_asks_as_often_as_it_announced() -> None:
    local = CountingOracle(oracle_about(SEPARATED, "local", "logistic"))
    learner = LogisticRegression().fit(local)
    assert learner.rounds_ == local.counts.rounds == local.counts.rounds_announced[-1]
    assert learner.rounds_ in ROUNDS
    assert "priv-unit" in learner.plan_.rows[0].how and learner.plan_.rows[0].entries == 4


def test_where_answers_are_as_good_as_the_truth_it_takes_gradients() -> None:
    quiet = AdversarialOracle(SEPARATED, 1e-5, "up")
    assert LogisticRegression().fit(quiet).rounds_ == 20


def test_what_cannot_be_learned_is_refused() -> None:
    for rounds in (0, 1025):
        with pytest.raises(InvalidParameter, match="rounds"):
            LogisticRegression(rounds=rounds).fit(ExactOracle(NOISY))
    with pytest.raises(InvalidParameter, match="is a bit"):
        LogisticRegression("x0").fit(ExactOracle(NOISY))
    with pytest.raises(SignalTooWeak, match="linear margin"):
        LogisticRegression().fit(AdversarialOracle(NOISY, 0.5))


def test_probabilities_of_far_people_are_numbers() -> None:
    learner = LogisticRegression(rounds=1, radius=1.0).fit(ExactOracle(SEPARATED))
    far = learner.predict_proba(1e6 * SPHERE[:20])
    assert np.isfinite(far).all() and (far.sum(axis=1) == 1).all() and set(far.ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("seed", range(8))
def test_a_covariance_that_noise_has_taken_does_not_let_the_weights_run_away(seed: int) -> None:
    ages = np.random.default_rng(seed).uniform(0, 100, (20_000, 1))
    wide = table_of(ages, 1000.0, ages[:, 0] > 50)  # twenty times as wide as it needs to be
    learner = LogisticRegression().fit(oracle_about(wide, "curator", f"wide {seed}"))
    assert learner.rounds_ > 1
    assert learner.score(ages, ages[:, 0] > 50) > 0.9
