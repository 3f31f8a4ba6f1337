"""The square wave: reports for the distribution of a bounded value (Li et al., SIGMOD 2020), its bucketized form.

The value is one of D buckets.  The report is one of D + 2 b buckets: with probability T / 2**64 uniform on the window
of 2 b + 1 buckets around the value, else uniform on the D - 1 others (`window_law.py`).  As in the source, with
e = exp(epsilon), b = floor(D (epsilon e - e + 1) / (2 e (e - 1 - epsilon))), which maximises a bound on the information
in a report: it is D / 2 as epsilon goes to 0, and 0 (randomized response) when epsilon is large.

Claims.
- Epsilon is exact, as `WindowLaw` states.
- `estimate_mean` is exactly unbiased, because the mean of a report is affine in the bucket.
- `estimate` is the smoothed maximum likelihood of estimation/expectation_maximisation.py: **not** unbiased, and meant
  for smooth densities.  Beta(5, 2), 10**5 people, epsilon = 1, 256 buckets: Wasserstein distance below 0.009.
Checked exactly in tests/unit/randomizers/test_square_wave.py, and as a sample in
tests/statistical/test_mean_randomizers.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.estimation.expectation_maximisation import (
    BucketDistribution,
    WindowChannel,
    maximise_likelihood,
)
from localdp.randomizers.definition import DrawCost, Estimate, Reports, Tally
from localdp.randomizers.parts.inputs import require_between, require_own
from localdp.randomizers.parts.mean_estimates import power_sums_of_counts
from localdp.randomizers.parts.window_law import WindowLaw, WindowReports
from localdp.randomness.enclosures import exp_enclosure

LARGEST_BUCKETS = 1 << 16
_EXP_BITS = 256  # epsilon e - e + 1 is as small as epsilon**2 / 2, down to 10**-18


def _reach(requested: Epsilon, buckets: int) -> int:
    """b: how many buckets the window reaches to either side; its rounding has no bearing on privacy."""
    epsilon = requested.exact
    growth = Fraction(exp_enclosure(epsilon, _EXP_BITS)[0], 1 << _EXP_BITS)
    return int(buckets * (epsilon * growth - growth + 1) / (2 * growth * (growth - 1 - epsilon)))


@dataclass(frozen=True, slots=True)
class SquareWave(WindowReports):
    """Reports a bucket of a wider line: mostly one within reach of the value."""

    name: ClassVar[str] = "square-wave"
    draw_cost: ClassVar[DrawCost] = DrawCost(250, 50)
    requested: Epsilon
    buckets: int = 256
    window: WindowLaw = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of buckets", self.buckets, 2, LARGEST_BUCKETS)
        width = 2 * _reach(self.requested, self.buckets) + 1
        object.__setattr__(self, "window", WindowLaw(self.requested, self.buckets - 1, 1, width))

    @property
    def inputs(self) -> int:
        """The buckets of the value."""
        return self.buckets

    def tally(self, reports: Reports) -> Tally:
        """How often each bucket of the wider line was reported."""
        counts = np.bincount(reports.astype(np.int64), minlength=self.window.size)
        return Tally(self, len(reports), counts.astype(np.int64))

    @property
    def channel(self) -> WindowChannel:
        """The law as the estimator needs it: in floating point, and applied without a matrix."""
        outside = self.window.outside_mass
        inside = outside + self.window.excess
        return WindowChannel(self.buckets, self.window.width, float(inside), float(outside))

    def estimate(self, tally: Tally, *, smoothing: bool = True) -> BucketDistribution:
        """The distribution over the buckets: smoothed (EMS), or plain maximum likelihood (EM)."""
        require_own(tally, self)
        return maximise_likelihood(tally.sums, self.channel, smoothing=smoothing)

    def estimate_mean(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of bucket / (buckets - 1)."""
        require_own(tally, self)
        return self.window.estimate(power_sums_of_counts(tally.sums), tally.reports)
