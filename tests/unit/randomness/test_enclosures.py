"""Enclosures of exp and log against 60-digit decimals, their width, and their nesting."""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure, log_enclosure

DECIMALS = Context(prec=60, Emax=10**6, Emin=-(10**6))
Enclosure = Callable[[Fraction, int], tuple[int, int]]
EXPONENTS = [Fraction(n, d) for n in (-60, -7, -1, 0, 1, 3, 25) for d in (1, 2, 3, 1000, 10**12 + 39)]
RATIOS = [Fraction(n, d) for n in (1, 2, 3, 999_983, 10**20) for d in (1, 3, 10**6, 2**70)]


def _decimal(value: Fraction) -> Decimal:
    return DECIMALS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _inside(enclosure: tuple[int, int], bits: int, value: Decimal) -> bool:
    slack = Fraction(1, 10**50) * (1 + abs(Fraction(value)))
    low, high = (Fraction(end, 1 << bits) for end in enclosure)
    return low - slack <= Fraction(value) <= high + slack


@pytest.mark.parametrize("x", EXPONENTS, ids=str)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_exp_lies_inside_a_narrow_enclosure(x: Fraction, bits: int) -> None:
    low, high = exp_enclosure(x, bits)
    assert _inside((low, high), bits, DECIMALS.exp(_decimal(x)))
    assert high - low <= 3


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_log_lies_inside_a_narrow_enclosure(ratio: Fraction, bits: int) -> None:
    low, high = log_enclosure(ratio, bits)
    assert _inside((low, high), bits, DECIMALS.ln(_decimal(ratio)))
    assert high - low <= 3


@pytest.mark.parametrize(
    ("enclosure", "value"),
    [(exp_enclosure, Fraction(-1, 3)), (exp_enclosure, Fraction(7, 2)), (log_enclosure, Fraction(5, 7))],
)
def test_more_bits_never_contradict_fewer(enclosure: Enclosure, value: Fraction) -> None:
    finest_low, finest_high = enclosure(value, 1024)
    for bits in range(8, 600, 37):
        low, high = enclosure(value, bits)
        assert low << (1024 - bits) <= finest_low <= finest_high <= high << (1024 - bits)


def test_what_has_no_enclosure_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        exp_enclosure(Fraction(5000), 64)
    with pytest.raises(InvalidParameter):
        log_enclosure(Fraction(0), 64)
