"""The static types: which queries a schema admits, and why the others are refused."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import QueryRefused
from localdp.queries import StatisticalQuery, check, parse
from localdp.queries.checking import type_of
from localdp.queries.expressions import Column, Member, Or
from localdp.queries.kinds import NumberType

SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "married": BitDomain(),
        "age": IntegerDomain(0, 120),
        "debt": IntegerDomain(-10, 10),
        "bmi": RealDomain(0, 100),
        "huge": RealDomain(-1.5e308, 1.5e308),
        "city": CategoryDomain(("Paris", "Rome")),
        "born": CategoryDomain(("Paris", "Rome")),
        "job": CategoryDomain(("none", "cook")),
    }
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("smoker", "bit"),
        ("true", "bit"),
        ("smoker and not married", "bit"),
        ("smoker == true", "bit"),
        ("smoker != married", "bit"),
        ("smoker == 1", "bit"),
        ("smoker + married >= 1", "bit"),
        ("age > bmi", "bit"),
        ("2*age + bmi - smoker > 100", "bit"),
        ('"Paris" == city', "bit"),
        ("city == born", "bit"),
        ('city in {"Rome", "Paris"}', "bit"),
        ("1 < 2", "bit"),
        ("huge > 1", "bit"),
        ("clip(0.01*age)", "unit"),
        ("clip(smoker)", "unit"),
        ("clip(0.5)", "unit"),
    ],
)
def test_a_well_typed_query_has_a_kind(text: str, kind: str) -> None:
    assert check(parse(text), SCHEMA).kind == kind


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("smokr", "no column 'smokr'; did you mean 'smoker'"),
        ("zzz > 1", "no column 'zzz'$"),
        ("0*zzz > 1", "no column 'zzz'"),
        ("age", "is a number: compare it, or clip"),
        ("2*age + 1", "is a number: compare it, or clip"),
        ("0.5", "is a number: compare it, or clip"),
        ("city", "is a category of 2 labels"),
        ('"Paris"', "is a label"),
        ("age and smoker", "`age` is not true or false"),
        ("not city", "`city` is not true or false"),
        ('city < "Paris"', "only numbers are ordered"),
        ("smoker < married", "only numbers are ordered"),
        ("city + 1 > 2", "no arithmetic"),
        ("clip(city)", "no arithmetic"),
        ("city == 1", "compares a category of 2 labels with a number"),
        ('age == "Paris"', "compares a number with a label"),
        ('"a" == "a"', "compares a label with a label"),
        ("city == job", "compares a category"),
        ("city == smoker", "with a bit"),
        ('city == "Pariss"', "no label 'Pariss' in that category; did you mean 'Paris'"),
        ('city in {"Paris", "x"}', "no label 'x'"),
        ('age in {"Paris"}', "`in` needs a category"),
        ("clip(2*huge)", "too large for a double"),
        ("2*huge > 1", "too large for a double"),
    ],
)
def test_an_ill_typed_query_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryRefused, match=reason):
        StatisticalQuery.parse(text, SCHEMA)


def test_a_number_carries_the_interval_that_the_schema_implies() -> None:
    form = parse("2*age - 1/2*debt + smoker - 3")
    assert type_of(form, SCHEMA) == NumberType(Fraction(-8), Fraction(243))


def test_a_tree_whose_text_would_be_too_long_is_refused() -> None:
    long = Member("city", ("x" * 256,) * 257)
    with pytest.raises(QueryRefused, match="canonical text"):
        check(long, SCHEMA)


@pytest.mark.parametrize("expression", ["smoker", None, 1])
def test_what_is_not_an_expression_is_refused(expression: object) -> None:
    with pytest.raises(QueryRefused, match="parse its text"):
        check(expression, SCHEMA)  # type: ignore[arg-type]


def test_refusing_a_label_of_the_largest_category_takes_bounded_work() -> None:
    wide = Schema({"c": CategoryDomain(tuple(f"label {i:09d}" for i in range(65_536)))})
    labels = ("label 000000001",) * 170
    before = time.perf_counter()
    with pytest.raises(QueryRefused, match="no label"):
        check(Or((Member("c", labels), Member("c", ("label x" + "0" * 240,)))), wide)
    assert time.perf_counter() - before < 2


def test_a_long_query_is_not_quoted_in_full() -> None:
    with pytest.raises(QueryRefused) as refusal:
        check(parse(" + ".join(["age"] * 300 + ["bmi"] + [f"x{i}" for i in range(100)])), SCHEMA)
    assert len(str(refusal.value)) < 200
    assert Column("age") == parse("age")
