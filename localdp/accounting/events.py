"""What was spent, as data: uses of (epsilon, delta)-differentially private mechanisms (Definition 2.4).

An `PrivacyEvent` says that mechanisms with one and the same guarantee were used `count` times on the same person.  It knows
nothing of how guarantees add up; `composition`, `renyi`, `optimal` and `convolution` interpret a sequence of events, and
`accountant` takes the best of them.  Epsilons are in nats, for replace-one neighbours, of a single use.

An event of `bounded_range` says more than that (Durfee and Rogers 2019): for any two neighbours, the logarithms of the
ratios of the outputs' probabilities all lie in one interval of length epsilon.  The exponential mechanism is such a one;
the noisy maximum is not, for any noise that this package draws.

Reduction to delta = 0.  A mechanism that is (epsilon, delta)-private is a function of the output of this one: with
probability delta it tells everything, otherwise it is randomized response at epsilon (Kairouz, Oh and Viswanath 2015,
Theorem 3.3; Murtagh and Vadhan 2016 for unequal epsilons).  So a composition is (epsilon, delta)-private exactly when
its randomized responses are (epsilon, slack)-private for 1 - delta = (1 - slack) * product of (1 - delta_i).

Claim.  `slack` is never above that number, never below delta - sum of delta_i (Theorem 3.16), and equal to delta when
every delta_i is 0.  Checked in tests/unit/accounting/test_events.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import power_below
from localdp.errors import InvalidParameter

LARGEST = 1 << 62  # of a count and of an epsilon in nanonats: far beyond any use, and safe as a float
_GUARD_BITS = 128
_LARGEST_POWER_OF_TEN = 1000  # of 1 / delta; beyond this exact rationals would be a denial of service


def exact_delta(value: Fraction | Decimal | float | str) -> Fraction:
    """A delta in [0, 1) as the rational that was meant: the float 1e-6 is one in a million."""
    if not isinstance(value, Fraction):
        try:
            decimal = Decimal(str(value))
        except InvalidOperation as error:
            raise InvalidParameter(f"delta must be a number; got {value!s:.40}") from error
        if not decimal.is_finite() or abs(decimal.adjusted()) > _LARGEST_POWER_OF_TEN:
            raise InvalidParameter(f"delta must be a finite number of reasonable size; got {value!s:.40}")
        value = Fraction(decimal)
    if not 0 <= value < 1:
        raise InvalidParameter("delta must be at least 0 and less than 1")
    return value


@dataclass(frozen=True, slots=True)
class PrivacyEvent:
    """`count` uses of mechanisms that are (epsilon, delta)-differentially private each."""

    epsilon: Epsilon  # of one use, in nats, replace-one neighbours
    count: int = 1
    delta: Fraction = Fraction(0)  # of one use
    bounded_range: bool = False  # whether the logarithms of ratios lie in an interval of length epsilon

    def __post_init__(self) -> None:
        if (
            not isinstance(self.count, int)
            or isinstance(self.count, bool)
            or not 0 <= self.count <= LARGEST
        ):
            raise InvalidParameter(
                "a mechanism is used a whole number of times, not negative and below 2**62"
            )
        if self.epsilon.nanonats > LARGEST:
            raise InvalidParameter("the epsilon of a mechanism is below 2**62 nanonats")
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise InvalidParameter("the delta of a mechanism is a rational, at least 0 and less than 1")
        if self.bounded_range and self.delta:
            raise InvalidParameter("a mechanism of bounded range has no delta")


def merged(events: Sequence[PrivacyEvent]) -> tuple[tuple[Epsilon, int], ...]:
    """The distinct positive epsilons with how often each was used, smallest first."""
    counts: dict[Epsilon, int] = {}
    for event in events:
        if event.count and event.epsilon.nanonats:
            counts[event.epsilon] = counts.get(event.epsilon, 0) + event.count
    return tuple(sorted(counts.items()))


def sum_of_deltas(events: Sequence[PrivacyEvent]) -> Fraction:
    """The delta of Theorem 3.16."""
    return sum((event.delta * event.count for event in events), Fraction(0))


def slack(events: Sequence[PrivacyEvent], delta: Fraction) -> Fraction:
    """What is left of delta for the randomized responses; refused when the mechanisms need more than all of it."""
    additive = delta - sum_of_deltas(events)
    if all(event.delta == 0 for event in events):
        return delta
    bits = _GUARD_BITS + (delta.denominator // max(1, delta.numerator)).bit_length()
    kept = Fraction(1)  # the probability that no mechanism tells everything
    for event in events:
        kept *= power_below(1 - event.delta, event.count, bits)
    left = max(additive, 1 - (1 - delta) / kept) if kept else additive
    if left < 0:
        raise InvalidParameter("the mechanisms have a larger delta together than the one asked for")
    return left
