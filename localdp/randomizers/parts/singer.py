"""Singer difference sets (Singer 1938): the hyperplanes of a projective space, as the shifts of one set of integers.

Definition.  For a prime power q = p**m and t >= 2, let K = (q**t - 1) / (q - 1), the number of points of PG(t - 1, q), and
a a primitive element of GF(q**t).  Point u is the class of a**u, and hyperplane v holds u when Tr(a**(u + v)) = 0, the
trace being down to GF(q).  The difference set D = {i mod K : Tr(a**i) = 0} says it all: u lies on v if and only if
(u + v) mod K is in D.

Claim.  D has c = (q**(t-1) - 1) / (q - 1) elements, and every non-zero shift of it shares exactly
(q**(t-2) - 1) / (q - 1) of them.  Checked for q = 2, 3, 4, 5, 7, 8, 9 in tests/unit/randomizers/parts/test_singer.py.

Construction.  The traces of b a**i down to GF(p) are a maximal-length linear recurrence over GF(p), whose polynomial is
the primitive polynomial of a, of degree m t.  The trace down to GF(q) vanishes where the traces of the multiples by a
basis of GF(q), 1, a**K, .., a**((m-1) K), all vanish: where the sequence and its shifts by K are zero together.  The
sequence is made by doubling: x**L = sum of c_j x**j modulo the polynomial means s(i + L) = sum of c_j s(i + j), so each
round is m t numpy operations.  The polynomial is the first primitive one in a fixed order, so that everybody who builds
the set builds the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter

LARGEST_POINTS = 1 << 22
Polynomial = tuple[int, ...]  # coefficients of 1, x, x**2, .. below the degree of the modulus
Members = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The sizes of PG(t - 1, q): all the constants that a randomizer needs, without building the set."""

    field_order: int
    dimension: int  # t

    def __post_init__(self) -> None:
        prime_power(self.field_order)
        # The dimension first: the number of points of a huge one would itself be a huge number.
        if not 2 <= self.dimension < LARGEST_POINTS.bit_length() or self.points > LARGEST_POINTS:
            raise InvalidParameter(
                f"a geometry has dimension 2 or more and at most {LARGEST_POINTS} points"
            )

    @property
    def points(self) -> int:
        """K."""
        return _repunit(self.field_order, self.dimension)

    @property
    def on_hyperplane(self) -> int:
        """How many points lie on one hyperplane."""
        return _repunit(self.field_order, self.dimension - 1)

    @property
    def on_two(self) -> int:
        """How many points lie on both of two hyperplanes."""
        return _repunit(self.field_order, self.dimension - 2)


def _repunit(base: int, length: int) -> int:
    """1 + base + .. + base**(length - 1), which is (base**length - 1) / (base - 1)."""
    total = 0
    for _ in range(length):
        total = total * base + 1
    return total


@lru_cache(maxsize=8)
def difference_set(geometry: Geometry) -> tuple[Members, Members]:
    """The Singer difference set and its complement in 0 .. K - 1, both sorted; read-only."""
    prime, exponent = prime_power(geometry.field_order)
    points = geometry.points
    sequence = _recurrence(
        prime, primitive_polynomial(prime, exponent * geometry.dimension), exponent * points
    )
    zero = sequence[:points] == 0
    for shift in range(1, exponent):
        zero &= sequence[shift * points : (shift + 1) * points] == 0
    members = np.flatnonzero(zero).astype(np.int32)
    others = np.flatnonzero(~zero).astype(np.int32)
    members.flags.writeable = others.flags.writeable = False
    return members, others


def prime_power(order: int) -> tuple[int, int]:
    """(p, m) with p**m = order and p prime."""
    if order < 2 or order > LARGEST_POINTS:
        raise InvalidParameter("the order of a field is a prime power")
    primes = prime_factors(order)
    if len(primes) != 1:
        raise InvalidParameter("the order of a field is a prime power")
    exponent = 1
    while primes[0] ** exponent < order:
        exponent += 1
    return primes[0], exponent


def prime_factors(number: int) -> list[int]:
    """The different primes that divide the number, by trial division."""
    primes, trial = [], 2
    while trial * trial <= number:
        if number % trial == 0:
            primes.append(trial)
            while number % trial == 0:
                number //= trial
        trial += 1 if trial == 2 else 2
    return [*primes, number] if number > 1 else primes


@lru_cache(maxsize=64)
def primitive_polynomial(prime: int, degree: int) -> Polynomial:
    """x**degree modulo the first primitive polynomial, in the order of its coefficients read as a number."""
    if degree < 2:
        raise InvalidParameter("a primitive polynomial is asked for from degree 2 on")
    order = prime**degree - 1
    cofactors = [order // factor for factor in prime_factors(order)]
    for code in count(1):
        tail = tuple(code // prime**place % prime for place in range(degree))
        if tail[0] and _is_primitive(tail, prime, order, cofactors):
            return tail
    raise AssertionError("there is a primitive polynomial of every degree")


def _is_primitive(tail: Polynomial, prime: int, order: int, cofactors: list[int]) -> bool:
    """Whether x has the full multiplicative order p**degree - 1 (which also makes the polynomial irreducible)."""
    one = (1, *[0] * (len(tail) - 1))
    if power_of_x(order, tail, prime) != one:
        return False
    return all(power_of_x(cofactor, tail, prime) != one for cofactor in cofactors)


def power_of_x(exponent: int, tail: Polynomial, prime: int) -> Polynomial:
    """x**exponent modulo (x**degree - tail), by squaring and shifting."""
    power = (1, *[0] * (len(tail) - 1))
    for bit in f"{exponent:b}":
        power = _square(power, tail, prime)
        if bit == "1":
            power = _times_x(power, tail, prime)
    return power


def _times_x(power: Polynomial, tail: Polynomial, prime: int) -> Polynomial:
    top = power[-1]
    return tuple((low + top * t) % prime for low, t in zip((0, *power[:-1]), tail, strict=True))


def _square(power: Polynomial, tail: Polynomial, prime: int) -> Polynomial:
    result: Polynomial = (0,) * len(tail)
    for coefficient in reversed(power):  # Horner's rule
        result = _times_x(result, tail, prime)
        if coefficient:
            result = tuple((r + coefficient * p) % prime for r, p in zip(result, power, strict=True))
    return result


def _recurrence(prime: int, tail: Polynomial, length: int) -> NDArray[np.int32]:
    """The first terms of a sequence with s(i + degree) = sum of tail_j s(i + j), not all zero; by doubling."""
    degree = len(tail)
    sequence = np.zeros(max(length, 2 * degree), np.int32)
    sequence[degree - 1] = 1
    for place in range(degree, 2 * degree):
        window = sequence[place - degree : place].tolist()
        sequence[place] = sum(a * b for a, b in zip(tail, window, strict=True)) % prime
    known = 2 * degree
    while known < length:
        fresh = min(known - degree + 1, length - known)
        jump = power_of_x(known, tail, prime)
        sequence[known : known + fresh] = _combined(sequence, jump, prime, fresh)
        known += fresh
    return sequence[:length]


def _combined(sequence: NDArray[np.int32], jump: Polynomial, prime: int, fresh: int) -> NDArray[np.int32]:
    """The sum of jump_j s(i + j), for i below `fresh`, modulo the prime; 32 bits hold degree * prime**2."""
    total = np.zeros(fresh, np.int32)
    for place, coefficient in enumerate(jump):
        if coefficient:
            total += np.int32(coefficient) * sequence[place : place + fresh]
    total %= np.int32(prime)
    return total
