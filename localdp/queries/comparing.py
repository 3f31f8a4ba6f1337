"""Comparisons and linear forms over numeric columns, a few numpy calls for any number of people.

Semantics.  Both sides are brought to  sum of a_i x_i  op  t.

1. No real column takes part, and the coprime integers a_i keep every sum below 2**63 in absolute value, by
   the bounds of the schema: the comparison is exact.  `age >= 1/3` means age >= 1, and `age == 1/3` is true
   of nobody.  A column beside a number always falls here, unless it is real.
2. Otherwise each side is computed in doubles, every number rounded to the nearest double, terms added from
   left to right and the constant last.  So `bmi == 27.1` is true of a record that was written as 27.1, and
   a linear form of reals is compared up to the rounding of its terms.

Which case applies follows from query and schema alone, never from the records, so that all parties agree.
Checked against a per-row interpreter with rationals in tests/unit/queries/test_evaluate.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, IntegerDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.queries.arithmetic import affine
from localdp.queries.nodes import MOST_DIGITS
from localdp.queries.of_rows import domain_of
from localdp.queries.scalars import Column, Comparison, Linear, Number, Numeric, OfRows, Term

Valued = Callable[[Term, Records], ColumnArray]  # of a column, or of rows
_SUMS_BELOW = 2**63
_UFUNCS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_MIRRORED: dict[Comparison, Comparison] = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


@dataclass(frozen=True, slots=True)
class WholeComparison:
    """sum of coefficient * column  op  threshold, over whole numbers: coprime, the first one positive."""

    op: Comparison
    terms: tuple[tuple[int, Term], ...]
    threshold: Fraction

    def evaluate(self, records: Records, value: Valued) -> NDArray[np.bool_]:
        """One truth value for each person, exactly; `value` has those of the terms."""
        # s > t iff s > floor(t), and s >= t iff s >= ceil(t), for a whole number s.
        bound = math.ceil(self.threshold) if self.op in ("<", ">=") else math.floor(self.threshold)
        if self.op in ("==", "!=") and bound != self.threshold:
            return np.full(records.people, self.op == "!=")
        if not self.terms:
            return np.full(records.people, bool(_UFUNCS[self.op](0, bound)))
        result: NDArray[np.bool_] = _UFUNCS[self.op](self._sums(records, value), bound)
        return result

    def _sums(self, records: Records, value: Valued) -> NDArray[np.int64]:
        (coefficient, column), *rest = self.terms
        sums: NDArray[np.int64] = value(column, records).astype(np.int64, copy=False)
        if coefficient != 1 or rest:
            sums = sums * np.int64(coefficient)  # a copy of our own, to add to in place
        for more, name in rest:
            sums += value(name, records) * np.int64(more)
        return sums


def compare_numbers(
    op: Comparison, left: Numeric, right: Numeric, records: Records, value: Valued
) -> NDArray[np.bool_]:
    """One truth value for each person."""
    whole = whole_comparison(op, left, right, records.schema)
    if whole is not None:
        return whole.evaluate(records, value)
    result: NDArray[np.bool_] = _UFUNCS[op](
        real_values(left, records, value), real_values(right, records, value)
    )
    return result


def whole_comparison(
    op: Comparison, left: Numeric, right: Numeric, schema: Schema
) -> WholeComparison | None:
    """The comparison in whole numbers, or None when it has to be made in doubles."""
    constant, coefficients = _difference(left, right)
    if not coefficients:
        return WholeComparison(op, (), -constant)
    scale = _coprime_scale(list(coefficients.values()))
    if scale is None:
        return None
    if scale < 0:
        op = _MIRRORED[op]
    terms = tuple((int(value * scale), column) for column, value in coefficients.items())
    if not _fits(terms, schema):
        return None
    return WholeComparison(op, terms, -constant * scale)


def real_values(operand: Numeric, records: Records, value: Valued) -> NDArray[np.float64] | float:
    """The operand in doubles: a number by itself, or one number for each person."""
    match operand:
        case Number(number):
            return float(number)
        case Column(name):
            return records.column(name).astype(np.float64, copy=False)
        case OfRows():
            return value(operand, records).astype(np.float64, copy=False)
        case Linear(constant, terms):
            sums: NDArray[np.float64] = np.zeros(records.people)
            for coefficient, column in terms:
                sums += value(column, records) * float(coefficient)
            sums += float(constant)
            return sums


def _difference(left: Numeric, right: Numeric) -> tuple[Fraction, dict[Term, Fraction]]:
    constant, coefficients = affine(left)
    less, terms = affine(right)
    for column, coefficient in terms.items():
        coefficients[column] = coefficients.get(column, Fraction(0)) - coefficient
    return constant - less, {column: value for column, value in coefficients.items() if value}


def _coprime_scale(values: list[Fraction]) -> Fraction | None:
    """The factor that makes the values coprime integers, the first one positive; None if they would not fit."""
    denominator = 1
    for value in values:
        denominator = math.lcm(denominator, value.denominator)
        # One coefficient is at least denominator / value.denominator: no sum could stay below 2**63.
        if denominator >= _SUMS_BELOW * 10**MOST_DIGITS:
            return None
    divisor = math.gcd(*(value.numerator for value in values))
    return Fraction(denominator, divisor) * (1 if values[0] > 0 else -1)


def _fits(terms: tuple[tuple[int, Term], ...], schema: Schema) -> bool:
    largest = [(abs(coefficient), _largest(column, schema)) for coefficient, column in terms]
    sums = [coefficient * value for coefficient, value in largest if value is not None]
    return len(sums) == len(terms) and sum(sums) < _SUMS_BELOW


def _largest(column: Term, schema: Schema) -> int | None:
    match domain_of(column, schema):
        case BitDomain():
            return 1
        case IntegerDomain(low, high):
            return max(abs(low), abs(high))
        case _:
            return None
