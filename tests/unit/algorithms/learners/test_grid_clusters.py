"""Clusters of weighted points: as good as trying everything on small sets, and deterministic."""

from itertools import combinations

import numpy as np
import pytest

from localdp.algorithms.learners import grid_clusters
from localdp.algorithms.learners.grid_clusters import clustered, squared_distances
from tests.support.number_tables import Floats


def _cost(points: Floats, weights: Floats, centres: Floats) -> float:
    return float(squared_distances(points, centres).min(axis=1) @ weights)


def _best_of_cells(points: Floats, weights: Floats, clusters: int) -> float:
    return min(
        _cost(points, weights, points[list(chosen)])
        for chosen in combinations(range(len(points)), clusters)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_is_at_most_that_of_the_best_choice_of_cells(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, weights = generator.normal(size=(16, 2)), generator.random(16)
    assert _cost(points, weights, clustered(points, weights, 3)) <= 1.02 * _best_of_cells(
        points, weights, 3
    )


def test_exchanges_repair_what_greed_spoils() -> None:
    # The first greedy centre stands between the three heaps, where none is needed.
    heaps = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    points = np.concatenate([heaps, [[0.5, 0.3]]])
    weights = np.array([1.0, 1.0, 1.0, 0.01])
    distances = squared_distances(points, points)
    assert 3 in grid_clusters._greedy(distances, weights, 3)
    assert set(grid_clusters._exchanged(distances, weights, [3, 0, 1])) == {0, 1, 2}


def test_distances_are_those_of_the_definition() -> None:
    points, centres = np.random.default_rng(1).normal(size=(2, 6, 3))
    expected = np.square(points[:, None] - centres[None]).sum(axis=2)
    np.testing.assert_allclose(squared_distances(points, centres), expected, atol=1e-12)


def test_a_cluster_without_weight_stays_where_it_is() -> None:
    points = np.array([[0.0], [1.0], [2.0]])
    assert np.isfinite(clustered(points, np.array([1.0, 0.0, 0.0]), 3)).all()
