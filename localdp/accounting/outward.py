"""Real functions rounded to one side: what a bound is computed with when it must not be too small.

Each function returns a rational on the stated side of the true value, from the integer enclosures of
`localdp.randomness.enclosures`; the distance is below 2**-120 for results of ordinary size.  No floating-point number
takes part, so an epsilon made of them is an upper bound without any further argument.

Checked against 50-digit decimals in tests/unit/accounting/test_outward.py.
"""

import math
from fractions import Fraction

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.randomness.enclosures import exp_enclosure, log_enclosure

BITS = 128
LARGEST_EXPONENT = 4096
_ONE = 1 << BITS


def exp_above(x: Fraction) -> Fraction:
    """At least exp(x), for x up to 4096."""
    if x < -BITS:
        # e^-128 is below 2^-128, and the enclosure would cost as many bits as x is long.
        return Fraction(1, _ONE)
    return Fraction(exp_enclosure(x, BITS)[1], _ONE)


def exp_below(x: Fraction) -> Fraction:
    """At most exp(x), and never negative."""
    if x < -BITS:
        return Fraction(0)
    return Fraction(exp_enclosure(min(x, Fraction(LARGEST_EXPONENT)), BITS)[0], _ONE)


def log_above(x: Fraction) -> Fraction:
    """At least log(x), for positive x."""
    return Fraction(log_enclosure(x, BITS)[1], _ONE)


def log_below(x: Fraction) -> Fraction:
    """At most log(x), for positive x."""
    return Fraction(log_enclosure(x, BITS)[0], _ONE)


def sqrt_above(x: Fraction) -> Fraction:
    """At least the square root of x >= 0."""
    scaled = -(-(x.numerator << 2 * BITS) // x.denominator)
    return Fraction(math.isqrt(scaled) + 1, _ONE) if scaled else Fraction(0)


def power_below(x: Fraction, exponent: int, bits: int) -> Fraction:
    """At most x**exponent for 0 <= x <= 1, with about `bits` bits after the point."""
    result, square = 1 << bits, (x.numerator << bits) // x.denominator
    while exponent:
        if exponent & 1:
            result = result * square >> bits
        square = square * square >> bits
        exponent >>= 1
    return Fraction(result, 1 << bits)


def epsilon_above(nats: Fraction) -> Epsilon:
    """The smallest amount on the grid that is at least `nats`; zero for a negative number."""
    return Epsilon(max(0, math.ceil(nats * NANONATS_PER_NAT)))


def epsilon_below(nats: Fraction) -> Epsilon:
    """The largest amount on the grid that is at most `nats`; zero for a negative number."""
    return Epsilon(max(0, math.floor(nats * NANONATS_PER_NAT)))
