"""Polynomials given by their values at roots of unity (draft-irtf-cfrg-vdaf-20, section 6.1.3).

A polynomial of degree below n is the list of its values at w**0 .. w**(n - 1), w the principal n-th root of unity: the
Lagrange basis, in which gadget polynomials travel since draft 18.  A gadget polynomial has fewer coefficients than
the next power of two, so only its first `count` values of `size` are sent.

Evaluation.  Let x_0 .. x_(N-1) be the N-th roots of unity.  Since the product of (x_i - x_j) over all j != i is N / x_i,
a polynomial of degree below M <= N that is known at the first M of them has at t the value

    sum over i < M of  y_i * weight_i * product over j < M, j != i of (t - x_j),
    weight_i = (x_i / N) * product over j >= M of (x_i - x_j).

The products come from prefixes and suffixes: linear time, no inversion, and valid even where t is one of the points.
**Deviation**: the draft first extends the M values to N and then evaluates; the number is the same.

Checked against naive interpolation in tests/unit/sharing/prio3/test_polynomials.py.
"""

from collections.abc import Sequence
from functools import cache
from math import prod

from localdp.sharing.prio3.fields import PrimeField


def next_power_of_two(number: int) -> int:
    """The least power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()


def values_at_roots(field: PrimeField, coefficients: Sequence[int], size: int) -> list[int]:
    """The values at the `size` roots of unity: the number-theoretic transform, by halving."""
    padded = [*coefficients, *([0] * (size - len(coefficients)))]
    return _transform(padded, field.roots(size), field.modulus)


def coefficients_of(field: PrimeField, values: Sequence[int]) -> list[int]:
    """The coefficients, lowest first, of the polynomial with these values at the roots of unity."""
    size = len(values)
    roots = field.roots(size)
    inverse_roots = (roots[0], *reversed(roots[1:]))
    scale = field.inverse(size)
    return [value * scale % field.modulus for value in _transform(values, inverse_roots, field.modulus)]


def _transform(coefficients: Sequence[int], roots: Sequence[int], modulus: int) -> list[int]:
    if len(coefficients) == 1:
        return list(coefficients)
    even = _transform(coefficients[::2], roots[::2], modulus)
    odd = _transform(coefficients[1::2], roots[::2], modulus)
    turned = [root * value % modulus for root, value in zip(roots, odd, strict=False)]
    return [
        *((a + b) % modulus for a, b in zip(even, turned, strict=True)),
        *((a - b) % modulus for a, b in zip(even, turned, strict=True)),
    ]


@cache
def weights(field: PrimeField, size: int, count: int) -> tuple[int, ...]:
    """The weights of the first `count` of the `size` roots of unity; see the module's text."""
    roots, p = field.roots(size), field.modulus
    scale = field.inverse(size)
    return tuple(prod((x - y for y in roots[count:]), start=x * scale) % p for x in roots[:count])


def basis_at(field: PrimeField, size: int, count: int, point: int) -> list[int]:
    """What to multiply the first `count` values with, to have the polynomial's value at `point`."""
    p = field.modulus
    gaps = [point - root for root in field.roots(size)[:count]]
    basis = list(weights(field, size, count))
    before = after = 1
    for i in range(count):
        basis[i] = basis[i] * before % p
        before = before * gaps[i] % p
    for i in reversed(range(count)):
        basis[i] = basis[i] * after % p
        after = after * gaps[i] % p
    return basis
