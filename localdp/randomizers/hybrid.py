"""The hybrid mechanism for one bounded value (Wang et al., ICDE 2019): the piecewise mechanism, or one bit.

A coin that does not depend on the value decides between a report of the piecewise mechanism (probability
1 - exp(-epsilon / 2)) and the one bit of Duchi, Jordan and Wainwright.  For epsilon <= 0.61 it is always the bit, which
is then the better of the two for every value.

The output alphabet is finite: 0 and 1 are the bit, 2 + c is cell c of the piecewise mechanism.

Claim.  The mixture is epsilon-local for the larger of the two epsilons, because each output belongs to one branch, and
the probability of the branch cancels.  Each branch is debiased by itself, so the estimator is exactly unbiased.  In
the units of [-1, 1] the variance of a debiased report is the same for every value: 4.289 at epsilon = 1, where the bit
alone has up to 4.683 and the piecewise mechanism up to 5.224.  Checked exactly in
tests/unit/randomizers/test_hybrid.py, and as a sample in tests/statistical/test_mean_randomizers.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.definition import DrawCost, Estimate, Reports, Tally, Values
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts.construction import IntegerReports, OnGrid
from localdp.randomizers.parts.inputs import checked_inputs, require_own
from localdp.randomizers.parts.mean_estimates import QuadraticVariance, debiased_moments, power_sums
from localdp.randomizers.parts.packing import Unsigned, unsigned_type
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.source import WORD_BITS, WORD_RANGE, RandomSource

LARGEST_EPSILON_OF_THE_BIT = Epsilon(610_000_000)
_FIRST_CELL = 2


def _branch_threshold(requested: Epsilon) -> int:
    """2**64 times the probability of the piecewise branch; its rounding has no bearing on privacy."""
    if requested <= LARGEST_EPSILON_OF_THE_BIT:
        return 0
    return WORD_RANGE - exp_enclosure(-requested.exact / 2, WORD_BITS)[1]


@dataclass(frozen=True, slots=True)
class HybridRandomizer(OnGrid, IntegerReports):
    """Reports either one bit or a cell of a line, and which of the two."""

    name: ClassVar[str] = "hybrid"
    draw_cost: ClassVar[DrawCost] = DrawCost(600, 40)
    requested: Epsilon
    resolution: int = 1 << 10  # a power of two
    fineness: int = 64  # cells of the window of the piecewise branch, at least
    bit: OneBitRandomizer = field(init=False, repr=False, compare=False)
    piecewise: PiecewiseRandomizer = field(init=False, repr=False, compare=False)
    branch: int = field(init=False, repr=False, compare=False)  # over 2**64: the piecewise one

    def __post_init__(self) -> None:
        bit = OneBitRandomizer(self.requested, self.resolution)
        piecewise = PiecewiseRandomizer(self.requested, self.resolution, self.fineness)
        object.__setattr__(self, "bit", bit)
        object.__setattr__(self, "piecewise", piecewise)
        object.__setattr__(self, "branch", _branch_threshold(self.requested))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer laws, rounded up."""
        return max(self.bit.epsilon, self.piecewise.epsilon) if self.branch else self.bit.epsilon

    @property
    def outputs(self) -> int:
        return _FIRST_CELL + self.piecewise.window.size if self.branch else _FIRST_CELL

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One output for each value; both branches are drawn for everybody, so that the work tells nothing."""
        inputs = checked_inputs(values, self.inputs)
        kind = unsigned_type(self.report_bits)
        bits = self.bit.randomize(inputs, source).astype(kind)
        if not self.branch:
            return bits
        cells = self.piecewise.window.draw(inputs, source).astype(kind)
        cells += kind.type(_FIRST_CELL)
        cells -= bits
        cells *= source.bernoulli(self.branch, len(inputs))  # modulo the size of the type, which cancels
        bits += cells
        return bits

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the output."""
        weight = Fraction(self.branch, WORD_RANGE)
        bits, cells = self.bit.law(value), self.piecewise.law(value)
        law: dict[Hashable, Fraction] = {bit: (1 - weight) * bits[bit] for bit in (0, 1)}
        if self.branch:
            law.update({_FIRST_CELL + cell: weight * cells[cell] for cell in range(len(cells))})
        return law

    def tally(self, reports: Reports) -> Tally:
        """The number of bits, that of ones, and the sums of the cells and of their squares."""
        is_cell = reports >= _FIRST_CELL
        cells = (reports - reports.dtype.type(_FIRST_CELL)) * is_cell  # a bit counts as a cell of score 0
        bits = len(reports) - np.count_nonzero(is_cell)
        sums = np.concatenate([[bits, np.count_nonzero(reports == 1)], power_sums(cells)])
        return Tally(self, len(reports), sums.astype(np.int64))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of j / resolution."""
        require_own(tally, self)
        bits, ones = (int(count) for count in tally.sums[:2])
        window, flip = self.piecewise.window, Fraction(self.bit.flip, WORD_RANGE)
        first, second = debiased_moments(
            tally.sums[2:], tally.reports - bits, window.intercept, window.slope
        )
        low, high = -flip / (1 - 2 * flip), (1 - flip) / (1 - 2 * flip)
        first += (bits - ones) * low + ones * high
        second += (bits - ones) * low**2 + ones * high**2
        count = tally.reports
        return self._variance().estimate(float(first / count), float(second / count), count)

    def variance(self, values: ArrayLike) -> float:
        """Variance of a debiased report about its person's value, averaged over people with these values."""
        return self._variance().over(values)

    def _variance(self) -> QuadraticVariance:
        one_bit = QuadraticVariance(self.bit.variance(0.0), 1.0, -1.0)
        return self.piecewise.window.variance().mixed(one_bit, self.branch / WORD_RANGE)
