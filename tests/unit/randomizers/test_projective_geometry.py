"""`ProjectiveGeometryResponse` through every coin, its decoder against the definition, and the choice of geometry."""

from math import exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.parts.correlation import correlate, smooth_length
from localdp.randomizers.parts.singer import Geometry, difference_set
from localdp.randomizers.projective_geometry import (
    LARGEST_INPUTS,
    ProjectiveGeometryResponse,
    best_geometry,
)
from tests.support.broken_twins import EpsilonDoubled, ItemKept, SeedReused
from tests.support.frequency_twins import DebiasForgotten, NoiseTwice
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]
SHAPES = [(2, 2, 2), (4, 3, 2), (7, 2, 3), (6, 2, 3), (13, 3, 3), (10, 4, 3), (15, 2, 4)]


def _projective(
    epsilon: str, inputs: int, field_order: int | None = None, dimension: int | None = None
) -> ProjectiveGeometryResponse:
    return ProjectiveGeometryResponse(Epsilon.requested(epsilon), inputs, field_order, dimension)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, shape: tuple[int, int, int]) -> None:
    check_exact_law(_projective(epsilon, *shape))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_is_unbiased_with_the_stated_variance(
    epsilon: str, shape: tuple[int, int, int]
) -> None:
    randomizer = _projective(epsilon, *shape)
    check_unbiased(randomizer, tolerance=1e-12 * max(1.0, shape[0] / float(epsilon)))
    check_variance(randomizer)


@pytest.mark.parametrize("shape", [*SHAPES, (1000, 4, 6)])
def test_people_are_independent_and_every_other_contract_holds(shape: tuple[int, int, int]) -> None:
    randomizer = _projective("1", *shape)
    if shape[0] <= 7:
        check_people_independent(randomizer)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_the_broken_twins_are_caught() -> None:
    sound = _projective("1", 7, 2, 3)
    doubled = EpsilonDoubled(sound, _projective("2", 7, 2, 3))
    kept = ItemKept(sound, lambda values, reports: np.where(values == 3, 0, reports).astype(np.uint32))
    assert_caught(check_exact_law, doubled, kept, NoiseTwice(sound))
    assert_caught(check_unbiased, doubled, kept, NoiseTwice(sound), DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept, NoiseTwice(sound), DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


def _by_definition(counts: NDArray[Any], members: NDArray[Any], shifts: int) -> list[int]:
    inside = np.zeros(len(counts), bool)
    inside[members] = True
    return [int(counts[np.roll(inside, -x)].sum()) for x in range(shifts)]


@pytest.mark.parametrize("largest", [1, 1000, 10**8, 1 << 40, 1 << 52])
def test_the_correlation_is_exact_for_counts_of_any_size(largest: int) -> None:
    members, _ = difference_set(Geometry(4, 4))
    counts = np.random.default_rng(0).integers(0, largest, 85, endpoint=True)
    assert correlate(counts, members, 85).tolist() == _by_definition(counts, members, 85)
    assert correlate(counts, members, 2).tolist() == _by_definition(counts, members, 2)


def test_the_correlation_is_exact_when_everybody_reports_the_same_point() -> None:
    members, _ = difference_set(Geometry(3, 7))
    counts = np.zeros(1093, np.int64)
    counts[17] = (1 << 60) + 12345
    assert correlate(counts, members, 1093).tolist() == _by_definition(counts, members, 1093)


def test_a_long_correlation_is_exact() -> None:
    geometry = Geometry(2, 17)
    members, _ = difference_set(geometry)
    counts = np.random.default_rng(1).multinomial(10**8, np.full(geometry.points, 1 / geometry.points))
    assert correlate(counts, members, 60).tolist() == _by_definition(counts, members, 60)


@pytest.mark.parametrize("least", [1, 2, 7, 1093, 2730, 1_398_101 + 65_535, (1 << 22) + 1])
def test_a_transform_length_is_at_least_what_is_needed_and_little_more(least: int) -> None:
    length = smooth_length(least)
    assert least <= length <= 1.15 * least + 1
    for prime in (2, 3, 5):
        while length % prime == 0:
            length //= prime
    assert length == 1


@pytest.mark.parametrize(
    ("epsilon", "inputs", "order", "loss"),
    [("1", 1024, 4, 1.0006), ("2", 1024, 8, 0.9997), ("0.5", 1024, 3, 1.0075), ("5", 65536, 149, 1.0)],
)
def test_the_chosen_geometry_is_the_best_of_the_literature(
    epsilon: str, inputs: int, order: int, loss: float
) -> None:
    randomizer = _projective(epsilon, inputs)
    e = exp(float(epsilon))
    assert randomizer.field_order == order
    assert randomizer.variance(0.0) / (4 * e / (e - 1) ** 2) == pytest.approx(loss, abs=1e-4)


def test_a_given_order_or_dimension_is_kept_and_the_other_one_chosen() -> None:
    epsilon = Epsilon.requested(1)
    assert best_geometry(epsilon, 1000, field_order=3).field_order == 3
    assert best_geometry(epsilon, 1000, dimension=3).dimension == 3
    losses = [best_geometry(epsilon, 1024, field_order=q) for q in (3, 5)]
    variances = [_projective("1", 1024, g.field_order, g.dimension).variance(0) / 3.6827 for g in losses]
    assert variances == pytest.approx([1.021, 1.037], abs=1e-3)


def test_a_choice_equals_its_outcome() -> None:
    chosen = _projective("1", 1024)
    assert chosen == _projective("1", 1024, 4, 6)
    assert hash(chosen) == hash(_projective("1", 1024, 4, 6))
    assert chosen.canonical == "projective-geometry(epsilon=1,inputs=1024,field_order=4,dimension=6)"
    assert chosen.report_bits == 11


@pytest.mark.parametrize("inputs", [-1, 0, 1, LARGEST_INPUTS + 1, 10**12, True])
def test_a_bad_number_of_inputs_is_refused(inputs: int) -> None:
    with pytest.raises(InvalidParameter):
        _projective("1", inputs)


def test_the_largest_number_of_inputs_has_a_geometry() -> None:
    assert _projective("1", LARGEST_INPUTS).geometry == Geometry(2, 22)


@pytest.mark.parametrize(("order", "dimension"), [(2, 3), (6, 5), (2, 30), (None, 30), (6, None)])
def test_a_geometry_that_is_too_small_too_large_or_none_is_refused(
    order: int | None, dimension: int | None
) -> None:
    with pytest.raises(InvalidParameter):
        _projective("1", 100, order, dimension)


def test_a_point_outside_the_space_is_refused() -> None:
    randomizer = _projective("1", 5, 2, 3)
    assert randomizer.unpack(bytes([0b11000000]), 1).tolist() == [6]
    for data in (bytes([0b11100000]), bytes([0b11000001])):
        with pytest.raises(MalformedReport):
            randomizer.unpack(data, 1)
