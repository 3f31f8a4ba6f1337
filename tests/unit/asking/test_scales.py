"""A mean is asked on the scale of its bounds, and nothing is clipped."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.asking.scales import scaled
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import LocalDpError, QueryRefused

SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "age": IntegerDomain(18, 118),
        "bmi": RealDomain(10.0, 60.1),
        "unit": RealDomain(0.0, 1.0),
        "ward": CategoryDomain(("north", "south")),
    }
)
RECORDS = Records.from_columns(
    SCHEMA,
    {
        "smoker": np.array([True, False, True]),
        "age": np.array([18, 118, 40]),
        "bmi": np.array([10.0, 60.1, 33.3]),
        "unit": np.array([0.0, 1.0, 0.25]),
        "ward": np.array([0, 1, 1]),
    },
)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("smoker", 0, 1),
        ("age", 18, 118),
        ("bmi", 10, 60.1),
        ("unit", 0, 1),
        ("age/10", 1.8, 11.8),
        ("2*age - bmi", -24.1, 226),
        ("3 - unit", 2, 3),
        ("age + smoker", 18, 119),
    ],
)
def test_the_mean_comes_back_on_its_own_scale(text: str, low: float, high: float) -> None:
    scale = scaled(text, SCHEMA)
    columns = {name: RECORDS.column(name).astype(float) for name in ("smoker", "age", "bmi", "unit")}
    truth = eval(text, {}, columns)  # noqa: S307
    assert (scale.low, scale.high) == pytest.approx((low, high))
    assert scale.low + scale.width * scale.query.evaluate(RECORDS) == pytest.approx(truth)


def test_what_is_clipped_by_hand_is_told_between_where_it_is_clipped() -> None:
    scale = scaled("clip((age - 20)/50)", SCHEMA)
    assert (scale.low, scale.high) == (20.0, 70.0)
    several = scaled("clip(age/200 + bmi/200)", SCHEMA)
    assert (several.low, several.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    "text", ["ward", "nobody", "age >= 65", "if smoker then 0.5 else 1", "3", "age - age"]
)
def test_what_is_no_number_of_people_is_refused(text: str) -> None:
    with pytest.raises(LocalDpError):
        scaled(text, SCHEMA)


def test_a_category_is_sent_to_its_histogram() -> None:
    with pytest.raises(QueryRefused, match="ask for its histogram"):
        scaled("ward", SCHEMA)


def test_a_number_that_no_column_moves_is_refused_however_it_is_clipped() -> None:
    for text in ("0*bmi + 0.5", "clip(0*bmi + 0.5)"):
        with pytest.raises(QueryRefused, match="same for everybody"):
            scaled(text, SCHEMA)
