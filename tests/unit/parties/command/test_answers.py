"""A share is told as people, a mean as a mean, and on the scale of the column that it is about."""

from fractions import Fraction

import pytest

from localdp.domains import BitDomain, RealDomain, Schema
from localdp.oracles.definition import Answer
from parties.command.answers import answer_rows, scale_of

SCHEMA = Schema({"smoker": BitDomain(), "systolic": RealDomain(60, 250), "age": RealDomain(0, 120)})


def told(query: str, value: float, variance: float) -> dict[str, str]:
    return dict(answer_rows(Answer(query, value, 3000, 3000, variance, variance), SCHEMA))


def test_a_condition_is_told_as_a_share_and_a_number_of_people() -> None:
    assert told("smoker", 0.25, 1e-4) == {
        "share of people": "0.25 ± 0.01",
        "number of people": "750.0 ± 30.0 of 3,000",
    }


def test_a_clipped_column_is_told_as_a_mean_on_its_own_scale() -> None:
    assert told("clip((systolic - 60) / 190)", 0.5, 1e-4) == {
        "mean": "0.5 ± 0.01",
        "mean of systolic": "155 ± 1.9 (between 60 and 250)",
        "people": "3,000",
    }


def test_a_scale_that_runs_backwards_has_a_positive_error() -> None:
    assert told("clip(1 - age / 100)", 0.75, 1e-4)["mean of age"] == "25 ± 1 (between 0 and 100)"


def test_a_mixture_of_columns_has_no_scale_of_its_own() -> None:
    assert told("clip(age / 200 + systolic / 500)", 0.5, 1e-4) == {"mean": "0.5 ± 0.01", "people": "3,000"}


@pytest.mark.parametrize(
    ("query", "scale"),
    [
        ("clip(age)", ("age", Fraction(1), Fraction(0))),
        ("clip(0.01 * age)", ("age", Fraction(1, 100), Fraction(0))),
        ("smoker", None),
        ("age >= 65", None),
    ],
)
def test_the_scale_of_a_query_is_read_off_its_text(
    query: str, scale: tuple[str, Fraction, Fraction] | None
) -> None:
    assert scale_of(query) == scale
