"""Propose, test, release: an answer that is given only where data are far from any that have another one (section 7.2).

`distance` says of data how many records can be replaced, whichever they are, before somebody's replacement changes
what is released: 0 where one replacement may.  The test adds discrete Laplace noise to it, and `release` is run only
if the noisy distance reaches a threshold; otherwise nothing is said but that.

Claim.  If replacing one record moves `distance` by at most 1, and where it is 1 or more `release` is
epsilon_r-private against all neighbours, then test and release together are (epsilon + epsilon_r, delta)-private:
where the distance is 1 or more both factors hold, and where it is 0 the test is passed with a probability of at most
delta.  The threshold is the least whole number t with a**t / (1 + a) <= delta, a = exp(-epsilon): 14 at (1, 1e-6).
It follows from the law of whole noise, and is never read off 1 + ln(1 / delta), which is what the book prints
(Algorithm 12) and is too little below epsilon = 1. Checked exactly, for every state of small data, in
tests/unit/mechanisms/test_propose_test_release.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import exact_delta
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import RandomSource

_Data = TypeVar("_Data")
_Released = TypeVar("_Released")
_BITS = 256


@dataclass(frozen=True, slots=True)
class StabilityTest:
    """Whether data are far from instability, but for a probability of delta."""

    epsilon: Epsilon  # of the test alone, replace-one neighbours
    delta: Fraction

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        object.__setattr__(self, "delta", exact_delta(self.delta))
        if not 0 < self.delta < Fraction(1, 2):
            raise InvalidParameter("a test of stability needs a delta between 0 and 1/2, such as 1e-6")

    @property
    def threshold(self) -> int:
        """What a noisy distance has to reach."""
        return _threshold(self.epsilon.exact, self.delta)

    def passes(self, distance: int, source: RandomSource) -> bool:
        """One draw of the test."""
        noise = DiscreteLaplace(self.epsilon.exact).sample(source, 1)[0]
        return distance + int(noise) >= self.threshold

    def chance(self, distance: int) -> float:
        """That data at this distance pass."""
        ratio, missing = math.exp(-float(self.epsilon)), self.threshold - distance
        if missing > 0:
            return ratio**missing / (1 + ratio)
        return 1 - ratio ** (1 - missing) / (1 + ratio)

    def require_reachable(self, distance: int, whose: str) -> None:
        """Refuse a test that even the stablest data would fail more often than not."""
        if self.chance(distance) < 0.5:
            raise SignalTooWeak(
                f"{whose} would hardly ever be told: the test needs {self.distance_for(0.5):,} records, and there is room "
                f"for {max(0, distance):,}; ask more people, or at a larger epsilon or delta; nothing was asked"
            )

    def distance_for(self, failure: float) -> int:
        """The least distance that passes but for this failure."""
        if not 0 < failure < 1:
            raise InvalidParameter("a failure is a probability between 0 and 1")
        distance = self.threshold
        while 1 - self.chance(distance) > failure:
            distance += 1
        return distance


@dataclass(frozen=True)
class ProposeTestRelease(Generic[_Data, _Released]):
    """What is released, how far data are from another release, and the test between them."""

    distance: Callable[[_Data], int]
    release: Callable[[_Data, RandomSource], _Released]
    test: StabilityTest

    def run(self, data: _Data, source: RandomSource) -> _Released | None:
        """What is released, or None if the test does not pass."""
        distance = self.distance(data)
        if not self.test.passes(distance, source):
            return None
        return self.release(data, source)


@lru_cache(maxsize=256)
def _threshold(rate: Fraction, delta: Fraction) -> int:
    """The least t >= 1 with exp(-rate t) <= delta (1 + exp(-rate)), rounded against us."""
    least, _ = exp_enclosure(-rate, _BITS)
    bound = delta * ((1 << _BITS) + least)  # in units of 2**-256, from below
    high = max(1, math.ceil((-math.log(delta)) / float(rate)) + 2)
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if exp_enclosure(-rate * middle, _BITS)[1] <= bound:
            high = middle
        else:
            low = middle
    return high
