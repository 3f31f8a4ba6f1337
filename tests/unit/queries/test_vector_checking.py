"""Queries for more than one number: which ones a schema admits, how long they are, and what they may cost."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import QueryRefused
from localdp.queries import StatisticalQuery, VectorQuery
from localdp.queries.arithmetic import total
from localdp.queries.checking import type_of
from localdp.queries.comparing import _coprime_scale
from localdp.queries.expressions import (
    MOST_DEPTH,
    MOST_NODES,
    Ball,
    Column,
    Linear,
    Moments,
    Number,
    Signed,
)
from localdp.queries.kinds import NumberType
from localdp.queries.vector_checking import LONGEST_VECTOR, MOST_ENTRIES, category_size

SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "married": BitDomain(),
        "age": IntegerDomain(0, 120),
        "debt": IntegerDomain(-10, 10),
        "bmi": RealDomain(0, 100),
        "rate": RealDomain(-1, 1),
        "city": CategoryDomain(("Paris", "Rome", "Oslo")),
        "at": BitDomain(),
        "parity": IntegerDomain(0, 12),
    }
)


@pytest.mark.parametrize(
    ("text", "kind", "length"),
    [
        ("smoker", "category", 2),
        ("city", "category", 3),
        ("age", "category", 121),
        ("debt", "category", 21),
        ("age >= 65 and smoker", "category", 2),
        ("if smoker then married else age < 3", "category", 2),
        ("which(age < 20, age < 40, age < 60)", "category", 4),
        ("cells(city, smoker, which(married))", "category", 12),
        ("cells(city)", "category", 3),
        ("nearest(ball(rate, bmi/100), [0, 0], [0, 1], [1, 0])", "category", 3),
        ("vector(smoker, clip(bmi/60), if smoker then 0.5 else 1)", "cube", 3),
        ("ball(rate, bmi/100, smoker, age >= 65, 0.5, clip(age))", "ball", 6),
        ("sphere(2*rate - 3*bmi + 1)", "ball", 1),
        ("signed(smoker, ball(rate, bmi))", "ball", 2),
        ("moments(ball(rate, bmi, age))", "ball", 6),
        ("moments(ball(rate, bmi, age), rate)", "ball", 9),
        ("moments(ball(rate), age/120)", "ball", 2),
        ("moments(ball(rate), debt/20 - 0.5)", "ball", 2),
        ("moments(ball(rate), 1/3*smoker + 1/3*married + 1/3*smoker)", "ball", 2),
        ("moments(moments(ball(rate, bmi)), smoker)", "ball", 9),
        ("gradient(logistic, [0.5, -2], ball(rate, bmi), smoker)", "ball", 2),
        ("gradient(squared, [0.5, -2], ball(rate, bmi), rate)", "ball", 2),
        ("at(city, ball(rate, bmi))", "ball", 6),
        ("at(nearest(ball(rate), [0], [1]), ball(0.5, rate))", "ball", 4),
        ("parities(1, smoker, married, age >= 65)", "parities", 3),
        ("parities(2, smoker, married, age >= 65)", "parities", 6),
        ("parities(2, smoker, married, age >= 65; bmi > 20)", "parities", 7),
        ("parities(3, smoker, married, age >= 65; bmi > 20)", "parities", 8),
        ("at", "category", 2),
        ("at(at, ball(at, parity))", "ball", 4),
        ("parity(at, parity > 3)", "category", 2),
    ],
)
def test_a_well_typed_query_has_a_kind_and_a_length(text: str, kind: str, length: int) -> None:
    query = VectorQuery.parse(text, SCHEMA)
    assert (query.kind, query.length) == (kind, length)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("smokr", "no column 'smokr'; did you mean 'smoker'"),
        ("bmi", "too many values to be a category"),
        ("clip(bmi)", "a clipped number: neither a category nor a vector"),
        ("if smoker then 0.5 else 1", "a clipped number: neither"),
        ("2*age", "a number: neither"),
        ('"Paris"', "a label: neither"),
        ("which(age)", "not true or false"),
        ("cells(city, bmi)", "too many values"),
        ("cells(age, age, age)", "at most 1048576 values"),
        ("nearest(ball(rate, bmi), [0, 0], [1])", "a centre has 1 numbers, and the vector beside it 2"),
        ("vector(age)", "not between 0 and 1"),
        ("ball(city)", "a category of 3 labels: the entries"),
        ("ball(zzz)", "no column 'zzz'"),
        ("signed(age, ball(rate))", "not true or false"),
        ("moments(ball(rate), age)", "may exceed 1: scale it"),
        ("moments(ball(rate), bmi)", "may exceed 1"),
        ("moments(ball(rate), -1.001*rate)", "may exceed 1"),
        ("moments(ball(rate), -age/60)", "may exceed 1"),
        ("moments(ball(rate), age/60)", "may exceed 1"),
        ("moments(ball(rate), city)", "a label is a number or a condition"),
        ("moments(ball(rate), 1.5)", "may exceed 1"),
        ("gradient(squared, [1], ball(rate), age)", "may exceed 1"),
        ("gradient(logistic, [1], ball(rate), rate)", "not true or false"),
        (
            "gradient(hinge, [1, 2], ball(rate), smoker)",
            "the point has 2 numbers, and the vector beside it 1",
        ),
        ("at(bmi, ball(rate))", "too many values"),
        ("at(cells(age, age, city), ball(rate, bmi))", "at most 65536 entries"),
        ("parities(1, age)", "not true or false"),
        ("parities(1, smoker; age)", "not true or false"),
    ],
)
def test_an_ill_typed_query_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryRefused, match=reason):
        VectorQuery.parse(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("which(smoker)", "is a category"),
        ("cells(city)", "is a category"),
        ("nearest(ball(rate), [0])", "is a category"),
        ("vector(smoker)", r"is a vector with components in \[0, 1\]"),
        ("ball(rate)", "is a vector of norm at most 1"),
        ("moments(ball(rate))", "is a vector of norm at most 1"),
        ("parities(1, smoker)", "is many parities at once"),
    ],
)
def test_a_statistical_query_says_what_it_was_given_instead(text: str, what: str) -> None:
    with pytest.raises(QueryRefused, match=f"{what}: ask it as a vector query"):
        StatisticalQuery.parse(text, SCHEMA)


@pytest.mark.parametrize("expression", ["smoker", None, 1])
def test_what_is_not_an_expression_is_refused(expression: Any) -> None:
    with pytest.raises(QueryRefused, match="parse its text"):
        VectorQuery(expression, SCHEMA)
    with pytest.raises(QueryRefused, match="a category is a column"):
        category_size(expression, SCHEMA)


def ball(length: int) -> Ball:
    return Ball((Column("rate"),) * length)


def test_a_vector_grows_to_its_bound_and_no_further() -> None:
    assert VectorQuery(Moments(ball(361)), SCHEMA).length == 65_341 <= LONGEST_VECTOR
    with pytest.raises(QueryRefused, match="at most 65536 entries"):
        VectorQuery(Moments(ball(362)), SCHEMA)
    with pytest.raises(QueryRefused, match="at most 65536 entries"):
        VectorQuery(Moments(Moments(Moments(ball(20)))), SCHEMA)


def test_the_vectors_of_a_query_grow_to_their_bound_in_all_and_no_further() -> None:
    smoker = Column("smoker")
    tall: Any = Moments(ball(361))
    for _ in range(3):
        tall = Signed(smoker, tall)
    assert VectorQuery(tall, SCHEMA).entries == 4 * 65_341 + 361 <= MOST_ENTRIES
    with pytest.raises(QueryRefused, match="262144 entries in all"):
        VectorQuery(Signed(smoker, tall), SCHEMA)


def hostile() -> dict[str, Any]:
    """The largest queries of every shape: each fills a bound."""
    smoker, half = Column("smoker"), Fraction(1, 2)
    deep: Any = Moments(ball(250))
    for _ in range(5):
        deep = Signed(smoker, deep)
    chosen = "smoker"
    for _ in range(MOST_DEPTH - 1):
        chosen = f"if ({chosen}) then married else smoker"
    digits = [f"1/{10**29 + 2 * i + 1}*x{i}" for i in range(900)]
    form = " + ".join(digits)
    return {
        "moments of a long vector": "moments(ball(" + ", ".join(["rate"] * 361) + "))",
        "as many entries as there may be": deep,
        "a wide vector": Ball((Number(half),) * (MOST_NODES - 1)),
        "many centres": "nearest(ball(rate), " + ", ".join(["[0.5]"] * 4000) + ")",
        "one long centre": "nearest(ball("
        + ", ".join(["rate"] * 2000)
        + "), ["
        + ", ".join(["1"] * 2000)
        + "])",
        "a long decision list": " else ".join(["if smoker then married"] * 1360) + " else smoker",
        "deep decision lists": chosen,
        "many rules of many values": "which(" + ", ".join(["age >= 65"] * 1360) + ")",
        "cells of cells": "cells(" * 30 + "smoker" + ")" * 30,
        "a form of long fractions": f"ball({form})",
        "a comparison of long fractions": f"{form} > 0.5",
        "a label of long fractions": f"moments(ball(x0), 0.001*smoker + {form})",
    }


LONG = Schema(
    {
        "smoker": BitDomain(),
        "married": BitDomain(),
        "age": IntegerDomain(0, 120),
        "rate": RealDomain(-1, 1),
        **{f"x{i}": IntegerDomain(-1, 1) for i in range(900)},
    }
)


def test_sums_of_long_fractions_are_cut_short_wherever_they_are_made() -> None:
    primes = [Fraction(1, 10**29 + 2 * i + 1) for i in range(900)]
    form = Linear(Fraction(0), tuple((value, f"x{i}") for i, value in enumerate(primes)))
    bounds = type_of(form, LONG)
    assert isinstance(bounds, NumberType)
    assert bounds.low <= -sum(primes[:20]) and bounds.high >= sum(primes[:20])
    assert max(bounds.low.denominator.bit_length(), bounds.high.denominator.bit_length()) <= 4097
    assert float(bounds.high) == pytest.approx(float(sum(map(float, primes))))
    assert _coprime_scale(primes) is None
    assert _coprime_scale([Fraction(2, 3), Fraction(-4, 5)]) == Fraction(15, 2)
    with pytest.raises(QueryRefused, match="denominators of this sum"):
        total([Number(value) for value in primes])
    with pytest.raises(QueryRefused, match="denominators of this sum"):
        total([Linear(Fraction(0), ((value, "x0"),)) for value in primes])


@pytest.mark.parametrize("name", hostile())
def test_the_largest_queries_are_checked_and_evaluated_in_bounded_time(name: str) -> None:
    query = hostile()[name]
    records = Records(LONG, {column: np.ones(32, np.int64) for column in LONG.names})
    before = time.process_time()
    checked = VectorQuery.parse(query, LONG) if isinstance(query, str) else VectorQuery(query, LONG)
    built = time.process_time()
    checked.evaluate(records)
    assert built - before < 2  # in fact a tenth of it; a slow machine is no failure
    assert time.process_time() - built < 2
    assert checked.expression.depth <= MOST_DEPTH
