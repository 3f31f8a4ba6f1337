"""Rational enclosures of exp and log: the only transcendental numbers that an exact sampler needs.

Each function returns integers (lower, upper) with lower / 2**bits <= value <= upper / 2**bits, proved by
interval arithmetic on integers: every step rounds the lower end down and the upper end up.  The width is a
few units in the last place, and the caller asks for more bits when two numbers are not yet told apart.

Checked against 50-digit decimals, and for nesting under growing precision, in
tests/unit/randomness/test_enclosures.py.
"""

from fractions import Fraction

from localdp.errors import InvalidParameter

_GUARD_BITS = 32
_LARGEST_EXPONENT = 4096


def _floor_and_ceiling(numerator: int, denominator: int) -> tuple[int, int]:
    lower, remainder = divmod(numerator, denominator)
    return lower, lower + (remainder != 0)


def _exp_of_fraction_below_half(x: Fraction, precision: int) -> tuple[int, int]:
    """exp(x) for 0 <= x < 1/2 by its Taylor series; the tail is below the last term kept."""
    one = 1 << precision
    low_x, high_x = _floor_and_ceiling(x.numerator << precision, x.denominator)
    low_sum = high_sum = low_term = high_term = one
    order = 0
    while high_term > 1:
        order += 1
        low_term = (low_term * low_x >> precision) // order
        high_term = -(-high_term * high_x // (order << precision))
        low_sum += low_term
        high_sum += high_term
    return low_sum, high_sum + high_term


def _exp_of_positive(x: Fraction, bits: int) -> tuple[int, int]:
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length()) if x else 0
    # Squaring doubles the relative error each time, and exp(x) itself has 1.45 x bits before the point.
    precision = bits + _GUARD_BITS + 2 * halvings + 3 * (int(x) + 1)
    low, high = _exp_of_fraction_below_half(x / (1 << halvings), precision)
    for _ in range(halvings):
        low = low * low >> precision
        high = -(-high * high >> precision)
    shift = precision - bits
    return low >> shift, -(-high >> shift)


def exp_enclosure(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers (lower, upper) around exp(x) * 2**bits."""
    if abs(x) > _LARGEST_EXPONENT:
        raise InvalidParameter(f"exp of a number beyond {_LARGEST_EXPONENT} is not enclosed")
    if x >= 0:
        return _exp_of_positive(x, bits)
    low, high = _exp_of_positive(-x, bits + _GUARD_BITS)
    scale = 1 << (2 * bits + _GUARD_BITS)
    return scale // high, -(-scale // low)


def _atanh(z: Fraction, precision: int) -> tuple[int, int]:
    """atanh(z) for 0 <= z <= 1/3, by the series of z**(2 i + 1) / (2 i + 1)."""
    low_power, high_power = _floor_and_ceiling(z.numerator << precision, z.denominator)
    low_square, high_square = low_power * low_power >> precision, -(-high_power * high_power >> precision)
    low_sum = high_sum = 0
    order = 1
    while high_power > 1:
        low_sum += low_power // order
        high_sum += -(-high_power // order)
        low_power = low_power * low_square >> precision
        high_power = -(-high_power * high_square >> precision)
        order += 2
    return low_sum, high_sum + 2


def log_enclosure(ratio: Fraction, bits: int) -> tuple[int, int]:
    """Integers (lower, upper) around log(ratio) * 2**bits, for a positive rational."""
    if ratio <= 0:
        raise InvalidParameter("the logarithm of a number that is not positive was asked for")
    if ratio < 1:
        low, high = log_enclosure(1 / ratio, bits)
        return -high, -low
    doublings = max(0, ratio.numerator.bit_length() - ratio.denominator.bit_length())
    mantissa = ratio / (1 << doublings)
    if mantissa < 1:
        doublings, mantissa = doublings - 1, mantissa * 2
    precision = bits + _GUARD_BITS
    low_two, high_two = _atanh(Fraction(1, 3), precision)
    low_rest, high_rest = _atanh((mantissa - 1) / (mantissa + 1), precision)
    low, high = doublings * low_two + low_rest, doublings * high_two + high_rest
    shift = precision - bits - 1
    return low >> shift, -(-high >> shift)
