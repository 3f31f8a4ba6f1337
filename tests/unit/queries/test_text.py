"""The canonical text: it parses back to the same tree, and is stable."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from localdp.domains import is_column_name
from localdp.queries import parse, to_text
from localdp.queries.expressions import (
    COMPARISONS,
    LOSSES,
    And,
    At,
    Ball,
    Cells,
    Clip,
    Column,
    Compare,
    DecisionList,
    Expression,
    Gradient,
    Label,
    Linear,
    Member,
    Moments,
    Nearest,
    Not,
    Number,
    Or,
    Parities,
    Parity,
    Signed,
    Sphere,
    Truth,
    UnitDecisionList,
    Vector,
    Which,
    decision_list,
)
from localdp.queries.tokens import LONGEST_TEXT

DIGITS30 = 10**30 - 1
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,4}", fullmatch=True).filter(is_column_name)
LABELS = st.text(st.characters(blacklist_categories=("C", "Z")) | st.sampled_from(" \"\\{}'"), max_size=6)
FRACTIONS = st.one_of(
    st.integers(-20, 20).map(Fraction),
    st.decimals(-1000, 1000, places=3).map(Fraction),
    st.builds(Fraction, st.integers(-DIGITS30, DIGITS30), st.integers(1, DIGITS30)),
    st.integers(0, 99).map(lambda power: Fraction(3, 2**power)),
)
COLUMNS = st.builds(Column, NAMES)
NUMBERS = st.builds(Number, FRACTIONS)
LINEARS = st.builds(
    lambda constant, terms: Linear(constant, tuple((value, name) for name, value in terms.items())),
    FRACTIONS,
    st.dictionaries(NAMES, FRACTIONS, min_size=2, max_size=4),
)
OPERANDS = st.one_of(COLUMNS, NUMBERS, LINEARS, st.builds(Label, LABELS), st.builds(Truth, st.booleans()))
LEAVES = st.one_of(
    COLUMNS,
    st.builds(Truth, st.booleans()),
    st.builds(Compare, st.sampled_from(COMPARISONS), OPERANDS, OPERANDS),
    st.builds(Member, NAMES, st.lists(LABELS, min_size=1, max_size=3).map(tuple)),
)


def _listed(conditions: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rules = st.lists(st.tuples(conditions, values), min_size=1, max_size=3).map(tuple)
    last = values.filter(lambda value: not isinstance(value, DecisionList | UnitDecisionList))
    return st.builds(decision_list, rules, last)


def _several(inner: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[Any]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Not, inner),
        st.builds(And, _several(inner, 2)),
        st.builds(Or, _several(inner, 2)),
        st.builds(Parity, _several(inner)),
        _listed(inner, inner),
    )


CONDITIONS = st.recursive(LEAVES, _grown, max_leaves=8)
NUMERICS = st.one_of(COLUMNS, NUMBERS, LINEARS)
CLIPS = st.builds(Clip, NUMERICS)
WEIGHTS = st.fractions(0, 1, max_denominator=1000).map(Number)
UNITS = st.recursive(
    st.one_of(CLIPS, WEIGHTS), lambda inner: _listed(CONDITIONS, inner | CONDITIONS), max_leaves=3
).filter(lambda unit: not isinstance(unit, Number | DecisionList))
SCALARS = st.one_of(CONDITIONS, UNITS, NUMERICS)
POINTS = _several(FRACTIONS)


def _vectors(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Signed, CONDITIONS, inner),
        st.builds(Moments, inner, st.none() | SCALARS),
        st.builds(Gradient, st.sampled_from(LOSSES), POINTS, inner, CONDITIONS),
        st.builds(Gradient, st.just("squared"), POINTS, inner, SCALARS),
        st.builds(At, st.one_of(CONDITIONS, st.builds(Nearest, inner, _several(POINTS))), inner),
    )


VECTORS = st.recursive(
    st.one_of(st.builds(Ball, _several(SCALARS)), st.builds(Sphere, _several(SCALARS))),
    _vectors,
    max_leaves=3,
)
CATEGORIES = st.recursive(
    st.one_of(
        CONDITIONS, st.builds(Which, _several(CONDITIONS)), st.builds(Nearest, VECTORS, _several(POINTS))
    ),
    lambda inner: st.builds(Cells, _several(inner)),
    max_leaves=3,
)
PARITIES = st.builds(Parities, st.just(1), _several(CONDITIONS), st.none() | CONDITIONS)
EXPRESSIONS = st.one_of(
    CONDITIONS,
    OPERANDS,
    UNITS,
    VECTORS,
    CATEGORIES,
    PARITIES,
    st.builds(Vector, _several(st.one_of(CONDITIONS, UNITS))),
)


@given(EXPRESSIONS)
def test_the_text_of_an_expression_parses_back_to_it(expression: Expression) -> None:
    text = to_text(expression)
    assume(len(text) <= LONGEST_TEXT)
    assert parse(text) == expression
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("smoker and age>=65", "smoker and age >= 65"),
        ("((a and b)) or c", "a and b or c"),
        ("a and (b and c)", "a and (b and c)"),
        ("a and (b or c)", "a and (b or c)"),
        ("not(a)", "not a"),
        ("not (a == 1)", "not a == 1"),
        ("(not a) and b", "not a and b"),
        ("not (a and b)", "not (a and b)"),
        ("5 + 2*age - age/3 > 0", "5/3*age + 5 > 0"),
        ("-(x - 2*y) < 1e-3", "-x + 2*y < 0.001"),
        ("clip( .5 )", "clip(0.5)"),
        ("clip(x - x + 1)", "clip(0*x + 1)"),
        ("1.50e1 == x", "15 == x"),
        ("3*x/3 == 2/6", "x == 1/3"),
        (' c in {"a","b\\"\\\\"}', 'c in {"a", "b\\"\\\\"}'),
        ("a\n\t== true", "a == true"),
        ("parity(a,(b))", "parity(a, b)"),
        ("if a then b else c", "if a then b else c"),
        (
            "if a then .5 else (if b or c then clip(d) else 1)",
            "if a then 0.5 else if b or c then clip(d) else 1",
        ),
        ("if (if a then b else c) then d else e", "if (if a then b else c) then d else e"),
        ("(if a then b else c) and d", "(if a then b else c) and d"),
        ("not (if a then b else c)", "not (if a then b else c)"),
        ("if a then (if b then c else d) else e", "if a then (if b then c else d) else e"),
        ("if a then b else c or d", "if a then b else c or d"),
        ("which(a, if b then c else d)", "which(a, if b then c else d)"),
        ("cells( a , which( b ) )", "cells(a, which(b))"),
        (
            "nearest(ball(x/2, 1),[1/3,-.5] , [0 , 1e-3])",
            "nearest(ball(0.5*x, 1), [1/3, -0.5], [0, 0.001])",
        ),
        ("moments(sphere(a and b, -x), 2*x - 1)", "moments(sphere(a and b, -x), 2*x - 1)"),
        ("gradient( hinge,[1+1],ball(x),y==1 )", "gradient(hinge, [2], ball(x), y == 1)"),
        ("at(cells(a,b),signed(a,ball(1)))", "at(cells(a, b), signed(a, ball(1)))"),
        ("parities(2,a,b , c;y)", "parities(2, a, b, c; y)"),
        ("vector(a, if b then 0.5 else c)", "vector(a, if b then 0.5 else c)"),
    ],
)
def test_the_canonical_text_is_what_one_would_write(written: str, canonical: str) -> None:
    assert to_text(parse(written)) == canonical
    assert to_text(parse(canonical)) == canonical


def test_the_deepest_trees_have_texts_that_parse() -> None:
    towers: list[Any] = [
        Column("a"),
        Compare("<", Linear(Fraction(0), ((Fraction(-1), "a"),)), Column("b")),
    ]
    for tower in towers:
        straight, mixed = tower, tower
        while straight.depth < 32:
            straight = And((straight, Column("c")))
        while mixed.depth < 31:
            mixed = Not(Or((mixed, Column("c"))))
        chosen = tower
        while chosen.depth < 32:
            chosen = DecisionList(((chosen, chosen if chosen.depth < 8 else Column("d")),), Column("c"))
        vectors: Any = Ball((tower, Linear(Fraction(0), ((Fraction(-1), "a"),)), Number(Fraction(-1))))
        while vectors.depth < 30:
            vectors = At(Nearest(vectors, ((Fraction(-1),),)), Ball((Number(Fraction(-1)),)))
        while vectors.depth < 32:
            vectors = Signed(Column("a"), vectors)
        for tree in (chosen, vectors):
            assert parse(to_text(tree)) == tree
        assert parse(to_text(straight)) == straight
        assert parse(to_text(mixed)) == mixed
