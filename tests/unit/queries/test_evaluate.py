"""Evaluation against an interpreter that takes one row at a time, in plain Python and exact rationals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.queries import StatisticalQuery, check
from localdp.queries.comparing import whole_comparison
from localdp.queries.expressions import (
    COMPARISONS,
    And,
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
    Or,
    Parity,
    Truth,
    UnitDecisionList,
    decision_list,
)

LARGE = 2**53
SCHEMA = Schema(
    {
        "s": BitDomain(),
        "t": BitDomain(),
        "i": IntegerDomain(-4, 4),
        "j": IntegerDomain(-LARGE, LARGE),
        "x": RealDomain(-8, 8),
        "y": RealDomain(-8, 8),
        "c": CategoryDomain(("red", "green", "blue")),
        "d": CategoryDomain(("red", "green", "blue")),
    }
)
EIGHTHS = st.integers(-64, 64).map(
    lambda eighths: eighths / 8
)  # so that sums of reals are exact in doubles
LABELS = st.sampled_from(("red", "green", "blue"))
ROWS = st.fixed_dictionaries(
    {
        "s": st.booleans(),
        "t": st.booleans(),
        "i": st.integers(-4, 4),
        "j": st.integers(-LARGE, LARGE) | st.sampled_from((0, 1, LARGE, -LARGE, LARGE - 1)),
        "x": EIGHTHS,
        "y": EIGHTHS,
        "c": LABELS,
        "d": LABELS,
    }
)
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def interpret(e: Expression, row: dict[str, Any]) -> Any:
    """The meaning of an expression on one row, by the book."""
    if isinstance(e, Column):
        value = row[e.name]
        return value if isinstance(value, str) else Fraction(value)
    if isinstance(e, Number | Truth):
        return Fraction(e.value)
    if isinstance(e, Label):
        return e.text
    if isinstance(e, Linear):
        return e.constant + sum(factor * Fraction(row[str(name)]) for factor, name in e.terms)
    if isinstance(e, Compare):
        return Fraction(OPERATORS[e.op](interpret(e.left, row), interpret(e.right, row)))
    if isinstance(e, Member):
        return Fraction(row[e.column] in e.labels)
    if isinstance(e, Not):
        return 1 - interpret(e.operand, row)
    if isinstance(e, Clip):
        return max(Fraction(0), min(Fraction(1), interpret(e.operand, row)))
    if isinstance(e, Parity):
        return Fraction(sum(interpret(operand, row) for operand in e.operands) % 2)
    if isinstance(e, DecisionList | UnitDecisionList):
        held = (value for when, value in e.rules if interpret(when, row))
        return interpret(next(held, e.otherwise), row)
    assert isinstance(e, And | Or)
    return (min if isinstance(e, And) else max)(interpret(operand, row) for operand in e.operands)


def table(rows: list[dict[str, Any]]) -> Records:
    return Records(SCHEMA, {name: [row[name] for row in rows] for name in SCHEMA.names})


def linear(names: str, coefficients: st.SearchStrategy[Fraction]) -> st.SearchStrategy[Linear]:
    terms = st.dictionaries(st.sampled_from(names), coefficients, min_size=2, max_size=3)
    return st.builds(
        lambda constant, pairs: Linear(constant, tuple((value, name) for name, value in pairs.items())),
        coefficients,
        terms,
    )


EXACT = st.fractions(-5, 5, max_denominator=12)
DYADIC = st.integers(-40, 40).map(lambda eighths: Fraction(eighths, 8))
HALVES = st.integers(-10, 10).map(lambda halves: Fraction(halves, 2))
WHOLE_SIDES = st.one_of(st.sampled_from("sti").map(Column), st.builds(Number, EXACT), linear("sti", EXACT))
# Coefficients of the widest column that keep sums below 2**63, so that even there the comparison is exact.
WIDE_SIDES = st.one_of(st.sampled_from("ij").map(Column), st.builds(Number, EXACT), linear("sij", HALVES))
REAL_SIDES = st.one_of(
    st.sampled_from("sixy").map(Column), st.builds(Number, DYADIC), linear("stixy", DYADIC)
)
OPS = st.sampled_from(COMPARISONS)
EQUALITY = st.sampled_from(("==", "!="))
CATEGORIES = st.one_of(st.sampled_from("cd").map(Column), st.builds(Label, LABELS))
TRUTHS = st.one_of(st.sampled_from("st").map(Column), st.builds(Truth, st.booleans()))
LEAVES = st.one_of(
    TRUTHS,
    st.builds(Compare, OPS, WHOLE_SIDES.filter(lambda e: not _bit(e)), WHOLE_SIDES),
    st.builds(Compare, OPS, WIDE_SIDES, WIDE_SIDES),
    st.builds(Compare, OPS, REAL_SIDES, REAL_SIDES.filter(lambda e: not _bit(e))),
    st.builds(Compare, EQUALITY, TRUTHS, TRUTHS),
    st.builds(Compare, EQUALITY, st.just(Column("c")), CATEGORIES),
    st.builds(Compare, EQUALITY, CATEGORIES, st.just(Column("d"))),
    st.builds(Member, st.sampled_from("cd"), st.lists(LABELS, min_size=1, max_size=3).map(tuple)),
)


def _bit(expression: Expression) -> bool:
    return isinstance(expression, Column) and expression.name in "st"


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    parities = st.lists(inner, min_size=1, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Not, inner),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(Parity, parities),
        _listed(inner, inner),
    )


def _listed(conditions: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rules = st.lists(st.tuples(conditions, values), min_size=1, max_size=3).map(tuple)
    last = values.filter(lambda value: not isinstance(value, DecisionList | UnitDecisionList))
    return st.builds(decision_list, rules, last)


CONDITIONS = st.recursive(LEAVES, _grown, max_leaves=8)
CLIPS = st.builds(Clip, st.one_of(WHOLE_SIDES, WIDE_SIDES, REAL_SIDES))
WEIGHTS = st.fractions(0, 1, max_denominator=64).map(Number)
UNITS = CLIPS | _listed(CONDITIONS, st.one_of(CLIPS, WEIGHTS, CONDITIONS)).filter(
    lambda chosen: isinstance(chosen, UnitDecisionList)
)


@given(CONDITIONS, st.lists(ROWS, max_size=5))
def test_a_condition_agrees_with_the_interpreter_on_every_row(
    e: Expression, rows: list[dict[str, Any]]
) -> None:
    values = check(e, SCHEMA).evaluate(table(rows))
    assert values.dtype == np.bool_
    assert values.tolist() == [bool(interpret(e, row)) for row in rows]


@given(UNITS, st.lists(ROWS, max_size=5), st.sampled_from((1, 7, 1000, 2**20)))
def test_a_number_in_the_unit_interval_agrees_up_to_rounding(
    e: Expression, rows: list[dict[str, Any]], resolution: int
) -> None:
    query = check(e, SCHEMA)
    values, grid = query.evaluate(table(rows)), query.encode(table(rows), resolution)
    assert values.dtype == np.float64
    assert grid.dtype == np.int64
    # Terms up to 2**53 * 5 cancel in doubles: one unit in their last place is all that can be lost.
    slack = max((abs(row["j"]) for row in rows), default=0) * 5 * 2.0**-50 + 1e-12
    for value, point, row in zip(values.tolist(), grid.tolist(), rows, strict=True):
        assert 0 <= value <= 1
        assert abs(value - interpret(e, row)) <= slack
        assert 0 <= point <= resolution
        assert abs(point - value * resolution) <= 0.5


def evaluated(text: str, schema: Schema, **columns: Any) -> list[Any]:
    result: list[Any] = StatisticalQuery.parse(text, schema).evaluate(Records(schema, columns)).tolist()
    return result


AGE = Schema({"age": IntegerDomain(0, LARGE)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 1/3", [False, True, True]),
        ("age > 1/3", [False, True, True]),
        ("age < 4/3", [True, True, False]),
        ("age <= 4/3", [True, True, False]),
        ("age == 1/3", [False, False, False]),
        ("age != 1/3", [True, True, True]),
        ("1 <= age", [False, True, True]),
        ("0.3*age == 0.3", [False, True, False]),
        ("age > 9007199254740990.5", [False, False, True]),
        ("age >= 9007199254740991.5", [False, False, False]),
        ("age < 1e29", [True, True, True]),
        ("age < -1e29", [False, False, False]),
        ("age == 1e29", [False, False, False]),
        ("-2*age <= -2", [False, True, True]),
        ("age - age == 0", [True, True, True]),
        ("1/3 < 0.34", [True, True, True]),
        ("-1e29 > 1e-29", [False, False, False]),
    ],
)
def test_whole_columns_are_compared_exactly(text: str, expected: list[bool]) -> None:
    assert evaluated(text, AGE, age=[0, 1, LARGE - 1]) == expected


def test_a_real_column_is_compared_with_the_nearest_double() -> None:
    bmi = Schema({"bmi": RealDomain(0, 100)})
    assert evaluated("bmi == 27.1", bmi, bmi=[27.1, 27.0]) == [True, False]
    assert evaluated("bmi >= 27.1", bmi, bmi=[27.1, np.nextafter(27.1, 0)]) == [True, False]
    assert evaluated("bmi == 1/3", bmi, bmi=[1 / 3, 0.3]) == [True, False]


def test_a_form_beyond_64_bits_is_compared_in_doubles_whatever_the_records() -> None:
    left = StatisticalQuery.parse("0.12345678901234567*age + 0.1 > 1", AGE).expression
    assert isinstance(left, Compare)
    assert isinstance(left.left, Linear)
    wide = Schema({"age": IntegerDomain(0, LARGE), "k": IntegerDomain(0, LARGE)})
    assert whole_comparison(">", left.left, Number(Fraction(1)), AGE) is not None
    text = "0.12345678901234567*age + k > 1"
    form = StatisticalQuery.parse(text, wide).expression
    assert isinstance(form, Compare)
    assert isinstance(form.left, Linear)
    assert whole_comparison(">", form.left, Number(Fraction(1)), wide) is None
    assert evaluated(text, wide, age=[0, 8, 9], k=[1, 0, 0]) == [False, False, True]


def test_hundreds_of_long_fractions_neither_overflow_nor_fail() -> None:
    names = [f"c{i}" for i in range(90)]
    schema = Schema({**{name: IntegerDomain(-1, 1) for name in names}, "r": RealDomain(0, 1)})
    form = " + ".join(f"1/{10**29 + 2 * i + 1}*{name}" for i, name in enumerate(names))
    columns: dict[str, Any] = {name: [1, -1] for name in names} | {"r": [0.5, 0.5]}
    assert evaluated(f"{form} > 0", schema, **columns) == [True, False]
    assert evaluated(f"{form} > r", schema, **columns) == [False, False]


def test_evaluation_neither_changes_nor_needs_any_person() -> None:
    schema = Schema({"s": BitDomain(), "t": BitDomain()})
    records = Records(schema, {"s": [True, False], "t": [False, False]})
    before = Records(schema, {"s": [True, False], "t": [False, False]}).fingerprint()
    assert StatisticalQuery.parse("s or t or s and t", schema).evaluate(records).tolist() == [True, False]
    assert Records(schema, {n: records.column(n) for n in schema.names}).fingerprint() == before
    for text in ("parity(s)", "parity(s, t)", "if s then t else s", "if s then t else 0.5"):
        StatisticalQuery.parse(text, schema).evaluate(records)
        assert Records(schema, {n: records.column(n) for n in schema.names}).fingerprint() == before
    for text in (
        "s",
        "true",
        "s or t",
        "clip(s)",
        "clip(1)",
        "s == t",
        "clip(s + t)",
        "if s then t else 1",
    ):
        assert evaluated(text, schema, s=[], t=[]) == []


@pytest.mark.parametrize(("high", "exact"), [(LARGE - 1, True), (LARGE, False)])
def test_sums_are_exact_up_to_the_last_one_that_64_bits_hold(high: int, exact: bool) -> None:
    schema = Schema({"j": IntegerDomain(-LARGE, LARGE), "k": IntegerDomain(0, high)})
    query = StatisticalQuery.parse("1023*j + k > 9223372036854775806", schema)
    assert isinstance(query.expression, Compare)
    left, right = query.expression.left, query.expression.right
    assert isinstance(left, Linear)
    assert isinstance(right, Number)
    assert (whole_comparison(">", left, right, schema) is not None) == exact
    if exact:  # 2**63 - 1 and 2**63 - 2, which one double stands for
        assert evaluated(query.text, schema, j=[LARGE, LARGE], k=[high, high - 1]) == [True, False]
