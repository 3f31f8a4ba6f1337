"""Boosting of stumps: the gradient steps that it says, and no further off than the answers allow."""

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.algorithms.learners.boosting import StumpBooster
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle, RecordingOracle
from tests.support.bit_tables import all_rows, bit_records

ROWS = all_rows(7)
MAJORITY = ROWS[:, :5].sum(axis=1) >= 3
PEOPLE = bit_records(ROWS, MAJORITY)
SCHEMA = Schema(
    {
        "bit": BitDomain(),
        "colour": CategoryDomain(("red", "green", "blue")),
        "age": IntegerDomain(0, 99),
        "mass": RealDomain(0, 1),
        "y": BitDomain(),
    }
)


def mixed_people() -> Records:
    rng = np.random.default_rng(5)
    bit, colour = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    age, mass = rng.integers(0, 100, 600), rng.random(600)
    y = (bit + (colour == 2) + (age > 50) + (mass < 0.25)) >= 2
    return Records(SCHEMA, {"bit": bit, "colour": colour, "age": age, "mass": mass, "y": y})


def votes_of(people: Records, bins: int = 4) -> NDArray[np.float64]:
    """h of the mixed people, in the learner's order: the constant, the bit, labels, ages, masses."""
    names = {name: people.column(name) for name in SCHEMA.names}
    stumps = [np.ones(people.people, np.bool_), names["bit"]]
    stumps += [names["colour"] == code for code in range(3)]
    stumps += [names["age"] <= 99 * place / bins for place in range(1, bins)]
    stumps += [names["mass"] <= place / bins for place in range(1, bins)]
    return np.where(np.array(stumps).T, 1.0, -1.0)


def boosted(
    votes: NDArray[np.float64], target: NDArray[np.bool_], rounds: int, step: float
) -> NDArray[np.float64]:
    """The algorithm itself, on the records."""
    features, signs = votes / np.sqrt(votes.shape[1]), np.where(target, 1.0, -1.0)
    weights = np.zeros(votes.shape[1])
    for _ in range(rounds):
        each = np.minimum(1, np.exp(-signs * (features @ weights)))
        weights = weights + step * np.mean((signs * each)[:, None] * features, axis=0)
    return weights


@pytest.mark.parametrize("bins", [4, 40])
def test_exact_answers_give_the_steps_of_the_algorithm_on_columns_of_every_kind(bins: int) -> None:
    people = mixed_people()
    learner = StumpBooster("y", bins=bins, rounds=5).fit(ExactOracle(people))
    expected = boosted(votes_of(people, bins), people.column("y"), 5, 4.0)
    assert np.allclose(learner.weights_, expected, atol=1e-7)
    votes = votes_of(people, bins) @ expected / np.sqrt(len(expected))
    assert np.allclose(learner.decision_function(people), votes, atol=1e-6)
    assert bins == 40 or learner.score(people, people.column("y")) > 0.9


@pytest.mark.parametrize(("bins", "first"), [(4, "parities"), (40, "gradient")])
def test_the_first_round_is_asked_as_parities_unless_there_are_too_many_stumps(
    bins: int, first: str
) -> None:
    recorder = RecordingOracle(ExactOracle(mixed_people()))
    learner = StumpBooster("y", bins=bins, rounds=3).fit(recorder)
    asked = [answers[0].query.split("(")[0] for answers in recorder.transcript.rounds]
    assert asked == [first, "gradient", "gradient"]
    assert (len(learner.stumps_) > 61) == (first == "gradient")


def test_a_majority_is_found_and_what_does_not_matter_has_no_weight() -> None:
    oracle = CountingOracle(ExactOracle(PEOPLE))
    learner = StumpBooster("y").fit(oracle)
    assert learner.score(ROWS, MAJORITY) == 1.0
    assert np.allclose(learner.weights_[6:], 0, atol=1e-8) and learner.weights_[1:6].min() > 1
    assert (oracle.counts.rounds, oracle.counts.rounds_announced) == (8, [8])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tolerance", [0.002, 0.01])
def test_weights_stay_within_what_the_tolerance_allows(strategy: str, tolerance: float) -> None:
    exact = StumpBooster("y").fit(ExactOracle(PEOPLE))
    told = StumpBooster("y").fit(AdversarialOracle(PEOPLE, tolerance, strategy))
    allowed = 2 * 8 * 4.0 * tolerance * np.sqrt(8)
    assert np.linalg.norm(told.weights_ - exact.weights_) <= allowed
    decided = np.abs(exact.decision_function(ROWS)) > allowed
    assert np.array_equal(told.predict(ROWS)[decided], MAJORITY[decided])
    if tolerance == 0.002:
        assert decided.all()


def test_a_step_beyond_what_is_allowed_drives_points_apart() -> None:
    """Here lambda = 1/8, so that 16 is the largest step.  A parity has no edges: exact answers stay at zero."""
    people = bit_records(ROWS, ROWS.sum(axis=1) % 2 == 1)
    learner = StumpBooster("y", step=160.0, check_signal=False)
    assert not learner.fit(ExactOracle(people)).weights_.any()
    told = learner.fit(AdversarialOracle(people, 1e-4, "alternate")).weights_
    assert np.linalg.norm(told) > 2 * 8 * 160.0 * 1e-4 * np.sqrt(8)


def test_probabilities_follow_the_vote() -> None:
    learner = StumpBooster("y").fit(ExactOracle(PEOPLE))
    probabilities = learner.predict_proba(ROWS)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(probabilities[:, 1] > 0.5, learner.predict(ROWS))


def test_edges_that_drown_are_refused_before_anybody_is_asked() -> None:
    oracle = CountingOracle(AdversarialOracle(PEOPLE, 0.3))
    with pytest.raises(SignalTooWeak):
        StumpBooster("y").fit(oracle)
    assert oracle.counts.rounds == 0


def test_an_edge_read_off_a_vector_is_off_by_more_than_an_entry_of_it() -> None:
    """80 stumps and the constant: an edge is sqrt(81) times an entry, or the difference of two of them."""
    people = mixed_people()
    with pytest.raises(SignalTooWeak):
        StumpBooster("y", bins=40, rounds=1).fit(AdversarialOracle(people, 0.02))
    StumpBooster("y", bins=40, rounds=1).fit(AdversarialOracle(people, 0.015))


@pytest.mark.parametrize(
    "parameters", [{"rounds": 0}, {"rounds": 65}, {"step": 0.0}, {"edge": 0.0}, {"target": "colour"}]
)
def test_nonsense_is_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        StumpBooster("y").set_params(**parameters).fit(ExactOracle(mixed_people()))
