"""Texts of queries mean the numbers that they were made of."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.algorithms.texts import conjunction, decimal, equals_label, point, rounded
from localdp.domains import BitDomain, CategoryDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.queries.statistical import StatisticalQuery


@given(st.floats(-1e12, 1e12))
def test_a_decimal_is_near_and_means_what_rounded_says(value: float) -> None:
    text = decimal(value)
    assert float(text) == rounded(value)
    assert abs(float(text) - value) <= 5e-10 + abs(value) * 1e-15
    assert "e" not in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (-0.0, "0"), (1e-12, "0"), (2, "2"), (1 / 3, "0.333333333")]
)
def test_decimals_are_short(value: float, text: str) -> None:
    assert decimal(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_only_finite_numbers_have_a_text(value: float) -> None:
    with pytest.raises(InvalidParameter):
        decimal(value)


def test_a_point_is_a_list_of_decimals() -> None:
    assert point(np.array([0.5, -1.0])) == "[0.5, -1]"


def test_a_label_with_quotes_is_asked_about_as_it_is() -> None:
    schema = Schema({"c": CategoryDomain(('say "no" \\', "b")), "x": BitDomain(), "z": BitDomain()})
    records = Records(schema, {"c": [0, 1, 0], "x": [1, 1, 0], "z": [0, 0, 0]})
    text = conjunction([equals_label("c", 'say "no" \\'), "x", "not z"])
    assert StatisticalQuery.parse(text, schema).evaluate(records).tolist() == [True, False, False]


def test_no_conditions_are_always_met() -> None:
    assert conjunction([]) == "true"
