"""Conjunctions: exact on exact answers, right at the edge of the tolerance, wrong beyond it."""

import numpy as np
import pytest

from localdp.algorithms.learners.conjunction import ROUNDS, ConjunctionLearner
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.bit_tables import all_rows, bit_records, local_oracle, random_rows

ROWS = all_rows(8)
POSITIVE = ROWS[:, 1] & ROWS[:, 4] & ROWS[:, 6]
MIXED = ROWS[:, 1] & ~ROWS[:, 4] & ROWS[:, 6]
PEOPLE, MIXED_PEOPLE = bit_records(ROWS, POSITIVE), bit_records(ROWS, MIXED)
JUST_WITHIN, JUST_BEYOND = 0.03124, 0.0313  # half of the least violation, which is 1/16 here


def test_the_conjunction_is_found_from_exact_answers_in_one_round() -> None:
    oracle = CountingOracle(ExactOracle(PEOPLE))
    learner = ConjunctionLearner("y", violation=1 / 16).fit(oracle)
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
    assert oracle.counts.queries == 1 + 8 + 8  # how often the target holds, and each bit, and each fails


def test_the_violation_that_matters_is_measured_first() -> None:
    learner = ConjunctionLearner("y").fit(ExactOracle(PEOPLE))
    assert learner.literals_ == ("x1", "x4", "x6")
    assert set(learner.thresholds_.values()) == {1 / 32}
    rare = bit_records(ROWS, ROWS[:, :6].sum(axis=1) == 6)  # a fourth of what 1/16 would have missed
    assert ConjunctionLearner("y").fit(ExactOracle(rare)).literals_ == tuple(
        f"x{place}" for place in range(6)
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answers_within_a_sixth_of_the_positives_are_enough_for_it(strategy: str) -> None:
    told = AdversarialOracle(PEOPLE, 0.0208, strategy)
    assert ConjunctionLearner("y").fit(told).literals_ == ("x1", "x4", "x6")


@pytest.mark.parametrize("strategy", ["up", "down"])
def test_it_is_refused_where_the_measured_violation_would_drown(strategy: str) -> None:
    oracle = CountingOracle(AdversarialOracle(PEOPLE, 0.06, strategy))
    with pytest.raises(SignalTooWeak):
        ConjunctionLearner("y").fit(oracle)
    assert oracle.counts.rounds == 2  # the scale, and nothing else
    with pytest.raises(SignalTooWeak):
        ConjunctionLearner("y").fit(CountingOracle(AdversarialOracle(PEOPLE, 0.125, strategy)))


def test_a_literal_that_stays_in_doubt_is_mostly_not_guessed() -> None:
    """x0 fails for half as many positives as a bit that says nothing would: it is neither in the target nor outside."""
    rows, refused = all_rows(6, times=800), 0
    labels = rows[:, 1] & (rows[:, 0] | (np.arange(len(rows)) % 3 == 0))
    for seed in range(6):
        try:
            ConjunctionLearner("y").fit(local_oracle(bit_records(rows, labels), seed))
        except SignalTooWeak as refusal:
            refused += "whether x0 belongs" in str(refusal)
    assert refused >= 2


def test_only_literals_in_doubt_are_asked_about_again() -> None:
    rows = random_rows(60_000, 6, 1)
    oracle = CountingOracle(local_oracle(bit_records(rows, rows[:, 2]), 1))
    assert ConjunctionLearner("y").fit(oracle).literals_ == ("x2",)
    assert oracle.counts.rounds_announced[-1] == ROUNDS
    assert oracle.counts.rounds < ROUNDS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_any_answers_within_half_a_violation_are_enough(strategy: str) -> None:
    learner = ConjunctionLearner("y", violation=1 / 16).fit(
        AdversarialOracle(PEOPLE, JUST_WITHIN, strategy)
    )
    assert learner.literals_ == ("x1", "x4", "x6")
    mixed = ConjunctionLearner("y", negations=True, violation=1 / 16)
    assert mixed.fit(AdversarialOracle(MIXED_PEOPLE, JUST_WITHIN, strategy)).literals_ == (
        "x1",
        "not x4",
        "x6",
    )


@pytest.mark.parametrize("strategy", ["up", "down"])
def test_answers_beyond_half_a_violation_are_not_enough_and_are_refused(strategy: str) -> None:
    oracle = CountingOracle(AdversarialOracle(PEOPLE, JUST_BEYOND, strategy))
    with pytest.raises(SignalTooWeak):
        ConjunctionLearner("y", violation=1 / 16).fit(oracle)
    assert oracle.counts.rounds == 0
    misled = ConjunctionLearner("y", violation=1 / 16, check_signal=False).fit(oracle)
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
