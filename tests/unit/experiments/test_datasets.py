"""The named sets hold what they promise; n and the seed are fixed, and every bound is at least 6 deviations wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.experiments.datasets import SYNTHETIC, normals, synthetic
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
    assert tuple(one for one in names if one != "target") == ("x0", "x1", "x2", "x3", "x4")


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


def test_the_target_of_a_line_is_a_linear_form_with_noise_of_one_half() -> None:
    records = made("gaussian-line", 3)
    fit, residue, _, _ = np.linalg.lstsq(features(records), records.column("target"), rcond=None)
    assert np.linalg.norm(fit) == pytest.approx(1, abs=0.06)
    assert residue[0] / PEOPLE == pytest.approx(0.25, abs=0.04)


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
