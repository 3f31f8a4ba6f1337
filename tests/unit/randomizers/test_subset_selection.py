"""`SubsetSelection` through every coin, and the twins that must not pass."""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.parts.subsets import bitmaps_of, items_of
from localdp.randomizers.subset_selection import MOST_INPUTS, SubsetSelection, best_size
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
from tests.support.randomizer_checks import (
    KEY,
    assert_caught,
    check_epsilon,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
    some_reports,
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]
SHAPES = [(2, 1), (3, 1), (3, 2), (4, 2), (5, 3), (6, 2), (6, 5), (7, 3)]


def _subsets(epsilon: str, inputs: int, size: int | None = None) -> SubsetSelection:
    return SubsetSelection(Epsilon.requested(epsilon), inputs, size)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("inputs", "size"), SHAPES)
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, inputs: int, size: int) -> None:
    check_exact_law(_subsets(epsilon, inputs, size))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("inputs", "size"), [(2, 1), (5, 3), (6, 2)])
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, inputs: int, size: int) -> None:
    randomizer = _subsets(epsilon, inputs, size)
    check_unbiased(randomizer, tolerance=1e-12 * max(1.0, inputs / float(epsilon)))
    check_variance(randomizer, relative=1e-8)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 16, 255, 1024, MOST_INPUTS])
def test_the_epsilon_is_tight_for_any_number_of_inputs(epsilon: str, inputs: int) -> None:
    randomizer = _subsets(epsilon, inputs)
    size, own = randomizer.size, randomizer.support.own
    assert size is not None
    check_epsilon(randomizer, own / (1 - own) * Fraction(inputs - size, size))


@pytest.mark.parametrize(
    ("inputs", "size"), [(2, 1), (4, 2), (9, 4), (64, 17), (100, 3), (300, 2), (300, 80)]
)
def test_people_are_independent_and_every_other_contract_holds(inputs: int, size: int) -> None:
    randomizer = _subsets("1", inputs, size)
    if inputs <= 4:
        check_people_independent(randomizer)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def _keep_item(values: np.ndarray, reports: np.ndarray) -> np.ndarray:
    kept = reports.copy()
    absent = (values == 3) & ~(reports == 3).any(axis=1)
    kept[absent, -1] = 3
    return np.sort(kept, axis=1)


def test_the_broken_twins_are_caught() -> None:
    sound = _subsets("1", 5, 2)
    doubled, kept = EpsilonDoubled(sound, _subsets("2", 5, 2)), ItemKept(sound, _keep_item)
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(_subsets("1", 4, 2)))


@pytest.mark.parametrize(
    ("epsilon", "inputs", "size", "variance"),
    [
        ("1", 8, 2, 2.568),
        ("1", 16, 4, 3.111),
        ("1", 64, 17, 3.537),
        ("1", 256, 69, 3.646),
        ("1", 1024, 275, 3.674),
        ("2", 16, 2, 0.5198),
        ("2", 64, 8, 0.6722),
        ("4", 256, 5, 0.0681),
    ],
)
def test_the_best_size_and_its_variance_are_the_known_ones(
    epsilon: str, inputs: int, size: int, variance: float
) -> None:
    randomizer = _subsets(epsilon, inputs)
    assert randomizer.size == size
    assert randomizer.variance(0.0) == pytest.approx(variance, rel=2e-3)


def _minimax(epsilon: float, inputs: int, size: int) -> float:
    """n times the total variance on uniform data for the population target, in floating point."""
    e, d, w = exp(epsilon), inputs, size
    return (d - 1) ** 2 * (e * w + d - w) ** 2 / (d * w * (d - w) * (e - 1) ** 2)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4"])
@pytest.mark.parametrize("inputs", [2, 3, 5, 8, 13, 21, 64])
def test_the_best_size_is_the_best_of_all_sizes_by_the_minimax_formula(epsilon: str, inputs: int) -> None:
    totals = {size: _minimax(float(epsilon), inputs, size) for size in range(1, inputs)}
    size = best_size(Epsilon.requested(epsilon), inputs)
    assert totals[size] <= min(totals.values()) * (1 + 1e-9)
    sampling = 1 - 1 / inputs
    empirical = inputs * _subsets(epsilon, inputs).variance(1 / inputs)
    assert empirical + sampling == pytest.approx(totals[size], rel=1e-6)


def test_sets_of_one_item_are_k_ary_randomized_response() -> None:
    single = _subsets("1", 6, 1).law(2)
    assert single == {
        (item,): mass for item, mass in KaryRandomizedResponse(Epsilon(10**9), 6).law(2).items()
    }


@pytest.mark.parametrize(("size", "shape"), [(80, (500, 38)), (4, (500, 4))])
def test_a_report_is_sorted_without_repetition_and_of_fixed_size(size: int, shape: tuple[int, int]) -> None:
    randomizer = _subsets("1", 300, size)
    reports = some_reports(randomizer, 500)
    assert reports.shape == shape
    items = randomizer.items(reports)
    assert items.shape == (500, size) and int(items.max()) < 300
    assert (np.diff(items.astype(np.int64), axis=1) > 0).all()


def test_the_size_that_is_chosen_and_the_size_that_is_given_make_equal_randomizers() -> None:
    assert _subsets("1", 16) == _subsets("1", 16, 4) and hash(_subsets("1", 16)) == hash(
        _subsets("1", 16, 4)
    )
    assert _subsets("1", 16).canonical == _subsets("1", 16, 4).canonical != _subsets("1", 16, 5).canonical


def test_the_shorter_wire_form_is_used() -> None:
    for inputs, size in [(64, 17), (300, 2), (8, 2), (16, 4), (4096, 3)]:
        bits = (inputs - 1).bit_length()
        assert _subsets("1", inputs, size).report_bits == min(size * bits, -(-inputs // 8) * 8)


def test_bitmaps_and_items_are_two_forms_of_the_same_sets() -> None:
    reports = some_reports(_subsets("1", 77, 20), 400)
    items = items_of(reports, 77, 20)
    assert (bitmaps_of(items, 77) == reports).all()
    bits = np.unpackbits(reports, axis=1)
    assert [np.flatnonzero(row).tolist() for row in bits] == items.tolist()


@pytest.mark.parametrize(("inputs", "size"), [(64, 17), (77, 20), (100, 3), (300, 80)])
def test_a_tally_counts_the_items_of_either_form(inputs: int, size: int) -> None:
    randomizer = _subsets("1", inputs, size)
    reports = some_reports(randomizer, 700)
    counted = np.bincount(randomizer.items(reports).ravel(), minlength=inputs)
    assert randomizer.tally(reports).sums.tolist() == counted.tolist()


@pytest.mark.parametrize(("inputs", "size"), [(64, 17), (1024, 275), (300, 2)])
def test_a_person_of_a_lane_and_of_a_stream_report_in_the_same_form(inputs: int, size: int) -> None:
    randomizer, values = _subsets("1", inputs, size), np.arange(20)
    one, other = (
        randomizer.randomize(values, source) for source in (LanedSource(KEY, range(20)), SeededSource(0))
    )
    assert one.shape == other.shape and one.dtype == other.dtype
    assert 8 * one.itemsize * one.shape[1] >= randomizer.report_bits


def test_malformed_bitmaps_are_refused() -> None:
    randomizer = _subsets("1", 13, 6)
    good = bytes([0b1111_1100, 0])
    assert randomizer.items(randomizer.unpack(good, 1)).tolist() == [[0, 1, 2, 3, 4, 5]]
    for bad in ([0b1111_1110, 0], [0b1111_1000, 0], [0b1111_1000, 0b0000_0100]):
        with pytest.raises(MalformedReport):
            randomizer.unpack(bytes(bad), 1)


def test_malformed_lists_of_items_are_refused() -> None:
    randomizer = _subsets("1", 250, 3)
    assert randomizer.unpack(bytes([1, 2, 249]), 1).tolist() == [[1, 2, 249]]
    for bad in ([2, 1, 3], [1, 1, 3], [1, 2, 250]):
        with pytest.raises(MalformedReport):
            randomizer.unpack(bytes(bad), 1)


@pytest.mark.parametrize(
    ("inputs", "size"), [(0, None), (1, None), (MOST_INPUTS + 1, None), (5, 0), (5, 5)]
)
def test_sizes_out_of_bounds_are_refused(inputs: int, size: int | None) -> None:
    with pytest.raises(InvalidParameter):
        _subsets("1", inputs, size)


def test_a_law_too_long_to_write_out_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        _subsets("1", 64).law(0)


def test_the_smallest_epsilon_is_served_or_refused_but_never_biased_the_wrong_way() -> None:
    for inputs in (2, 100, MOST_INPUTS):
        support = SubsetSelection(Epsilon(1), inputs).support
        assert support.own > support.other


def test_one_person_and_nobody_are_served() -> None:
    randomizer = _subsets("1", 64)
    assert randomizer.randomize(np.array([63]), SeededSource(0)).shape == (1, 8)
    assert randomizer.randomize(np.array([], np.int64), SeededSource(0)).shape == (0, 8)


def test_grouped_bounds_multiply_to_at_most_one_word_and_cover_all() -> None:
    from localdp.randomizers.parts.subsets import _grouped

    groups = list(_grouped(range(749, 1023)))
    assert [bound for _, bounds in groups for bound in bounds] == list(range(749, 1023))
    assert all(first + len(bounds) == after for (first, bounds), (after, _) in pairwise(groups))
    assert all(np.prod([float(bound) for bound in bounds]) <= 2**32 for _, bounds in groups)
