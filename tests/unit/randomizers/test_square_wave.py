"""The square wave through every coin, and its estimate of a mean; the distribution is tested with its estimator."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from numpy.typing import ArrayLike

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import Estimate, Tally
from localdp.randomizers.square_wave import LARGEST_BUCKETS, SquareWave
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import BrokenTwin, DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
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

EPSILONS = ["0.01", "0.5", "1", "2", "4", "10"]


class MeanOf(BrokenTwin):
    """The sound randomizer, asked for the mean instead of the distribution."""

    @property
    def resolution(self) -> int:
        """One less than the number of buckets."""
        return int(self.sound.buckets) - 1

    def estimate(self, tally: Tally) -> Estimate:
        """The unbiased mean."""
        estimate: Estimate = self.sound.estimate_mean(tally)
        return estimate

    def variance(self, values: ArrayLike) -> float:
        """The variance of its report."""
        return float(self.sound.window.variance().over(values))


def _wave(epsilon: str, buckets: int) -> SquareWave:
    return SquareWave(Epsilon.requested(epsilon), buckets)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("buckets", [2, 3, 8])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, buckets: int) -> None:
    check_exact_law(_wave(epsilon, buckets))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("buckets", [2, 8])
def test_the_mean_is_unbiased_with_the_stated_variance(epsilon: str, buckets: int) -> None:
    randomizer = MeanOf(_wave(epsilon, buckets))
    check_unbiased(randomizer, tolerance=1e-12 * max(1, 2 / float(epsilon)))
    check_variance(randomizer)


@pytest.mark.parametrize(
    ("epsilon", "half_width"), [("0.5", 0.3582), ("1", 0.2561), ("2", 0.1293), ("1e-6", 0.5), ("20", 0.0)]
)
def test_the_window_is_that_of_the_reference(epsilon: str, half_width: float) -> None:
    window = _wave(epsilon, LARGEST_BUCKETS).window
    assert (window.width - 1) / 2 / LARGEST_BUCKETS == pytest.approx(half_width, abs=1e-4)


def test_the_densities_are_those_of_the_reference() -> None:
    randomizer = _wave("1", 1 << 14)
    outside = randomizer.window.outside_mass
    inside = outside + randomizer.window.excess
    assert float(inside) * (1 << 14) == pytest.approx(1.1363, rel=1e-3)
    assert float(outside) * (1 << 14) == pytest.approx(0.4180, rel=1e-3)
    assert Fraction(inside, outside) <= Fraction(exp(1)) + Fraction(1, 10**9)


def test_the_channel_of_the_estimator_is_the_law() -> None:
    randomizer = _wave("1", 8)
    for value in range(8):
        stated = randomizer.law(value)
        column = randomizer.channel.forward(np.eye(8)[value])
        np.testing.assert_allclose(column, [float(stated[cell]) for cell in range(len(column))], atol=1e-15)


def test_every_other_contract_holds() -> None:
    randomizer = _wave("1", 16)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)
    check_people_independent(_wave("1", 3))


def test_the_broken_twins_are_caught() -> None:
    sound = _wave("1", 4)
    drawn = replace(sound)
    object.__setattr__(drawn, "window", replace(sound.window, requested=Epsilon.requested("2")))
    doubled = EpsilonDoubled(sound, drawn)
    kept = ItemKept(sound, lambda values, reports: values.astype(reports.dtype))
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, MeanOf(doubled), MeanOf(kept), DebiasForgotten(MeanOf(sound)))
    assert_caught(check_people_independent, SeedReused(sound))


def test_the_estimate_is_a_distribution() -> None:
    randomizer = _wave("2", 32)
    values = np.random.default_rng(1).binomial(31, 0.4, 20_000)
    tally = randomizer.tally(randomizer.randomize(values, SeededSource(1)))
    for smoothing in (True, False):
        estimate = randomizer.estimate(tally, smoothing=smoothing)
        assert estimate.masses.min() >= 0 and estimate.masses.sum() == pytest.approx(1)
        assert estimate.reports == 20_000
        assert estimate.mean == pytest.approx((31 * 0.4 + 0.5) / 32, abs=0.02)


@pytest.mark.parametrize("buckets", [0, 1, -1, LARGEST_BUCKETS + 1])
def test_a_number_of_buckets_out_of_bounds_is_refused(buckets: int) -> None:
    with pytest.raises(InvalidParameter):
        _wave("1", buckets)


def test_a_bucket_beyond_the_line_and_an_empty_tally_are_refused() -> None:
    randomizer = _wave("1", 8)
    assert randomizer.window.size < 1 << randomizer.report_bits
    with pytest.raises(MalformedReport):
        randomizer.unpack(randomizer.pack(np.array([randomizer.window.size])), 1)
    for estimate in (randomizer.estimate, randomizer.estimate_mean):
        with pytest.raises(InvalidParameter):
            estimate(randomizer.tally(np.zeros(0, np.uint8)))


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _wave("1", 4), _wave("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _wave("1", 8), _wave("2", 4)}) == 3
