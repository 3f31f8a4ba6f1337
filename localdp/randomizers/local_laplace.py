"""Discrete Laplace noise at the party, clamped to the grid: the truncated geometric mechanism (Ghosh et al. 2009).

The value is a point j of the grid 0 .. R.  With a = exp(-epsilon / R), noise k has probability
(1 - a) / (1 + a) a**|k|, and the report is j + k, clamped to 0 .. R.  The integers behind it are the tails
S_k = 2**64 a**k / (1 + a), k = 1 .. R, rounded up: noise of at least k has probability S_k / 2**64, on either side.
Noise beyond R is never needed, because it is clamped for every j; so the law is finite, and a draw is one search in one
table.

**Deviation** from noise on all integers, and from an unclamped range: clamping costs nothing here.  The noise has no
memory, so what was cut off at an end has mean c = a / (1 - a) whatever the value: an estimator that counts the end 0 as
-c and the end R as R + c is the conditional expectation of j + k given the report.  Hence it is unbiased, and its
variance is below that of the unclamped noise, 2 a / (1 - a)**2, by a / (1 - a)**2 times the probability of an end.  For
small epsilon that is half of it.  How many reports lie on the ends is counted, so the variance of an estimate follows from
its reports without a bias, whatever the values are; from mean and spread of the values it would not.

Claims.
- Epsilon is exact: the largest ratio is (2**64 - S_1) / S_R at the ends, or that of the weights inside.
- The variance is exact, of one value and of people who differ.
- The estimator is unbiased up to the rounding of the tails: by less than (1 + 1 / epsilon) / 2**63.
Checked exactly in tests/unit/randomizers/test_local_laplace.py, and as a sample in
tests/statistical/test_mean_randomizers.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Estimate, Reports, Tally, Values
from localdp.randomizers.parts.construction import IntegerReports, OnGrid
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.packing import (
    Unsigned,
    unsigned_type,
)
from localdp.randomness.geometric import exp_powers
from localdp.randomness.source import WORD_BITS, WORD_RANGE, IntegerLaw, RandomSource

LARGEST_RESOLUTION = 1 << 16
_POWER_BITS = 160
_ROW, _ROWS = 1 << 10, 1 << 7  # points in a row and rows at a time: small enough for the processor's cache
_ONES = np.ones(_ROW)


def _tails(requested: Epsilon, resolution: int) -> list[int]:
    """S_0 = 2**64 - S_1, S_1, .., S_R: 2**64 times the probability of noise of at least k."""
    lows, highs = exp_powers(requested.exact / resolution, resolution + 1, _POWER_BITS)
    denominator = (1 << _POWER_BITS) + lows[1]
    tails = [-(-(high << WORD_BITS) // denominator) for high in highs[1:]]
    return [WORD_RANGE - tails[0], *tails]


@lru_cache(maxsize=4)
def _noise_of(requested: Epsilon, resolution: int) -> tuple[IntegerLaw, Epsilon]:
    """The law of the noise, and the privacy loss that follows from it; remembered, because it has many points."""
    tails = _tails(requested, resolution)
    if tails[0] <= tails[1]:
        raise InvalidParameter("this epsilon is too small for a grid of this resolution")
    noise = _noise(tails)
    return noise, _loss(noise, resolution)


def _loss(noise: IntegerLaw, resolution: int) -> Epsilon:
    """Of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
    ends = Fraction(WORD_RANGE - noise.cumulative[resolution - 1], noise.weights[0])
    if resolution == 1:
        return Epsilon.of_ratio(ends)
    # Inside, the report R - 1 meets every distance 0 .. R - 1; at R = 1 there is no inside.
    inside = noise.weights[resolution:-1]
    widest = Fraction(max(inside), min(inside)) if min(inside) else Fraction(WORD_RANGE)
    return Epsilon.of_ratio(max(ends, widest))


def _noise(tails: list[int]) -> IntegerLaw:
    """The law of the noise -R .. R, with all that lies beyond at its ends."""
    half = [tail - following for tail, following in pairwise(tails[1:])] + [tails[-1]]
    return IntegerLaw((*reversed(half), tails[0] - tails[1], *half))


@dataclass(frozen=True, slots=True)
class LocalDiscreteLaplace(OnGrid, IntegerReports):
    """Reports a point of the grid near the value."""

    name: ClassVar[str] = "local-discrete-laplace"
    requested: Epsilon
    resolution: int = 1 << 10
    noise: IntegerLaw = field(init=False, repr=False, compare=False)
    epsilon: Epsilon = field(init=False, repr=False, compare=False)  # privacy loss of one report

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the resolution", self.resolution, 1, LARGEST_RESOLUTION)
        noise, epsilon = _noise_of(self.requested, self.resolution)
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "epsilon", epsilon)
        if self.requested < self.epsilon:
            raise InvalidParameter("this epsilon is too small or too large for a grid of this resolution")

    @property
    def draw_cost(self) -> DrawCost:
        """A table of the law for each part, and a search in it."""
        return DrawCost(250 + 0.2 * self.resolution, 120 + 1.2 * sqrt(self.resolution))

    @property
    def outputs(self) -> int:
        """The points of the grid."""
        return self.inputs

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One point of the grid for each value; one table for all."""
        reports = source.categorical(self.noise, len(values))
        reports += checked_inputs(values, self.inputs) - self.resolution
        np.clip(reports, 0, self.resolution, out=reports)
        return reports.astype(unsigned_type(self.report_bits))

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        law: dict[Hashable, Fraction] = dict.fromkeys(range(self.inputs), Fraction(0))
        for index, weight in enumerate(self.noise.weights):
            law[min(max(value + index - self.resolution, 0), self.resolution)] += Fraction(
                weight, WORD_RANGE
            )
        return law

    def tally(self, reports: Reports) -> Tally:
        """How many reports lie on the two ends, and the sums of all points and of their squares."""
        sums = np.zeros(4, np.int64)
        sums[:2] = len(reports) - np.count_nonzero(reports), np.count_nonzero(reports == self.resolution)
        # So few squares of points add up to less than 2**53: as floats they are exact, and much faster.
        rows = np.empty((min(_ROWS, -(-len(reports) // _ROW)), _ROW))
        points = rows.reshape(-1)
        for start in range(0, len(reports), len(points) or 1):
            some = reports[start : start + len(points)]
            points[: len(some)], points[len(some) :] = some, 0
            sums[2:] += int(np.vecdot(rows, _ONES).sum()), int(np.vecdot(rows, rows).sum())
        return Tally(self, len(reports), sums)

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of j / resolution."""
        require_own(tally, self)
        low, high, first, second = (int(part) / tally.reports for part in tally.sums)
        beyond, reach = self._beyond, self.resolution
        mean = (first + (high - low) * beyond) / reach
        square = (second + low * beyond**2 + high * (2 * reach * beyond + beyond**2)) / reach**2
        inside = min(max(mean, 0.0), 1.0)
        fewest, most = self._on_an_end(0.5), self._on_an_end(0.0)
        empirical = self._with_ends(min(max(low + high, fewest), most))
        spread = min(max(square - mean**2 - empirical, 0.0), inside - inside**2)
        return Estimate(
            mean, tally.reports, empirical / tally.reports, (empirical + spread) / tally.reports
        )

    def variance(self, values: ArrayLike) -> float:
        """Variance of a debiased report about its person's value, averaged over people with these values."""
        return self._with_ends(self._on_an_end(values))

    def _on_an_end(self, values: ArrayLike) -> float:
        """How often a report lies on an end of the grid, (a**j + a**(R - j)) / (1 + a), averaged over people."""
        rate, each = float(self.requested), np.asarray(values, dtype=np.float64)
        ends = np.exp(-rate * each) + np.exp(-rate * (1 - each))
        return float(ends.mean()) / (1 + math.exp(-rate / self.resolution))

    def _with_ends(self, often: float) -> float:
        """The variance of a debiased report, where so many of the reports lie on an end."""
        return self._beyond * (1 + self._beyond) * (2 - often) / self.resolution**2

    @property
    def _beyond(self) -> float:
        """c = a / (1 - a): how far beyond an end the noise reaches on average; its variance is c (1 + c)."""
        return 1 / math.expm1(float(self.requested) / self.resolution)
