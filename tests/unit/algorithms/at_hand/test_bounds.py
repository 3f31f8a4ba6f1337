"""Public bounds: in which forms they are said, and when data do not fit them."""

from typing import Any

import numpy as np
import pytest

from localdp.algorithms.at_hand.bounds import bounds_by_column, domain_of
from localdp.algorithms.at_hand.columns import read_columns
from localdp.domains import RealDomain
from localdp.errors import InvalidParameter

READ = read_columns({"body mass": [1.0], "age": [2.0]})
NAMES = ("x0", "age")


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (None, [None, None]),
        ((0, 100), [(0.0, 100.0), (0.0, 100.0)]),
        ([0, 100], [(0.0, 100.0), (0.0, 100.0)]),
        ([(0, 1), (0, 100)], [(0.0, 1.0), (0.0, 100.0)]),
        (np.array([[0, 1], [0, 100]]), [(0.0, 1.0), (0.0, 100.0)]),
        ({"age": (0, 100)}, [None, (0.0, 100.0)]),
        ({"body mass": (0, 1), "age": (0, 100)}, [(0.0, 1.0), (0.0, 100.0)]),
        ({"x0": (0, 1)}, [(0.0, 1.0), None]),
    ],
)
def test_bounds_are_one_pair_or_one_for_each_feature_or_by_name(bounds: Any, expected: list[Any]) -> None:
    assert bounds_by_column(bounds, READ, NAMES) == expected


@pytest.mark.parametrize(
    "bounds",
    [
        3,
        "ab",
        (1, 0),
        (0, np.inf),
        (0, np.nan),
        (0, 1, 2),
        [(0, 1)],
        [(0, 1), (0, 1), (0, 1)],
        {"age": 3},
        {"agee": (0, 1)},
        {"age": (0, "old")},
    ],
)
def test_what_is_no_bounds_is_refused(bounds: Any) -> None:
    with pytest.raises(InvalidParameter):
        bounds_by_column(bounds, READ, NAMES)


def test_a_misspelt_name_is_told() -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'age'"):
        bounds_by_column({"agee": (0, 1)}, READ, NAMES)


AGES = np.arange(101.0)


def test_bounds_that_fit_are_the_domain_and_nothing_is_clipped() -> None:
    assert domain_of(AGES, (0.0, 120.0), "column 'age'", "bounds", own=False) == RealDomain(0, 120)
    assert domain_of(AGES, (0.0, 120.0), "column 'age'", "bounds", own=True) == RealDomain(0, 120)


@pytest.mark.parametrize("own", [False, True])
def test_bounds_that_do_not_fit_are_refused_with_the_column_the_share_and_what_to_do(own: bool) -> None:
    with pytest.raises(InvalidParameter, match=r"99 % of column 'age' lies outside") as refused:
        domain_of(AGES, (-1.0, 1.0), "column 'age'", "bounds", own=own)
    assert "Nothing was spent" in str(refused.value) and "np.clip(values, -1, 1)" in str(refused.value)


def test_one_person_outside_is_not_rounded_away() -> None:
    many = np.append(np.zeros(100_000), 2.0)
    with pytest.raises(InvalidParameter, match="1 % of"):
        domain_of(many, (0.0, 1.0), "y", "target_bounds", own=False)


def test_bounds_that_are_missing_are_those_of_the_data_or_refused() -> None:
    assert domain_of(AGES, None, "column 'age'", "bounds", own=True) == RealDomain(0, 100)
    assert domain_of(np.full(3, 7.0), None, "column 'age'", "bounds", own=True) == RealDomain(6.5, 7.5)
    with pytest.raises(InvalidParameter, match="column 'age' has no bounds"):
        domain_of(AGES, None, "column 'age'", "bounds", own=False)
