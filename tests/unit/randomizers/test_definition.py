"""Tallies, estimates and their intervals."""

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Estimate, Frequencies, Tally
from localdp.randomizers.one_bit import binary_randomized_response

ESTIMATE = Estimate(0.3, 100, variance_empirical=0.0004, variance_population=0.0009)
FREQUENCIES = Frequencies(np.array([0.2, -0.1]), 50, np.array([0.01, 0.04]), np.array([0.04, 0.09]))


def test_an_interval_is_the_normal_one_about_the_value() -> None:
    assert ESTIMATE.interval() == pytest.approx((0.3 - 1.959964 * 0.02, 0.3 + 1.959964 * 0.02))
    assert ESTIMATE.interval(population=True) == pytest.approx(
        (0.3 - 1.959964 * 0.03, 0.3 + 1.959964 * 0.03)
    )
    assert ESTIMATE.standard_error == pytest.approx(0.02)


def test_an_interval_is_not_clipped_to_the_possible_values() -> None:
    low, _ = Estimate(0.0, 10, 0.04, 0.04).interval()
    assert low < 0


def test_more_confidence_is_a_wider_interval() -> None:
    widths = [high - low for low, high in map(ESTIMATE.interval, (0.5, 0.9, 0.99))]
    assert widths == sorted(widths) and widths[0] < widths[-1]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_confidence_outside_the_open_unit_interval_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidParameter):
        ESTIMATE.interval(confidence)
    with pytest.raises(InvalidParameter):
        FREQUENCIES.intervals(confidence)


def test_simultaneous_intervals_share_the_failure_among_the_items() -> None:
    low, high = FREQUENCIES.intervals(0.95, simultaneous=True)
    each_low, each_high = FREQUENCIES.intervals(0.975)
    np.testing.assert_allclose(low, each_low)
    np.testing.assert_allclose(high, each_high)
    np.testing.assert_allclose(FREQUENCIES.standard_errors, [0.1, 0.2])


def test_intervals_for_the_population_are_wider() -> None:
    low, high = FREQUENCIES.intervals()
    wide_low, wide_high = FREQUENCIES.intervals(population=True)
    assert (wide_low < low).all() and (wide_high > high).all()


def test_a_tally_merges_only_with_one_of_an_equal_randomizer() -> None:
    one, same, other = (binary_randomized_response(epsilon) for epsilon in (1.0, 1.0, 2.0))
    merged = Tally(one, 3, np.array([2])).merge(Tally(same, 4, np.array([1])))
    assert merged.reports == 7 and merged.sums.tolist() == [3]
    with pytest.raises(InvalidParameter):
        Tally(one, 3, np.array([2])).merge(Tally(other, 4, np.array([1])))
