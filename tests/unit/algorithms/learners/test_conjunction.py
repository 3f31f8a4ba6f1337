"""Conjunctions: exact on exact answers, right at the edge of the tolerance, wrong beyond it."""

import numpy as np
import pytest

from localdp.algorithms.learners.conjunction import ConjunctionLearner
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.bit_tables import all_rows, bit_records

ROWS = all_rows(8)
POSITIVE = ROWS[:, 1] & ROWS[:, 4] & ROWS[:, 6]
MIXED = ROWS[:, 1] & ~ROWS[:, 4] & ROWS[:, 6]
PEOPLE, MIXED_PEOPLE = bit_records(ROWS, POSITIVE), bit_records(ROWS, MIXED)
JUST_WITHIN, JUST_BEYOND = 0.03124, 0.0313  # half of the least violation, which is 1/16 here


def test_the_conjunction_is_found_from_exact_answers_in_one_round() -> None:
    oracle = CountingOracle(ExactOracle(PEOPLE))
    learner = ConjunctionLearner("y").fit(oracle)
    assert learner.literals_ == ("x1", "x4", "x6")
    assert learner.violations_["x0"] == 1 / 16
    assert np.array_equal(learner.predict(ROWS), POSITIVE)
    assert learner.score(ROWS, POSITIVE) == 1.0
    assert (oracle.counts.rounds, oracle.counts.queries) == (1, 8)


def test_negated_literals_are_found_from_as_many_queries() -> None:
    oracle = CountingOracle(ExactOracle(MIXED_PEOPLE))
    learner = ConjunctionLearner("y", negations=True).fit(oracle)
    assert learner.literals_ == ("x1", "not x4", "x6")
    assert np.array_equal(learner.predict_proba(ROWS)[:, 1] == 1.0, MIXED)
    assert oracle.counts.queries == 8


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_any_answers_within_half_a_violation_are_enough(strategy: str) -> None:
    learner = ConjunctionLearner("y").fit(AdversarialOracle(PEOPLE, JUST_WITHIN, strategy))
    assert learner.literals_ == ("x1", "x4", "x6")
    mixed = ConjunctionLearner("y", negations=True)
    assert mixed.fit(AdversarialOracle(MIXED_PEOPLE, JUST_WITHIN, strategy)).literals_ == (
        "x1",
        "not x4",
        "x6",
    )


@pytest.mark.parametrize("strategy", ["up", "down"])
def test_answers_beyond_half_a_violation_are_not_enough_and_are_refused(strategy: str) -> None:
    oracle = CountingOracle(AdversarialOracle(PEOPLE, JUST_BEYOND, strategy))
    with pytest.raises(SignalTooWeak):
        ConjunctionLearner("y").fit(oracle)
    assert oracle.counts.rounds == 0
    misled = ConjunctionLearner("y", check_signal=False).fit(oracle)
    assert misled.literals_ != ("x1", "x4", "x6")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_wrong_hypothesis_errs_on_positives_only_and_by_the_violations_it_missed(strategy: str) -> None:
    learner = ConjunctionLearner("y", violation=0.2).fit(AdversarialOracle(PEOPLE, 0.099, strategy))
    predicted = learner.predict(ROWS)
    assert not (predicted & ~POSITIVE).any()
    assert np.mean(predicted != POSITIVE) < len(learner.features_) * 0.2


def test_no_literal_at_all_is_always_true() -> None:
    everybody = bit_records(ROWS, np.ones(len(ROWS), np.bool_))
    learner = ConjunctionLearner("y").fit(ExactOracle(everybody))
    assert learner.literals_ == ()
    assert learner.predict(ROWS).all()


def test_only_bits_are_learned_from() -> None:
    schema = Schema({"x": BitDomain(), "r": RealDomain(0, 1), "y": BitDomain()})
    people = Records(schema, {"x": [0, 1], "r": [0.0, 1.0], "y": [0, 1]})
    assert ConjunctionLearner("y").fit(ExactOracle(people)).features_ == ("x",)
    with pytest.raises(InvalidParameter):
        ConjunctionLearner("y", ["x", "r"]).fit(ExactOracle(people))
    with pytest.raises(InvalidParameter):
        ConjunctionLearner("r", ["x"]).fit(ExactOracle(people))
    with pytest.raises(InvalidParameter):
        ConjunctionLearner("y", violation=0).fit(ExactOracle(people))
