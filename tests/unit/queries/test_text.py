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
    And,
    Clip,
    Column,
    Compare,
    Expression,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Or,
    Truth,
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


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, inner), st.builds(And, several), st.builds(Or, several))


CONDITIONS = st.recursive(LEAVES, _grown, max_leaves=12)
EXPRESSIONS = st.one_of(CONDITIONS, OPERANDS, st.builds(Clip, st.one_of(COLUMNS, NUMBERS, LINEARS)))


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
        assert parse(to_text(straight)) == straight
        assert parse(to_text(mixed)) == mixed
