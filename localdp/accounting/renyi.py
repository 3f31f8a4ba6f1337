"""Concentrated and Renyi differential privacy of pure mechanisms (Bun and Steinke 2016; Mironov 2017; Steinke 2024).

Let L be the privacy loss of randomized response at epsilon, which every epsilon-private mechanism is a function of.
Its cumulant is K(s) = ln E[e^(s L)] = ln cosh((s + 1/2) epsilon) - ln cosh(epsilon / 2), and its Renyi divergence of order
a = 1 + s is K(s) / s.  Cumulants add up under composition.

Zero-concentrated privacy: K(s) <= rho s (1 + s) with rho = epsilon tanh(epsilon / 2).  For ln cosh(epsilon sqrt(u)) is
concave in u = (s + 1/2)**2, so it lies under its tangent at u = 1/4, whose slope is epsilon tanh(epsilon / 2).  That is
less than the epsilon**2 / 2 of Bun and Steinke (Proposition 3.3) and, as the divergence of order 1 shows, the smallest rho.

Bounded range (`PrivacyEvent.bounded_range`; the exponential mechanism): K(s) <= (epsilon**2 / 8) s (1 + s) as well (Cesar
and Rogers 2021), a quarter of the rho of randomized response where epsilon is small.  It does not hold for the noisy
maximum: of two equal scores, which one record can move apart, geometric noise has a divergence of order 1 of nearly
epsilon**2 / 2 (tests/unit/accounting/test_bounded_range.py).

Conversion (Canonne, Kamath and Steinke 2020, Proposition 12).  A divergence D of order a > 1 gives, for each delta > 0,
    epsilon = D + (ln(1 / delta) - ln a) / (a - 1) + ln(1 - 1 / a).
Every order gives a valid epsilon; floating point only proposes the order, the bound itself is rational and rounded up.

Checked in tests/unit/accounting/test_renyi.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.composition import tight_mean
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent, merged
from localdp.accounting.outward import epsilon_above, exp_above, exp_below, log_above, log_below

Orders = NDArray[np.float64]  # values of s = order - 1
_ROUNDS, _POINTS = 4, 64
_SMALLEST, _LARGEST = 2.0**-20, 2.0**80
_ORDER_BITS = 40


def rho_of(events: Sequence[PrivacyEvent]) -> Fraction:
    """At least a rho for which the pure parts of the events are rho-zCDP together: the smallest, but for bounded range."""
    return sum(
        (count * _rho(epsilon, bounded=bounded) for epsilon, count, bounded in _uses(events)), Fraction(0)
    )


def renyi_divergence(epsilon: Epsilon, order: Fraction) -> Fraction:
    """At least the divergence of this order (above 1) of any epsilon-private mechanism."""
    return _cumulant(epsilon, order - 1) / (order - 1)


def epsilon_of_divergence(divergence: Fraction, order: Fraction, delta: Fraction) -> Fraction:
    """At least the epsilon, in nats, that a divergence of one order gives at delta; it may be negative."""
    above_one = order - 1
    return divergence + log_above(1 / (delta * order)) / above_one - log_below(order / above_one)


def concentrated(events: Sequence[PrivacyEvent], slack: Fraction) -> Epsilon | None:
    """The bound through zero-concentrated privacy at delta = slack; None where it says nothing."""
    rho = rho_of(events)
    return _smallest(lambda s: rho * (1 + s), lambda s: float(rho) * (1 + s), slack)


def renyi(events: Sequence[PrivacyEvent], slack: Fraction) -> Epsilon | None:
    """The bound through the exact Renyi curve of randomized response; None where it says nothing."""
    uses = list(_uses(events))

    def divergence(s: Fraction) -> Fraction:
        terms = (count * _least_cumulant(epsilon, s, bounded=bounded) for epsilon, count, bounded in uses)
        return sum(terms, Fraction(0)) / s

    def approximate(s: Orders) -> Orders:
        total = np.zeros_like(s)
        for epsilon, count, bounded in uses:
            pure = _float_cumulant(float(epsilon), s)
            total += count * (np.minimum(pure, float(epsilon) ** 2 / 8 * s * (1 + s)) if bounded else pure)
        return total / s

    return _smallest(divergence, approximate, slack)


def _uses(events: Sequence[PrivacyEvent]) -> Iterator[tuple[Epsilon, int, bool]]:
    """Epsilons with how often each was used: those of bounded range apart."""
    for bounded in (False, True):
        for epsilon, count in merged([event for event in events if event.bounded_range is bounded]):
            yield epsilon, count, bounded


def _rho(epsilon: Epsilon, *, bounded: bool) -> Fraction:
    pure = tight_mean(epsilon)
    return min(pure, epsilon.exact**2 / 8) if bounded else pure


def _least_cumulant(epsilon: Epsilon, s: Fraction, *, bounded: bool) -> Fraction:
    pure = _cumulant(epsilon, s)
    return min(pure, epsilon.exact**2 / 8 * s * (1 + s)) if bounded else pure


def _smallest(
    divergence: Callable[[Fraction], Fraction], approximate: Callable[[Orders], Orders], slack: Fraction
) -> Epsilon | None:
    if slack <= 0:
        return None
    s = _best_order(approximate, float(log_above(1 / slack)))
    return epsilon_above(epsilon_of_divergence(divergence(s), 1 + s, slack))


def _best_order(approximate: Callable[[Orders], Orders], log_inverse_delta: float) -> Fraction:
    """The s = order - 1 of nearly the smallest bound: a grid of orders, refined around its best point."""
    low, high = _SMALLEST, _LARGEST
    for _ in range(_ROUNDS):
        grid = np.geomspace(low, high, _POINTS)
        bound = approximate(grid) + (log_inverse_delta - np.log1p(grid)) / grid - np.log1p(1 / grid)
        best = int(np.argmin(bound))
        low, high = grid[max(0, best - 1)], grid[min(_POINTS - 1, best + 1)]
    return Fraction(round(grid[best] * 2**_ORDER_BITS), 2**_ORDER_BITS)


def _cumulant(epsilon: Epsilon, s: Fraction) -> Fraction:
    """At least K(s) = s epsilon + ln(1 + e^(-(2 s + 1) epsilon)) - ln(1 + e^(-epsilon))."""
    x = epsilon.exact
    return s * x + log_above((1 + exp_above(-(2 * s + 1) * x)) / (1 + exp_below(-x)))


def _float_cumulant(epsilon: float, s: Orders) -> Orders:
    """K(s), or its quadratic bound where the difference of logarithms would lose every digit."""
    exact = s * epsilon + np.log1p(np.exp(-(2 * s + 1) * epsilon)) - np.log1p(np.exp(-epsilon))
    return np.where((1 + s) * epsilon < 1e-4, epsilon**2 / 2 * s * (1 + s), exact)
