"""The noisy maximum: which of several whole numbers is nearly the largest (Claim 3.9 with one-sided noise).

Every score gets its own geometric noise, Pr[Z >= k] = a**k for k = 0, 1, 2, ... with a = exp(-rate); the index of the
largest noisy score is told, the lowest of several, and nothing else.  Shares can do the same: the noise is made of coins
(`randomness/geometric.py`), and a tournament opens the index alone.

Claim.  If replacing one record moves no score by more than the sensitivity s, the index is 2 s rate private, whatever the
number of scores.  Proof: fix the noises of the others; i is told iff Z_i >= m for some m, and a rule for ties moves m by
one at most.  A neighbour's m is at most 2 s larger: its own score moved by s, and the best of the others by s the other
way.  Pr[Z >= m + 2 s] >= a**(2 s) Pr[Z >= m], because a tail of Z that begins below 0 is 1.  `epsilon` is computed from
the rate and the sensitivity in this way, and believed from nobody.

**Deviation** from the book's Laplace noise of scale 1 / epsilon for counts: that is for neighbours of which one has a
person more, so that all counts move the same way.  Here one record replaces another, and scores move both ways: the scale
is 2 s / epsilon.  One-sided noise is half of Laplace noise, with the same tail, and no noise can make the
best one look worse: what can be said about the miss is half as much.

Claim.  One of k candidates that is g or more below the largest is told with a probability of at most (k - 1) a**g /
(1 + a).
Checked exactly, in rationals, in tests/unit/mechanisms/test_noisy_maximum.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.geometric import Geometric
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.selection import MOST_CANDIDATES

LARGEST_SCORE = 1 << 52


@dataclass(frozen=True, slots=True)
class NoisyMaximum:
    """Tells the first of the largest noisy scores."""

    rate: Fraction  # of the noise: its scale is 1 / rate
    sensitivity: int  # how far replacing one record moves a score at most

    def __post_init__(self) -> None:
        require_sensitivity(self.sensitivity)
        object.__setattr__(self, "rate", Geometric(self.rate).rate)

    @classmethod
    def within(cls, epsilon: Epsilon, sensitivity: int) -> NoisyMaximum:
        """The one of least noise that costs no more than epsilon."""
        require_sensitivity(sensitivity)
        return cls(Epsilon.requested(epsilon).exact / (2 * sensitivity), sensitivity)

    @property
    def epsilon(self) -> Fraction:
        """What the index costs a person, in nats, replace-one neighbours."""
        return 2 * self.sensitivity * self.rate

    @property
    def standard_deviation(self) -> float:
        """Of the noise on one score."""
        return 0.5 / math.sinh(float(self.rate) / 2)

    def choose(self, scores: Integers, source: RandomSource) -> int:
        """The index that is told."""
        require_scores(scores)
        return first_largest(scores + Geometric(self.rate).sample(source, len(scores)))

    def shortfall(self, candidates: int, failure: float) -> float:
        """How far below the largest score the told one is at most, but for the failure."""
        chance = (candidates - 1) / (1 + math.exp(-self.rate))
        return math.log(max(1.0, chance / failure)) / float(self.rate)


def first_largest(noisy: Integers) -> int:
    """The index of the largest, the lowest of several."""
    return int(np.argmax(noisy))


def exact_law(scores: Sequence[int], ratio: Fraction) -> tuple[Fraction, ...]:
    """The probability of every index, exactly, for noise with Pr[Z >= k] = ratio**k."""
    if not 0 < ratio < 1:
        raise InvalidParameter("the ratio of a geometric law lies strictly between 0 and 1")
    return tuple(_told(place, scores, ratio) for place in range(len(scores)))


def _told(place: int, scores: Sequence[int], ratio: Fraction) -> Fraction:
    """The sum over all values v of the told noisy score, which is at least the largest score.

    With x = ratio**(v - largest), another one stays below v, or at v if it comes later, with a probability of 1 - c x.
    The product of these is a polynomial in x, and each of its terms is a geometric series in v.
    """
    largest = max(scores)
    product = [Fraction(1)]
    for other, score in enumerate(scores):
        if other != place:
            factor = ratio ** (largest - score + (other > place))
            shifted = [Fraction(0), *(-factor * term for term in product)]
            product = [term + more for term, more in zip([*product, Fraction(0)], shifted, strict=True)]
    series = sum((term / (1 - ratio ** (power + 1)) for power, term in enumerate(product)), Fraction(0))
    return (1 - ratio) * ratio ** (largest - scores[place]) * series


def require_sensitivity(sensitivity: int) -> None:
    """Refuse what is no sensitivity of whole numbers."""
    if not isinstance(sensitivity, int) or sensitivity < 1:
        raise InvalidParameter("a sensitivity is a positive whole number")


def require_scores(scores: Integers) -> None:
    """Refuse what cannot be chosen from."""
    if scores.ndim != 1 or not 1 <= len(scores) <= MOST_CANDIDATES or scores.dtype.kind != "i":
        raise InvalidParameter(f"there are 1 to {MOST_CANDIDATES} candidates, with whole numbers as scores")
    if int(np.abs(scores).max()) > LARGEST_SCORE:
        raise InvalidParameter(f"a score is at most {LARGEST_SCORE}")
