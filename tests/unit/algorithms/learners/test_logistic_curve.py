"""A logistic curve from a table of margins and labels."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.algorithms.learners.logistic_curve import (
    _MIDDLES,
    curve_query,
    fitted_curve,
    most_likely_curve,
)
from localdp.algorithms.quick_start import oracle_of_records
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.oracles.exact import ExactOracle
from localdp.queries.vector_query import VectorQuery

SCHEMA = Schema({"x": RealDomain(-3.0, 3.0), "y": BitDomain()})


def people(number: int, slope: float, shift: float) -> Records:
    draws = np.random.default_rng(9)
    x = draws.uniform(-2, 2, number)
    y = draws.random(number) < 1 / (1 + np.exp(-(slope * x + shift)))
    return Records.from_columns(SCHEMA, {"x": x, "y": y})


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (2.5, 1.0), (5.0, -2.0)])
def test_the_curve_of_exact_shares_is_found(slope: float, shift: float) -> None:
    odds = 1 / (1 + np.exp(-(slope * _MIDDLES + shift)))
    shares = np.stack([1 - odds, odds], axis=1) * 1e4
    found = most_likely_curve(shares / 8)
    assert found == pytest.approx((slope, shift), rel=0.02, abs=0.02)


def test_on_exact_answers_slope_and_shift_are_near_the_truth() -> None:
    found = fitted_curve(ExactOracle(people(40_000, 2.0, 0.7)), "x", "y", 1)
    assert found == pytest.approx((2.0, 0.7), rel=0.15)


def test_a_shift_that_noise_explains_is_left_out() -> None:
    oracle = oracle_of_records(people(4000, 2.0, 0.0), 1.0, "local")
    slope, shift = fitted_curve(oracle, "x", "y", 1)
    assert shift == 0 and slope > 0


def test_the_table_has_a_cell_for_each_bin_and_label() -> None:
    assert VectorQuery.parse(curve_query("x", "y"), SCHEMA).length == 16


def test_a_table_without_anything_in_it_is_borne() -> None:
    slope, _ = most_likely_curve(np.zeros((8, 2)))
    assert np.isfinite(slope)
