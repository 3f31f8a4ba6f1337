"""A logistic curve from a table of margins and labels, and where a descent on uneven classes is cut."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from localdp.algorithms.learners.logistic_curve import (
    Bell,
    Curve,
    bell_of,
    best_curve,
    class_share,
    curve_query,
    fitted_bell,
    fitted_curve,
    threshold_of,
)
from localdp.domains import BitDomain, RealDomain, Records, Schema
from localdp.oracles.exact import ExactOracle
from localdp.queries.vector_query import VectorQuery
from tests.support.seeded import seeded_oracle

SCHEMA = Schema({"x": RealDomain(-3.0, 3.0), "y": BitDomain()})
STANDARD = Bell(0.0, 1.0)


def people(number: int, slope: float, shift: float) -> Records:
    draws = np.random.default_rng(9)
    x = np.clip(draws.normal(0.3, 0.7, number), -3, 3)
    y = draws.random(number) < 1 / (1 + np.exp(-(slope * x + shift)))
    return Records.from_columns(SCHEMA, {"x": x, "y": y})


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (2.5, 1.0), (8.0, -8.0)])
def test_without_noise_slope_and_shift_are_near_the_truth(slope: float, shift: float) -> None:
    found = fitted_curve(ExactOracle(people(40_000, slope, shift)), "x", "y", 2)
    assert found.slope == pytest.approx(slope, rel=0.2)
    assert -found.shift / found.slope == pytest.approx(-shift / slope, abs=0.06)


def test_a_threshold_that_noise_explains_is_the_own_one() -> None:
    oracle = seeded_oracle(people(4000, 2.0, -0.2), 1.0, "local").in_rounds(2)
    found = fitted_curve(oracle, "x", "y", 2, own=0.25)
    assert -found.shift / found.slope == pytest.approx(0.25)


def test_a_threshold_that_is_clear_is_found_though_the_own_one_is_far() -> None:
    oracle = seeded_oracle(people(40_000, 4.0, -3.0), 1.0, "curator").in_rounds(2)
    found = fitted_curve(oracle, "x", "y", 2, own=-0.5)
    assert -found.shift / found.slope == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize(("middle", "spread"), [(0.0, 0.8), (-0.9, 0.3), (1.2, 1.1)])
def test_the_bell_of_margins_is_found(middle: float, spread: float) -> None:
    x = np.clip(np.random.default_rng(3).normal(middle, spread, 30_000), -3, 3)
    records = Records.from_columns(SCHEMA, {"x": x, "y": x > 0})
    found = fitted_bell(ExactOracle(records), "x", 1)
    assert (found.middle, found.spread) == pytest.approx((middle, spread), abs=0.15)


def test_tables_without_anything_in_them_are_borne() -> None:
    assert isinstance(best_curve(np.zeros((8, 2)), STANDARD, 0.1), Curve)
    assert bell_of(np.zeros(3), np.array([-1.0, 1.0])).spread > 0


def test_the_table_has_a_cell_for_each_bin_and_label() -> None:
    assert VectorQuery.parse(curve_query("x", "y", STANDARD.edges(8)), SCHEMA).length == 16


def test_classes_are_uneven_only_if_that_is_clear() -> None:
    few = np.arange(4000) < 400
    even, rare = (
        Records.from_columns(SCHEMA, {"x": np.zeros(4000), "y": holds})
        for holds in (np.arange(4000) % 2 > 0, few)
    )
    assert class_share(seeded_oracle(even, 1.0, "local"), "y", 1) == 0.5
    assert class_share(ExactOracle(rare), "y", 1) == 0.1


def cut_by_descent(share: float, correlation: float) -> float:
    """Where labels are even on the least squares within 1 of labels that z and noise decide, z normal."""
    normal, z = NormalDist(), np.linspace(-5, 5, 801)
    weights = np.exp(-z * z / 2)
    weights /= weights.sum()
    beyond = normal.inv_cdf(1 - share)
    holds = np.array([normal.cdf((correlation * at - beyond) / (1 - correlation**2) ** 0.5) for at in z])
    form = np.array([2 * share - 1, 0.3])
    for _ in range(800):
        margin = form[0] + form[1] * z
        away = holds * np.clip(margin - 1, -1, 1) + (1 - holds) * np.clip(margin + 1, -1, 1)
        form -= np.array([weights @ away, weights @ (away * z)])
    return float(form[0] + form[1] * beyond / correlation)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_a_descent_is_cut_where_its_least_squares_are_even(share: float) -> None:
    assert threshold_of(share) == pytest.approx(cut_by_descent(share, 0.8), abs=0.01)
    assert abs(threshold_of(share)) <= 1


def test_between_and_beyond_the_table_the_cut_is_monotone() -> None:
    cuts = [threshold_of(share) for share in np.linspace(-0.05, 1.05, 50)]
    assert cuts == sorted(cuts) and cuts[0] == -1 and cuts[-1] == 1
