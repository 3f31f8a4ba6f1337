"""The smallest of all bounds, and the table of known numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.accountant import (
    Bound,
    Method,
    bounds,
    largest_epsilon_each,
    parallel_epsilon,
    total_epsilon,
)
from localdp.accounting.composition import epsilon_each_by_corollary
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import LARGEST, PrivacyEvent, exact_delta
from localdp.errors import InvalidParameter
from tests.unit.accounting.product_law import delta_of, nats

MILLIONTH = Fraction(1, 10**6)
E_TO_MINUS_32 = exact_delta(math.exp(-32))
SIX = tuple(method for method in Method if method is not Method.CONVOLUTION)


@pytest.mark.parametrize(
    ("epsilon", "count", "values"),
    [
        ("0.1", 100, ("10", "6.308", "5.756", "5.219", "5.073", "4.775")),
        ("0.1", 1000, ("100", "27.14", "21.62", "20.54", "20.45", "19.34")),
        ("0.01", 10**4, ("100", "6.262", "5.757", "5.222", "5.220", "4.886")),
        ("1", 10, ("10", "33.81", "21.24", "19.55", "10.000", "10.000")),
    ],
)
def test_the_table_of_equal_mechanisms_at_one_in_a_million(
    epsilon: str, count: int, values: tuple[str, ...]
) -> None:
    found = bounds([PrivacyEvent(nats(epsilon), count)], MILLIONTH, SIX)
    assert [bound.method for bound in found] == list(SIX)
    for bound, value in zip(found, values, strict=True):
        places = len(value.partition(".")[2])
        assert f"{float(bound.epsilon):.{places}f}" == value


def test_the_table_of_unequal_mechanisms() -> None:
    events = [PrivacyEvent(nats("0.1"), 50), PrivacyEvent(nats("0.5"), 5)]
    found = {bound.method: round(float(bound.epsilon), 3) for bound in bounds(events, MILLIONTH)}
    assert found == {
        Method.BASIC: 7.5,
        Method.ADVANCED: 9.101,
        Method.ADVANCED_TIGHT: 7.816,
        Method.CONCENTRATED: 7.127,
        Method.RENYI: 5.541,
        Method.CONVOLUTION: 5.328,
    }
    assert total_epsilon(events, MILLIONTH).method is Method.CONVOLUTION


def test_example_3_7_by_every_method() -> None:
    found = bounds([PrivacyEvent(Epsilon(10**9 // 801), 10_000)], E_TO_MINUS_32, SIX)
    assert [round(float(bound.epsilon), 5) for bound in found] == [
        12.48439,
        1.01435,
        1.00654,
        0.92366,
        0.92321,
        0.89047,
    ]


@pytest.mark.parametrize(
    ("method", "inverse"),
    [
        (Method.ADVANCED, 812.3),
        (Method.ADVANCED_TIGHT, 806.2),
        (Method.OPTIMAL, 715.5),
        (Method.BASIC, 10_000.0),
    ],
)
def test_the_largest_epsilon_of_ten_thousand_databases(method: Method, inverse: float) -> None:
    each = largest_epsilon_each(nats(1), 10_000, E_TO_MINUS_32, [method])
    assert round(1 / float(each), 1) == inverse
    (spent,), (more,) = (
        bounds([PrivacyEvent(Epsilon(each.nanonats + extra), 10_000)], E_TO_MINUS_32, [method])
        for extra in (0, 1)
    )
    assert spent.epsilon <= nats(1) < more.epsilon


def test_all_methods_together_allow_what_the_best_allows_and_the_corollary_far_less() -> None:
    best = largest_epsilon_each(nats(1), 10_000, E_TO_MINUS_32)
    assert best == largest_epsilon_each(nats(1), 10_000, E_TO_MINUS_32, [Method.OPTIMAL])
    corollary = epsilon_each_by_corollary(nats("0.999999999"), 10_000, E_TO_MINUS_32)
    assert round(1 / float(corollary)) == 1600
    assert float(best) / float(corollary) > 2.2


def test_two_coin_randomized_response_costs_log_three() -> None:
    assert total_epsilon([PrivacyEvent(Epsilon.of_ratio(Fraction(3)))]) == Bound(
        Epsilon(1_098_612_289), Fraction(0), Method.BASIC
    )


USES = st.lists(
    st.tuples(st.sampled_from([10**6, 2 * 10**6, 6 * 10**6, 20 * 10**6]), st.integers(0, 300)),
    min_size=0,
    max_size=3,
)


@settings(max_examples=20, deadline=None)
@given(USES, st.sampled_from([0, 1e-30, 1e-6, 0.01, 0.9]))
def test_the_total_is_the_least_of_all_bounds_and_does_not_depend_on_the_order(
    uses: list[tuple[int, int]], delta: float
) -> None:
    events = [PrivacyEvent(Epsilon(nanonats), count) for nanonats, count in uses]
    total = total_epsilon(events, delta)
    found = bounds(events, delta)
    assert total in found and all(total.epsilon <= bound.epsilon for bound in found)
    assert total == total_epsilon(events[::-1], delta)
    if delta == 0:
        assert total.method is Method.BASIC


@settings(max_examples=20, deadline=None)
@given(USES, st.sampled_from([1e-30, 1e-6, 0.01]))
def test_spending_more_or_promising_a_smaller_delta_never_costs_less(
    uses: list[tuple[int, int]], delta: float
) -> None:
    # One grid of 0.1 holds all losses, so that convolution rounds nothing; two nanonats are for the last digits.
    events = [PrivacyEvent(Epsilon(50 * nanonats), count) for nanonats, count in uses]
    total = total_epsilon(events, delta).epsilon
    rounding = Epsilon(2)
    assert total <= total_epsilon([*events, PrivacyEvent(nats("0.1"))], delta).epsilon + rounding
    assert total <= total_epsilon(events, delta / 10).epsilon + rounding


@pytest.mark.parametrize("delta", [0, 1e-300, 1e-6, 0.5])
def test_nothing_spent_costs_nothing(delta: float) -> None:
    for events in ([], [PrivacyEvent(nats(1), 0)], [PrivacyEvent(Epsilon(0), 10**9)]):
        assert total_epsilon(events, delta) == Bound(Epsilon(0), exact_delta(delta), Method.BASIC)


def test_one_use_at_a_tiny_delta_costs_its_epsilon() -> None:
    assert total_epsilon([PrivacyEvent(nats(1))], 1e-300) == Bound(
        nats(1), exact_delta(1e-300), Method.BASIC
    )


def test_a_number_of_uses_beyond_every_window_still_has_a_bound() -> None:
    total = total_epsilon([PrivacyEvent(nats("0.0001"), 10**9)], MILLIONTH)
    assert total.method is Method.RENYI
    assert 20 < float(total.epsilon) < 25


@pytest.mark.parametrize("delta", [0, 1e-300, 1e-6, 0.999])
@pytest.mark.parametrize(("nanonats", "count"), [(LARGEST, LARGEST), (LARGEST, 1), (1, LARGEST), (1, 1)])
def test_the_largest_and_the_smallest_amounts_have_a_total(nanonats: int, count: int, delta: float) -> None:
    event = PrivacyEvent(Epsilon(nanonats), count)
    assert total_epsilon([event], delta).epsilon <= event.epsilon * count
    assert total_epsilon([event, PrivacyEvent(nats(1))], delta).epsilon <= event.epsilon * count + nats(1)


def test_leaky_mechanisms_leave_less_delta_for_the_rest() -> None:
    pure = total_epsilon([PrivacyEvent(nats("0.1"), 100)], MILLIONTH).epsilon
    leaky = total_epsilon([PrivacyEvent(nats("0.1"), 100, Fraction(1, 10**9))], MILLIONTH).epsilon
    nearly = total_epsilon([PrivacyEvent(nats("0.1"), 100)], Fraction(9, 10**7)).epsilon
    assert pure < leaky <= nearly
    assert float(nearly) - float(leaky) < 1e-6
    assert (
        total_epsilon([PrivacyEvent(nats("0.1"), 100, Fraction(1, 10**8))], MILLIONTH).method
        is not Method.ADVANCED
    )
    with pytest.raises(InvalidParameter):
        total_epsilon([PrivacyEvent(nats("0.1"), 100, Fraction(1, 10**7))], MILLIONTH)


def test_two_leaky_randomized_responses_outcome_by_outcome() -> None:
    epsilon, leak, delta = nats(1), Fraction(1, 100), Fraction(1, 10)
    total = total_epsilon([PrivacyEvent(epsilon, 2, leak)], delta).epsilon
    kept = (1 - leak) ** 2  # with the rest of the probability one of them tells everything
    exact = 1 - kept + kept * delta_of([epsilon] * 2, total.exact)
    assert delta * (1 - Fraction(1, 10**8)) < exact <= delta * (1 + Fraction(1, 10**30))


def test_fresh_people_cost_the_largest_of_their_totals() -> None:
    rounds = [[PrivacyEvent(nats(1))], [PrivacyEvent(nats("0.1"), 100)], []]
    assert parallel_epsilon(rounds, MILLIONTH) == total_epsilon(rounds[1], MILLIONTH)
    assert parallel_epsilon([], MILLIONTH).epsilon == Epsilon(0)


def test_a_budget_is_not_divided_among_nobody() -> None:
    with pytest.raises(InvalidParameter):
        largest_epsilon_each(nats(1), 0)
