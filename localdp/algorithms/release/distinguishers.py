"""Private distinguishers (Definition 5.5): which of many candidates has nearly the largest score.

Scores are whole numbers, and replacing one record moves each of them by at most `sensitivity`.  Every oracle has one of its
own, the verb `select`; this is the one that the book names.

`ExponentialMechanism` (McSherry and Talwar 2007; Theorem 5.5): candidate i with probability proportional to exp(epsilon
score(i) / (2 sensitivity)).  It is drawn from integer weights.  Let g(i) be how far candidate i is below the best one,
eps' = epsilon (1 - 2**-16), and W(g) = floor(2**b exp(-eps' min(g, G) / (2 sensitivity))), where G is the largest gap
at which weights are still above 2**19 / epsilon, and b as large as 64-bit totals allow.

Claim.  It is epsilon-private, and of bounded range (`accounting/events.py`): for any two neighbours, the logarithms of the
ratios of all candidates' probabilities lie in an interval of length epsilon, so it is epsilon**2 / 8 zCDP.  Without the
floor, the law is that of the scores max(score(i), best - G), which move by at most the sensitivity as well, at eps'; a
score moves a weight by at most exp(eps' / 2) either way, and the sum of weights moves all ratios alike.  The floor changes
a weight by a factor between 1 - eta and 1, with eta <= epsilon 2**-18, so a ratio of probabilities by at most
(1 - eta)**-2 <= exp(4 eta) <= exp(epsilon 2**-16).
**Deviation**: candidates that are more than G below the best are chosen as often as if they were at G: for 1,000
candidates at epsilon = 0.01 with a probability of less than 1e-5 altogether.

It misses the largest score by at most 2 sensitivity (ln k + ln(1 / failure)) / epsilon, but for the failure, of k
candidates.
Checked exactly, by enumeration, in tests/unit/algorithms/release/test_distinguishers.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import log_below
from localdp.errors import InvalidParameter
from localdp.mechanisms.noisy_maximum import require_scores, require_sensitivity
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import IntegerLaw, Integers, RandomSource

_SHAVED = Fraction(1, 1 << 16)  # of epsilon, for the rounding of weights
_LEAST_WEIGHT = 1 << 19  # over epsilon
_LEAST_RANGE = 1 << 10  # of weights, from the best candidate to the rest
_PRECISION = 192
_DIGIT_BITS = 8


class Distinguisher(Protocol):
    """Chooses a candidate whose score is nearly the largest.

    One that says `bounded_range = True` promises that as well (`is_of_bounded_range`), and is charged less for it.
    """

    def choose(self, scores: Integers, sensitivity: int, epsilon: Epsilon, source: RandomSource) -> int:
        """The number of a candidate; epsilon-private if one record moves no score by more than the sensitivity."""
        ...

    def error(self, candidates: int, sensitivity: int, epsilon: Epsilon, failure: float) -> float:
        """F: how far below the largest score the chosen one may be, but for the failure."""
        ...


@dataclass(frozen=True, slots=True)
class ExponentialMechanism:
    """The exponential mechanism, from integer weights."""

    bounded_range: ClassVar[bool] = True

    def law(self, scores: Integers, sensitivity: int, epsilon: Epsilon) -> IntegerLaw:
        """The law of the choice."""
        require_scores(scores)
        require_sensitivity(sensitivity)
        Epsilon.requested(epsilon)
        rate = epsilon.exact * (1 - _SHAVED) / (2 * sensitivity)
        bits = 63 - (len(scores) - 1).bit_length()
        span = Fraction(1 << bits) * min(epsilon.exact, Fraction(1)) / _LEAST_WEIGHT
        if span < _LEAST_RANGE:
            raise InvalidParameter(
                f"epsilon {epsilon} is too small to choose among {len(scores)} candidates"
            )
        furthest = math.floor(log_below(span) / rate)
        gaps = np.minimum(scores.max() - scores, furthest)
        distinct, places = np.unique(gaps, return_inverse=True)
        weights = [_power(rate, gap) >> (_PRECISION - bits) for gap in distinct.tolist()]
        return IntegerLaw(tuple(weights[place] for place in places.tolist()))

    def choose(self, scores: Integers, sensitivity: int, epsilon: Epsilon, source: RandomSource) -> int:
        """One draw from the law."""
        return int(source.categorical(self.law(scores, sensitivity, epsilon), 1)[0])

    def error(self, candidates: int, sensitivity: int, epsilon: Epsilon, failure: float) -> float:
        """Theorem 5.5: 2 sensitivity ln(k / failure) / epsilon."""
        return 2 * sensitivity * math.log(candidates / failure) / float(epsilon)


def is_of_bounded_range(distinguisher: Distinguisher | None) -> bool:
    """Whether it says so; the noisy maximum, which is chosen with where none is named, is not."""
    return bool(getattr(distinguisher, "bounded_range", False))


def _power(rate: Fraction, gap: int) -> int:
    """At most 2**192 exp(-rate gap), and nearly that: the product over the digits of the gap."""
    power, place = 1 << _PRECISION, 0
    while gap:
        digit = gap & ((1 << _DIGIT_BITS) - 1)
        power = power * _digit_power(rate, digit, place) >> _PRECISION
        gap, place = gap >> _DIGIT_BITS, place + 1
    return power


@lru_cache(maxsize=1 << 13)
def _digit_power(rate: Fraction, digit: int, place: int) -> int:
    return exp_enclosure(-rate * (digit << _DIGIT_BITS * place), _PRECISION)[0]
