"""The composition of a few randomized responses, outcome by outcome: what the fast methods must agree with."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.randomness.enclosures import exp_enclosure

_BITS = 1024
NEARLY_ONE = 1 + Fraction(
    1, 10**40
)  # rationals stand for exponentials here; good for deltas down to 1e-200


def nats(value: str | float) -> Epsilon:
    """An amount that was written as a decimal."""
    return Epsilon(math.floor(Fraction(str(value)) * NANONATS_PER_NAT))


def exponential(x: Fraction) -> Fraction:
    return Fraction(exp_enclosure(x, _BITS)[0], 1 << _BITS)


def delta_of(epsilons: Sequence[Epsilon], total: Fraction) -> Fraction:
    """The smallest delta for which randomized responses at these epsilons are (total, delta)-private: all 2^k outcomes."""
    odds = [exponential(epsilon.exact) for epsilon in epsilons]
    scale = exponential(total)
    delta = Fraction(0)
    for lies in itertools.product((False, True), repeat=len(odds)):
        p = q = Fraction(1)
        for lie, ratio in zip(lies, odds, strict=True):
            p *= (1 if lie else ratio) / (1 + ratio)
            q *= (ratio if lie else 1) / (1 + ratio)
        delta += max(Fraction(0), p - scale * q)
    return delta


def is_enclosed(epsilons: Sequence[Epsilon], delta: Fraction, low: Epsilon, high: Epsilon) -> bool:
    """Whether the smallest total at delta lies between the two."""
    valid = delta_of(epsilons, high.exact) <= delta * NEARLY_ONE
    return valid and (low.nanonats == 0 or delta_of(epsilons, low.exact) * NEARLY_ONE >= delta)
