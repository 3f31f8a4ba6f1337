"""Real functions rounded to one side."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import (
    epsilon_above,
    epsilon_below,
    exp_above,
    exp_below,
    log_above,
    log_below,
    power_below,
    sqrt_above,
)

TINY = Fraction(1, 10**35)


def decimal_of(function: str, x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction(getattr(Decimal(x.numerator) / x.denominator, function)())


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(2), Fraction(31, 7), Fraction(1, 10**9)])
def test_the_true_value_lies_on_the_stated_side_and_close(x: Fraction) -> None:
    assert 0 <= exp_above(x) - decimal_of("exp", x) < TINY * 10**3
    assert 0 <= decimal_of("exp", -x) - exp_below(-x) < TINY
    assert 0 <= log_above(x) - decimal_of("ln", x) < TINY
    assert 0 <= decimal_of("ln", x) - log_below(x) < TINY
    assert 0 < sqrt_above(x) - decimal_of("sqrt", x) < TINY


def test_far_exponents_are_cheap_and_still_on_the_right_side() -> None:
    assert exp_below(Fraction(-(10**9))) == 0 < exp_above(Fraction(-(10**9))) < TINY
    assert sqrt_above(Fraction(0)) == 0


@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=0, max_value=1, max_denominator=1000), st.integers(0, 50))
def test_a_power_is_never_above_the_true_one(x: Fraction, exponent: int) -> None:
    assert 0 <= x**exponent - power_below(x, exponent, 200) <= Fraction(200, 2**200)


def test_amounts_go_to_the_next_nanonat_on_their_side() -> None:
    assert (epsilon_below(Fraction(1, 3)), epsilon_above(Fraction(1, 3))) == (
        Epsilon(333_333_333),
        Epsilon(333_333_334),
    )
    assert epsilon_above(Fraction(-1)) == epsilon_below(Fraction(-1)) == Epsilon(0)
