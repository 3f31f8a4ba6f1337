"""The piecewise mechanism for one bounded value (Wang et al., ICDE 2019), on a line of cells.

On paper a value t in [-1, 1] is reported as a real number: with s = exp(epsilon / 2), uniform on a window whose place
moves linearly with t with probability s / (s + 1), else uniform on the rest of the line, which is s windows long.
Here the value is a point j of the grid 0 .. R, t = 2 j / R - 1, and the line has R step + width cells, as in
`window_law.py`; the step is the smallest for which the window has at least `fineness` cells, and the width is
R step / s, rounded.

**Deviation.**  A finite line instead of a real one: no float is reported, and the epsilon is that of the integers.

Claim.  The randomizer is epsilon-local, exactly as `WindowLaw` states, and the affine estimator is exactly unbiased.
In the units of [-1, 1] the variance of a debiased report is t**2 / (s - 1) + (s + 3) / (3 (s - 1)**2), up to a
fraction of 1 / fineness.  Checked exactly in tests/unit/randomizers/test_piecewise.py, and as a sample in
tests/statistical/test_mean_randomizers.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from numpy.typing import ArrayLike

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.definition import DrawCost, Estimate, Reports, Tally
from localdp.randomizers.parts.construction import OnGrid
from localdp.randomizers.parts.inputs import require_between, require_own
from localdp.randomizers.parts.mean_estimates import power_sums
from localdp.randomizers.parts.window_law import WindowLaw, WindowReports
from localdp.randomness.enclosures import exp_enclosure

LARGEST_RESOLUTION = 1 << 20
LARGEST_FINENESS = 1 << 8
_ROOT_BITS = 64


def _window(requested: Epsilon, resolution: int, fineness: int) -> WindowLaw:
    """The coarsest line whose window has at least `fineness` cells."""
    root = Fraction(exp_enclosure(requested.exact / 2, _ROOT_BITS)[0], 1 << _ROOT_BITS)
    step = max(1, -(-fineness * root // resolution))
    width = max(fineness, round(resolution * step / root))
    return WindowLaw(requested, resolution, int(step), width)


@dataclass(frozen=True, slots=True)
class PiecewiseRandomizer(OnGrid, WindowReports):
    """Reports a cell of a line: mostly one near the value, and none much likelier than exp(epsilon) allows."""

    name: ClassVar[str] = "piecewise"
    draw_cost: ClassVar[DrawCost] = DrawCost(250, 26)
    requested: Epsilon
    resolution: int = 1 << 10
    fineness: int = 64  # cells of a window, at least
    window: WindowLaw = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the resolution", self.resolution, 1, LARGEST_RESOLUTION)
        require_between("the fineness", self.fineness, 1, LARGEST_FINENESS)
        object.__setattr__(self, "window", _window(self.requested, self.resolution, self.fineness))

    def tally(self, reports: Reports) -> Tally:
        """The sums of the cells and of their squares."""
        return Tally(self, len(reports), power_sums(reports))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of j / resolution."""
        require_own(tally, self)
        return self.window.estimate(tally.sums, tally.reports)

    def variance(self, values: ArrayLike) -> float:
        """Variance of a debiased report about its person's value, averaged over people with these values."""
        return self.window.variance().over(values)
