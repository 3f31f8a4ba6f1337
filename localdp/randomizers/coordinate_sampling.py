"""One bit about one coordinate of a bounded vector (Nguyen et al. 2016, "Harmony").

A vector of d values in [0, 1], each a point j of the grid 0 .. R, is reported as a uniformly drawn coordinate and the
one bit of Duchi, Jordan and Wainwright about it: output 2 c + b for bit b about coordinate c.  As inputs of the law the
vectors are numbered by their digits in base R + 1, the first coordinate lowest.

Claim.  The randomizer is epsilon-local for vectors that differ in any way, with the epsilon of the bit: the coordinate
does not depend on the vector.  With C = 2**64 / (2**64 - 2 F), the estimate 1/2 + (C d / (2 n)) (ones - zeros) of each
coordinate is exactly unbiased, and n times its variance is (d C**2 - E[t**2]) / 4 for t = 2 x - 1, which for every
d >= 2 is below that of the hypercube mechanism of Duchi, Jordan and Wainwright.  Checked exactly in
tests/unit/randomizers/test_coordinate_sampling.py, and as a sample in tests/statistical/test_mean_randomizers.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Frequencies, Reports, Tally, Values
from localdp.randomizers.input_kinds import CubeInput, InputKind
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.inputs import require_between, require_own
from localdp.randomizers.parts.mean_estimates import QuadraticVariance
from localdp.randomizers.parts.packing import (
    Unsigned,
    unsigned_type,
)
from localdp.randomness.source import WORD_RANGE, RandomSource

LARGEST_DIMENSION = 1 << 20


@dataclass(frozen=True, slots=True)
class CoordinateSampling(IntegerReports):
    """Reports one uniformly drawn coordinate, and one bit about the value there."""

    name: ClassVar[str] = "coordinate-sampling"
    requested: Epsilon
    dimension: int
    resolution: int = 1 << 10  # a power of two
    bit: OneBitRandomizer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_between("the dimension", self.dimension, 1, LARGEST_DIMENSION)
        object.__setattr__(self, "bit", OneBitRandomizer(self.requested, self.resolution))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return self.bit.epsilon

    @property
    def inputs(self) -> int:
        """The points of the grid in all dimensions."""
        return int((self.resolution + 1) ** self.dimension)

    @property
    def outputs(self) -> int:
        return 2 * self.dimension

    @property
    def takes(self) -> InputKind:
        """A vector on the grid."""
        return CubeInput(self.dimension, self.resolution)

    @property
    def draw_cost(self) -> DrawCost:
        """A coordinate is looked up in the vector."""
        return DrawCost(200, 40 + 0.8 * self.dimension)

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One output for each row of an (n, dimension) array."""
        self._require_rows(values)
        people = len(values)
        coordinates = source.below(self.dimension, people).view(np.int64)
        chosen = values[np.arange(people), coordinates]
        coordinates *= 2
        coordinates += self.bit.randomize(chosen, source)
        return coordinates.astype(unsigned_type(self.report_bits))

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the output for the vector of this number."""
        return {
            2 * coordinate + bit: self.bit.law(entry)[bit] / self.dimension
            for coordinate, entry in enumerate(self.vector(value))
            for bit in (0, 1)
        }

    def vector(self, value: int) -> list[int]:
        """The vector of this number: its digits in base resolution + 1."""
        base = self.resolution + 1
        return [value // base**coordinate % base for coordinate in range(self.dimension)]

    def tally(self, reports: Reports) -> Tally:
        """How often each output was reported."""
        counts = np.bincount(reports.astype(np.int64), minlength=self.outputs)
        return Tally(self, len(reports), counts.astype(np.int64))

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased estimates of the means of all coordinates.

        The spread of the values themselves is not observable, so the variance of the population target stands for both:
        it bounds the empirical one from above.
        """
        require_own(tally, self)
        zeros, ones = tally.sums[0::2], tally.sums[1::2]
        values = 0.5 + (self._factor * self.dimension / 2) * ((ones - zeros) / tally.reports)
        centred = np.clip(2 * values - 1, -1.0, 1.0)
        variance = (self.dimension * self._factor**2 - centred**2) / 4 / tally.reports
        return Frequencies(values, tally.reports, variance, variance)

    def variance(self, values: ArrayLike) -> float:
        """n times the variance of the estimate of a coordinate with these values, for the empirical target."""
        return QuadraticVariance((self.dimension * self._factor**2 - 1) / 4, 1.0, -1.0).over(values)

    @property
    def _factor(self) -> float:
        """C: what a bit of -1 or +1 is multiplied with."""
        return WORD_RANGE / (WORD_RANGE - 2 * self.bit.flip)

    def _require_rows(self, values: Values) -> None:
        # All entries are checked, not only the drawn ones: a refusal must not depend on the coins.
        if values.ndim != 2 or values.shape[1] != self.dimension or values.dtype.kind not in "bui":
            raise InvalidParameter(f"the inputs are rows of {self.dimension} integers")
        if values.size and (int(values.min()) < 0 or int(values.max()) > self.resolution):
            raise InvalidParameter(f"the entries of a vector are integers from 0 to {self.resolution}")
