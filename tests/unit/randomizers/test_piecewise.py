"""The piecewise mechanism through every coin, and the window law that it is made of."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.parts.mean_estimates import debiased_moments, power_sums, power_sums_of_counts
from localdp.randomizers.parts.window_law import WindowLaw
from localdp.randomizers.piecewise import LARGEST_RESOLUTION, PiecewiseRandomizer
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
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

EPSILONS = ["0.01", "0.5", "1", "2", "4", "7"]


def _piecewise(epsilon: str, resolution: int, fineness: int = 3) -> PiecewiseRandomizer:
    return PiecewiseRandomizer(Epsilon.requested(epsilon), resolution, fineness)


def _with_epsilon(sound: PiecewiseRandomizer, epsilon: str) -> PiecewiseRandomizer:
    """The same line, drawn with another epsilon."""
    drawn = replace(sound)
    object.__setattr__(drawn, "window", replace(sound.window, requested=Epsilon.requested(epsilon)))
    return drawn


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1, 2, 5])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, resolution: int) -> None:
    check_exact_law(_piecewise(epsilon, resolution))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1, 5])
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, resolution: int) -> None:
    randomizer = _piecewise(epsilon, resolution, fineness=2)
    check_unbiased(randomizer, tolerance=1e-12 * max(1, 2 / float(epsilon)))
    check_variance(randomizer)


@pytest.mark.parametrize("epsilon", [*EPSILONS, "1e-6", "20"])
@pytest.mark.parametrize("resolution", [1, 7, 64])
def test_the_mean_cell_is_affine_in_the_value_exactly(epsilon: str, resolution: int) -> None:
    window = _piecewise(epsilon, resolution, fineness=1).window
    inputs = {0, 1, resolution // 2, resolution} if window.size < 10**4 else set()
    for value in inputs:
        law = window.law(value)
        mean = sum((cell * law[cell] for cell in range(window.size)), Fraction(0))
        assert mean == window.intercept + window.slope * Fraction(value, resolution)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "4", "8", "10"])
def test_a_fine_line_spends_what_was_requested(epsilon: str) -> None:
    randomizer = PiecewiseRandomizer(Epsilon.requested(epsilon), 1 << 12)
    wasted = randomizer.requested.nanonats - randomizer.epsilon.nanonats
    assert 0 <= wasted <= 1


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("resolution", [1, 16, 1 << 10])
def test_the_variance_on_a_fine_line_is_that_of_the_paper_within_one_percent(
    epsilon: float, resolution: int
) -> None:
    randomizer = PiecewiseRandomizer(Epsilon.requested(epsilon), resolution)
    root = exp(epsilon / 2)
    for x in (0.0, 0.3, 0.5, 1.0):
        paper = (2 * x - 1) ** 2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
        assert 4 * randomizer.variance(x) == pytest.approx(paper, rel=0.01)


@pytest.mark.parametrize(("epsilon", "worst"), [("0.5", 21.223), ("1", 5.224), ("2", 1.228), ("4", 0.2414)])
def test_the_reference_numbers_are_met(epsilon: str, worst: float) -> None:
    randomizer = PiecewiseRandomizer(Epsilon.requested(epsilon))
    assert 4 * randomizer.variance(1.0) == pytest.approx(worst, rel=0.01)
    if epsilon == "1":
        assert 4 * randomizer.variance(0.5) == pytest.approx(3.682, rel=0.01)


@pytest.mark.parametrize("resolution", [1, 5, 1000])
def test_every_other_contract_holds(resolution: int) -> None:
    randomizer = _piecewise("1", resolution)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_people_are_independent() -> None:
    check_people_independent(_piecewise("1", 1))


def test_the_broken_twins_are_caught() -> None:
    sound = _piecewise("1", 2)
    doubled = EpsilonDoubled(sound, _with_epsilon(sound, "2"))
    kept = ItemKept(sound, lambda values, reports: values.astype(reports.dtype))
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept)
    assert_caught(check_people_independent, SeedReused(sound))


def test_both_variances_of_an_estimate_follow_from_the_tally() -> None:
    # 200,000 reports: the estimated second moment of the values has a standard error below 0.02.
    randomizer, people = PiecewiseRandomizer(Epsilon.requested("2")), 200_000
    values = np.where(np.arange(people) % 4 == 0, randomizer.resolution, 0)
    estimate = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(4))))
    empirical = randomizer.variance((0, 0, 0, 1))
    assert estimate.variance_empirical * people == pytest.approx(empirical, rel=0.05)
    sampling = (estimate.variance_population - estimate.variance_empirical) * people
    assert sampling == pytest.approx(0.25 * 0.75, rel=0.1)


def test_power_sums_survive_squares_beyond_32_bits() -> None:
    scores = np.array([0, 1, (1 << 31) - 1, (1 << 31) - 2])
    first, second = debiased_moments(power_sums(scores), len(scores), Fraction(3), Fraction(7, 2))
    debiased = [(Fraction(int(score)) - 3) / Fraction(7, 2) for score in scores]
    assert first == sum(debiased) and second == sum(z * z for z in debiased)
    cells = np.array([0, 3, 3, 1])
    assert (power_sums_of_counts(np.bincount(cells)) == power_sums(cells)).all()


def test_a_cell_beyond_the_line_is_refused() -> None:
    randomizer = _piecewise("1", 2)
    assert randomizer.window.size < (1 << randomizer.report_bits)
    beyond = randomizer.pack(np.array([randomizer.window.size]))
    with pytest.raises(MalformedReport):
        randomizer.unpack(beyond, 1)


@pytest.mark.parametrize("resolution", [0, -1, LARGEST_RESOLUTION + 1])
def test_a_resolution_out_of_bounds_is_refused(resolution: int) -> None:
    with pytest.raises(InvalidParameter):
        _piecewise("1", resolution)


@pytest.mark.parametrize("fineness", [0, -1, 1 << 20])
def test_a_fineness_out_of_bounds_is_refused(fineness: int) -> None:
    with pytest.raises(InvalidParameter):
        _piecewise("1", 4, fineness)


def test_the_largest_parameters_are_served_and_a_longer_line_is_refused() -> None:
    assert PiecewiseRandomizer(Epsilon.requested("30"), LARGEST_RESOLUTION).report_bits <= 31
    with pytest.raises(InvalidParameter):
        WindowLaw(Epsilon.requested("1"), 1 << 20, 1 << 12, 1)


def test_an_estimate_needs_reports_of_the_same_randomizer() -> None:
    randomizer = _piecewise("1", 2)
    with pytest.raises(InvalidParameter):
        randomizer.estimate(randomizer.tally(np.zeros(0, np.uint8)))
    with pytest.raises(InvalidParameter):
        randomizer.estimate(_piecewise("2", 2).tally(np.zeros(1, np.uint8)))


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _piecewise("1", 4), _piecewise("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _piecewise("1", 5), _piecewise("1", 4, 4), _piecewise("2", 4)}) == 4
