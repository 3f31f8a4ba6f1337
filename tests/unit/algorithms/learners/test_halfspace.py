"""Halfspaces: one round is the average of labelled directions, and further rounds correct what that is turned by."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from localdp.algorithms.learners.descent import ROUNDS
from localdp.algorithms.learners.halfspace import HalfspaceLearner, mean_projection
from localdp.algorithms.scikit_learn import NotFitted
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.number_tables import matrix_of, oracle_about, table_of

Floats = NDArray[np.float64]
NORMAL = np.array([2.0, -1.0, 0.5, 0.0])
FEATURES = np.random.default_rng(1).normal(size=(4000, 4))
PEOPLE = table_of(FEATURES, 6.0, FEATURES @ NORMAL > 0)


def _mean() -> Floats:
    features = matrix_of(PEOPLE)
    signs = np.where(PEOPLE.column("target"), 1.0, -1.0)[:, None]
    mean: Floats = (signs * features / np.linalg.norm(features, axis=1, keepdims=True)).mean(axis=0)
    return mean


def _angle(one: Floats, two: Floats) -> float:
    return math.acos(min(1.0, float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))))


def test_on_exact_answers_one_round_is_the_mean_of_the_labelled_directions() -> None:
    learner = HalfspaceLearner(rounds=1).fit(ExactOracle(PEOPLE))
    np.testing.assert_allclose(learner.coef_, _mean() / np.linalg.norm(_mean()), atol=1e-12)
    assert learner.score(FEATURES, FEATURES @ NORMAL > 0) > 0.98
    assert learner.cost_.rounds == 1 and learner.cost_.queries == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tolerance", [0.02, 0.1])
def test_within_tolerance_the_normal_turns_no_further_than_claimed(strategy: str, tolerance: float) -> None:
    learner = HalfspaceLearner(rounds=1).fit(AdversarialOracle(PEOPLE, tolerance, strategy))
    bound = math.asin(tolerance * 2 / float(np.linalg.norm(_mean())))
    assert _angle(learner.coef_, _mean()) <= bound
    wrong = 1 - learner.score(FEATURES, FEATURES @ _mean() > 0)
    assert wrong <= bound / math.pi + 3 * math.sqrt(bound / len(FEATURES))


def test_an_adversary_comes_close_to_the_claim() -> None:
    def across(truth: Floats, tolerance: float) -> Floats:
        sideways = np.array([1.0, 1.0, -1.0, 1.0]) * tolerance
        return truth + np.where(sideways @ truth > 0, -1, 1) * sideways

    learner = HalfspaceLearner(rounds=1).fit(AdversarialOracle(PEOPLE, 0.1, across))
    assert _angle(learner.coef_, _mean()) > 0.6 * math.asin(0.2 / float(np.linalg.norm(_mean())))


def test_flipped_labels_shorten_the_mean_and_do_not_turn_it() -> None:
    flipped = (FEATURES @ NORMAL > 0) ^ (np.random.default_rng(2).random(4000) < 0.2)
    learner = HalfspaceLearner(rounds=1).fit(ExactOracle(table_of(FEATURES, 6.0, flipped)))
    assert _angle(learner.coef_, NORMAL) < 0.1


def test_the_mean_projection_is_that_of_the_sphere() -> None:
    assert mean_projection(1) == pytest.approx(1)
    assert mean_projection(2) == pytest.approx(2 / math.pi)
    assert mean_projection(3) == pytest.approx(1 / 2)
    assert mean_projection(1000) == pytest.approx(math.sqrt(2 / (math.pi * 1000)), rel=1e-3)


def test_nothing_is_asked_when_the_noise_would_drown_the_mean() -> None:
    few = CountingOracle(
        oracle_about(table_of(FEATURES[:100], 6.0, FEATURES[:100] @ NORMAL > 0), "local", "few")
    )
    with pytest.raises(SignalTooWeak, match="labelled directions"):
        HalfspaceLearner().fit(few)
    assert few.counts.rounds == 0
    learner = HalfspaceLearner(check_signal=False).fit(few)
    assert learner.cost_.rounds == learner.rounds_ == few.counts.rounds == ROUNDS[-1]


def test_further_rounds_correct_what_long_directions_have_turned() -> None:
    stretched = FEATURES * [2.0, 0.3, 1.0, 1.0]
    normal = np.array([1.0, 6.0, 1.0, -1.0])
    people = ExactOracle(table_of(stretched, 9.0, stretched @ normal > 0))
    once, often = HalfspaceLearner(rounds=1).fit(people), HalfspaceLearner().fit(people)
    assert once.score(stretched, stretched @ normal > 0) < 0.85
    assert often.score(stretched, stretched @ normal > 0) > 0.98


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_further_rounds_bear_lies_as_well(strategy: str) -> None:
    learner = HalfspaceLearner().fit(AdversarialOracle(PEOPLE, 0.01, strategy))
    assert learner.score(FEATURES, FEATURES @ NORMAL > 0) > 0.95


def test_units_of_the_features_do_not_matter() -> None:
    schema = Schema({"a": RealDomain(-6e3, 1e3), "b": RealDomain(-1e-3, 6e-3), "target": BitDomain()})
    columns = {"a": 1e3 * FEATURES[:, 0].clip(-6, 1), "b": 1e-3 * FEATURES[:, 1].clip(-1, 6)}
    above = columns["a"] * 1e-6 > columns["b"]
    records = Records(schema, {**columns, "target": above})
    assert HalfspaceLearner().fit(ExactOracle(records)).score(columns, above) > 0.98


def test_people_are_read_from_arrays_mappings_and_data_frames() -> None:
    learner = HalfspaceLearner().fit(ExactOracle(PEOPLE))
    frame = pd.DataFrame(FEATURES[:9], columns=[f"x{place}" for place in range(4)])
    expected = learner.predict(FEATURES[:9]).tolist()
    assert learner.predict(frame[["x3", "x2", "x1", "x0"]]).tolist() == expected
    assert learner.predict({name: frame[name].to_numpy() for name in frame}).tolist() == expected


def test_what_cannot_be_learned_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="is a bit"):
        HalfspaceLearner("x0").fit(ExactOracle(PEOPLE))
    with pytest.raises(InvalidParameter, match="rounds"):
        HalfspaceLearner(rounds=0).fit(ExactOracle(PEOPLE))
    with pytest.raises(NotFitted):
        HalfspaceLearner().predict(FEATURES)
