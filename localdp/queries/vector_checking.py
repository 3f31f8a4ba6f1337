"""The static types of queries for more than one number: their kind and length on a schema.

Claims.  What `shape_of` accepts evaluates without error, overflow or NaN on every table of the schema, and without
subnormal numbers (`vector_smallness`).
The work of evaluating it is bounded: one record takes at most `MOST_NODES` values of single numbers and
`MOST_ENTRIES` entries of vectors, whatever the tree; no vector is longer than `LONGEST_VECTOR`.
Checked in tests/unit/queries/test_vector_checking.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, Schema
from localdp.errors import QueryRefused
from localdp.queries.checking import require_bits, require_short, shown, type_of
from localdp.queries.expressions import (
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Column,
    Expression,
    Gradient,
    Moments,
    Nearest,
    OfRows,
    Parities,
    Road,
    Scalar,
    Signed,
    Sphere,
    Term,
    Vector,
    Which,
)
from localdp.queries.kinds import (
    BallType,
    BitType,
    CodeType,
    CubeType,
    NumberType,
    ParitiesType,
    SeveralType,
    UnitType,
)
from localdp.queries.of_rows import domain_of
from localdp.queries.vector_smallness import require_normal
from localdp.queries.vectors import CATEGORIES

LARGEST_CATEGORY = 1 << 20  # of a cross product
LONGEST_VECTOR = 1 << 16
MOST_ENTRIES = 1 << 18  # of all vectors that are made for one record
_ROUNDING = Fraction(1, 1 << 1000)  # by which a bound of a form may exceed 1: that of `checking` rounds up


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a query, and how many entries of vectors one record takes to evaluate it."""

    type: SeveralType
    entries: int


def shape_of(expression: Expression, schema: Schema) -> Shape:
    """The shape of a query for more than one number, or `QueryRefused`."""
    require_short(expression)
    checker = _Checker(schema)
    found = checker.several(expression)
    if checker.entries > MOST_ENTRIES:
        raise QueryRefused(f"the vectors of a query have at most {MOST_ENTRIES} entries in all")
    require_normal(expression, schema)
    return Shape(found, checker.entries)


def category_size(category: Expression, schema: Schema) -> int:
    """How many values a category has, or `QueryRefused`."""
    if not isinstance(category, Categorical):
        raise QueryRefused(CATEGORIES)
    return _Checker(schema).category(category)


class _Checker:
    """One pass over a tree, which counts the entries of all vectors."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.entries = 0

    def several(self, expression: Expression) -> SeveralType:
        match expression:
            case Vector(components):
                for component in components:
                    _require_unit(component, self._schema)
                return CubeType(self._made(len(components)))
            case Parities(order, conditions, label):
                require_bits(conditions if label is None else (*conditions, label), self._schema)
                return ParitiesType(expression.number, len(conditions), order, label is not None)
        if isinstance(expression, BallVector):
            return BallType(self.vector(expression))
        if isinstance(expression, Categorical):
            return CodeType(self.category(expression))
        found = type_of(expression, self._schema)
        raise QueryRefused(f"{shown(expression)} is {found}: neither a category nor a vector")

    def category(self, category: Categorical) -> int:
        """How many values it has."""
        match category:
            case Which(conditions):
                require_bits(conditions, self._schema)
                return len(conditions) + 1
            case Cells(parts):
                return _product([self.category(part) for part in parts])
            case Nearest(vector, centres):
                length = self.vector(vector)
                for centre in centres:
                    _require_length("a centre", len(centre), length)
                return len(centres)
            case Road(game, _, _, own, luck):
                for part in (*own, luck):
                    _require_unit(part, self._schema)
                return self._made(game.roads)
            case Column() | OfRows():
                type_of(category, self._schema)  # refuses an unknown name, and suggests the nearest
                return term_size(category.name if isinstance(category, Column) else category, self._schema)
            case _:
                require_bits((category,), self._schema)
                return 2

    def vector(self, vector: BallVector) -> int:
        """How many entries it has."""
        match vector:
            case Ball(forms) | Sphere(forms):
                for form in forms:
                    _require_number(form, self._schema)
                return self._made(len(forms))
            case Signed(condition, inner):
                require_bits((condition,), self._schema)
                return self._made(self.vector(inner))
            case Moments(inner, target):
                return self._made(self._moments(self.vector(inner), target))
            case Gradient():
                return self._made(self._gradient(vector))
            case At(category, inner):
                return self._made(self.category(category) * self.vector(inner))

    def _moments(self, length: int, target: Scalar | None) -> int:
        triangle = length * (length + 1) // 2
        if target is None:
            return triangle
        _require_target(target, self._schema)
        return triangle + length

    def _gradient(self, gradient: Gradient) -> int:
        length = self.vector(gradient.vector)
        _require_length("the point", len(gradient.point), length)
        if gradient.loss == "squared":
            _require_target(gradient.target, self._schema)
        else:
            require_bits((gradient.target,), self._schema)
        return length

    def _made(self, length: int) -> int:
        if length > LONGEST_VECTOR:
            raise QueryRefused(f"a vector has at most {LONGEST_VECTOR} entries; this one would have more")
        self.entries += length
        return length


def term_size(term: Term, schema: Schema) -> int:
    """How many values a column has that stands as a category, or what rows are brought down to."""
    match domain_of(term, schema):
        case BitDomain():
            return 2
        case CategoryDomain(labels):
            return len(labels)
        case IntegerDomain(low, high):
            return high - low + 1
    what = f"column {term!r}" if isinstance(term, str) else shown(term)
    raise QueryRefused(f"{what} has too many values to be a category; compare it, or clip it")


def _require_target(target: Scalar, schema: Schema) -> None:
    match type_of(target, schema):
        case BitType() | UnitType():
            return
        case NumberType(low, high):
            if max(-low, high) > 1 + _ROUNDING:
                raise QueryRefused(f"{shown(target)} may exceed 1: scale it into [-1, 1], or clip(...) it")
        case other:
            raise QueryRefused(f"{shown(target)} is {other}: a label is a number or a condition")


def _product(sizes: list[int]) -> int:
    size = math.prod(sizes)
    if size > LARGEST_CATEGORY:
        raise QueryRefused(f"`cells` has at most {LARGEST_CATEGORY} values; these would have more")
    return size


def _require_length(what: str, length: int, expected: int) -> None:
    if length != expected:
        raise QueryRefused(f"{what} has {length} numbers, and the vector beside it {expected} entries")


def _require_unit(component: Expression, schema: Schema) -> None:
    if not isinstance(type_of(component, schema), BitType | UnitType):
        raise QueryRefused(f"{shown(component)} is not between 0 and 1: compare it, or clip(...) it")


def _require_number(form: Scalar, schema: Schema) -> None:
    found = type_of(form, schema)
    if not isinstance(found, BitType | UnitType | NumberType):
        raise QueryRefused(f"{shown(form)} is {found}: the entries of a vector are numbers or conditions")
