"""The named sets hold what they promise; n and the seed are fixed, and every bound is at least 6 deviations wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments.datasets import SYNTHETIC, synthetic
from localdp.experiments.draws import normals
from localdp.randomness.hazmat import SeededSource

PEOPLE = 4000


def made(name: str, dimension: int | None = None, seed: int = 1) -> Records:
    return synthetic(name, PEOPLE, SeededSource(seed), dimension)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_set_has_as_many_people_as_asked_for_and_is_a_function_of_its_coins(name: str) -> None:
    assert made(name).people == PEOPLE
    assert made(name).fingerprint() == made(name).fingerprint()
    assert made(name).fingerprint() != made(name, seed=2).fingerprint()


@pytest.mark.parametrize("name", [name for name, one in SYNTHETIC.items() if one.dimension is not None])
def test_a_dimension_is_a_number_of_features(name: str) -> None:
    names = made(name, 5).schema.names
    assert tuple(one for one in names if one not in ("target", "luck")) == ("x0", "x1", "x2", "x3", "x4")


def features(records: Records) -> NDArray[Any]:
    return np.column_stack([records.column(name) for name in records.schema.names if name != "target"])


def test_the_target_of_a_conjunction_is_that_conjunction() -> None:
    records = made("conjunction")
    assert np.array_equal(records.column("target"), features(records)[:, :3].all(axis=1))
    assert 1 / 8 - 0.04 < records.column("target").mean() < 1 / 8 + 0.04


def test_the_target_of_a_parity_is_the_parity_of_every_second_bit() -> None:
    records = made("parity", 7)
    assert np.array_equal(records.column("target"), features(records)[:, ::2].sum(axis=1) % 2 == 1)


def test_the_target_of_a_halfspace_is_a_side_of_a_hyperplane() -> None:
    records = made("gaussian-halfspace", 3)
    signs = 2.0 * records.column("target") - 1
    normal = (signs[:, None] * features(records)).mean(axis=0)
    agree = (features(records) @ normal > 0) == records.column("target")
    assert agree.mean() > 0.97


def explained(records: Records) -> float:
    """R**2 of least squares."""
    rows, target = features(records).astype(float), records.column("target")
    rows = np.column_stack([rows, np.ones(len(rows))])
    fit = np.linalg.lstsq(rows, target, rcond=None)[0]
    return float(1 - np.var(target - rows @ fit) / np.var(target))


@pytest.mark.parametrize("name", ["gaussian-line", "correlated-line", "skewed-line"])
def test_a_line_explains_nine_tenths_of_its_target(name: str) -> None:
    assert explained(made(name)) == pytest.approx(0.909, abs=0.02)


def test_outliers_are_at_the_bounds_and_cost_least_squares_a_part_of_it() -> None:
    rows = features(made("outlier-line"))
    outliers = (np.abs(rows) == 5).all(axis=1)
    assert 0.02 - 0.014 < outliers.mean() < 0.02 + 0.014
    assert 0.3 < explained(made("outlier-line")) < 0.85


def test_correlated_features_have_spreads_from_three_halves_to_three_tenths() -> None:
    spreads = np.sqrt(np.linalg.eigvalsh(np.cov(features(made("correlated-line")).T)))
    assert spreads[[0, -1]] == pytest.approx([0.3, 1.5], rel=0.1)


def test_components_have_the_variances_that_they_say() -> None:
    variances = np.linalg.eigvalsh(np.cov(features(made("components")).T))
    assert variances[-1] == pytest.approx(0.37, rel=0.15)
    assert variances[:-1] == pytest.approx(np.full(9, 0.07), rel=0.25)


@pytest.mark.parametrize(
    ("name", "rare"), [("rare-halfspace", 0.1), ("few-of-a-class", 0.1), ("tree", 0.5)]
)
def test_a_class_is_as_frequent_as_its_name_says(name: str, rare: float) -> None:
    assert made(name).column("target").mean() == pytest.approx(rare, abs=0.04)


@pytest.mark.parametrize("literals", [2, 3, 4, 5])
def test_a_conjunction_has_its_number_of_literals(literals: int) -> None:
    records = made("conjunction" if literals == 3 else f"conjunction-{literals}")
    assert np.array_equal(records.column("target"), features(records)[:, :literals].all(axis=1))


def test_a_tree_is_three_levels_and_some_wrong_labels() -> None:
    records = made("tree")
    x = features(records).T
    right = records.column("target") == ((x[0] & (x[1] | x[2])) | (~x[0] & x[3] & x[4]))
    assert right.mean() == pytest.approx(0.95, abs=0.021)


def test_copied_bits_are_copies() -> None:
    rows = features(made("copied-bits"))
    assert np.array_equal(rows[:, 1::2], rows[:, ::2])
    assert not np.array_equal(rows[:, 2], rows[:, 0])


@pytest.mark.parametrize("name", ["corner-clusters", "random-clusters", "uneven-clusters"])
def test_groups_are_four_and_within_their_cube(name: str) -> None:
    rows = features(made(name))
    inside = rows[(np.abs(rows) < 1).any(axis=1)]
    nearest = np.square(inside[:, None] - inside[None, ::400]).sum(axis=2).min(axis=1)
    assert np.abs(rows).max() <= 1
    assert np.median(nearest) < 10 * 0.15**2 * 2  # the next of ten people drawn is in the same group


def test_clusters_are_four() -> None:
    corners = {tuple(row) for row in (features(made("clusters")) > 0.5).tolist()}
    assert corners == {(False, False), (False, True), (True, False), (True, True)}


def test_normals_are_standard() -> None:
    drawn = normals(SeededSource(1), 40_001)
    assert len(drawn) == 40_001
    assert abs(drawn.mean()) < 0.03
    assert drawn.std() == pytest.approx(1, abs=0.03)
    assert np.mean(np.abs(drawn) < 1) == pytest.approx(0.6827, abs=0.015)


@pytest.mark.parametrize(
    ("name", "people", "dimension"),
    [
        ("no-such-set", 5, None),
        ("bits", 0, None),
        ("made-up", 5, 3),
        ("conjunction", 5, 2),
        ("bits", 5, 257),
    ],
)
def test_what_no_set_can_be_is_refused(name: str, people: int, dimension: int | None) -> None:
    with pytest.raises(InvalidParameter):
        synthetic(name, people, SeededSource(1), dimension)
