"""The projection onto a hull: against the conditions of optimality, small cases by hand, and a general solver."""

import numpy as np
import pytest
from scipy.optimize import nnls

from localdp.errors import InvalidParameter
from localdp.estimation.projection import project

RNG = np.random.default_rng(17)


@pytest.mark.parametrize(
    ("queries", "types", "total"), [(3, 2, 1.0), (20, 64, 200.0), (300, 64, 200.0), (50, 10, 1e6)]
)
def test_the_result_is_the_nearest_point(queries: int, types: int, total: float) -> None:
    columns = RNG.integers(0, 2, (queries, types))
    truth = columns @ (RNG.dirichlet(np.ones(types)) * total)
    noisy = truth + RNG.laplace(scale=total / 5, size=queries)
    found = project(noisy, columns, total, tolerance=1e-4 * total)
    assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(total, rel=1e-9)
    assert found.answers == pytest.approx(columns @ found.weights)
    # A heavy row makes the non-negative least squares keep the sum.
    heavy = 1e5
    reference, _ = nnls(np.vstack([columns, heavy * np.ones(types)]), np.append(noisy, heavy * total))
    nearest = columns @ reference
    assert sqrt_mean(found.answers - nearest) <= 2e-4 * total
    assert sqrt_mean(found.answers - truth) <= sqrt_mean(noisy - truth)


def sqrt_mean(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def test_the_gap_bounds_the_distance() -> None:
    columns = RNG.integers(0, 2, (40, 16))
    noisy = RNG.normal(scale=100, size=40)
    exact = project(noisy, columns, 50.0, tolerance=1e-9).answers
    for tolerance in (10.0, 1.0, 0.1):
        found = project(noisy, columns, 50.0, tolerance)
        assert ((found.answers - exact) ** 2).sum() <= 2 * found.gap + 1e-6
        assert sqrt_mean(found.answers - exact) <= tolerance


def test_points_of_the_hull_stay_and_a_single_column_takes_everything() -> None:
    columns = np.eye(3)
    assert project(np.array([1.0, 1, 2]), columns, 4.0, 1e-9).answers == pytest.approx([1, 1, 2], abs=1e-6)
    assert project(np.array([5.0, 0, 0]), columns, 4.0, 1e-9).answers == pytest.approx([4, 0, 0], abs=1e-6)
    assert project(np.array([3.0, 3, -9]), columns, 4.0, 1e-9).answers == pytest.approx([2, 2, 0], abs=1e-6)
    assert project(np.array([-7.0, 7]), np.ones((2, 1)), 4.0).answers == pytest.approx([4, 4])
    twice = np.array([[1.0, 1], [0, 0]])
    assert project(np.array([9.0, 1]), twice, 2.0).answers == pytest.approx([2, 0])


def test_what_cannot_be_projected_is_refused() -> None:
    for answers, columns, total, tolerance in (
        (np.ones(2), np.ones((3, 2)), 1.0, 1e-3),
        (np.ones(2), np.ones(2), 1.0, 1e-3),
        (np.ones(2), np.ones((2, 0)), 1.0, 1e-3),
        (np.ones(2), np.ones((2, 4097)), 1.0, 1e-3),
        (np.array([np.nan, 1]), np.ones((2, 2)), 1.0, 1e-3),
        (np.ones(2), np.ones((2, 2)), 0.0, 1e-3),
        (np.ones(2), np.ones((2, 2)), 1.0, 0.0),
    ):
        with pytest.raises(InvalidParameter):
            project(answers, columns, total, tolerance)
