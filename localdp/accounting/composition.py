"""Basic and advanced composition (Dwork and Roth, section 3.5) and parallel composition (McSherry 2009).

Theorems 3.14, 3.16 and B.1.  Mechanisms that are (epsilon_i, delta_i)-private are together (sum epsilon_i, sum delta_i)-
private.

Theorem 3.20.  k-fold adaptive composition of (epsilon, delta)-private mechanisms is (epsilon', k delta + delta')-private,
    epsilon' = sqrt(2 k ln(1 / delta')) epsilon + k epsilon (e^epsilon - 1).
Its proof bounds the mean loss of one mechanism by epsilon (e^epsilon - 1).  The largest mean loss is that of randomized
response, epsilon (e^epsilon - 1) / (e^epsilon + 1) = epsilon tanh(epsilon / 2); with it the second term is less than half
of the book's (Kairouz, Oh and Viswanath 2015).  Both are here, and both for unequal epsilons: the loss of mechanism i stays
within epsilon_i, so Azuma's inequality has the sum of epsilon_i**2 in place of k epsilon**2.

Corollary 3.21.  For 0 < epsilon' < 1 it suffices that each mechanism has epsilon = epsilon' / (2 sqrt(2 k ln(1 / delta'))).
**Deviation**: delta' is at most 7/8 here.  The book's proof replaces e^epsilon - 1 by epsilon, which is too small; with the
mean epsilon tanh(epsilon / 2) <= epsilon**2 / 2 the claim needs epsilon' <= 8 ln(1 / delta'), true for these delta'.  For
delta' near 1 the corollary is false.

The theorems let an adversary choose each mechanism after seeing the outputs of the earlier ones, but the *epsilons* are
fixed beforehand.  The plain sum also holds when the epsilons themselves are chosen on the way: that is what a ledger keeps.

Claim.  Every result is an upper bound, rounded up to a nanonat.  Checked in tests/unit/accounting/test_composition.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent, merged
from localdp.accounting.outward import (
    LARGEST_EXPONENT,
    epsilon_above,
    epsilon_below,
    exp_above,
    log_above,
    sqrt_above,
)
from localdp.errors import InvalidParameter

LARGEST_DELTA_OF_COROLLARY = Fraction(7, 8)
_MEAN_IS_EPSILON_BEYOND = 64  # nats; tanh(32) is 1 to 27 digits


def basic(events: Sequence[PrivacyEvent]) -> Epsilon:
    """Theorems 3.14 and 3.16: the sum, whatever delta."""
    return sum((epsilon * count for epsilon, count in merged(events)), Epsilon(0))


def book_mean(epsilon: Epsilon) -> Fraction:
    """At least epsilon (e^epsilon - 1): the bound on the mean loss in the proof of Theorem 3.20."""
    return epsilon.exact * (exp_above(epsilon.exact) - 1)


def tight_mean(epsilon: Epsilon) -> Fraction:
    """At least epsilon tanh(epsilon / 2): the mean loss of randomized response, the largest of all mechanisms."""
    if epsilon.exact > _MEAN_IS_EPSILON_BEYOND:
        return epsilon.exact
    return epsilon.exact * (1 - 2 / (exp_above(epsilon.exact) + 1))


def advanced(events: Sequence[PrivacyEvent], slack: Fraction) -> Epsilon | None:
    """Theorem 3.20 as in the book, with delta' = slack; None where it says nothing."""
    if any(epsilon.exact > LARGEST_EXPONENT for epsilon, _ in merged(events)):
        return None
    return _deviation_and_mean(events, slack, book_mean)


def advanced_tight(events: Sequence[PrivacyEvent], slack: Fraction) -> Epsilon | None:
    """Theorem 3.20 with the mean loss of randomized response; None where it says nothing."""
    return _deviation_and_mean(events, slack, tight_mean)


def _deviation_and_mean(
    events: Sequence[PrivacyEvent], slack: Fraction, mean: Callable[[Epsilon], Fraction]
) -> Epsilon | None:
    if slack <= 0:
        return None
    uses = merged(events)
    squares = sum((count * epsilon.exact**2 for epsilon, count in uses), Fraction(0))
    means = sum((count * mean(epsilon) for epsilon, count in uses), Fraction(0))
    return epsilon_above(sqrt_above(2 * squares * log_above(1 / slack)) + means)


def epsilon_each_by_corollary(total: Epsilon, count: int, slack: Fraction) -> Epsilon:
    """Corollary 3.21: an epsilon that `count` mechanisms may have each, rounded down."""
    if not 0 < total.exact < 1 or count < 1 or not 0 < slack <= LARGEST_DELTA_OF_COROLLARY:
        raise InvalidParameter("Corollary 3.21 needs 0 < epsilon < 1, a mechanism, and 0 < delta <= 7/8")
    return epsilon_below(total.exact / (2 * sqrt_above(2 * count * log_above(1 / slack))))


def parallel(epsilons: Sequence[Epsilon]) -> Epsilon:
    """The maximum: each epsilon is spent on other people, and who is asked does not depend on the records.

    Where the split is by what stands in a record, replacing a record touches two parts and costs the sum of both.
    """
    return max(epsilons, default=Epsilon(0))
