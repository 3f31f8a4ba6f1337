"""`KaryRandomizedResponse` through every coin, and the twins that must not pass."""

from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.k_ary import LARGEST_TALLY, MOST_INPUTS, KaryRandomizedResponse
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, NoiseTwice, SeedReused
from tests.support.randomizer_checks import (
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
    largest_ratio,
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]


def _k_ary(epsilon: str, inputs: int) -> KaryRandomizedResponse:
    return KaryRandomizedResponse(Epsilon.requested(epsilon), inputs)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 3, 4, 7, 16])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, inputs: int) -> None:
    check_exact_law(_k_ary(epsilon, inputs))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 3, 16])
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, inputs: int) -> None:
    tolerance = 1e-12 * max(1.0, inputs / float(epsilon))
    check_unbiased(_k_ary(epsilon, inputs), tolerance=tolerance)
    check_variance(_k_ary(epsilon, inputs))


@pytest.mark.parametrize("inputs", [17, 1000, 1 << 20, MOST_INPUTS])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_epsilon_is_tight_for_any_number_of_inputs(epsilon: str, inputs: int) -> None:
    randomizer = _k_ary(epsilon, inputs)
    support = randomizer.support
    check_epsilon(randomizer, support.own / support.other)
    assert support.own + (inputs - 1) * support.other == 1


@pytest.mark.parametrize("inputs", [2, 3, 5, 256, 257])
def test_people_are_independent_and_every_other_contract_holds(inputs: int) -> None:
    randomizer = _k_ary("1", inputs)
    if inputs <= 5:
        check_people_independent(randomizer, (0, inputs - 1, 1))
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_the_broken_twins_are_caught() -> None:
    sound = _k_ary("1", 4)
    doubled = EpsilonDoubled(sound, _k_ary("2", 4))
    kept = ItemKept(sound, lambda values, reports: np.where(values == 3, 3, reports).astype(np.uint8))
    twice = NoiseTwice(sound)
    assert_caught(check_exact_law, doubled, kept, twice)
    assert_caught(check_unbiased, doubled, kept, twice, DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept, twice, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


def test_two_inputs_are_binary_randomized_response() -> None:
    for epsilon in EPSILONS:
        binary = binary_randomized_response(epsilon)
        assert [_k_ary(epsilon, 2).law(value) for value in (0, 1)] == [
            binary.law(value) for value in (0, 1)
        ]


def test_the_variance_has_the_closed_form_of_the_paper() -> None:
    for epsilon, inputs, at_zero in [(1.0, 4, 1.598), (1.0, 16, 5.662), (1.0, 1024, 347.07)]:
        randomizer, e = _k_ary(str(epsilon), inputs), exp(epsilon)
        assert randomizer.variance(0.0) == pytest.approx((e + inputs - 2) / (e - 1) ** 2, rel=1e-6)
        assert randomizer.variance(0.0) == pytest.approx(at_zero, abs=0.006)
        slope = randomizer.variance(1.0) - randomizer.variance(0.0)
        assert slope == pytest.approx((inputs - 2) / (e - 1), rel=1e-6)


def test_the_whole_range_of_inputs_is_reached_without_overflow() -> None:
    randomizer = _k_ary("10", MOST_INPUTS)
    values = np.full(1000, MOST_INPUTS - 1)
    reports = randomizer.randomize(values, SeededSource(3))
    assert reports.dtype == np.uint32 and len(np.unique(reports)) > 990
    assert (randomizer.unpack(randomizer.pack(reports), 1000) == reports).all()


def test_too_many_inputs_for_a_tally_are_refused_but_candidates_are_estimated() -> None:
    randomizer = _k_ary("30", LARGEST_TALLY + 1)
    values = np.repeat([5, LARGEST_TALLY], [300, 700])
    reports = randomizer.randomize(values, SeededSource(3))
    for refused in (lambda: randomizer.tally(reports), lambda: randomizer.law(0)):
        with pytest.raises(InvalidParameter, match="candidates"):
            refused()
    estimates = randomizer.estimate_candidates(reports, np.array([LARGEST_TALLY, 7, 5]))
    assert estimates.values == pytest.approx([0.7, 0.0, 0.3], abs=1e-3)
    with pytest.raises(InvalidParameter):
        randomizer.estimate_candidates(reports, np.array([5, 5]))


def test_candidates_get_the_estimates_of_the_whole_tally() -> None:
    randomizer = _k_ary("1", 50)
    reports = randomizer.randomize(np.arange(5000) % 50, SeededSource(1))
    chosen = np.array([40, 3, 0, 49])
    whole, some = (
        randomizer.estimate(randomizer.tally(reports)),
        randomizer.estimate_candidates(reports, chosen),
    )
    assert (some.values == whole.values[chosen]).all()
    assert (some.variance_empirical == whole.variance_empirical[chosen]).all()


def test_a_report_out_of_range_is_refused() -> None:
    randomizer = _k_ary("1", 5)
    with pytest.raises(MalformedReport):
        randomizer.unpack(bytes([0b101_00000]), 1)
    with pytest.raises(MalformedReport):
        randomizer.unpack(bytes([0b100_00001]), 1)


@pytest.mark.parametrize("inputs", [0, 1, -3, MOST_INPUTS + 1, True])
def test_a_number_of_inputs_out_of_bounds_is_refused(inputs: int) -> None:
    with pytest.raises(InvalidParameter):
        _k_ary("1", inputs)


@pytest.mark.parametrize("nanonats", [0, 31 * 10**9])
def test_an_epsilon_out_of_bounds_is_refused(nanonats: int) -> None:
    with pytest.raises(InvalidParameter):
        KaryRandomizedResponse(Epsilon(nanonats), 4)


def test_the_smallest_epsilon_still_leans_towards_the_truth() -> None:
    for inputs in (2, 1000, MOST_INPUTS):
        support = KaryRandomizedResponse(Epsilon(1), inputs).support
        assert support.own > support.other


def test_values_that_are_no_list_of_integers_are_refused() -> None:
    for values in (np.array([0.5]), np.array([[0, 1]]), np.array(["0"])):
        with pytest.raises(InvalidParameter):
            _k_ary("1", 4).randomize(values, SeededSource(0))


def test_the_largest_ratio_helper_sees_an_impossible_output() -> None:
    law = _k_ary("1", 3).law(0)
    with pytest.raises(AssertionError):
        largest_ratio([law, {output: mass for output, mass in law.items() if output}])
