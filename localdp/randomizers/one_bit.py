"""One bit about a bounded value: randomized response (Warner 1965) and its extension to a grid (Duchi et al. 2013).

A value j of the grid 0 .. R is reported as one bit that is 1 with probability q + (p - q) j / R, where q = F / 2**64
for an integer F, and p = 1 - q.  At R = 1 this is binary randomized response (section 3.2): the bit is flipped with
probability q.

Claim.  The randomizer is epsilon-local with exp(epsilon) = (2**64 - F) / F, attained by j = R against j = 0; F is
rounded up, so that the epsilon never exceeds what was requested.  The estimator (ones / n - q) / (p - q) is exactly
unbiased, because R divides 2**64 - 2 F.  At R = 1 its variance is n exp(eps) / (exp(eps) - 1)**2 for a count, whatever
the data.  All of it is checked exactly, by enumerating the coins, in tests/unit/randomizers/test_one_bit.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import ShuffledAs
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import DrawCost, Estimate, Reports, Tally, Values
from localdp.randomizers.parts.construction import OnGrid
from localdp.randomizers.parts.mean_estimates import QuadraticVariance
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_RANGE, Bits, RandomSource

LARGEST_RESOLUTION = 1 << 20


def flip_threshold(epsilon: Epsilon, multiple_of: int = 1) -> int:
    """The smallest allowed F with (2**64 - F) / F <= exp(epsilon)."""
    at_least = WORD_RANGE - keep_threshold(epsilon)
    return -(-at_least // multiple_of) * multiple_of


@dataclass(frozen=True, slots=True)
class OneBitRandomizer(OnGrid):
    """Reports one bit whose mean is an affine function of the value j / resolution."""

    name: ClassVar[str] = "one-bit"
    # On a grid, too: a report there is a randomized response about a bit that is itself a coin of the value.
    shuffled_as: ClassVar[ShuffledAs] = "binary"
    requested: Epsilon
    resolution: int = 1  # a power of two; 1 is binary randomized response
    # F: the bit is 1 with probability F / 2**64 at j = 0.
    flip: int = field(init=False, repr=False, compare=False)
    _step: int = field(init=False, repr=False, compare=False)  # what one unit of the grid adds to F

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        if not 1 <= self.resolution <= LARGEST_RESOLUTION or self.resolution & (self.resolution - 1):
            raise InvalidParameter(f"the resolution is a power of two, at most {LARGEST_RESOLUTION}")
        flip = flip_threshold(self.requested, max(1, self.resolution // 2))
        step = (WORD_RANGE - 2 * flip) // self.resolution
        if step < 1:
            raise InvalidParameter("this epsilon is too small for a grid of this resolution")
        object.__setattr__(self, "flip", flip)
        object.__setattr__(self, "_step", step)

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(WORD_RANGE - self.flip, self.flip))

    @property
    def report_bits(self) -> int:
        """Size of one packed report."""
        return 1

    @property
    def draw_cost(self) -> DrawCost:
        """Without a grid, a bit is compared with a constant."""
        return DrawCost(60, 2, 1) if self.resolution == 1 else DrawCost(70, 14, 1)

    def randomize(self, values: Values, source: RandomSource) -> Bits:
        """One bit for each value: a compare of fixed width, whatever the value."""
        if self.resolution == 1:
            return np.logical_xor(_as_bits(values), source.bernoulli(self.flip, len(values)))
        return source.bernoulli(self._thresholds(values), len(values))

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the bit."""
        one = Fraction(self.flip + value * self._step, WORD_RANGE)
        return {0: 1 - one, 1: one}

    def pack(self, reports: Reports) -> bytes:
        """Eight reports a byte, the last byte padded with zeros."""
        return np.packbits(reports).tobytes()

    def unpack(self, data: bytes, count: int) -> Bits:
        """The bits again, if there are exactly `count` and the padding is clean."""
        if len(data) != -(-count // 8):
            raise MalformedReport(f"{count} one-bit reports take {-(-count // 8)} bytes, not {len(data)}")
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
        if bits[count:].any():
            raise MalformedReport("the padding after the last one-bit report is not zero")
        return bits[:count].view(np.bool_)

    def tally(self, reports: Reports) -> Tally:
        """How many reports are one."""
        return Tally(self, len(reports), np.array([np.count_nonzero(reports)], dtype=np.int64))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of j / resolution."""
        if tally.randomizer != self or tally.reports < 1:
            raise InvalidParameter("an estimate needs at least one report of the same randomizer")
        flipped, gap, share = self.flip / WORD_RANGE, self._gap, int(tally.sums[0]) / tally.reports
        population = share * (1 - share) / gap**2 / tally.reports
        # On a grid the spread of the values themselves is not observable, so the bound for both targets is the same.
        empirical = self.variance(0.0) / tally.reports if self.resolution == 1 else population
        return Estimate((share - flipped) / gap, tally.reports, empirical, population)

    def variance(self, values: ArrayLike) -> float:
        """Variance of a debiased report about its person's value, averaged over people with these values."""
        flipped = self.flip / WORD_RANGE
        return QuadraticVariance(flipped * (1 - flipped) / self._gap**2, 1.0, -1.0).over(values)

    @property
    def _gap(self) -> float:
        """p - q."""
        return (WORD_RANGE - 2 * self.flip) / WORD_RANGE

    def _thresholds(self, values: Values) -> NDArray[np.uint64]:
        if values.size and (int(values.min()) < 0 or int(values.max()) > self.resolution):
            raise InvalidParameter(f"inputs of this randomizer are integers from 0 to {self.resolution}")
        return values.astype(np.uint64) * np.uint64(self._step) + np.uint64(self.flip)


def binary_randomized_response(epsilon: Epsilon | float | str) -> OneBitRandomizer:
    """Warner's randomized response: the bit is kept with probability exp(epsilon) / (1 + exp(epsilon))."""
    return OneBitRandomizer(Epsilon.requested(epsilon), resolution=1)


def _as_bits(values: Values) -> Bits:
    if values.dtype == np.bool_:
        return values
    if values.size and (int(values.min()) < 0 or int(values.max()) > 1):
        raise InvalidParameter("inputs of binary randomized response are 0 or 1")
    return values.astype(np.bool_)
