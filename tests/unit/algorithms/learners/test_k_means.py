"""k-means: as good as scikit-learn on exact answers, and little worse within tolerance."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as Reference

from localdp.algorithms.learners.cluster_moves import Moves
from localdp.algorithms.learners.grid_clusters import squared_distances
from localdp.algorithms.learners.k_means import ROUNDS, KMeans
from localdp.algorithms.learners.scaling import Scaling
from localdp.domains import Records
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.estimation.consistency import norm_sub
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import RecordingOracle
from tests.support.number_tables import Floats, matrix_of, oracle_about, table_of


def _blobs(centres: Floats, spread: float, people: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    return centres[generator.integers(0, len(centres), people)] + generator.normal(
        0, spread, (people, centres.shape[1])
    )


CENTRES = np.array([[0.5, 0.4], [0.55, -0.5], [-0.4, 0.5], [-0.6, -0.45]])
FLAT = table_of(_blobs(CENTRES, 0.15, 5000, 1), 1.0)
WIDE_CENTRES = 2 * np.random.default_rng(2).normal(size=(3, 6))
WIDE = table_of(_blobs(WIDE_CENTRES, 0.5, 5000, 3), 8.0)


@pytest.mark.parametrize(("records", "clusters"), [(FLAT, 4), (WIDE, 3)])
def test_on_exact_answers_the_cost_is_that_of_scikit_learn(records: Records, clusters: int) -> None:
    learner = KMeans(clusters).fit(ExactOracle(records))
    table = matrix_of(records)
    reference = Reference(clusters, n_init=4, random_state=0).fit(table)
    assert -learner.score(table) <= 1.001 * reference.inertia_ / len(table)
    assert learner.rounds_ == ROUNDS
    near = squared_distances(learner.cluster_centers_, reference.cluster_centers_).min(axis=1)
    assert np.sqrt(near.max()) < 0.02
    assert len(set(learner.predict(table))) == clusters


def test_a_move_along_all_features_that_shortens_nobody_is_a_step_of_lloyd() -> None:
    units = Scaling.common(FLAT.schema, FLAT.schema.names, None)
    start = np.array([[0.1, 0.2], [0.3, -0.1], [-0.2, 0.3], [-0.3, -0.3]])
    places = matrix_of(FLAT) / units.widths
    nearest = squared_distances(places, start).argmin(axis=1)
    masses = np.bincount(nearest) / len(nearest)
    moved = Moves(np.eye(2), 2.0).along(ExactOracle(FLAT), units, start, masses, 1)
    expected = np.stack([places[nearest == number].mean(axis=0) for number in range(4)])
    np.testing.assert_allclose(moved, expected, atol=1e-6)


def test_across_the_axes_one_query_moves_all_centres() -> None:
    units = Scaling.common(WIDE.schema, WIDE.schema.names, None)
    places = matrix_of(WIDE) / units.widths
    origin, flat = places.mean(axis=0), WIDE_CENTRES / units.widths
    start = np.column_stack([flat[:, :3], np.tile(origin[3:], (3, 1))])  # right along three axes only
    nearest = squared_distances(places, start).argmin(axis=1)
    masses = np.bincount(nearest) / len(nearest)
    told = RecordingOracle(ExactOracle(WIDE))
    moved = Moves(np.eye(6)[3:], 2.0).across(told, units, origin, start, masses, 1)
    expected = np.stack([places[nearest == number].mean(axis=0) for number in range(3)])
    np.testing.assert_allclose(moved[:, 3:], expected[:, 3:], atol=1e-6)
    np.testing.assert_allclose(moved[:, :3], start[:, :3], atol=1e-12)
    assert [len(asked) for asked in told.transcript.rounds] == [1]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounds", [1, None])
def test_within_tolerance_the_cost_is_hardly_more(strategy: str, rounds: int | None) -> None:
    learner = KMeans(4, rounds=rounds).fit(AdversarialOracle(FLAT, 0.002, strategy))
    best = -KMeans(4).fit(ExactOracle(FLAT)).score(matrix_of(FLAT))
    assert -learner.score(matrix_of(FLAT)) <= best + 0.01


def test_beyond_the_tolerance_an_adversary_wins() -> None:
    learner = KMeans(4, rounds=1, check_signal=False)
    best = -KMeans(4).fit(ExactOracle(FLAT)).score(matrix_of(FLAT))
    costs = [
        -learner.fit(AdversarialOracle(FLAT, 0.05, each)).score(matrix_of(FLAT)) for each in STRATEGIES
    ]
    assert max(costs) > best + 0.02


def test_the_cost_on_the_histogram_is_off_by_no_more_than_claimed() -> None:
    tolerance = 0.001
    for strategy in STRATEGIES:
        told, true = (
            RecordingOracle(oracle)
            for oracle in (AdversarialOracle(FLAT, tolerance, strategy), ExactOracle(FLAT))
        )
        learner = KMeans(4, rounds=1, check_signal=False).fit(told)
        query = told.transcript.rounds[0][0].query
        answers = [oracle.answer_vectors([query])[0].values for oracle in (told, true)]
        away = np.abs(norm_sub(answers[0]) - answers[1]).sum()
        assert away <= len(answers[0]) * tolerance and learner.rounds_ == 1


def test_many_features_are_asked_for_their_scale_their_axes_a_grid_and_moves() -> None:
    told = RecordingOracle(AdversarialOracle(WIDE, 0.0003, "alternate"))
    learner = KMeans(3, check_signal=False).fit(told)
    assert len(told.transcript.rounds) == learner.rounds_ == ROUNDS
    starts = [answers[0].query.split("(")[0] for answers in told.transcript.rounds]
    assert list(dict.fromkeys(starts)) == ["ball", "which", "moments", "cells", "at"]
    near = squared_distances(WIDE_CENTRES, learner.cluster_centers_).min(axis=1)
    assert np.sqrt(near.max()) < 0.3
    with pytest.raises(InvalidParameter, match="at least 12 rounds"):
        KMeans(3, rounds=1).fit(ExactOracle(WIDE))


def test_bounds_ten_times_too_wide_do_little_harm() -> None:
    wide = table_of(matrix_of(FLAT), 10.0)
    cost = -KMeans(4).fit(oracle_about(wide, "curator", "wide")).score(matrix_of(FLAT))
    best = -KMeans(4).fit(ExactOracle(FLAT)).score(matrix_of(FLAT))
    assert cost <= 1.1 * best


def test_what_cannot_be_learned_is_refused() -> None:
    for clusters in (0, 65):
        with pytest.raises(InvalidParameter, match="clusters"):
            KMeans(clusters).fit(ExactOracle(FLAT))
    with pytest.raises(InvalidParameter, match="rounds"):
        KMeans(2, rounds=0).fit(ExactOracle(FLAT))
    with pytest.raises(SignalTooWeak, match="histogram"):
        KMeans(4).fit(AdversarialOracle(FLAT, 0.5))
