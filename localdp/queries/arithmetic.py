"""Exact arithmetic on the numeric expressions, as far as they stay linear in the columns.

Every result is in the one form that `expressions` allows: a number, a bare column, or a linear form.
Checked in tests/unit/queries/test_parser.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from localdp.errors import QueryRefused
from localdp.queries.scalars import Column, Linear, Number, Numeric, OfRows, Term

# Denominators multiply in a sum, and a long one would be slow; what is left in the end is bounded anyway.
_PARTIAL_SUMS_BELOW = 10**300


def affine(operand: Numeric) -> tuple[Fraction, dict[Term, Fraction]]:
    """The constant, and the coefficient of each column, or value of rows."""
    match operand:
        case Number(value):
            return value, {}
        case Column(name):
            return Fraction(0), {name: Fraction(1)}
        case OfRows():
            return Fraction(0), {operand: Fraction(1)}
        case Linear(constant, terms):
            return constant, {column: coefficient for coefficient, column in terms}


def total(parts: Iterable[Numeric]) -> Numeric:
    """The sum; a column that cancels out stays, with coefficient 0, so that it is still checked."""
    constant, coefficients = Fraction(0), dict[Term, Fraction]()
    for part in parts:
        more, terms = affine(part)
        constant = _added(constant, more)
        for column, coefficient in terms.items():
            coefficients[column] = _added(coefficients.get(column, Fraction(0)), coefficient)
    return _simplest(constant, coefficients)


def scaled(operand: Numeric, factor: Fraction) -> Numeric:
    """The operand times a constant."""
    constant, coefficients = affine(operand)
    return _simplest(constant * factor, {column: value * factor for column, value in coefficients.items()})


def product(left: Numeric, right: Numeric) -> Numeric:
    """The product, of which one factor must be a number."""
    if isinstance(left, Number):
        return scaled(right, left.value)
    if isinstance(right, Number):
        return scaled(left, right.value)
    raise QueryRefused("a product of columns is not linear")


def quotient(left: Numeric, right: Numeric) -> Numeric:
    """The quotient by a number that is not zero."""
    if not isinstance(right, Number) or right.value == 0:
        raise QueryRefused("only a number other than 0 can divide")
    return scaled(left, 1 / right.value)


def _added(left: Fraction, right: Fraction) -> Fraction:
    result = left + right
    if result.denominator >= _PARTIAL_SUMS_BELOW:
        raise QueryRefused("the denominators of this sum are too different")
    return result


def _simplest(constant: Fraction, coefficients: dict[Term, Fraction]) -> Numeric:
    if not coefficients:
        return Number(constant)
    if constant == 0 and len(coefficients) == 1 and 1 in coefficients.values():
        (term,) = coefficients
        return Column(term) if isinstance(term, str) else term
    return Linear(constant, tuple((value, column) for column, value in coefficients.items()))
