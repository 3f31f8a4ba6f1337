"""Categories, vectors and parities against an interpreter that takes one row at a time, in plain Python.

The interpreter does the same operations on doubles, one person after the other, so the values are equal to the bit:
hence they depend neither on who else is evaluated nor on how numpy adds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.queries import VectorQuery, parse, to_text
from localdp.queries.expressions import (
    LOSSES,
    At,
    Ball,
    Cells,
    Clip,
    Column,
    Expression,
    Gradient,
    Linear,
    Moments,
    Nearest,
    Number,
    Parities,
    Signed,
    Sphere,
    UnitDecisionList,
    Vector,
    Which,
)
from localdp.queries.losses import exponential
from tests.unit.queries.test_evaluate import (
    CONDITIONS,
    LARGE,
    REAL_SIDES,
    ROWS,
    SCHEMA,
    UNITS,
    WHOLE_SIDES,
    interpret,
    table,
)

Row = dict[str, Any]
SCALARS = st.one_of(CONDITIONS, UNITS, REAL_SIDES, WHOLE_SIDES)
# Every column is at most 8, so that an eighth of one lies within [-1, 1].
TARGETS = st.one_of(
    CONDITIONS,
    UNITS,
    st.builds(
        lambda c, x: Linear(Fraction(0), ((Fraction(c, 64), x),)),
        st.integers(-8, 8),
        st.sampled_from("ixs"),
    ),
)
COORDINATES = st.integers(-8, 8).map(lambda eighths: Fraction(eighths, 8)) | st.fractions(
    -3, 3, max_denominator=9
)


def length_of(e: Expression, schema: Schema = SCHEMA) -> int:
    return VectorQuery(e, schema).length


@st.composite
def points(draw: st.DrawFn, length: int) -> tuple[Fraction, ...]:
    return tuple(draw(COORDINATES) for _ in range(length))


@st.composite
def vectors(draw: st.DrawFn, depth: int = 2) -> Any:
    kind = draw(
        st.sampled_from(("ball", "sphere", "signed", "moments", "gradient", "at") if depth else ("ball",))
    )
    if kind in ("ball", "sphere"):
        forms = tuple(draw(st.lists(SCALARS, min_size=1, max_size=3)))
        return (Ball if kind == "ball" else Sphere)(forms)
    inner = draw(vectors(depth - 1))
    if kind == "signed":
        return Signed(draw(CONDITIONS), inner)
    if kind == "moments":
        return Moments(inner, draw(st.none() | TARGETS))
    if kind == "at":
        return At(draw(categories(depth - 1)), inner)
    loss, point = draw(st.sampled_from(LOSSES)), draw(points(length_of(inner)))
    return Gradient(loss, point, inner, draw(TARGETS if loss == "squared" else CONDITIONS))


@st.composite
def categories(draw: st.DrawFn, depth: int = 2) -> Any:
    kind = draw(
        st.sampled_from(("which", "cells", "nearest", "column", "condition") if depth else ("column",))
    )
    if kind == "which":
        return Which(tuple(draw(st.lists(CONDITIONS, min_size=1, max_size=3))))
    if kind == "cells":
        return Cells(tuple(draw(st.lists(categories(depth - 1), min_size=1, max_size=3))))
    if kind == "nearest":
        inner = draw(vectors(depth - 1))
        number = draw(st.integers(1, 4))
        return Nearest(inner, tuple(draw(points(length_of(inner))) for _ in range(number)))
    return Column(draw(st.sampled_from("stic"))) if kind == "column" else draw(CONDITIONS)


@st.composite
def parities(draw: st.DrawFn) -> Parities:
    conditions = tuple(draw(st.lists(CONDITIONS, min_size=1, max_size=5)))
    return Parities(draw(st.integers(1, len(conditions))), conditions, draw(st.none() | CONDITIONS))


CUBES = st.lists(CONDITIONS | UNITS, min_size=1, max_size=4).map(lambda parts: Vector(tuple(parts)))
QUERIES = st.one_of(vectors(), categories(), parities(), CUBES)


def scalar(e: Expression, row: Row) -> float:
    """One number of one row, in doubles."""
    if isinstance(e, Number):
        return float(e.value)
    if isinstance(e, Linear):
        total = 0.0
        for coefficient, column in e.terms:
            total += row[str(column)] * float(coefficient)
        return total + float(e.constant)
    if isinstance(e, Clip):
        return min(max(scalar(e.operand, row), 0.0), 1.0)
    if isinstance(e, UnitDecisionList):
        held = (value for when, value in e.rules if interpret(when, row))
        return scalar(next(held, e.otherwise), row)
    return float(row[e.name]) if isinstance(e, Column) else float(interpret(e, row))


def category(e: Expression, row: Row) -> tuple[int, int]:
    """The number of a category's value in one row, and how many values there are."""
    if isinstance(e, Which):
        held = [number for number, when in enumerate(e.conditions) if interpret(when, row)]
        return min(held, default=len(e.conditions)), len(e.conditions) + 1
    if isinstance(e, Cells):
        number, size = 0, 1
        for part in e.parts:
            code, values = category(part, row)
            number, size = number * values + code, size * values
        return number, size
    if isinstance(e, Nearest):
        v = vector(e.vector, row)
        return min(range(len(e.centres)), key=lambda place: _distance(v, e.centres[place])), len(e.centres)
    if isinstance(e, Column) and e.name == "i":
        return row["i"] + 4, 9
    if isinstance(e, Column) and e.name in "cd":
        return ("red", "green", "blue").index(row[e.name]), 3
    return int(interpret(e, row)), 2


def _distance(v: list[float], centre: tuple[Fraction, ...]) -> float:
    total = 0.0
    for entry, coordinate in zip(v, centre, strict=True):
        total += (entry - float(coordinate)) ** 2
    return total


def vector(e: Expression, row: Row) -> list[float]:
    """The vector of one row, in doubles."""
    if isinstance(e, Vector):
        return [scalar(component, row) for component in e.components]
    if isinstance(e, Ball | Sphere):
        return _shortened([scalar(form, row) for form in e.forms], isinstance(e, Ball))
    if isinstance(e, At):
        (number, size), v = category(e.category, row), vector(e.vector, row)
        return [entry if place == number else 0.0 for place in range(size) for entry in v]
    assert isinstance(e, Signed | Moments | Gradient)
    v = vector(e.vector, row)
    if isinstance(e, Signed):
        return v if interpret(e.condition, row) else [-entry for entry in v]
    if isinstance(e, Gradient):
        g = _slope(e, v, row)
        return [entry * g for entry in v]
    products = [
        v[i] * v[j] * (math.sqrt(2.0) if i < j else 1.0) for i in range(len(v)) for j in range(i, len(v))
    ]
    if e.target is None:
        return products
    t = min(max(scalar(e.target, row), -1.0), 1.0)
    return [entry * math.sqrt(0.5) for entry in [*products, *(entry * t for entry in v)]]


def _shortened(f: list[float], ball: bool) -> list[float]:
    largest = max(map(abs, f))
    divisor = max(largest, 1.0) if ball else largest or 1.0
    scaled = [entry / divisor for entry in f]
    squares = 0.0
    for entry in scaled:
        squares += entry * entry
    return [entry / math.sqrt(max(squares, 1.0)) for entry in scaled]


def _slope(e: Gradient, v: list[float], row: Row) -> float:
    margin = 0.0
    for coordinate, entry in zip(e.point, v, strict=True):
        margin += float(coordinate) * entry
    t = scalar(e.target, row)
    if e.loss == "squared":
        return min(max(margin - min(max(t, -1.0), 1.0), -1.0), 1.0)
    sign = 1 if t else -1
    if e.loss == "hinge":
        return -sign if sign * margin < 1 else 0.0
    if e.loss == "madaboost":
        return -sign * (_exp(-sign * margin) if sign * margin > 0 else 1.0)
    small = _exp(-abs(margin))
    return (1.0 if margin >= 0 else small) / (1.0 + small) - t


def _exp(x: float) -> float:
    return float(exponential(np.array([x]))[0])


def word(e: Parities, row: Row) -> int:
    bits = e.conditions if e.label is None else (*e.conditions, e.label)
    return sum(int(interpret(bit, row)) << place for place, bit in enumerate(bits))


@given(vectors(), st.lists(ROWS, min_size=1, max_size=4))
def test_a_vector_agrees_with_the_interpreter_on_every_row_to_the_bit(e: Any, rows: list[Row]) -> None:
    found = VectorQuery(e, SCHEMA).evaluate(table(rows))
    assert found.tolist() == [vector(e, row) for row in rows]
    assert np.square(found).sum(axis=1).max() <= 1 + 1e-12


@given(categories(), st.lists(ROWS, min_size=1, max_size=4))
def test_a_category_agrees_with_the_interpreter_on_every_row(e: Any, rows: list[Row]) -> None:
    query = VectorQuery(e, SCHEMA)
    found = query.evaluate(table(rows))
    assert found.dtype == np.int64
    assert [(code, query.length) for code in found.tolist()] == [category(e, row) for row in rows]


@given(CUBES, parities(), st.lists(ROWS, min_size=1, max_size=4))
def test_a_cube_and_parities_agree_with_the_interpreter_on_every_row(
    cube: Vector, signs: Parities, rows: list[Row]
) -> None:
    found = VectorQuery(cube, SCHEMA).evaluate(table(rows))
    assert found.tolist() == [vector(cube, row) for row in rows]
    assert found.min() >= 0 and found.max() <= 1
    assert VectorQuery(signs, SCHEMA).evaluate(table(rows)).tolist() == [word(signs, row) for row in rows]


@given(QUERIES)
def test_a_well_typed_query_comes_back_from_its_text(e: Any) -> None:
    assert parse(to_text(e)) == e


WIDE = Schema(
    {
        "x": RealDomain(-1.7e308, 1.7e308),
        "y": RealDomain(-9e299, 9e299),
        "j": IntegerDomain(-LARGE, LARGE),
        "s": BitDomain(),
        "c": CategoryDomain(("red", "green")),
    }
)
EXTREMES = [0.0, 5e-324, -5e-324, 1e-300, -1e-160, 1e-8, 0.5, 1.0, -1.0, 3.0, 1e154, -1e200, 9e299, -9e299]


@pytest.mark.parametrize(
    "text",
    [
        "ball(x, y)",
        "sphere(x, y)",
        "sphere(x)",
        "sphere(x, y, s, 0)",
        "ball(x, 3*s, clip(y), if s then 0.5 else clip(y))",
        "moments(ball(x, y, s))",
        "moments(sphere(x, y), clip(y))",
        "moments(ball(x, y), if s then 1 else 0)",
        "gradient(logistic, [999999999999999999999999999999, -3], sphere(x, y), s)",
        "gradient(madaboost, [999999999999999999999999999999, -3], sphere(x, y), s)",
        "gradient(squared, [999999999999999999999999999999, -3], sphere(x, y), s)",
        "at(cells(c, s), signed(s, sphere(x, y)))",
    ],
)
def test_no_record_makes_a_vector_longer_than_one(text: str) -> None:
    pairs = np.array([(x, y) for x in [*EXTREMES, 1.7e308, -1.7e308] for y in EXTREMES])
    people = len(pairs)
    records = Records(
        WIDE,
        {
            "x": pairs[:, 0],
            "y": pairs[:, 1],
            "j": np.full(people, LARGE),
            "s": np.arange(people) % 2,
            "c": np.arange(people) % 2,
        },
    )
    values = VectorQuery.parse(text, WIDE).evaluate(records)
    assert np.isfinite(values).all()
    norms = np.sqrt(np.square(values).sum(axis=1))
    assert norms.max() <= 1 + 1e-12
    if text.startswith("sphere"):
        zero = records.column("x") == 0  # or so small that it is stored as 0
        if "y" in text:
            zero = zero & (records.column("y") == 0)
        assert np.abs(norms[~zero & (records.column("s") == 0)] - 1).max() <= 1e-12
