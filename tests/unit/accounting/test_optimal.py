"""Optimal composition of equal mechanisms."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.binomial_window import binomial_window
from localdp.accounting.composition import advanced_tight, basic
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent, exact_delta
from localdp.accounting.optimal import Bracket, homogeneous
from localdp.accounting.renyi import renyi
from tests.unit.accounting.product_law import NEARLY_ONE, exponential, is_enclosed, nats

MILLIONTH = Fraction(1, 10**6)
DELTAS = st.one_of(
    st.fractions(Fraction(1, 10**6), Fraction(99, 100)),
    st.integers(1, 200).map(lambda n: Fraction(1, 10**n)),
)


def solved(epsilon: Epsilon, count: int, delta: Fraction) -> Bracket:
    bracket = homogeneous(epsilon, count, delta)
    assert bracket is not None
    return bracket


def delta_of_count(epsilon: Epsilon, count: int, total: Fraction) -> Fraction:
    """The closed form of the theorem, with rationals."""
    odds, scale = exponential(epsilon.exact), exponential(total)
    terms = (
        math.comb(count, lies) * max(Fraction(0), odds ** (count - lies) - scale * odds**lies)
        for lies in range(count + 1)
    )
    return sum(terms, Fraction(0)) / (1 + odds) ** count


@pytest.mark.parametrize(
    ("epsilon", "count"), [("0.1", 60), ("2", 50), ("0.000001", 40), ("20", 9), ("1", 1)]
)
def test_the_weights_enclose_the_binomial_law(epsilon: str, count: int) -> None:
    window, odds = binomial_window(nats(epsilon), count, 20), exponential(nats(epsilon).exact)
    mode = min(count, int((count + 1) / (1 + math.exp(float(epsilon)))))
    unit = Fraction(2**window.precision) / (math.comb(count, mode) * odds ** (count - mode))
    true = [math.comb(count, lies) * odds ** (count - lies) * unit for lies in range(count + 1)]
    last = window.first + len(window.weights)
    for (low, high), weight in zip(window.weights, true[window.first : last], strict=True):
        assert low <= weight * NEARLY_ONE and weight <= high * NEARLY_ONE
        assert high - low <= 2 + (high >> 60)
    assert sum(true[: window.first]) <= window.below * NEARLY_ONE
    assert sum(true[last:]) <= window.beyond * NEARLY_ONE
    assert window.total[0] <= sum(true) * NEARLY_ONE and sum(true) <= window.total[1] * NEARLY_ONE


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5 * 10**9), st.integers(1, 6), DELTAS)
def test_the_bracket_holds_the_total_of_the_full_product_law(
    nanonats: int, count: int, delta: Fraction
) -> None:
    epsilon = Epsilon(nanonats)
    bracket = solved(epsilon, count, delta)
    assert is_enclosed([epsilon] * count, delta, bracket.low, bracket.high)
    assert bracket.high.nanonats - bracket.low.nanonats <= 2


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 2 * 10**9), st.integers(1, 60), DELTAS)
def test_the_bracket_holds_the_total_of_the_closed_form(nanonats: int, count: int, delta: Fraction) -> None:
    bracket = solved(Epsilon(nanonats), count, delta)
    assert delta_of_count(Epsilon(nanonats), count, bracket.high.exact) <= delta * NEARLY_ONE
    below = delta_of_count(Epsilon(nanonats), count, bracket.low.exact) * NEARLY_ONE
    assert bracket.low.nanonats == 0 or below >= delta


@pytest.mark.parametrize(
    ("epsilon", "count", "total", "places"),
    [
        ("0.01", 100, 0.3923, 4),
        ("0.01", 10**4, 4.886, 3),
        ("0.1", 100, 4.775, 3),
        ("0.1", 1000, 19.345, 3),
        ("0.5", 100, 33.320, 3),
        ("1", 1000, 591.08, 2),
        ("1", 10**4, 5038.0, 1),
        ("1", 10, 10.000, 3),
    ],
)
def test_known_totals_at_one_in_a_million(epsilon: str, count: int, total: float, places: int) -> None:
    bracket = solved(nats(epsilon), count, MILLIONTH)
    assert round(float(bracket.high), places) == total
    assert bracket.high.nanonats - bracket.low.nanonats <= 2


@pytest.mark.parametrize(
    ("epsilon", "count", "just_above"),
    [("0.1", 100, 4.8), ("0.5", 100, 34), ("1", 10, 10), ("0.01", 100, 0.4)],
)
def test_the_total_rounds_up_to_the_breakpoint_that_others_report(
    epsilon: str, count: int, just_above: float
) -> None:
    # dp-accounting 0.6.0, pld.accountant.advanced_composition(., ., 1e-6): the source's theorem, breakpoints only.
    step, high = 2 * float(epsilon), float(solved(nats(epsilon), count, MILLIONTH).high)
    assert just_above - step < high <= just_above


def test_example_3_7_is_within_one() -> None:
    bracket = solved(Epsilon(10**9 // 801), 10_000, exact_delta(math.exp(-32)))
    assert round(float(bracket.high), 5) == 0.89047
    assert bracket.high < nats(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10**9), st.integers(1, 2000), DELTAS)
def test_more_is_never_cheaper_and_no_other_bound_is_smaller(
    nanonats: int, count: int, delta: Fraction
) -> None:
    epsilon, events = Epsilon(nanonats), [PrivacyEvent(Epsilon(nanonats), count)]
    bracket = solved(epsilon, count, delta)
    assert bracket.low <= solved(epsilon, count + 1, delta).high
    assert bracket.low <= solved(Epsilon(nanonats + 10**6), count, delta).high
    assert bracket.low <= solved(epsilon, count, delta / 2).high
    others = (basic(events), advanced_tight(events, delta), renyi(events, delta))
    assert all(other is not None and bracket.low <= other for other in others)
    assert bracket.high <= basic(events)


def test_edges() -> None:
    assert solved(nats(1), 0, MILLIONTH) == Bracket(Epsilon(0), Epsilon(0))
    assert solved(nats(1), 7, Fraction(0)) == Bracket(nats(7), nats(7))
    assert solved(nats(1), 7, Fraction(1, 10**900)).high == nats(7)
    assert solved(Epsilon(1), 5, MILLIONTH).high == Epsilon(0)
    assert homogeneous(nats(100), 5, MILLIONTH) is None
    assert homogeneous(nats("0.1"), 10**15, MILLIONTH) is None


def test_a_delta_beyond_the_window_still_has_a_valid_total() -> None:
    delta = 1 - Fraction(1, 10**25)
    total = solved(nats(5), 40, delta).high
    assert delta_of_count(nats(5), 40, total.exact) <= delta < delta_of_count(nats(5), 40, Fraction(0))


def test_one_mechanism_has_the_total_of_a_line() -> None:
    # delta = p - e^total q for one randomized response, so total = ln((p - delta) / q).
    for delta in (0.1, 0.3, 0.01):
        p = 1 / (1 + math.exp(-1))
        assert float(solved(nats(1), 1, exact_delta(delta)).high) == pytest.approx(
            math.log((p - delta) / (1 - p)), abs=2e-9
        )


def test_a_million_mechanisms_are_solved_too() -> None:
    bracket = solved(nats("0.01"), 10**6, MILLIONTH)
    assert round(float(bracket.high), 6) == 96.715828
    assert bracket.high.nanonats - bracket.low.nanonats <= 2
