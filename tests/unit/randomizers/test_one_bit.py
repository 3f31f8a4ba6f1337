"""`OneBitRandomizer` through every coin: its law, its epsilon, its estimator, and the twins that must not pass."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import Tally
from localdp.randomizers.one_bit import LARGEST_RESOLUTION, OneBitRandomizer, binary_randomized_response
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, NoiseTwice, SeedReused
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
RESOLUTIONS = [1, 2, 4, 16]


def _one_bit(epsilon: str, resolution: int) -> OneBitRandomizer:
    return OneBitRandomizer(Epsilon.requested(epsilon), resolution)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, resolution: int) -> None:
    check_exact_law(_one_bit(epsilon, resolution))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, resolution: int) -> None:
    check_unbiased(_one_bit(epsilon, resolution), tolerance=1e-12 * max(1, 2 / float(epsilon)))
    check_variance(_one_bit(epsilon, resolution), relative=1e-9)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_the_mean_of_the_bit_is_affine_in_the_value_exactly(resolution: int) -> None:
    randomizer = _one_bit("1", resolution)
    ones = [randomizer.law(value)[1] for value in range(resolution + 1)]
    assert all(one - ones[0] == value * (ones[-1] - ones[0]) / resolution for value, one in enumerate(ones))
    assert ones[0] + ones[-1] == 1


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_people_are_independent_and_every_other_contract_holds(resolution: int) -> None:
    randomizer = _one_bit("1", resolution)
    check_people_independent(randomizer, (0, resolution, 1))
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_the_broken_twins_are_caught() -> None:
    sound = _one_bit("1", 1)
    doubled = EpsilonDoubled(sound, _one_bit("2", 1))
    kept = ItemKept(sound, lambda values, reports: values.astype(np.bool_))
    twice = NoiseTwice(sound)
    assert_caught(check_exact_law, doubled, kept, twice)
    assert_caught(check_unbiased, doubled, kept, twice, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


def test_the_variance_of_a_count_is_that_of_warner_whatever_the_data() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        randomizer = binary_randomized_response(epsilon)
        warner = exp(epsilon) / (exp(epsilon) - 1) ** 2
        assert randomizer.variance(0.0) == pytest.approx(warner, rel=1e-6)
        assert randomizer.variance(1.0) == pytest.approx(warner, rel=1e-6)


@pytest.mark.parametrize("values", [(0, 16), (4, 8, 16), (5, 5)])
def test_on_a_grid_the_stated_variance_is_above_the_true_one_by_how_far_people_differ(
    values: tuple[int, ...],
) -> None:
    # At the mean number of ones, over all reports of very many people with these values.
    randomizer, people = OneBitRandomizer(Epsilon.requested(1), 16), 2**60
    ones = sum(randomizer.law(value)[1] for value in values) / len(values)
    estimate = randomizer.estimate(Tally(randomizer, people, np.array([int(ones * people)])))
    shares = np.array(values) / 16
    assert estimate.variance_empirical * people - randomizer.variance(shares) == pytest.approx(
        shares.var(), abs=1e-9
    )


def test_both_variances_of_an_estimate_follow_from_the_tally() -> None:
    randomizer = binary_randomized_response(1.0)
    reports = np.arange(1000) < 400
    estimate = randomizer.estimate(randomizer.tally(reports))
    gap = 1 - 2 * randomizer.flip / 2**64
    assert estimate.variance_empirical == pytest.approx(randomizer.variance(0) / 1000)
    assert estimate.variance_population == pytest.approx(0.4 * 0.6 / gap**2 / 1000)
    # The sampling term is what lies between the two.
    sampling = estimate.value * (1 - estimate.value) / 1000
    assert estimate.variance_population - estimate.variance_empirical == pytest.approx(sampling)


def test_the_two_coin_survey_of_the_book_is_three_to_one() -> None:
    randomizer = binary_randomized_response(Epsilon.of_ratio(Fraction(3)))
    assert float(randomizer.law(1)[1]) == pytest.approx(0.75, abs=1e-9)


@pytest.mark.parametrize("resolution", [0, -1, 3, 6, 2 * LARGEST_RESOLUTION])
def test_a_resolution_that_is_no_power_of_two_in_bounds_is_refused(resolution: int) -> None:
    with pytest.raises(InvalidParameter):
        _one_bit("1", resolution)


@pytest.mark.parametrize("epsilon", ["0", "-1", "31", "nan", "inf", "1e-10", "one"])
def test_an_epsilon_out_of_bounds_is_refused(epsilon: str) -> None:
    with pytest.raises(InvalidParameter):
        binary_randomized_response(epsilon)


def test_dirty_padding_is_refused() -> None:
    with pytest.raises(MalformedReport):
        binary_randomized_response(1.0).unpack(b"\x01", 7)


def test_an_estimate_needs_reports_of_the_same_randomizer() -> None:
    randomizer, other = binary_randomized_response(1.0), binary_randomized_response(2.0)
    tally = other.tally(other.randomize(np.ones(5, np.int64), SeededSource(0)))
    with pytest.raises(InvalidParameter):
        randomizer.estimate(tally)
    with pytest.raises(InvalidParameter):
        randomizer.estimate(randomizer.tally(np.zeros(0, np.bool_)))
    with pytest.raises(InvalidParameter):
        tally.merge(randomizer.tally(np.ones(1, np.bool_)))


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _one_bit("1", 4), _one_bit("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, replace(one, resolution=8), _one_bit("2", 4)}) == 3
