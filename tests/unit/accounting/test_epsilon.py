"""Epsilon as an exact number."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, NANONATS_PER_NAT, Epsilon
from localdp.errors import InvalidParameter


def test_a_tenth_added_three_times_is_three_tenths() -> None:
    tenth = Epsilon.requested(0.1)
    assert tenth + tenth + tenth == Epsilon.requested("0.3") == tenth * 3


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        1e9,
        30.1,
        1e-12,
        "1e999999999",
        "abc",
        "",
        "1e-999999999",
    ],
)
def test_what_is_no_epsilon_is_refused_at_once(value: float | str) -> None:
    with pytest.raises(InvalidParameter):
        Epsilon.requested(value)


@pytest.mark.parametrize(
    "value", [1, 1.0, "1", "1.000", Decimal(1), Fraction(1), Epsilon(NANONATS_PER_NAT)]
)
def test_the_same_epsilon_can_be_written_in_many_ways(value: float | str) -> None:
    assert Epsilon.requested(value) == Epsilon(NANONATS_PER_NAT)


def test_what_is_asked_for_is_rounded_down_to_the_grid() -> None:
    assert Epsilon.requested(Fraction(1, 3)).nanonats == 333_333_333
    assert Epsilon.requested("0.0000000019").nanonats == 1


@given(st.fractions(min_value=1, max_value=10**12))
def test_what_a_law_has_is_rounded_up_by_less_than_two_steps(ratio: Fraction) -> None:
    epsilon = Epsilon.of_ratio(ratio)
    assert float(epsilon) >= math.log(ratio) * (1 - 1e-15)
    assert float(epsilon) - math.log(ratio) < 2 / NANONATS_PER_NAT + 1e-13


def test_two_coin_randomized_response_has_epsilon_log_three() -> None:
    assert str(Epsilon.of_ratio(Fraction(3, 1))) == "1.098612289"
    assert Epsilon.of_ratio(Fraction(1)) == Epsilon.of_ratio(Fraction(1, 2)) == Epsilon(0)


@given(st.integers(1, LARGEST_EPSILON_NATS * NANONATS_PER_NAT), st.integers(1, 1000))
def test_the_parts_of_an_epsilon_never_add_up_to_more(nanonats: int, parts: int) -> None:
    part = Epsilon(nanonats).divided_by(parts)
    assert part * parts <= Epsilon(nanonats) < part * parts + Epsilon(parts)


@pytest.mark.parametrize("nanonats", [-1, 1.5, True])
def test_an_amount_is_a_whole_number_and_not_negative(nanonats: int) -> None:
    with pytest.raises(InvalidParameter):
        Epsilon(nanonats)


def test_an_epsilon_shows_itself_in_nats() -> None:
    assert repr({Epsilon.requested("2"): 4000}) == "{Epsilon(2 nats): 4000}"
    assert repr(Epsilon.requested("0.000000001")) == "Epsilon(0.000000001 nats)"
