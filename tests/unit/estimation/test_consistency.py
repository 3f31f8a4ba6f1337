"""Consistent frequencies: each rule by its definition, and the projection by its conditions of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.estimation.consistency import clip, norm, norm_cut, norm_mul, norm_sub

frequencies = st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=40).map(np.array)


@given(frequencies, st.floats(0.1, 5))
@settings(max_examples=100, deadline=None)
def test_norm_sub_is_the_nearest_point_of_the_simplex(values: NDArray[np.float64], total: float) -> None:
    result = norm_sub(values, total)
    assert result.min() >= 0 and result.sum() == pytest.approx(total)
    # Karush-Kuhn-Tucker: the same constant is taken from every kept value, and no more would be left of the others.
    taken = values - result
    constant = taken[result > 0].max()
    assert np.allclose(taken[result > 0], constant)
    assert (values[result == 0] <= constant + 1e-9).all()


@given(frequencies)
@settings(max_examples=50, deadline=None)
def test_every_rule_keeps_its_promise(values: NDArray[np.float64]) -> None:
    assert norm(values).sum() == pytest.approx(1) and np.ptp(norm(values) - values) == pytest.approx(
        0, abs=1e-9
    )
    assert norm_mul(values).sum() == pytest.approx(1) and norm_mul(values).min() >= 0
    assert norm_cut(values).sum() <= 1 + 1e-9 and norm_cut(values).min() >= 0
    assert (clip(values) == np.where(values > 0, values, 0)).all()


def test_the_rules_differ_as_they_should() -> None:
    values = np.array([0.7, 0.5, -0.2, 0.1])
    np.testing.assert_allclose(clip(values), [0.7, 0.5, 0, 0.1])
    np.testing.assert_allclose(norm(values), [0.675, 0.475, -0.225, 0.075])
    np.testing.assert_allclose(norm_mul(values), [0.7 / 1.3, 0.5 / 1.3, 0, 0.1 / 1.3])
    np.testing.assert_allclose(norm_cut(values), [0.7, 0.3, 0, 0])
    np.testing.assert_allclose(norm_sub(values), [0.6, 0.4, 0, 0], atol=1e-15)


def test_the_estimate_itself_is_left_alone() -> None:
    values = np.array([0.7, -0.1, 0.9])
    for rule in (clip, norm, norm_mul, norm_cut, norm_sub):
        result = rule(values)
        assert result is not values and values.tolist() == [0.7, -0.1, 0.9]


def test_consistent_frequencies_stay_as_they_are() -> None:
    values = np.array([0.25, 0.5, 0.0, 0.25])
    for rule in (clip, norm, norm_mul, norm_cut, norm_sub):
        np.testing.assert_allclose(rule(values), values, atol=1e-15)


def test_nothing_positive_becomes_uniform_under_scaling() -> None:
    assert norm_mul(np.array([-1.0, -2.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("values", [[], [[1.0]], [np.nan], [np.inf]])
def test_what_is_no_list_of_frequencies_is_refused(values: list[float]) -> None:
    for rule in (clip, norm, norm_mul, norm_cut, norm_sub):
        with pytest.raises(InvalidParameter):
            rule(np.array(values))


@pytest.mark.parametrize("total", [0.0, -1.0, float("inf"), float("nan")])
def test_a_total_must_be_positive(total: float) -> None:
    for rule in (norm, norm_mul, norm_cut, norm_sub):
        with pytest.raises(InvalidParameter):
            rule(np.array([0.5, 0.5]), total)
