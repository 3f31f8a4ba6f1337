"""The exponential mechanism is of bounded range and epsilon**2 / 8 zCDP; the noisy maximum is neither.

Laws are exact: integer weights of the exponential mechanism, rationals of the noisy maximum.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.accountant import Method, bounds, largest_epsilon_each, total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.accounting.optimal import homogeneous
from localdp.accounting.renyi import rho_of
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.mechanisms.noisy_maximum import exact_law
from tests.unit.accounting.product_law import nats

MILLIONTH = Fraction(1, 10**6)
ORDERS = (1.001, 1.5, 2.0, 4.0, 16.0)
Law = Callable[[Sequence[int], Epsilon], list[float]]


def exponential_mechanism(scores: Sequence[int], epsilon: Epsilon) -> list[float]:
    weights = ExponentialMechanism().law(np.array(scores, np.int64), 1, epsilon).weights
    return [weight / sum(weights) for weight in weights]


def noisy_maximum(scores: Sequence[int], epsilon: Epsilon) -> list[float]:
    ratio = Fraction(math.exp(-float(epsilon) / 2)).limit_denominator(10**9)
    return [float(one) for one in exact_law(scores, ratio)]


def worst(law: Law, epsilon: Epsilon) -> tuple[float, float]:
    """Of all neighbours among small scores: the range of logarithms, and the divergence over its order."""
    spread = divergence = 0.0
    for scores in product((0, 2), repeat=3):
        here = law(scores, epsilon)
        for moved in product((-1, 0, 1), repeat=3):
            there = law([a + b for a, b in zip(scores, moved, strict=True)], epsilon)
            logs = [math.log(p / q) for p, q in zip(here, there, strict=True)]
            spread = max(spread, max(logs) - min(logs))
            divergence = max(divergence, *(renyi(here, there, order) / order for order in ORDERS))
    return spread, divergence


def renyi(here: list[float], there: list[float], order: float) -> float:
    total = math.fsum(p * (p / q) ** (order - 1) for p, q in zip(here, there, strict=True))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_exponential_mechanism_is_of_bounded_range_and_an_eighth_of_epsilon_squared(
    epsilon: str,
) -> None:
    spread, divergence = worst(exponential_mechanism, nats(epsilon))
    assert spread <= float(epsilon)
    assert divergence <= float(epsilon) ** 2 / 8
    assert spread > 0.999 * float(epsilon) and divergence > 0.8 * float(epsilon) ** 2 / 8  # not vacuous


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_noisy_maximum_is_not_and_would_be_caught(epsilon: str) -> None:
    spread, divergence = worst(noisy_maximum, nats(epsilon))
    assert spread > 1.1 * float(epsilon)
    assert divergence > 1.5 * float(epsilon) ** 2 / 8
    pure = float(rho_of([PrivacyEvent(nats(epsilon))]))
    assert divergence <= pure  # what it is charged for


def test_rho_is_the_smaller_of_both_bounds() -> None:
    assert rho_of([PrivacyEvent(nats(1), 3, bounded_range=True)]) == Fraction(3, 8)
    large = nats(20)  # epsilon**2 / 8 is above epsilon tanh(epsilon / 2)
    assert rho_of([PrivacyEvent(large, bounded_range=True)]) == rho_of([PrivacyEvent(large)])
    mixed = [PrivacyEvent(nats(1), bounded_range=True), PrivacyEvent(nats(1))]
    assert float(rho_of(mixed)) == pytest.approx(1 / 8 + math.tanh(0.5))


@pytest.mark.parametrize("count", [20, 200])
def test_what_is_vouched_for_holds_for_the_draws_that_compose_worst(count: int) -> None:
    """Between two candidates whose odds are turned around, a draw is randomized response at half of epsilon."""
    each = largest_epsilon_each(nats(1), count, MILLIONTH, bounded_range=True)
    half, more = Epsilon(each.nanonats // 2), Epsilon(round(0.6 * each.nanonats))
    vouched, beyond = homogeneous(half, count, MILLIONTH), homogeneous(more, count, MILLIONTH)
    assert vouched is not None and vouched.high <= nats(1)
    assert beyond is not None and beyond.low > nats(1)  # the bound is within 20 %
    assert each.nanonats > 1.7 * largest_epsilon_each(nats(1), count, MILLIONTH).nanonats


def test_bounds_that_know_nothing_of_ranges_are_those_of_any_mechanism() -> None:
    bounded, pure = (
        {one.method: one.epsilon for one in bounds([event], MILLIONTH)}
        for event in (PrivacyEvent(nats("0.1"), 50, bounded_range=True), PrivacyEvent(nats("0.1"), 50))
    )
    tighter = {method for method, epsilon in bounded.items() if epsilon < pure[method]}
    assert tighter == {Method.CONCENTRATED, Method.RENYI}
    assert total_epsilon([PrivacyEvent(nats("0.1"), 50, bounded_range=True)]).epsilon == nats(5)


def test_a_mechanism_of_bounded_range_has_no_delta() -> None:
    with pytest.raises(InvalidParameter, match="no delta"):
        PrivacyEvent(nats(1), 1, MILLIONTH, bounded_range=True)
