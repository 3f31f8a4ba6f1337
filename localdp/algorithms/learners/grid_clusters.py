"""k-means of weighted points: what is done with a histogram on a grid, without asking anybody.

Seeding takes the centre that lowers the cost most, k times (greedy, all cells tried), then exchanges a centre for a cell as
long as that lowers the cost (Kanungo et al. 2004: a local optimum of exchanges costs at most 25 times the best, in practice
little more than 1); then Lloyd's steps.  No choice is random.
Checked in tests/unit/algorithms/learners/test_grid_clusters.py.
"""

from __future__ import annotations

import numpy as np

from localdp.randomness.source import Floats

_MOST_EXCHANGES = 64
_LLOYD_STEPS = 50


def squared_distances(points: Floats, centres: Floats) -> Floats:
    """Of every point to every centre, one row per point."""
    crossed = points @ centres.T
    squares = np.square(points).sum(axis=1)[:, None] - 2 * crossed + np.square(centres).sum(axis=1)
    distances: Floats = np.maximum(squares, 0.0)
    return distances


def clustered(points: Floats, weights: Floats, clusters: int) -> Floats:
    """Centres of weighted points, one row each."""
    distances = squared_distances(points, points)
    chosen = _exchanged(distances, weights, _greedy(distances, weights, clusters))
    return _lloyd(points, weights, points[chosen])


def _greedy(distances: Floats, weights: Floats, clusters: int) -> list[int]:
    nearest = np.full(len(distances), np.inf)
    chosen: list[int] = []
    for _ in range(clusters):
        costs = np.minimum(distances, nearest) @ weights
        chosen.append(int(np.argmin(costs)))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    return chosen


def _exchanged(distances: Floats, weights: Floats, chosen: list[int]) -> list[int]:
    best = float(distances[chosen].min(axis=0) @ weights)
    for _ in range(_MOST_EXCHANGES):
        found = [_best_in_place_of(place, distances, weights, chosen) for place in range(len(chosen))]
        place = min(range(len(chosen)), key=lambda candidate: found[candidate][0])
        cost, cell = found[place]
        if not cost < best * (1 - 1e-9):
            break
        best, chosen = cost, [*chosen[:place], cell, *chosen[place + 1 :]]
    return chosen


def _best_in_place_of(
    place: int, distances: Floats, weights: Floats, chosen: list[int]
) -> tuple[float, int]:
    """The least cost when one centre is moved to some cell, and that cell."""
    others = [cell for number, cell in enumerate(chosen) if number != place]
    nearest = distances[others].min(axis=0) if others else np.full(len(distances), np.inf)
    costs = np.minimum(distances, nearest) @ weights
    cell = int(np.argmin(costs))
    return float(costs[cell]), cell


def _lloyd(points: Floats, weights: Floats, centres: Floats) -> Floats:
    for _ in range(_LLOYD_STEPS):
        nearest = squared_distances(points, centres).argmin(axis=1)
        masses = np.bincount(nearest, weights, len(centres))
        sums = np.stack([np.bincount(nearest, weights * axis, len(centres)) for axis in points.T], axis=1)
        moved = np.where(masses[:, None] > 0, sums / np.maximum(masses, 1e-300)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres
