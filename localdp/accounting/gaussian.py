"""The Gaussian mechanism's own delta, and the smallest variance for an (epsilon, delta): rounded up, in rationals.

Balle and Wang (2018), Theorem 8.  Gaussian noise of variance sigma^2 on each entry of a vector of L2 sensitivity D is
(epsilon, delta)-private exactly when

    Phi(D / (2 sigma) - epsilon sigma / D) - e^epsilon Phi(-D / (2 sigma) - epsilon sigma / D) <= delta.

That is less noise than sigma = sqrt(2 ln(1.25 / delta)) D / epsilon (Theorem A.1), which moreover needs epsilon < 1:
at (1, 1e-6) 4.225 D against 5.299 D.

Claim.  `gaussian_delta` is at least the left side, `gaussian_variance` is a whole variance that satisfies it, and no
smaller whole number does up to the width of the enclosures.  Phi is enclosed by its series with positive terms,
Phi(x) = 1/2 + phi(x) (x + x^3 / 3 + x^5 / (3 * 5) + ...), in integers.
Checked in tests/unit/accounting/test_gaussian.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import exp_below
from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure

SMALLEST_DELTA = Fraction(1, 10**30)
LARGEST_SQUARED_SENSITIVITY = 1 << 64
_BITS = 192
_LARGEST_ARGUMENT = 16
_BEYOND = Fraction(1, 1 << 184)  # Phi(x) <= exp(-x^2 / 2) / 2 for negative x


def gaussian_delta(epsilon: Epsilon, squared_sensitivity: int, variance: int) -> Fraction:
    """At least the smallest delta at this epsilon; squared_sensitivity is D^2."""
    if not 1 <= squared_sensitivity <= LARGEST_SQUARED_SENSITIVITY or variance < 1:
        raise InvalidParameter("a Gaussian mechanism has a positive sensitivity and a positive variance")
    half = _square_root(Fraction(squared_sensitivity, 4 * variance))[1]
    low_inverse, high_inverse = _square_root(Fraction(variance, squared_sensitivity))
    inside = normal_cdf(half - epsilon.exact * low_inverse)[1]
    outside = normal_cdf(-half - epsilon.exact * high_inverse)[0]
    return max(Fraction(0), inside - exp_below(epsilon.exact) * outside)


@lru_cache(maxsize=256)
def gaussian_variance(epsilon: Epsilon, delta: Fraction, squared_sensitivity: int) -> int:
    """The smallest whole variance that is (epsilon, delta)-private."""
    if not SMALLEST_DELTA <= delta < 1:
        raise InvalidParameter(f"delta is at least {float(SMALLEST_DELTA):g} and below 1")
    high = 1
    while gaussian_delta(epsilon, squared_sensitivity, high) > delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = gaussian_delta(epsilon, squared_sensitivity, middle) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def normal_cdf(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclosure of Phi(x)."""
    if x > 0:
        low, high = normal_cdf(-x)
        return 1 - high, 1 - low
    if x < -_LARGEST_ARGUMENT:
        return Fraction(0), _BEYOND
    # The series grows to exp(x^2 / 2) before phi makes it small again.
    bits = _BITS + 2 * int(x * x)
    one = 1 << bits
    low_y, high_y = (-x.numerator << bits) // x.denominator, -((x.numerator << bits) // x.denominator)
    # phi times the series grows with y = -x, so that each end has its own y.
    most = _density(high_y, bits)[1] * _series(high_y, bits)[1]
    least = _density(low_y, bits)[0] * _series(low_y, bits)[0]
    half = Fraction(1, 2)
    return max(Fraction(0), half - Fraction(most, one * one)), half - Fraction(least, one * one)


def _series(y: int, bits: int) -> tuple[int, int]:
    """y + y^3 / 3 + y^5 / 15 + ..., for y over 2**bits."""
    low = high = low_sum = high_sum = y
    square, order = y * y, 1
    while high > 1:
        order += 2
        low = (low * square >> 2 * bits) // order
        high = -(-high * square // (order << 2 * bits))
        low_sum += low
        high_sum += high
    return low_sum, high_sum + 2 * high


def _density(y: int, bits: int) -> tuple[int, int]:
    """phi(y) = exp(-y^2 / 2) / sqrt(2 pi)."""
    low, high = exp_enclosure(Fraction(-y * y, 1 << 2 * bits + 1), bits)
    low_pi, high_pi = _pi(bits)
    low_root, high_root = isqrt(low_pi << bits + 1), isqrt(high_pi << bits + 1) + 1
    return (low << bits) // high_root, -(-(high << bits) // low_root)


@lru_cache(maxsize=256)
def _pi(bits: int) -> tuple[int, int]:
    """Machin (1706): pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    guard = 16
    low_five, high_five = _arctan_of_inverse(5, bits + guard)
    low_other, high_other = _arctan_of_inverse(239, bits + guard)
    return (16 * low_five - 4 * high_other) >> guard, -(-(16 * high_five - 4 * low_other) >> guard)


def _arctan_of_inverse(n: int, bits: int) -> tuple[int, int]:
    """1/n - 1/(3 n^3) + 1/(5 n^5) - ...; each term is cut, and the series alternates."""
    power, order, total, sign = (1 << bits) // n, 1, 0, 1
    while power:
        total += sign * (power // order)
        power, order, sign = power // (n * n), order + 2, -sign
    return total - order, total + order


def _square_root(x: Fraction) -> tuple[Fraction, Fraction]:
    scaled = (x.numerator << 2 * _BITS) // x.denominator
    root = isqrt(scaled)
    return Fraction(root, 1 << _BITS), Fraction(root + 1, 1 << _BITS)
