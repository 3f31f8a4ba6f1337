"""A window that moves over a line of cells: the finite law behind the piecewise mechanism and the square wave.

Input j = 0 .. last owns the window of `width` cells that starts at cell j * step, on a line of size = last * step +
width cells.  With probability T / 2**64 the report is uniform on the window, else uniform on the others = last * step
cells outside of it.

Claims.
- exp(epsilon) = (T / width) / ((2**64 - T) / others): every input has as many cells inside as every other input, so
  each cell has one of two probabilities.
- With a = T / (2**64 width) - b and b = (2**64 - T) / (2**64 others), the sum of any function over the cells has
  expectation a (its sum over the window) + b (its sum over the line).  So E[cell] is exactly affine in j, with slope
  a width step, and E[cell**2] is exactly quadratic: debiasing is affine, and exact.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_piecewise.py and test_square_wave.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Estimate, Values
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.inputs import checked_inputs
from localdp.randomizers.parts.mean_estimates import QuadraticVariance, debiased_moments
from localdp.randomizers.parts.packing import Unsigned, bits_below, unsigned_type
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource

LARGEST_LINE = 1 << 31
_BLOCK = 1 << 14  # the temporaries of a block stay in the cache


@dataclass(frozen=True, slots=True)
class WindowLaw:
    """Uniform on a window of fixed width with probability inside / 2**64, else uniform on the rest of the line."""

    requested: Epsilon
    last: int  # inputs are 0 .. last
    step: int  # cells from the window of one input to the next
    width: int  # cells of a window
    inside: int = field(init=False, repr=False, compare=False)  # T

    def __post_init__(self) -> None:
        if min(self.last, self.step, self.width) < 1 or self.size > LARGEST_LINE:
            raise InvalidParameter(f"a window moves over at most {LARGEST_LINE} cells")
        object.__setattr__(self, "inside", keep_threshold(self.requested, self.width, self.others))
        if self.inside < 1 or self.excess <= 0:
            raise InvalidParameter("this epsilon is too small for a line of this many cells")

    @property
    def others(self) -> int:
        """Cells outside of a window."""
        return self.last * self.step

    @property
    def size(self) -> int:
        """Cells of the line."""
        return self.others + self.width

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(
            Fraction(self.inside * self.others, (WORD_RANGE - self.inside) * self.width)
        )

    @property
    def outside_mass(self) -> Fraction:
        """b: the probability of one cell outside of the window."""
        return Fraction(WORD_RANGE - self.inside, WORD_RANGE * self.others)

    @property
    def excess(self) -> Fraction:
        """a: how much likelier a cell is inside of the window."""
        return Fraction(self.inside, WORD_RANGE * self.width) - self.outside_mass

    def draw(self, values: Integers, source: RandomSource) -> Unsigned:
        """A cell for each value; every person draws the same coins, whatever the outcome."""
        people = len(values)
        kept = source.bernoulli(self.inside, people)
        near = source.below(self.width, people).view(np.int64)
        far = source.below(self.others, people).view(np.int64)
        cells = np.empty(people, unsigned_type(bits_below(self.size)))
        for first in range(0, people, _BLOCK):
            part = slice(first, first + _BLOCK)
            start = values[part] * self.step
            outside = far[part] + (far[part] >= start) * np.int64(self.width)
            inside = near[part] + start
            # A product: `np.where` tells a mixed mask.
            cells[part] = outside + (inside - outside) * kept[part]
        return cells

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the cell."""
        start, outside = value * self.step, self.outside_mass
        inside = outside + self.excess
        window = range(start, start + self.width)
        return {cell: inside if cell in window else outside for cell in range(self.size)}

    @property
    def intercept(self) -> Fraction:
        """E[cell] at input 0."""
        width, size = self.width, self.size
        return self.excess * width * (width - 1) / 2 + self.outside_mass * size * (size - 1) / 2

    @property
    def slope(self) -> Fraction:
        """E[cell] at the last input, less the intercept."""
        return self.excess * self.width * self.others

    def variance(self) -> QuadraticVariance:
        """The variance of (cell - intercept) / slope about x = j / last."""
        width, size, reach = self.width, self.size, self.others
        line = self.outside_mass * (size - 1) * size * (2 * size - 1) / 6
        squares = (
            self.excess * (width - 1) * width * (2 * width - 1) / 6 + line,
            self.excess * width * (width - 1) * reach,
            self.excess * width * reach**2,
        )
        intercept, slope = self.intercept, self.slope
        mean_squared = (intercept**2, 2 * intercept * slope, slope**2)
        parts = ((a - b) / slope**2 for a, b in zip(squares, mean_squared, strict=True))
        return QuadraticVariance(*map(float, parts))

    def estimate(self, power_sums: Integers, count: int) -> Estimate:
        """Unbiased estimate of the mean of j / last, from the power sums of so many cells."""
        first, second = debiased_moments(power_sums, count, self.intercept, self.slope)
        return self.variance().estimate(float(first / count), float(second / count), count)


class WindowReports(IntegerReports):
    """Reports a cell of a line, by the law of a window."""

    __slots__ = ()
    window: WindowLaw

    @property
    @abstractmethod
    def inputs(self) -> int:
        """How many places the window has."""

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return self.window.epsilon

    @property
    def outputs(self) -> int:
        """The cells of the line."""
        return self.window.size

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One cell for each value."""
        return self.window.draw(checked_inputs(values, self.inputs), source)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the cell."""
        return self.window.law(value)
