"""Evaluation of checked expressions on whole tables: a few numpy calls for any number of people.

The expression must have a kind on the schema of the records (`checking.kind_of`); `StatisticalQuery` sees
to that.  How numbers are compared is said in `comparing`.  Checked in tests/unit/queries/test_evaluate.py.

Claim.  The same work is done whatever the values are: all rules and operands of everybody, no masks, no early end.
Checked for every kind of node in tests/unit/queries/test_silence.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from localdp.domains import CategoryDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.errors import QueryRefused
from localdp.queries.comparing import compare_numbers, real_values
from localdp.queries.of_rows import domain_of, value_of
from localdp.queries.scalars import (
    And,
    Clip,
    Column,
    Compare,
    Condition,
    DecisionList,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Numeric,
    OfRows,
    Operand,
    Or,
    Parity,
    Scalar,
    Term,
    Truth,
    UnitDecisionList,
)
from localdp.queries.selecting import looked_up, selected
from localdp.randomness.source import Integers

T = TypeVar("T", np.bool_, np.float64)


def evaluate(expression: Scalar, records: Records) -> ColumnArray:
    """One truth value, or one double, for each person; possibly a read-only view of a column."""
    match expression:
        case Clip():
            return clipped(expression, records)
        case UnitDecisionList(rules, otherwise):
            return _decided(rules, evaluate(otherwise, records).astype(np.float64), records)
        case Number() | Linear():
            return np.broadcast_to(real_values(expression, records, term_value), records.people)
        case _:
            return condition(expression, records)


def term_value(term: Term, records: Records) -> ColumnArray:
    """The values of a column, or those that rows are brought down to."""
    return value_of(term, records, condition)


def clipped(expression: Clip, records: Records) -> NDArray[np.float64]:
    """max(0, min(1, operand)) in doubles."""
    values = np.broadcast_to(real_values(expression.operand, records, term_value), records.people)
    result: NDArray[np.float64] = np.clip(values, 0.0, 1.0)
    return result


def condition(expression: Condition, records: Records) -> NDArray[np.bool_]:
    """Whether the condition is true, for each person."""
    match expression:
        case Column(name):
            return records.column(name)
        case OfRows():
            return term_value(expression, records)
        case Truth(value):
            return np.full(records.people, value)
        case Compare():
            return _compare(expression, records)
        case Member(column, labels):
            return _member(column, labels, records)
        case Not(operand):
            return np.logical_not(condition(operand, records))
        case And(operands):
            return _fold(np.logical_and, operands, records)
        case Or(operands):
            return _fold(np.logical_or, operands, records)
        case Parity(operands):
            return _fold(np.logical_xor, operands, records)
        case DecisionList(rules, otherwise):
            return _decided(rules, condition(otherwise, records), records)
        case _:
            assert_never(expression)


def _fold(join: np.ufunc, operands: tuple[Condition, ...], records: Records) -> NDArray[np.bool_]:
    first, *rest = operands
    result = condition(first, records).copy()  # what is folded in place must not be a column
    for operand in rest:
        join(result, condition(operand, records), out=result)
    return result


def _decided(rules: Sequence[tuple[Condition, Scalar]], result: NDArray[T], records: Records) -> NDArray[T]:
    """The result, replaced where a rule holds: from the last rule to the first, which wins."""
    for when, value in reversed(rules):
        result = selected(condition(when, records), evaluate(value, records), result)
    return result


def _compare(comparison: Compare, records: Records) -> NDArray[np.bool_]:
    left, right = comparison.left, comparison.right
    domain = _category(left, records.schema) or _category(right, records.schema)
    if domain is None:
        return compare_numbers(comparison.op, _numeric(left), _numeric(right), records, term_value)
    same: NDArray[np.bool_] = np.equal(_codes(left, domain, records), _codes(right, domain, records))
    return same if comparison.op == "==" else np.logical_not(same)


def _member(column: str, labels: tuple[str, ...], records: Records) -> NDArray[np.bool_]:
    domain = _category(Column(column), records.schema)
    if domain is None:
        raise QueryRefused(f"column {column!r} is not a category")
    chosen = np.zeros(len(domain.labels), dtype=np.bool_)
    chosen[[_code(label, domain) for label in labels]] = True
    return looked_up(chosen, records.column(column))


def _category(operand: Operand, schema: Schema) -> CategoryDomain | None:
    term = operand.name if isinstance(operand, Column) else operand
    domain = domain_of(term, schema) if isinstance(term, Term) else None
    return domain if isinstance(domain, CategoryDomain) else None


def _codes(operand: Operand, domain: CategoryDomain, records: Records) -> Integers | int:
    match operand:
        case Column(name):
            return records.column(name)
        case OfRows():
            return term_value(operand, records)
        case Label(text):
            return _code(text, domain)
        case _:
            raise QueryRefused("a category is compared with a label or a category")


def _code(label: str, domain: CategoryDomain) -> int:
    code = domain.code(label)
    if code is None:
        raise QueryRefused("there is no such label in the category")
    return code


def _numeric(operand: Operand) -> Numeric:
    match operand:
        case Truth(value):
            return Number(Fraction(value))
        case Label():
            raise QueryRefused("a label is compared with a category")
        case _:
            return operand
