"""Polynomials at roots of unity, against naive evaluation and Lagrange's formula."""

import pytest

from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.prio3.polynomials import (
    basis_at,
    coefficients_of,
    next_power_of_two,
    values_at_roots,
    weights,
)
from tests.vectors.naive_prio3 import value_at

TOY = PrimeField(17, 1, 3, 16)
FIELDS = pytest.mark.parametrize("field", [TOY, FIELD64, FIELD128], ids=["Field17", "Field64", "Field128"])


def polynomial(field: PrimeField, length: int) -> list[int]:
    return [pow(5, i + 1, field.modulus) for i in range(length)]


def value(field: PrimeField, coefficients: list[int], x: int) -> int:
    return sum(c * pow(x, i, field.modulus) for i, c in enumerate(coefficients)) % field.modulus


def test_the_next_power_of_two_is_not_below_and_less_than_double() -> None:
    assert [next_power_of_two(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 4, 4, 8, 8, 16]


@FIELDS
@pytest.mark.parametrize("size", [1, 2, 8, 16])
def test_values_at_roots_are_those_of_the_polynomial(field: PrimeField, size: int) -> None:
    coefficients = polynomial(field, max(1, size - 1))
    values = values_at_roots(field, coefficients, size)
    assert values == [value(field, coefficients, x) for x in field.roots(size)]
    assert coefficients_of(field, values)[: len(coefficients)] == coefficients


@FIELDS
@pytest.mark.parametrize(("size", "count"), [(2, 2), (4, 3), (8, 7), (8, 8), (16, 10), (16, 1)])
def test_a_basis_turns_values_into_the_value_at_any_point(field: PrimeField, size: int, count: int) -> None:
    coefficients = polynomial(field, count)
    values = values_at_roots(field, coefficients, size)[:count]
    points = [0, 2, 11, field.modulus - 3]
    for point in points:
        assert field.dot(basis_at(field, size, count, point), values) == value(field, coefficients, point)
        roots = list(field.roots(size)[:count])
        if point not in roots:
            assert value_at(field.modulus, roots, values, point) == value(field, coefficients, point)


@FIELDS
def test_at_one_of_the_roots_the_basis_picks_its_value_or_computes_the_one_not_sent(
    field: PrimeField,
) -> None:
    values = values_at_roots(field, polynomial(field, 5), 8)
    for place, root in enumerate(field.roots(8)):
        assert field.dot(basis_at(field, 8, 5, root), values[:5]) == values[place]


def test_the_weights_are_the_inverses_of_the_products_of_differences() -> None:
    roots = TOY.roots(8)[:5]
    for weight, x in zip(weights(TOY, 8, 5), roots, strict=True):
        product = 1
        for y in roots:
            product = product * (x - y) % 17 if y != x else product
        assert weight * product % 17 == 1
