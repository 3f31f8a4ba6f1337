"""Haar ranges, exactly: every coin of the real sampler, every range, every input."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import Tally
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.parts.range_estimates import RangeEstimates
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled, ItemKept, SeedReused
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    sampled_law,
)

ONE, TWO = Epsilon.requested(1.0), Epsilon.requested(2.0)
SIZES = [2, 3, 4, 5, 8, 16]


class DebiasForgotten(BrokenTwin):
    """Multiplies by the number of levels, but not by C."""

    def estimate(self, tally: Tally) -> RangeEstimates:
        """Ranges that are too close to those of the uniform distribution."""
        sound: RangeEstimates = self.sound.estimate(tally)
        uniform = np.linspace(0.0, 1.0, len(sound.prefix))
        prefix = uniform + (sound.prefix - uniform) / self.sound.scale
        return RangeEstimates(self.sound, sound.reports, prefix)


@pytest.mark.parametrize("inputs", SIZES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_the_sampler_has_the_stated_law_and_epsilon(inputs: int, epsilon: float) -> None:
    check_exact_law(HaarRanges(Epsilon.requested(epsilon), inputs))


@pytest.mark.parametrize("inputs", SIZES)
def test_every_frequency_is_estimated_without_bias(inputs: int) -> None:
    check_unbiased(HaarRanges(ONE, inputs))


def test_broken_twins_are_caught() -> None:
    sound = HaarRanges(ONE, 4)
    told = ItemKept(
        sound, lambda values, reports: (reports & ~np.uint8(1)) | (values[0] & 1).astype(np.uint8)
    )
    assert_caught(check_exact_law, EpsilonDoubled(sound, HaarRanges(TWO, 4)), told)
    assert_caught(check_unbiased, DebiasForgotten(sound), EpsilonDoubled(sound, HaarRanges(TWO, 4)))
    assert_caught(check_people_independent, SeedReused(sound))


def test_people_do_not_share_coins() -> None:
    check_people_independent(HaarRanges(ONE, 4))


@pytest.mark.parametrize("inputs", [2, 3, 8, 1000])
def test_the_contract_of_a_randomizer_holds(inputs: int) -> None:
    randomizer = HaarRanges(ONE, inputs)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


@pytest.mark.parametrize("inputs", [4, 8, 6])
def test_the_variance_of_every_range_is_exact(inputs: int) -> None:
    randomizer = HaarRanges(ONE, inputs)
    low, high = np.array(list(combinations(range(inputs + 1), 2))).T
    for value in range(inputs):
        law = sampled_law(randomizer, value)
        square = np.zeros(len(low))
        for report, mass in law.items():
            estimate = randomizer.estimate(randomizer.tally(np.array([report], np.int64)))
            square += float(mass) * estimate.ranges(low, high).values ** 2
        prefix = (np.arange(inputs + 1) > value).astype(float)
        truth = prefix[high] - prefix[low]
        np.testing.assert_allclose(
            square - truth**2, randomizer.range_variance(low, high, prefix), atol=1e-9
        )


def test_no_range_is_worse_than_the_logarithmic_bound() -> None:
    randomizer = HaarRanges(ONE, 1024)
    low, high = np.random.default_rng(0).integers(0, 1025, (2, 3000))
    low, high = np.minimum(low, high), np.maximum(low, high)
    variance = randomizer.range_variance(low, high, np.linspace(0, 1, 1025))
    assert variance.max() <= 10**2 * randomizer.scale**2 / 2
    assert 65 < variance.mean() < 75  # theory 71.6 for random ranges


def estimates(inputs: int, people: int = 20_000) -> RangeEstimates:
    randomizer = HaarRanges(Epsilon.requested(4.0), inputs)
    values = np.random.default_rng(3).binomial(inputs - 1, 0.4, people)
    return randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(1))))


def test_ranges_add_up_and_the_whole_is_one() -> None:
    for inputs in (64, 50):
        found = estimates(inputs)
        left, right, both = found.ranges([0, 10, 0], [10, inputs, inputs]).values
        assert both == 1.0 and left + right == pytest.approx(1.0)
        assert found.ranges(7, 7).values[0] == 0.0 and found.ranges(0, inputs).standard_errors[0] == 0.0
        np.testing.assert_allclose(found.cdf().values, np.cumsum(found.values))


def test_quantiles_lie_in_their_intervals_and_rise() -> None:
    found = estimates(64)
    levels = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    quantiles = [found.quantile(level) for level in levels]
    assert quantiles == sorted(quantiles) and quantiles[0] >= 0 and quantiles[-1] <= 63
    for level, quantile in zip(levels, quantiles, strict=True):
        low, high = found.quantile_interval(level)
        assert low <= quantile <= high
    assert abs(found.quantile(0.5) - 25) <= 3  # the median of Binomial(63, 0.4)


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (0, 65), (5, 4)])
def test_what_is_no_range_is_refused(low: int, high: int) -> None:
    with pytest.raises(InvalidParameter):
        estimates(64, 10).ranges(low, high)


def test_what_is_no_level_is_refused() -> None:
    found = estimates(64, 10)
    for call in (lambda: found.quantile(1.5), lambda: found.quantile_interval(0.5, 1.0)):
        with pytest.raises(InvalidParameter):
            call()
    with pytest.raises(InvalidParameter):
        found.ranges(0.5, 2)


@pytest.mark.parametrize("inputs", [0, 1, -4, 1 << 23, 1 << 80, 2.0, True])
def test_sizes_out_of_bounds_are_refused(inputs: Any) -> None:
    with pytest.raises(InvalidParameter):
        HaarRanges(ONE, inputs)


def test_an_epsilon_too_small_for_the_threshold_is_no_crash() -> None:
    with pytest.raises(InvalidParameter):
        HaarRanges(Epsilon(0), 8)
    assert HaarRanges(Epsilon(1), 8).epsilon <= Epsilon(1)


def test_a_report_out_of_range_is_refused() -> None:
    randomizer = HaarRanges(ONE, 5)  # padded to 8: 7 signs, 14 reports, 4 bits
    assert randomizer.report_bits == 4
    with pytest.raises(MalformedReport):
        randomizer.unpack(b"\xe0", 1)
    with pytest.raises(MalformedReport):
        randomizer.unpack(b"\x01", 1)


def test_an_estimate_from_nothing_is_refused() -> None:
    randomizer = HaarRanges(ONE, 4)
    with pytest.raises(InvalidParameter):
        randomizer.estimate(randomizer.tally(np.empty(0, np.uint8)))
    with pytest.raises(InvalidParameter):
        randomizer.estimate(HaarRanges(TWO, 4).tally(np.zeros(1, np.uint8)))


def test_equal_parameters_are_equal_randomizers() -> None:
    assert HaarRanges(ONE, 8) == HaarRanges(ONE, 8) and hash(HaarRanges(ONE, 8)) == hash(HaarRanges(ONE, 8))
    assert HaarRanges(ONE, 8) != HaarRanges(ONE, 7)
    assert HaarRanges(ONE, 8).canonical == "haar-ranges(epsilon=1,inputs=8)"
