"""Group privacy (Dwork and Roth, Theorem 2.2 and its footnote): what is promised to several people together.

Theorem 2.2.  An (epsilon, 0)-private mechanism is (g epsilon, 0)-private for groups of g.
With delta, g steps between neighbours give P_0 <= e^epsilon P_1 + delta <= ... <= e^(g epsilon) P_g + delta', where
    delta' = delta (1 + e^epsilon + ... + e^((g - 1) epsilon)) = delta (e^(g epsilon) - 1) / (e^epsilon - 1).
The book rounds every term up to the last one: g e^((g - 1) epsilon) delta.

The improvement of Theorem 3.20 does not apply: a group is one change of g records, not g mechanisms.

Claim.  Both deltas are rounded up, at most to 1, and the geometric one is never above the book's.
Checked in tests/unit/accounting/test_groups.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import LARGEST_EXPONENT, exp_above, exp_below
from localdp.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class GroupGuarantee:
    """What a mechanism promises to any `size` people who change their records together."""

    size: int
    epsilon: Epsilon  # in nats, between tables that differ in `size` records
    delta: Fraction


def group_privacy(epsilon: Epsilon, size: int, delta: Fraction = Fraction(0)) -> GroupGuarantee:
    """Theorem 2.2 with the geometric sum of deltas."""
    _require(size, delta)
    return GroupGuarantee(size, epsilon * size, _at_most_one(delta, epsilon, size, _geometric))


def group_privacy_of_the_book(epsilon: Epsilon, size: int, delta: Fraction = Fraction(0)) -> GroupGuarantee:
    """Theorem 2.2 with the delta of its footnote, g e^((g - 1) epsilon) delta."""
    _require(size, delta)
    return GroupGuarantee(size, epsilon * size, _at_most_one(delta, epsilon, size, _last_term_times_size))


def _at_most_one(
    delta: Fraction, epsilon: Epsilon, size: int, factor: Callable[[Epsilon, int], Fraction]
) -> Fraction:
    if delta == 0 or size <= 1 or epsilon.nanonats == 0:
        return min(Fraction(1), delta * size)
    if epsilon.exact * size > LARGEST_EXPONENT:
        return Fraction(1)  # no delta that is worth stating survives a factor of e^4096
    return min(Fraction(1), delta * factor(epsilon, size))


def _geometric(epsilon: Epsilon, size: int) -> Fraction:
    """At least the sum of e^(i epsilon) for i below `size`."""
    return (exp_above(epsilon.exact * size) - 1) / (exp_below(epsilon.exact) - 1)


def _last_term_times_size(epsilon: Epsilon, size: int) -> Fraction:
    return size * exp_above(epsilon.exact * (size - 1))


def _require(size: int, delta: Fraction) -> None:
    if not isinstance(size, int) or size < 0 or not 0 <= delta < 1:
        raise InvalidParameter(
            "a group has a whole number of people, and delta is at least 0 and less than 1"
        )
