"""What a sequence of mechanisms costs one person: the smallest of all valid bounds, and which one it was.

No method is best everywhere: at ten mechanisms of epsilon 1 and delta = 1e-6, Theorem 3.20 says 33.8 and the plain sum 10.
So `total_epsilon` computes every bound of `Method` that applies and returns the least, with the method's name.

    basic           Theorems 3.14, 3.16           sum of the epsilons; the only one at delta = 0
    advanced        Theorem 3.20                  as printed
    advanced tight  Kairouz, Oh, Viswanath 2015   the same with the true mean loss
    concentrated    Bun and Steinke 2016          through zero-concentrated privacy
    renyi           Mironov 2017                  through the Renyi curve of randomized response
                    Cesar and Rogers 2021         both with rho = epsilon**2 / 8 for the exponential mechanism
    optimal         Kairouz, Oh, Viswanath 2015   equal epsilons: the smallest epsilon there is
    convolution     Murtagh and Vadhan 2016       unequal epsilons: nearly the smallest

Epsilons are in nats for replace-one neighbours.  All methods allow mechanisms that are chosen adaptively, but with
epsilons, deltas and counts that were fixed beforehand; where these are chosen on the way only `Method.BASIC` is a bound.

Claim.  The result is a valid epsilon at the given delta, rounded up to a nanonat, and at most the result of any method.
Checked in tests/unit/accounting/test_accountant.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from localdp.accounting import composition, renyi
from localdp.accounting.convolution import heterogeneous_above
from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.accounting.events import PrivacyEvent, exact_delta, merged, slack
from localdp.accounting.optimal import homogeneous
from localdp.errors import InvalidParameter

Delta = Fraction | Decimal | float | str
_LARGEST_EACH = Epsilon(64 * NANONATS_PER_NAT)


class Method(Enum):
    """How a bound was obtained, the simplest first."""

    BASIC = "basic"
    ADVANCED = "advanced"
    ADVANCED_TIGHT = "advanced tight"
    CONCENTRATED = "concentrated"
    RENYI = "renyi"
    OPTIMAL = "optimal"
    CONVOLUTION = "convolution"


@dataclass(frozen=True, slots=True)
class Bound:
    """The events are (epsilon, delta)-differentially private together, says `method`."""

    epsilon: Epsilon  # in total, in nats, replace-one neighbours
    delta: Fraction
    method: Method


def _optimal(events: Sequence[PrivacyEvent], left: Fraction) -> Epsilon | None:
    uses = merged(events)
    bracket = homogeneous(*uses[0], left) if len(uses) == 1 else None
    return bracket.high if bracket else None


def _convolution(events: Sequence[PrivacyEvent], left: Fraction) -> Epsilon | None:
    return heterogeneous_above(events, left) if len(merged(events)) > 1 else None


_METHODS: Mapping[Method, Callable[[Sequence[PrivacyEvent], Fraction], Epsilon | None]] = {
    Method.BASIC: lambda events, _: composition.basic(events),
    Method.ADVANCED: composition.advanced,
    Method.ADVANCED_TIGHT: composition.advanced_tight,
    Method.CONCENTRATED: renyi.concentrated,
    Method.RENYI: renyi.renyi,
    Method.OPTIMAL: _optimal,
    Method.CONVOLUTION: _convolution,
}


def bounds(
    events: Sequence[PrivacyEvent], delta: Delta, methods: Sequence[Method] = tuple(Method)
) -> list[Bound]:
    """What each of the methods says, where it says anything."""
    asked = exact_delta(delta)
    left = slack(events, asked)
    said = [(method, _METHODS[method](events, left)) for method in methods]
    return [Bound(epsilon, asked, method) for method, epsilon in said if epsilon is not None]


def total_epsilon(events: Sequence[PrivacyEvent], delta: Delta = 0) -> Bound:
    """The smallest valid bound; of equal ones the simplest."""
    return min(bounds(events, delta), key=lambda bound: bound.epsilon)


def parallel_epsilon(groups: Sequence[Sequence[PrivacyEvent]], delta: Delta = 0) -> Bound:
    """The bound when each group of events concerns other people, whoever they are: the largest of the totals."""
    totals = [total_epsilon(events, delta) for events in groups]
    return max(
        totals, key=lambda bound: bound.epsilon, default=Bound(Epsilon(0), exact_delta(delta), Method.BASIC)
    )


def largest_epsilon_each(
    total: Epsilon,
    count: int,
    delta: Delta = 0,
    methods: Sequence[Method] = tuple(Method),
    *,
    bounded_range: bool = False,
) -> Epsilon:
    """The largest epsilon that `count` pure mechanisms may have each, so that one of the methods vouches for `total`."""
    if count < 1:
        raise InvalidParameter("a budget is divided among at least one mechanism")

    def events(each: Epsilon) -> Sequence[PrivacyEvent]:
        return [PrivacyEvent(each, count, bounded_range=bounded_range)]

    return largest_unit(total, events, delta, methods)


def largest_unit(
    total: Epsilon,
    events: Callable[[Epsilon], Sequence[PrivacyEvent]],
    delta: Delta = 0,
    methods: Sequence[Method] = tuple(Method),
) -> Epsilon:
    """The largest epsilon of which these events can be made, so that one of the methods vouches for `total`."""
    low, high = 0, _LARGEST_EACH.nanonats
    while low < high:
        middle = (low + high + 1) // 2
        spent = bounds(events(Epsilon(middle)), delta, methods)
        affordable = any(bound.epsilon <= total for bound in spent)
        low, high = (middle, high) if affordable else (low, middle - 1)
    return Epsilon(low)
