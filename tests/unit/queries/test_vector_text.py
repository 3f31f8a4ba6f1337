"""Texts of queries for more than one number: where mistakes are, and that names of columns stay free."""

from __future__ import annotations

from fractions import Fraction

import pytest

from localdp.errors import QueryRefused
from localdp.queries import parse, to_text
from localdp.queries.expressions import (
    At,
    Ball,
    Cells,
    Clip,
    Column,
    DecisionList,
    Expression,
    Gradient,
    Linear,
    Moments,
    Nearest,
    Number,
    Parities,
    Parity,
    Signed,
    Sphere,
    UnitDecisionList,
    Vector,
    Which,
)

A, B, C, X, Y = (Column(name) for name in "abcxy")
HALF = Fraction(1, 2)
NUMBER = Number(HALF)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parity(a, b)", Parity((A, B))),
        ("if a then b else c", DecisionList(((A, B),), C)),
        ("if a then b else if b then c else a", DecisionList(((A, B), (B, C)), A)),
        ("if a then 0.5 else b", UnitDecisionList(((A, NUMBER),), B)),
        ("if a then clip(x) else if b then c else 1/2", UnitDecisionList(((A, Clip(X)), (B, C)), NUMBER)),
        ("which(a, b)", Which((A, B))),
        ("cells(x, which(a))", Cells((X, Which((A,))))),
        ("nearest(ball(x), [1/2], [-1])", Nearest(Ball((X,)), ((HALF,), (Fraction(-1),)))),
        ("sphere(x, a, 1/2, 2*x)", Sphere((X, A, NUMBER, Linear(Fraction(0), ((Fraction(2), "x"),))))),
        ("signed(a, ball(x))", Signed(A, Ball((X,)))),
        ("moments(ball(x))", Moments(Ball((X,)))),
        ("moments(ball(x), y)", Moments(Ball((X,)), Y)),
        ("gradient(squared, [0.5], ball(x), y)", Gradient("squared", (HALF,), Ball((X,)), Y)),
        ("at(x, ball(y))", At(X, Ball((Y,)))),
        ("parities(1, a, b)", Parities(1, (A, B))),
        ("parities(2, a, b; c)", Parities(2, (A, B), C)),
        ("vector(a, if a then 0.5 else b)", Vector((A, UnitDecisionList(((A, NUMBER),), B)))),
        ("moments", Column("moments")),
        ("at and parity", parse("at and parity")),
        (
            "gradient(logistic, [1], ball(logistic), ball)",
            parse("gradient(logistic,[1],ball(logistic),ball)"),
        ),
    ],
)
def test_a_text_means_its_tree(text: str, expected: Expression) -> None:
    assert parse(text) == expected
    assert to_text(expected) == text.replace("1/2", "0.5")


@pytest.mark.parametrize(
    ("text", "reason", "character"),
    [
        ("if a then b", "`else`", 12),
        ("if a b else c", "`then`", 6),
        ("if 1 then a else b", "take conditions", 4),
        ("if a then 2 else b", "between 0 and 1", 1),
        ("if a then x + y else b", "between 0 and 1", 11),
        ("a and if b then c else a", "between parentheses", 7),
        ("if if a then b else c then a else b", "between parentheses", 4),
        ("parity()", "expected a column", 8),
        ("parity(1)", "take conditions", 8),
        ("pariti(a)", "did you mean 'parit", 1),
        ("exec(a)", "no function of this name", 1),
        ("mean(a)", "every answer is a mean over people", 1),
        ("a and which(b)", "more than one value", 7),
        ("not ball(x)", "more than one value", 5),
        ("vector(ball(x))", "components of a vector", 8),
        ("which(which(a))", "more than one value", 7),
        ("ball(ball(x))", "entries of a vector", 6),
        ("ball(which(a))", "entries of a vector", 6),
        ('ball("x")', "entries of a vector", 6),
        ("ball(x", "expected a comma or \\)", 7),
        ("ball(x) and a", "the end of the query", 9),
        ("moments(x)", "takes a vector", 9),
        ("moments(vector(a))", "takes a vector", 9),
        ("moments(ball(x), ball(y))", "a label is", 18),
        ("nearest(ball(x))", "a centre", 16),
        ("nearest(ball(x), 1)", "list of numbers", 18),
        ("nearest(ball(x), [])", "expected a column, a number", 19),
        ("nearest(ball(x), [y])", "no columns", 19),
        ("nearest(ball(x), [1 2])", "expected a comma or ]", 21),
        ("gradient(cubic, [1], ball(x), a)", "a loss is one of", 10),
        ("gradient(hinge [1], ball(x), a)", "expected a comma", 16),
        ("gradient(hinge, [1], ball(x), clip(y))", "hinge loss is a condition", 1),
        ("signed(ball(x), ball(x))", "more than one value", 8),
        ("at(ball(x), ball(x))", "a category is", 4),
        ("at(clip(x), ball(x))", "a category is", 4),
        ("cells(1)", "a category is", 7),
        ("parities(a, b)", "the order", 10),
        ("parities(1.5, b)", "whole number", 10),
        ("parities(0, b)", "the order", 1),
        ("parities(2, b)", "the order", 1),
        ("parities(1, b; c, a)", "expected a comma or \\)", 17),
        ("parities(1; c)", "expected a comma", 11),
        ("ball[x]", "the end of the query", 5),
    ],
)
def test_a_mistake_is_refused_at_its_place(text: str, reason: str, character: int) -> None:
    with pytest.raises(QueryRefused, match=reason) as refusal:
        parse(text)
    assert f"at character {character}:" in str(refusal.value)


def test_a_decision_list_of_hundreds_of_rules_is_flat() -> None:
    text = " else ".join(f"if a == {i} then b" for i in range(800)) + " else c"
    assert parse(text).depth == 3
    assert to_text(parse(text)) == text


def test_a_regression_over_hundreds_of_features_fits_into_a_text() -> None:
    features = ", ".join(f"feature_{i}" for i in range(256))
    point = ", ".join(f"0.{123456789011 + 2 * i}" for i in range(256))
    text = f"gradient(logistic, [{point}], ball({features}), label)"
    assert to_text(parse(text)) == text
