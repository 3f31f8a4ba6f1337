"""Optimal composition of equal pure mechanisms (Kairouz, Oh and Viswanath 2015, Theorem 3.3).

Theorem.  k-fold adaptive composition of epsilon-private mechanisms is (total, delta(total))-private, where
    delta(total) = sum over l with (k - 2 l) epsilon > total of
                   C(k, l) e^((k - l) epsilon) / (1 + e^epsilon)^k * (1 - e^(total - (k - 2 l) epsilon)),
and no smaller delta holds, because k randomized responses attain it.  (The source lists the totals (k - 2 i) epsilon only;
between them the same argument gives the formula above.)

Solving for the total.  Between two neighbouring losses (k - 2 j) epsilon and (k - 2 j - 2) epsilon the sum has the terms
l <= j only, and is (A - e^(total - (k - 2 j) epsilon) B) / W, where A is the sum of w(l) and B that of
w(l) e^(-2 (j - l) epsilon) over l <= j, and W is the sum of all w(l).  So one pass over the weights finds j, and
total = (k - 2 j) epsilon + ln((A - delta W) / B): there is nothing to bisect.

Claim.  `homogeneous` encloses the total between two amounts on the grid, at most two nanonats apart.  All of it is integer
arithmetic rounded to the stated side; the upper one is a valid epsilon.  k = 10**4 takes a few milliseconds.
Checked against full enumeration with rationals in tests/unit/accounting/test_optimal.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.binomial_window import BinomialWindow, binomial_window, fits
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import epsilon_above, epsilon_below, log_above, log_below
from localdp.randomness.enclosures import exp_enclosure

_LOOSE_BITS = 48  # what is cut off weighs less than 2**-48 delta


@dataclass(frozen=True, slots=True)
class Bracket:
    """The smallest epsilon of a composition at some delta is at least `low` and at most `high`; `high` is valid."""

    low: Epsilon
    high: Epsilon


def cut_bits(delta: Fraction, epsilon: Epsilon) -> int:
    """How far down the weights matter, as a power of two."""
    magnitude = (delta.denominator // max(1, delta.numerator)).bit_length()
    return magnitude + _LOOSE_BITS + 3 * int(epsilon.exact)


def homogeneous(epsilon: Epsilon, count: int, delta: Fraction) -> Bracket | None:
    """The optimal total of `count` epsilon-private mechanisms at delta; None when it is too large to compute."""
    total = epsilon * count
    if delta <= 0 or total.nanonats == 0:
        return Bracket(total, total)
    bits = cut_bits(delta, epsilon)
    if not fits(epsilon, count, bits):
        return None
    window = binomial_window(epsilon, count, bits)
    return Bracket(_total_below(window, delta), min(total, _total_above(window, delta)))


def _total_above(window: BinomialWindow, delta: Fraction) -> Epsilon:
    """The solution with every rounding error on the side of a larger delta(total)."""
    precision, decay = window.precision, exp_enclosure(-2 * window.epsilon.exact, window.precision)[0]
    allowed = window.total[0] * delta.numerator // delta.denominator
    above, discounted = window.below, 0
    for lies, (low, high) in enumerate(window.weights, window.first):
        above += high
        discounted = low + (discounted * decay >> precision)
        if above - (discounted * decay >> precision) > allowed:
            shift = log_above(Fraction(above - allowed, discounted))
            return epsilon_above(_loss(window, lies) + shift)
    return epsilon_above(_loss(window, window.first + len(window.weights)))


def _total_below(window: BinomialWindow, delta: Fraction) -> Epsilon:
    """The solution with every rounding error on the side of a smaller delta(total)."""
    precision, decay = window.precision, exp_enclosure(-2 * window.epsilon.exact, window.precision)[1]
    allowed = -(-window.total[1] * delta.numerator // delta.denominator)
    above, discounted = 0, window.below
    for lies, (low, high) in enumerate(window.weights, window.first):
        above += low
        discounted = high - (-discounted * decay >> precision)
        if above + (-discounted * decay >> precision) > allowed:
            shift = log_below(Fraction(above - allowed, discounted))
            return epsilon_below(_loss(window, lies) + shift)
    return Epsilon(0)


def _loss(window: BinomialWindow, lies: int) -> Fraction:
    return (window.count - 2 * lies) * window.epsilon.exact
