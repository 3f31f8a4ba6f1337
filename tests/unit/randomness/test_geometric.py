"""Geometric draws by digits: the digits multiply back to the law, and refuse what they cannot hold."""

from fractions import Fraction
from math import exp, expm1

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.geometric import (
    Geometric,
    _enclose_digit,
    _enclose_geometric,
    digit_widths,
    exp_powers,
)
from localdp.randomness.hazmat import SeededSource


def test_powers_of_exp_agree_with_floating_point() -> None:
    lows, highs = exp_powers(Fraction(1, 3), 100, 64)
    for m, (low, high) in enumerate(zip(lows, highs, strict=True)):
        assert low / 2**64 == pytest.approx(exp(-m / 3), rel=1e-6)
        assert high - low <= 2


@pytest.mark.parametrize("scale", [129, 1000, 10**6, 1 << 40])
def test_digits_bring_the_scale_of_the_head_down_to_a_small_table(scale: int) -> None:
    widths = digit_widths(Fraction(1, scale))
    assert 0 < max(widths) <= 10
    assert 16 <= scale / 2 ** sum(widths) <= 32


def test_a_small_scale_has_no_digits() -> None:
    assert digit_widths(Fraction(1, 128)) == []
    assert digit_widths(Fraction(64)) == []


def test_the_law_of_digits_and_head_multiplies_to_the_geometric_law() -> None:
    rate, width = Fraction(1, 200), 4
    digit = np.diff(np.array([0, *_enclose_digit(rate, 1 << width, 64, 1 << width)[0]], float)) / 2**64
    head = np.diff(np.array([0, *_enclose_geometric(rate * 16, 64, 100)[0]], float)) / 2**64
    law = np.outer(head, digit).ravel()
    expected = -expm1(-float(rate)) * np.exp(-float(rate) * np.arange(1600))
    assert np.abs(law - expected).max() < 1e-15


def test_the_largest_scale_fits_64_bits() -> None:
    drawn = Geometric(Fraction(1, 1 << 40)).sample(SeededSource(3), 10_000)
    assert int(drawn.min()) >= 0
    assert float(drawn.mean()) == pytest.approx(2.0**40, rel=0.06)  # Six standard errors.


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(65), Fraction(1, (1 << 40) + 1), 0.5])
def test_a_rate_that_is_not_served_is_refused(rate: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        Geometric(rate)
