"""Concentrated and Renyi privacy of pure mechanisms."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.accounting.outward import log_above
from localdp.accounting.renyi import concentrated, epsilon_of_divergence, renyi, renyi_divergence, rho_of
from tests.unit.accounting.product_law import delta_of, exponential, nats

MILLIONTH = Fraction(1, 10**6)


def exact_divergence(epsilon: Epsilon, order: int) -> Fraction:
    """The divergence of randomized response from its two outcomes, nearly exactly."""
    odds = exponential(epsilon.exact)
    p, q = odds / (1 + odds), 1 / (1 + odds)
    return log_above(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 17])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "5"])
def test_the_divergence_is_that_of_randomized_response(epsilon: str, order: int) -> None:
    gap = renyi_divergence(nats(epsilon), Fraction(order)) - exact_divergence(nats(epsilon), order)
    assert abs(gap) < Fraction(1, 10**30)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20 * 10**9), st.fractions(Fraction(1001, 1000), 500, max_denominator=1000))
def test_rho_times_order_is_never_below_the_divergence(nanonats: int, order: Fraction) -> None:
    epsilon = Epsilon(nanonats)
    rho = rho_of([PrivacyEvent(epsilon)])
    assert renyi_divergence(epsilon, order) <= rho * order * (1 + Fraction(1, 10**15))
    assert rho <= epsilon.exact**2 / 2 * (1 + Fraction(1, 10**15))


def test_rho_is_epsilon_tanh_half_epsilon_and_adds_up() -> None:
    events = [PrivacyEvent(nats("0.1"), 50), PrivacyEvent(nats(1), 2)]
    assert float(rho_of(events)) == pytest.approx(5 * math.tanh(0.05) + 2 * math.tanh(0.5), rel=1e-14)


def test_rho_is_the_smallest_because_the_divergence_of_order_near_one_attains_it() -> None:
    order = 1 + Fraction(1, 10**6)
    assert renyi_divergence(nats(1), order) > rho_of([PrivacyEvent(nats(1))]) * (1 - Fraction(1, 10**5))


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(4), Fraction(20)])
def test_every_order_gives_a_valid_epsilon(order: Fraction) -> None:
    epsilons, delta = [nats("0.7")] * 6, Fraction(1, 1000)
    total = epsilon_of_divergence(6 * renyi_divergence(nats("0.7"), order), order, delta)
    assert delta_of(epsilons, total) <= delta


@settings(max_examples=25, deadline=None)
@given(st.integers(10**6, 10**10), st.integers(1, 10**5), st.integers(1, 40))
def test_the_exact_curve_is_never_worse_than_the_line_above_it(
    nanonats: int, count: int, power: int
) -> None:
    events, delta = [PrivacyEvent(Epsilon(nanonats), count)], Fraction(1, 10**power)
    line, curve = concentrated(events, delta), renyi(events, delta)
    assert line is not None and curve is not None
    # The order is proposed in floating point, so that the best one is met up to a relative 1e-5.
    assert float(curve) <= float(line) * (1 + 1e-5) + 1e-8


def test_nothing_spent_costs_nothing_and_nothing_is_said_without_delta() -> None:
    assert concentrated([], MILLIONTH) == renyi([], MILLIONTH) == Epsilon(0)
    assert (
        concentrated([PrivacyEvent(nats(1))], Fraction(0))
        is renyi([PrivacyEvent(nats(1))], Fraction(0))
        is None
    )
