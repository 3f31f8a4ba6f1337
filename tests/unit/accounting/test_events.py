"""Spending as data, and the reduction of (epsilon, delta) to randomized response."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import LARGEST, PrivacyEvent, exact_delta, merged, slack, sum_of_deltas
from localdp.errors import InvalidParameter

MILLIONTH = Fraction(1, 10**6)


def test_a_delta_is_the_number_that_was_typed() -> None:
    assert exact_delta(1e-6) == exact_delta("0.000001") == MILLIONTH
    assert exact_delta(0) == 0


@pytest.mark.parametrize("value", [1, -1e-9, math.nan, math.inf, "x", "1e-9999999", Fraction(3, 2)])
def test_what_is_no_delta_is_refused(value: float | str | Fraction) -> None:
    with pytest.raises(InvalidParameter):
        exact_delta(value)


@pytest.mark.parametrize(
    ("count", "delta"),
    [(-1, Fraction(0)), (True, Fraction(0)), (1.5, Fraction(0)), (1, Fraction(1)), (1, 0.1)],
)
def test_an_event_is_checked_when_it_is_made(count: int, delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        PrivacyEvent(Epsilon(1), count, delta)


def test_amounts_beyond_a_machine_word_are_refused() -> None:
    for epsilon, count in ((Epsilon(1), LARGEST + 1), (Epsilon(LARGEST + 1), 1)):
        with pytest.raises(InvalidParameter):
            PrivacyEvent(epsilon, count)


def test_equal_epsilons_are_put_together_and_empty_ones_left_out() -> None:
    events = [
        PrivacyEvent(Epsilon(2), 3),
        PrivacyEvent(Epsilon(1), 1),
        PrivacyEvent(Epsilon(2), 4),
        PrivacyEvent(Epsilon(5), 0),
        PrivacyEvent(Epsilon(0), 9),
    ]
    assert merged(events) == ((Epsilon(1), 1), (Epsilon(2), 7))


def test_pure_events_leave_delta_whole() -> None:
    assert slack([PrivacyEvent(Epsilon(1), 10**6)], MILLIONTH) == MILLIONTH
    assert slack([], MILLIONTH) == MILLIONTH


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.fractions(0, Fraction(1, 2), max_denominator=99)), max_size=4)
)
def test_the_slack_lies_between_the_sum_rule_and_the_exact_product(
    uses: list[tuple[int, Fraction]],
) -> None:
    events = [PrivacyEvent(Epsilon(1), count, delta) for count, delta in uses]
    kept = math.prod(((1 - event.delta) ** event.count for event in events), start=Fraction(1))
    delta = 1 - kept / 2
    left = slack(events, delta)
    assert delta - sum_of_deltas(events) <= left <= Fraction(1, 2)
    assert Fraction(1, 2) - left < Fraction(1, 10**20) / kept


def test_mechanisms_that_need_exactly_delta_leave_nothing_and_more_is_refused() -> None:
    events = [PrivacyEvent(Epsilon(1), 1, MILLIONTH)]
    assert slack(events, MILLIONTH) == 0
    with pytest.raises(InvalidParameter):
        slack(events, MILLIONTH / 2)
