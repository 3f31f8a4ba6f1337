"""Statistical queries as objects: equality, columns, encoding, and the records they accept."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from localdp.domains import BitDomain, IntegerDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries import StatisticalQuery, check, parse

SCHEMA = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 120)})
RECORDS = Records(SCHEMA, {"smoker": [True, False, True], "age": [30, 65, 120]})


def query(text: str) -> StatisticalQuery:
    return StatisticalQuery.parse(text, SCHEMA)


def test_a_query_knows_its_kind_columns_and_text() -> None:
    asked = query("smoker and (age>=65)")
    assert asked.kind == "bit"
    assert asked.columns == frozenset({"smoker", "age"})
    assert asked.text == "smoker and age >= 65"
    assert str(asked) == asked.text
    assert query("clip(age/120)").kind == "unit"


def test_queries_are_equal_when_expression_and_schema_are() -> None:
    assert query("age>1") == check(parse("(age > 1.0)"), SCHEMA)
    assert len({query("age>1"), query("age > 1"), query("age > 2")}) == 2
    assert query("smoker") != StatisticalQuery.parse("smoker", Schema({"smoker": BitDomain()}))


def test_a_query_cannot_be_changed_or_built_ill_typed() -> None:
    asked: Any = query("smoker")
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.kind = "unit"
    with pytest.raises(QueryRefused):
        dataclasses.replace(asked, expression=parse("age"))


def test_records_of_another_schema_are_refused() -> None:
    other = Schema({"smoker": BitDomain(), "age": IntegerDomain(0, 121)})
    with pytest.raises(QueryRefused, match="another schema"):
        query("smoker").evaluate(Records(other, {"smoker": [True], "age": [1]}))


@pytest.mark.parametrize(
    ("text", "resolution", "expected"),
    [
        ("smoker", 1, [1, 0, 1]),
        ("smoker", 1000, [1000, 0, 1000]),
        ("smoker", 2**52, [2**52, 0, 2**52]),
        ("clip(age/120)", 120, [30, 65, 120]),
        ("clip(age/60 - 1)", 10, [0, 1, 10]),
        ("clip(1/3)", 2**52, [1501199875790165] * 3),
        ("clip(0.5)", 1, [0, 0, 0]),
        ("clip(-5)", 7, [0, 0, 0]),
        ("clip(5)", 7, [7, 7, 7]),
    ],
)
def test_values_are_encoded_on_the_grid(text: str, resolution: int, expected: list[int]) -> None:
    encoded = query(text).encode(RECORDS, resolution)
    assert encoded.dtype == np.int64
    assert encoded.tolist() == expected


@pytest.mark.parametrize("resolution", [0, -1, 2**52 + 1, 1.5, "3"])
def test_a_resolution_out_of_bounds_is_refused(resolution: Any) -> None:
    with pytest.raises(InvalidParameter, match="resolution"):
        query("smoker").encode(RECORDS, resolution)
