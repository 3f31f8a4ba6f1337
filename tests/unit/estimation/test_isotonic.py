"""Isotonic regression, against its conditions of optimality and a direct formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.estimation import isotonic as module
from localdp.estimation.isotonic import isotonic, monotone_cdf

pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 5)), min_size=1, max_size=40)


def by_min_max(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The min-max formula: x_i = max over a <= i of min over b >= i of the mean of v_a .. v_b."""
    n = len(values)
    means = np.full((n, n), np.inf)
    for a in range(n):
        moments, masses = np.cumsum((values * weights)[a:]), np.cumsum(weights[a:])
        means[a, a:] = moments / masses
    return np.array([max(means[a, i:].min() for a in range(i + 1)) for i in range(n)])


@given(pairs)
@settings(max_examples=150, deadline=None)
def test_pooling_gives_the_min_max_formula(data: list[tuple[int, int]]) -> None:
    values, weights = np.array(data, float).T
    np.testing.assert_allclose(isotonic(values, weights), by_min_max(values, weights), atol=1e-12)


@given(pairs)
@settings(max_examples=50, deadline=None)
def test_pooling_in_runs_and_one_by_one_agree(data: list[tuple[int, int]]) -> None:
    values, weights = np.array(data, float).T
    moment, mass, sizes = module._pool_in_order(values * weights, weights, np.ones(len(values), np.int64))
    np.testing.assert_allclose(np.repeat(moment / mass, sizes), isotonic(values, weights), atol=1e-12)


def test_a_sequence_that_pools_from_its_end_is_not_quadratic() -> None:
    # Every block but the last rises; the last value drags all of them in, one more in every round.
    n = 200_000
    values = np.concatenate((np.arange(n, dtype=float), [-1e12]))
    result = isotonic(values)
    assert (np.diff(result) >= 0).all() and result[0] == pytest.approx(values.mean())


def test_a_rising_sequence_stays_and_a_falling_one_becomes_its_mean() -> None:
    assert isotonic(np.array([1, 1, 2, 5])).tolist() == [1, 1, 2, 5]
    assert isotonic(np.array([4.0, 2.0, 0.0])).tolist() == [2, 2, 2]
    assert isotonic(np.array([])).tolist() == []


def test_a_distribution_function_rises_from_0_to_1() -> None:
    result = monotone_cdf(np.array([-0.2, 0.3, 0.2, 1.3, 0.9]))
    np.testing.assert_allclose(result, [0, 0.25, 0.25, 1, 1])
    assert monotone_cdf(np.array([0.1, 0.2])).tolist() == [0.1, 1.0]


@pytest.mark.parametrize("weights", [[0.0, 1.0], [-1.0, 1.0], [np.inf, 1.0]])
def test_weights_must_be_positive(weights: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        isotonic(np.array([1.0, 2.0]), np.array(weights))


def test_values_must_be_finite() -> None:
    with pytest.raises(InvalidParameter):
        isotonic(np.array([1.0, np.nan]))
