"""Exact geometric draws at any scale, by independent digits.

Definition.  Geometric(rate): Pr[k] = (1 - a) a^k for k = 0, 1, 2, ..., with a = exp(-rate) for an exact
rational rate, so that Pr[G >= k] = a^k.  Its scale is 1 / rate.

Large scales.  Write G = 2^b H + L with 0 <= L < 2^b.  Since a^G = (a^(2^b))^H a^L, the parts H and L are
independent: H is geometric of rate 2^b * rate, and L is geometric of the same rate, cut to 0 .. 2^b - 1.
The same step splits L into digits.  Every part has its own small table (`inverse_cdf.py`).

Claim.  The law is exact: the digits are independent, and no tail is cut off.
Checked in tests/unit/randomness/test_geometric.py and tests/statistical/test_samplers.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.inverse_cdf import Enclosures, LazyInverseCdf, scaled
from localdp.randomness.source import Integers, RandomSource

LARGEST_RATE = 64
LARGEST_SCALE = 1 << 40  # Then a draw beyond 64 bits has a probability of exp(-2**23), and is refused.
LARGEST_TABLE_SCALE = 128
_LARGEST_HEAD_SCALE = 32
_DIGIT_BITS = 10
_GUARD_BITS = 16


def checked_rate(rate: Fraction) -> Fraction:
    """The rate as an exact fraction, if it is one that the samplers serve."""
    if not isinstance(rate, Fraction | int):
        raise InvalidParameter("a rate is an exact fraction, not a floating-point number")
    if not Fraction(1, LARGEST_SCALE) <= rate <= LARGEST_RATE:
        raise InvalidParameter(f"a rate lies between 1/{LARGEST_SCALE} and {LARGEST_RATE}")
    return Fraction(rate)


def exp_powers(rate: Fraction, size: int, bits: int) -> Enclosures:
    """Enclosures of exp(-rate * m) * 2**bits for m = 0 .. size - 1, both lists non-increasing."""
    # Each product adds at most two units to an error that never grows otherwise, because a <= 1.
    guard = _GUARD_BITS + size.bit_length()
    precision = bits + guard
    low_base, high_base = exp_enclosure(-rate, precision)
    low = high = 1 << precision
    high_base = min(high_base, high)
    lows, highs = [], []
    for _ in range(size):
        low_rounded, high_rounded = scaled(low, high, guard)
        lows.append(low_rounded)
        highs.append(high_rounded)
        low, high = low * low_base >> precision, -(-high * high_base >> precision)
    return lows, highs


def _enclose_geometric(rate: Fraction, bits: int, size: int) -> Enclosures:
    """F(k) = 1 - a^(k + 1)."""
    lows, highs = exp_powers(rate, size + 1, bits)
    one = 1 << bits
    return [one - high for high in highs[1:]], [one - low for low in lows[1:]]


def _enclose_digit(rate: Fraction, points: int, bits: int, size: int) -> Enclosures:
    """F(d) = (1 - a^(d + 1)) / (1 - a^points), for d below `points`."""
    # Near a = 1 the quotient is of two small numbers: as many more bits as the denominator has leading
    # zeros.
    precision = bits + _GUARD_BITS + max(0, (rate.denominator // rate.numerator).bit_length())
    lows, highs = exp_powers(rate, points + 1, precision)
    one = 1 << precision
    low_whole, high_whole = one - highs[points], one - lows[points]
    lower = [((one - high) << bits) // high_whole for high in highs[1 : size + 1]]
    upper = [min(1 << bits, -(-((one - low) << bits) // low_whole)) for low in lows[1 : size + 1]]
    if size >= points:
        lower[points - 1] = upper[points - 1] = 1 << bits
    return lower, upper


@lru_cache(maxsize=64)
def _geometric_table(rate: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_geometric, rate))


@lru_cache(maxsize=256)
def _digit_table(rate: Fraction, points: int) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_digit, rate, points), support=points)


def digit_widths(rate: Fraction) -> list[int]:
    """The bits of each low digit, the least significant first; none if one table serves the whole."""
    if 1 / rate <= LARGEST_TABLE_SCALE:
        return []
    bits = (-(-rate.denominator // (rate.numerator * _LARGEST_HEAD_SCALE)) - 1).bit_length()
    digits = -(-bits // _DIGIT_BITS)
    return [(bits + place) // digits for place in range(digits)]


@dataclass(frozen=True, slots=True)
class Geometric:
    """Pr[k] = (1 - a) a^k for k >= 0, a = exp(-rate)."""

    rate: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        shift = 0
        drawn = np.zeros(count, np.int64)
        for width in digit_widths(self.rate):
            drawn += _digit_table(self.rate * (1 << shift), 1 << width).sample(source, count) << shift
            shift += width
        head = _geometric_table(self.rate * (1 << shift)).sample(source, count)
        if int(head.max(initial=0)) >> (62 - shift):
            raise OverflowError("a geometric draw does not fit 64 bits")
        return drawn + (head << shift)
