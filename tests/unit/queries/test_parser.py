"""The parser: what texts mean, where mistakes are, and that no text does harm."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.errors import QueryRefused
from localdp.queries import parse
from localdp.queries.expressions import (
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
from tests.support.processor_time import processor_seconds

A, B, C = Column("a"), Column("b"), Column("c")


def number(value: int | str) -> Number:
    return Number(Fraction(value))


def refusal_of(text: str) -> str:
    """What the parser says against a text; nothing when it parses.  Any other error is a failure."""
    try:
        parse(text)
    except QueryRefused as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smoker and age >= 65", And((Column("smoker"), Compare(">=", Column("age"), number(65))))),
        (
            'not (city == "Paris" or bmi > 27.5)',
            Not(
                Or(
                    (
                        Compare("==", Column("city"), Label("Paris")),
                        Compare(">", Column("bmi"), number("27.5")),
                    )
                )
            ),
        ),
        (
            "clip(0.01*age - 0.2)",
            Clip(Linear(Fraction("-0.2"), ((Fraction("0.01"), "age"),))),
        ),
        ("true", Truth(True)),
        ("a or b and not c", Or((A, And((B, Not(C)))))),
        ("a and b and c", And((A, B, C))),
        ("(a and b) and c", And((And((A, B)), C))),
        ("1/3 * a < -2", Compare("<", Linear(Fraction(0), ((Fraction(1, 3), "a"),)), number(-2))),
        ("a + 0 == a*1", Compare("==", A, A)),
        ("2*(a - b)/4 <= 0", Compare("<=", parse("0.5*a - 0.5*b"), number(0))),  # type: ignore[arg-type]
        ('c in {"x"}', Member("c", ("x",))),
        ('c == "\\"\\\\é"', Compare("==", C, Label('"\\é'))),
        ("clip(a)", Clip(A)),
        ("123456789012345678901234567890", number("123456789012345678901234567890")),
        ("1.5E+2", number(150)),
        ("5e-29", number("5e-29")),
    ],
)
def test_a_text_means_its_tree(text: str, expected: Expression) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "reason", "character"),
    [
        ("", "expected a column", 1),
        ("a and", "expected a column", 6),
        ("a b", "expected an operator", 3),
        ("(a", "expected an operator or \\)", 3),
        ("a)", "expected an operator", 2),
        ("a = 1", "written ==", 3),
        ("a && b", "written `and`", 3),
        ("a == 'x'", "double quotes", 6),
        ('a == "x', "not closed", 6),
        ('a == "\\n"', "not closed, or escapes", 6),
        ('a == "\x07"', "printable", 6),
        ("1 < a < 2", "do not chain", 7),
        ("a and 1", "take conditions", 7),
        ("not 1", "take conditions", 5),
        ('a + "x" > 1', "arithmetic takes", 5),
        ("-true == a", "arithmetic takes", 2),
        ("clip(a and b)", "expected an operator or \\)", 8),
        ("clip a", "expected \\( after", 6),
        ("clip(clip(a))", "arithmetic takes", 6),
        ("clip(a) > 1", "a comparison takes", 1),
        ("(a or b) == c", "a comparison takes", 1),
        ("a*b > 1", "not linear", 2),
        ("a/b > 1", "can divide", 2),
        ("a/0 > 1", "can divide", 2),
        ("1 in {2}", "only a column", 1),
        ("a in {}", "expected a label", 7),
        ("a in {b}", "expected a label", 7),
        ('a in {"b" "c"}', "expected a comma", 11),
        ("a > 1234567890123456789012345678901", "at most 30 digits", 5),
        ("a > 1e31", "exponent", 5),
        ("a > 1e-99999999999999999999", "exponent", 5),
        ("a > 1e30", "30 digits", 5),
        ("a > 1e20*1e20", "30 digits", 9),
        ("x" * 65, "at most 64 characters", 1),
        ('a == "' + "x" * 257 + '"', "at most 256 characters", 6),
        ("a == \u0663", "means nothing", 6),
        ("a ≥ 1", "means nothing", 3),
    ],
)
def test_a_mistake_is_refused_at_its_place(text: str, reason: str, character: int) -> None:
    with pytest.raises(QueryRefused, match=reason) as refusal:
        parse(text)
    first, shown, caret = str(refusal.value).split("\n")
    assert f"at character {character}:" in first
    start = max(0, character - 1 - 30)
    assert caret.index("^") - 4 == character - 1 - start
    assert len(shown) <= 4 + 60


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "__import__(os)",
        "a.__class__",
        "(lambda: 1)()",
        "[x for x in a]",
        "a; b",
        "a if b else c",
        "exec(a)",
        "${a}",
        'a == "x" -- \'',
        "clip.__globals__",
        "f'{a}'",
        "a\x00b",
        "\ud800",
        'a == "\ud800"',
        "\u202ea",
        "\uff41",
    ],
)
def test_code_and_odd_characters_are_refused(text: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        parse(text)
    assert str(refusal.value).replace("\n", "").isprintable()


@pytest.mark.parametrize("text", [b"a", None, 3, ["a"]])
def test_what_is_not_text_is_refused(text: object) -> None:
    with pytest.raises(QueryRefused, match="is text"):
        parse(text)  # type: ignore[arg-type]


HOSTILE = [
    "(" * 1_000_000,
    "(" * LONGEST_TEXT,
    "not " * 16_000,
    "-" * 65_000 + "a",
    "clip(" * 13_000,
    "parity(" * 9_000,
    "moments(" * 8_000,
    "at(which(a), " * 5_000,
    "if (" * 16_000,
    "(" * 32_000 + "a" + ")" * 32_000,
    "a or b and c == d + e * (" * 2_600,
    "a and " * 10_000 + "a",
    "ball(" + "1," * 30_000 + "1)",
    "which(" + "a," * 30_000 + "a)",
    "nearest(ball(a), " + "[1]," * 16_000 + "[1])",
    "nearest(ball(a), [" + "1," * 32_000 + "1])",
    "if a then b else " * 3_000 + "c",
    "parities(2," + "a," * 30_000 + "a)",
    "parities(30, " + ",".join(f"c{i}" for i in range(60)) + ")",
    " + ".join(f"c{i}" for i in range(7_000)),
    "+".join(f"1/{10**29 + i}" for i in range(1_900)) + "> a",
    "+".join(f"a/{10**29 + i}" for i in range(1_900)) + "> b",
    "*".join(["1e29"] * 13_000),
    "a in {" + ",".join(['""'] * 20_000) + "}",
    '"' + "\\\\" * 30_000,
    "1" * LONGEST_TEXT,
    "." * LONGEST_TEXT,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_refused_quickly(text: str) -> None:
    with processor_seconds() as seconds:
        with pytest.raises(QueryRefused):
            parse(text)
        assert seconds() < 1  # in fact milliseconds; a slow machine is no failure


def test_the_deepest_text_that_parses_needs_little_stack() -> None:
    assert parse("(" * 32 + "a" + ")" * 32) == A
    limit = sys.getrecursionlimit()
    hostile = "a or b and c == d + e * (" * 2_400
    try:
        sys.setrecursionlimit(500)
        with pytest.raises(QueryRefused, match="32 levels"):
            parse(hostile)
    finally:
        sys.setrecursionlimit(limit)


GARBAGE = st.binary(max_size=40).map(lambda raw: raw.decode("latin-1"))


@given(st.one_of(GARBAGE, st.text(max_size=40), st.text('ab1.e"\\ ()<>=!+-*/{},', max_size=40)))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    assert refusal_of(text).replace("\n", "").isprintable()


WORDS = ["a", "b", "and", "or", "not", "in", "clip", "true", '"x"', "1", *"(){},;[]/*-+<", "=="]
WORDS += ["if", "then", "else", "vector", "parity(", "which(", "cells(", "ball(", "sphere(", "moments("]
WORDS += ["nearest(", "signed(", "at(", "gradient(", "hinge", "parities("]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_any_sequence_of_words_is_parsed_or_refused_at_a_place(text: str) -> None:
    refusal = refusal_of(text)
    assert not refusal or "at character" in refusal
