"""Public units of features: what is written in a query is what is computed for predictions."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from localdp.algorithms.learners.scaling import Scaling, bounds_of, called, factor_of, short
from localdp.algorithms.texts import decimal
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.queries.vector_query import VectorQuery

Make = Callable[[Schema, Sequence[str], float | None], Scaling]
SCHEMA = Schema(
    {
        "age": IntegerDomain(18, 90),
        "income": RealDomain(0.0, 1e6),
        "smoker": BitDomain(),
        "kind": CategoryDomain(("a", "b")),
    }
)
NAMES = ("age", "income", "smoker")
PEOPLE = Records(
    SCHEMA,
    {
        "age": [18, 54, 90, 90],
        "income": [0.0, 5e5, 1e6, 123456.0],
        "smoker": [False, True, True, False],
        "kind": [0, 1, 0, 1],
    },
)


@pytest.mark.parametrize("make", [Scaling.each, Scaling.common])
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_the_forms_of_a_query_are_the_units_of_a_prediction(make: Make, factor: float) -> None:
    scaling = make(SCHEMA, NAMES, None)
    asked = VectorQuery.parse(called("ball", scaling.forms(factor)), SCHEMA).evaluate(PEOPLE)
    np.testing.assert_allclose(asked, factor * scaling.units(PEOPLE), atol=1e-9)


@pytest.mark.parametrize("make", [Scaling.each, Scaling.common])
def test_without_a_radius_the_corners_of_the_schema_are_just_within_the_ball(make: Make) -> None:
    scaling = make(SCHEMA, NAMES, None)
    corners: dict[str, list[float]] = {"age": [18, 90], "income": [0.0, 1e6], "smoker": [0, 1]}
    assert np.linalg.norm(scaling.units(corners), axis=1) == pytest.approx([1, 1], abs=1e-8)


def test_each_feature_has_its_own_unit_or_all_have_the_same() -> None:
    each = Scaling.each(SCHEMA, NAMES, 2.0)
    assert each.widths == pytest.approx([72.0, 1e6, 1.0]) and each.centres.tolist() == [54.0, 5e5, 0.5]
    assert Scaling.common(SCHEMA, NAMES, 2.0).widths.tolist() == [2.0, 2.0, 2.0]


def test_a_linear_form_in_units_is_one_in_the_columns() -> None:
    scaling = Scaling.each(SCHEMA, NAMES, 0.5)
    weights, constant = np.array([0.3, -2.0, 1.5]), 0.7
    coefficients, intercept = scaling.in_columns(weights, constant)
    columns = np.column_stack([PEOPLE.column(name) for name in NAMES]).astype(float)
    np.testing.assert_allclose(
        columns @ coefficients + intercept, scaling.units(PEOPLE) @ weights + constant, atol=1e-9
    )


@pytest.mark.parametrize("radius", [0.0, -1.0, 1e-13, math.nan, math.inf])
def test_a_radius_that_is_no_length_is_refused(radius: float) -> None:
    with pytest.raises(InvalidParameter, match="radius"):
        Scaling.common(SCHEMA, NAMES, radius)


def test_factors_are_short_decimals_that_lengthen_nobody() -> None:
    for part in (0.1, 0.25, 0.5, 0.8, 1.0):
        factor = factor_of(part)
        assert float(decimal(factor)) == factor and 0 <= part - factor**2 < 3e-9


@pytest.mark.parametrize("value", [0.0, 1e-30, 1.23456789123e-12, -1 / 3, 0.1, 1.0, 123456.7891234, -1e9])
def test_short_numbers_are_close_and_have_few_digits(value: float) -> None:
    text = short(value)
    assert float(text) == pytest.approx(value, rel=1e-8, abs=1e-20)
    assert len(text) <= 24 and "e" not in text


def test_a_form_of_many_columns_of_odd_ranges_is_a_query() -> None:
    ranges = [(0.1 * 7**place, 1.3 * 7**place + abs(place) / 3) for place in range(-9, 9)]
    schema = Schema({f"c{place}": RealDomain(low, high) for place, (low, high) in enumerate(ranges)})
    scaling = Scaling.each(schema, schema.names, 1.7)
    form = " + ".join(scaling.terms(np.random.default_rng(1).normal(size=18) ** 9))
    assert VectorQuery.parse(f"signed({form} <= {scaling.forms()[3]}, ball({form}))", schema).length == 1


def test_a_column_without_numbers_is_refused_by_name() -> None:
    with pytest.raises(InvalidParameter, match="'kind' holds no numbers"):
        bounds_of(SCHEMA, ("age", "kind"))
