"""Ranges and quantiles through one Haar coefficient of each person (HaarHRR of Cormode, Kulkarni and Srivastava 2019).

Let D = 2**h be the number of inputs, padded to a power of two.  At level l = 0 .. h - 1 the inputs are cut into 2**l
nodes of D / 2**l inputs, and the coefficient of a node is c = (mass of its left half) - (mass of its right half): for
one person it is +1 or -1 at exactly one node of the level.  A person draws a level uniformly, and a row r of the
Hadamard matrix of order 2**l uniformly, and reports (-1)**<r, node> times the sign of the coefficient, by binary
randomized response.

Claim.  Epsilon-local, tight.  With C = (exp(eps) + 1) / (exp(eps) - 1), h C / n times the Hadamard transform of the
signed reports of a level is an unbiased estimate of all its coefficients, and for a range R with weights w in the
coefficients

    n Var(R) = h C**2 sum w**2 - f (1 - |R| / D)**2 - (1 - f) (|R| / D)**2        for the empirical target, exactly,

where a coefficient's weight in the prefix that ends at offset o of a node of size 2 s is min(o, 2 s - o) / (2 s).  So
n Var(R) <= h**2 C**2 / 2: logarithmic in D, and one private bit a person.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_haar.py; sampled in
tests/statistical/test_structures.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.definition import DrawCost, Floats, Reports, Tally, Values
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.range_estimates import RangeEstimates
from localdp.randomizers.parts.walsh import parity, walsh_hadamard
from localdp.randomizers.sampled_sign import LARGEST_SIGNS, SampledSign
from localdp.randomness.source import Integers, RandomSource


@dataclass(frozen=True, slots=True)
class HaarRanges(SampledSign):
    """Reports a level, a row of the Hadamard matrix, and one randomized sign.

    The sign of level l and row r has the index 2**l - 1 + r.
    """

    name: ClassVar[str] = "haar-ranges"
    draw_cost: ClassVar[DrawCost] = DrawCost(250, 52)
    requested: Epsilon
    inputs: int
    # F: a sign is flipped with probability F / 2**64.
    flip: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_between("the number of inputs", self.inputs, 2, LARGEST_SIGNS)
        self._set_flip()

    @property
    def levels(self) -> int:
        """h: the number of levels."""
        return (self.inputs - 1).bit_length()

    @property
    def signs(self) -> int:
        """One row for every node of every level: D - 1."""
        return (1 << self.levels) - 1

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """A level, a row and a sign for each value; every person draws a row of the longest level and cuts it."""
        places = checked_inputs(values, self.inputs).astype(np.uint64)
        levels = source.below(self.levels, len(places))
        first = (np.uint64(1) << levels) - np.uint64(1)
        rows = source.below(1 << (self.levels - 1), len(places)) & first
        flipped = source.bernoulli(self.flip, len(places))
        return self._reports(rows + first, self._negative(places, levels, rows) ^ flipped)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        masses: dict[Hashable, Fraction] = {}
        for level in range(self.levels):
            rows = np.arange(1 << level, dtype=np.uint64)
            places, levels = np.full_like(rows, value), np.full_like(rows, level)
            negative = self._negative(places, levels, rows)
            for row, sign in zip(rows.tolist(), negative.tolist(), strict=True):
                masses |= self._masses(len(rows) - 1 + row, sign, Fraction(1, self.levels * len(rows)))
        return masses

    def estimate(self, tally: Tally) -> RangeEstimates:
        """Unbiased estimates of the mass of every range."""
        require_own(tally, self)
        factor = self.levels * self.scale / tally.reports
        masses = np.ones(1)
        for level in range(self.levels):
            first = (1 << level) - 1
            coefficients = factor * walsh_hadamard(tally.sums[first : 2 * first + 1])
            halves = np.stack((masses + coefficients, masses - coefficients), axis=1)
            masses = halves.ravel() / 2
        prefix = np.concatenate(([0.0], np.cumsum(masses)))[: self.inputs + 1]
        prefix[-1] = 1.0  # There is nobody in the padding, so the whole is known.
        return RangeEstimates(self, tally.reports, prefix)

    def range_variance(self, low: Integers, high: Integers, prefix: Floats) -> Floats:
        size = 1 << self.levels
        ends = np.where(high == self.inputs, size, high)
        squares = np.zeros(len(low))
        for level in range(self.levels):
            squares += _squared_weights(low, ends, size >> level)
        mass, share = prefix[high] - prefix[low], (ends - low) / size
        own = mass * (1 - share) ** 2 + (1 - mass) * share**2
        variance: Floats = self.levels * self.scale**2 * squares - own
        return variance

    def _negative(self, places: Values, levels: Values, rows: Values) -> NDArray[np.bool_]:
        """Whether the sign of the coefficient, times the entry of the Hadamard matrix, is negative."""
        halves = places >> (np.uint64(self.levels - 1) - levels)
        # The lowest bit of `halves` says which half, the others which node; the row asks for some of those.
        return parity(halves & (rows << np.uint64(1) | np.uint64(1)))


def _squared_weights(low: Integers, high: Integers, node_size: int) -> Floats:
    """The sum of the squared weights of a range in the coefficients of one level."""
    starts, ends = _weights(low, node_size), _weights(high, node_size)
    same_node = low // node_size == high // node_size
    total: Floats = starts**2 + ends**2 - np.where(same_node, 2 * starts * ends, 0.0)
    return total


def _weights(places: Integers, node_size: int) -> Floats:
    offsets = places % node_size
    weights: Floats = np.minimum(offsets, node_size - offsets) / node_size
    return weights
