"""Naive Bayes: that of scikit-learn on exact answers, and decided the same within the claimed margin."""

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from localdp.algorithms.learners.naive_bayes import NaiveBayes
from localdp.algorithms.scikit_learn import NotFitted
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.bit_tables import all_rows, bit_records, local_oracle

SCHEMA = Schema(
    {
        "bit": BitDomain(),
        "colour": CategoryDomain(("red", "green", "blue")),
        "age": IntegerDomain(0, 99),
        "mass": RealDomain(0, 1),
        "kind": CategoryDomain(("a", "b", "c")),
    }
)
EDGES: dict[str, list[float]] = {"age": [18, 40, 65], "mass": [0.2, 0.9]}


def mixed_people(people: int = 900) -> Records:
    rng = np.random.default_rng(6)
    kind = rng.integers(0, 3, people)
    return Records(
        SCHEMA,
        {
            "bit": rng.random(people) < 0.2 + 0.3 * kind,
            "colour": (kind + (rng.random(people) < 0.4)) % 3,
            "age": np.minimum(99, 30 * kind + rng.integers(0, 40, people)),
            "mass": rng.random(people) ** (1 + kind),
            "kind": kind,
        },
    )


def codes_of(people: Records) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    age = np.searchsorted(EDGES["age"], people.column("age"))
    mass = np.searchsorted(EDGES["mass"], people.column("mass"))
    return np.column_stack([people.column("bit"), people.column("colour"), age, mass]).astype(np.int64)


@pytest.mark.parametrize("smoothing", [0.5, 1.0])
def test_exact_answers_give_the_categorical_naive_bayes_of_scikit_learn(smoothing: float) -> None:
    people = mixed_people()
    ours = NaiveBayes("kind", edges=EDGES, smoothing=smoothing).fit(ExactOracle(people))
    theirs = CategoricalNB(alpha=smoothing, min_categories=[2, 3, 4, 3])
    theirs.fit(codes_of(people), people.column("kind"))
    assert np.allclose(ours.predict_proba(people), theirs.predict_proba(codes_of(people)))
    for logs, expected in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        assert np.allclose(logs.T, expected)
    predicted = theirs.predict(codes_of(people))
    assert np.array_equal(ours.predict(people), np.array(["a", "b", "c"])[predicted])


def test_it_asks_one_round_of_one_table_for_each_feature() -> None:
    oracle = CountingOracle(ExactOracle(mixed_people()))
    learner = NaiveBayes("kind", edges=EDGES).fit(oracle)
    assert (oracle.counts.rounds, oracle.counts.queries, oracle.counts.entries) == (1, 4, 36)
    assert learner.cost_.rounds == 1


def skewed_people() -> Records:
    """All combinations of 6 bits and the target, in the proportions of a naive Bayes model of 2/5 and 3/5."""
    rows = all_rows(7)
    votes = np.where(rows[:, :6] == rows[:, 6:], 3, 2).prod(axis=1)
    repeated = np.repeat(rows, votes, axis=0)
    return bit_records(repeated[:, :6], repeated[:, 6])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tolerance", [0.0005, 0.005])
def test_whoever_is_decided_by_more_than_the_margin_is_decided_the_same(
    strategy: str, tolerance: float
) -> None:
    people = skewed_people()
    exact = NaiveBayes("y").fit(ExactOracle(people))
    told = NaiveBayes("y").fit(AdversarialOracle(people, tolerance, strategy))
    moved, least, rarest = 2.5 * tolerance, 0.2, 0.5
    margin = 6 * -np.log((1 - moved / least) * (1 - 2 * moved / rarest)) - np.log(
        1 - 4 * tolerance / rarest
    )
    rows = all_rows(6)
    before, after = exact.joint_log_likelihood(rows), told.joint_log_likelihood(rows)
    assert np.abs(before - after).max() <= margin + 1e-9
    decided = np.abs(before[:, 1] - before[:, 0]) > 2 * margin
    assert np.array_equal(told.predict(rows)[decided], exact.predict(rows)[decided])
    assert decided.sum() >= (40 if tolerance < 0.001 else 10)


def test_a_cell_that_noise_made_empty_does_not_decide_alone() -> None:
    """Without caution, one cell projected to zero outweighs everything else."""
    people = skewed_people()
    noisy = [
        NaiveBayes("y", caution=caution, check_signal=False).fit(
            local_oracle(people.take(np.arange(600)), 3)
        )
        for caution in (0.0, 0.5)
    ]
    largest = [max(float(np.abs(logs).max()) for logs in learner.feature_log_prob_) for learner in noisy]
    assert largest[0] > 4 and largest[1] < 4


def test_tables_lie_on_the_simplex_and_probabilities_add_up() -> None:
    learner = NaiveBayes("y", check_signal=False).fit(
        local_oracle(skewed_people().take(np.arange(3000)), 1)
    )
    assert all(table.min() >= 0 and table.sum() == pytest.approx(1) for table in learner.tables_)
    assert np.allclose(learner.predict_proba(all_rows(6)).sum(axis=1), 1)


def test_frequencies_that_drown_are_refused_before_anybody_is_asked() -> None:
    oracle = CountingOracle(local_oracle(skewed_people().take(np.arange(200)), 1))
    with pytest.raises(SignalTooWeak):
        NaiveBayes("y").fit(oracle)
    assert oracle.counts.rounds == 0
    with pytest.raises(SignalTooWeak):
        NaiveBayes("y", contrast=0.2).fit(AdversarialOracle(skewed_people(), 0.1))
    NaiveBayes("y", contrast=0.2).fit(AdversarialOracle(skewed_people(), 0.099))


def test_features_and_labels_at_hand_are_enough() -> None:
    rows = np.repeat(all_rows(4), 20, axis=0).astype(np.int64)
    learner = NaiveBayes(model="exact").fit(rows, rows[:, 0])
    assert learner.features_ == ("x0", "x1", "x2", "x3")
    assert learner.score(rows, rows[:, 0]) == 1.0


@pytest.mark.parametrize(
    "parameters", [{"smoothing": 0.0}, {"caution": -1.0}, {"contrast": 0.0}, {"bins": 1}]
)
def test_nonsense_is_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        NaiveBayes("kind").set_params(**parameters).fit(ExactOracle(mixed_people()))


def test_a_target_without_classes_is_refused_and_so_is_predicting_before_fitting() -> None:
    with pytest.raises(InvalidParameter, match="no classes"):
        NaiveBayes("mass").fit(ExactOracle(mixed_people()))
    with pytest.raises(NotFitted):
        NaiveBayes("kind").predict(mixed_people())
