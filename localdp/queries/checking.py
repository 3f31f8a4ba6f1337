"""The static types of expressions: what a query means on a schema, before any record is seen.

A query is of kind "bit" (a condition) or "unit" (a clipped number); anything else is refused, with why.
Numbers carry the interval that the bounds of the schema imply.  `vector_checking` has the other kinds.

Claim.  An expression that `kind_of` accepts evaluates without error, overflow or NaN on every table of that
schema.  Checked in tests/unit/queries/test_checking.py and test_evaluate.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain, RowsDomain, Schema
from localdp.domains.spelling import suggestion
from localdp.errors import QueryRefused
from localdp.queries.arithmetic import affine
from localdp.queries.expressions import (
    And,
    BallVector,
    Clip,
    Column,
    Compare,
    DecisionList,
    Expression,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Numeric,
    OfRows,
    Or,
    Parities,
    Parity,
    Several,
    Term,
    Truth,
    UnitDecisionList,
    Vector,
)
from localdp.queries.kinds import BitType, CategoryType, Kind, LabelType, NumberType, Type, UnitType
from localdp.queries.of_rows import domain_of, rows_of
from localdp.queries.smallness import numeric_exponent
from localdp.queries.text import to_text
from localdp.queries.tokens import LONGEST_TEXT

_LARGEST_SUM = 10**300  # of absolute values in a linear form: no partial sum of doubles overflows below it
_EXACT_BITS = 1100  # of a denominator: those of bounds and coefficients fit, those of hostile sums do not


def kind_of(expression: Expression, schema: Schema) -> Kind:
    """The kind of a well-typed query, or `QueryRefused`."""
    require_short(expression)
    if isinstance(expression, Several):
        raise QueryRefused(f"{shown(expression)} is {_several(expression)}: ask it as a vector query")
    match type_of(expression, schema):
        case BitType():
            return "bit"
        case UnitType():
            return "unit"
        case NumberType():
            raise QueryRefused(f"{shown(expression)} is a number: compare it, or clip(...) it to [0, 1]")
        case other:
            raise QueryRefused(f"{shown(expression)} is {other}: compare it to make a condition")


def require_short(expression: Expression) -> None:
    """Refuse what is no expression, and one whose text could not be parsed again."""
    if not isinstance(expression, Expression):
        raise QueryRefused("a query is an expression; parse its text first")
    if len(to_text(expression)) > LONGEST_TEXT:
        raise QueryRefused(f"the canonical text of a query is at most {LONGEST_TEXT} characters long")


def type_of(expression: Expression, schema: Schema) -> Type:
    """The type of an expression over the columns of a schema."""
    match expression:
        case Column(name):
            return _column_type(name, schema)
        case OfRows():
            return _of_rows(expression, schema)
        case And(operands) | Or(operands) | Parity(operands):
            require_bits(operands, schema)
        case Not(operand):
            require_bits((operand,), schema)
        case DecisionList(rules, otherwise):
            require_bits([*chain.from_iterable(rules), otherwise], schema)
        case UnitDecisionList():
            _check_rules(expression, schema)
            return UnitType()
        case Compare():
            _check_comparison(expression, schema)
        case Member(column, labels):
            _check_member(column, labels, schema)
        case Label(text):
            return LabelType(text)
        case Number() | Linear():
            return _number_type(expression, schema)
        case Clip(operand):
            _number_type(operand, schema)
            return UnitType()
        case Truth():
            pass
        case _:
            raise QueryRefused(f"{shown(expression)} is {_several(expression)}, not one value")
    return BitType()


def _column_type(name: str, schema: Schema) -> Type:
    if name not in schema:
        raise QueryRefused(f"there is no column {name!r}{suggestion(name, schema.names)}")
    return _type_in(schema[name], name, schema)


def _of_rows(term: OfRows, schema: Schema) -> Type:
    """The type of a value of rows, whose inner expression is about one row."""
    rows_of(term, schema)
    if isinstance(term.of, Column):
        _column_type(term.of.name, schema.of_one_row)
    if term.of is not None and term.how in ("any", "all", "count"):
        require_bits((term.of,), schema.of_one_row)
    found = _type_in(domain_of(term, schema), term.rows, schema)
    if term.how in ("sum", "mean"):
        numeric_exponent(term, schema)  # refuses what may be too small for a double
    return found


def _type_in(domain: Domain, name: str, schema: Schema) -> Type:
    match domain:
        case BitDomain():
            return BitType()
        case CategoryDomain() as domain:
            return CategoryType(domain)
        case IntegerDomain(low, high) | RealDomain(low, high):
            return NumberType(Fraction(low), Fraction(high))
        case RowsDomain():
            told = (
                f"say which of them: any({schema.rows}: ...), count({schema.rows}), max({schema.rows}: ...)"
            )
            raise QueryRefused(f"{name!r} is of each row of a person; {told}")
        case _:
            raise QueryRefused(f"queries cannot ask about a column such as {name!r} yet")


def _number_type(operand: Numeric, schema: Schema) -> NumberType:
    low, coefficients = affine(operand)
    high, magnitude = low, abs(low)
    for column, coefficient in coefficients.items():
        bounds = _bounds(column, schema)
        ends = sorted((coefficient * bounds.low, coefficient * bounds.high))
        low, high = -_upwards(-low - ends[0]), _upwards(high + ends[1])
        magnitude = _upwards(magnitude + max(map(abs, ends)))
    if magnitude > _LARGEST_SUM:
        raise QueryRefused(f"{shown(operand)} may be too large for a double")
    numeric_exponent(operand, schema)  # refuses what may be too small for one
    return NumberType(low, high)


def _upwards(value: Fraction) -> Fraction:
    """The value, or a little more when its digits would make a long sum slow."""
    if value.denominator.bit_length() <= _EXACT_BITS:
        return value
    return Fraction(math.ceil(value * (1 << _EXACT_BITS)), 1 << _EXACT_BITS)


def _bounds(column: Term, schema: Schema) -> NumberType:
    match _column_type(column, schema) if isinstance(column, str) else _of_rows(column, schema):
        case NumberType() as numbers:
            return numbers
        case BitType():
            return NumberType(Fraction(0), Fraction(1))
        case _:
            what = f"column {column!r}" if isinstance(column, str) else shown(column)
            raise QueryRefused(f"{what} is a category: there is no arithmetic on it")


def require_bits(operands: Iterable[Expression], schema: Schema) -> None:
    """Refuse operands that are not true or false of each record of the schema."""
    for operand in operands:
        if not isinstance(type_of(operand, schema), BitType):
            raise QueryRefused(
                f"{shown(operand)} is not true or false: a condition is needed, such as a comparison"
            )


def _check_rules(rules: UnitDecisionList, schema: Schema) -> None:
    require_bits((condition for condition, _ in rules.rules), schema)
    for value in (*(value for _, value in rules.rules), rules.otherwise):
        if not isinstance(value, Number) and not isinstance(type_of(value, schema), BitType | UnitType):
            raise QueryRefused(f"{shown(value)} is not between 0 and 1: clip(...) it")


def _check_comparison(comparison: Compare, schema: Schema) -> None:
    left, right = type_of(comparison.left, schema), type_of(comparison.right, schema)
    if not _comparable(left, right):
        raise QueryRefused(f"{shown(comparison)} compares {left} with {right}")
    numbers = isinstance(left, NumberType) or isinstance(right, NumberType)
    if comparison.op not in ("==", "!=") and not numbers:
        raise QueryRefused(f"{shown(comparison)}: only numbers are ordered; use == or !=")


def _comparable(left: Type, right: Type) -> bool:
    match left, right:
        case (NumberType() | BitType(), NumberType() | BitType()):
            return True
        case (CategoryType(domain), LabelType(text)) | (LabelType(text), CategoryType(domain)):
            _require_label(text, domain)
            return True
        case _:
            return isinstance(left, CategoryType) and left == right


def _check_member(column: str, labels: tuple[str, ...], schema: Schema) -> None:
    category = _column_type(column, schema)
    if not isinstance(category, CategoryType):
        raise QueryRefused(f"column {column!r} is {category}: `in` needs a category")
    for label in labels:
        _require_label(label, category.domain)


def _require_label(text: str, domain: CategoryDomain) -> None:
    if domain.code(text) is None:
        raise QueryRefused(
            f"there is no label {text!r:.80} in that category{suggestion(text, domain.labels)}"
        )


def _several(expression: Several) -> str:
    match expression:
        case Vector():
            return "a vector with components in [0, 1]"
        case Parities():
            return "many parities at once"
        case _ if isinstance(expression, BallVector):
            return "a vector of norm at most 1"
    return "a category"


def shown(expression: Expression) -> str:
    """The text of an expression between quotes, cut short."""
    text = to_text(expression)
    return f"`{text}`" if len(text) <= 80 else f"`{text[:77]}...`"
