"""What an estimate of a whole distribution on 0 .. inputs - 1 answers: ranges, the distribution function, quantiles.

All answers are differences of one estimated prefix sum, so they agree with each other: adjacent ranges add up, and the
range of everything is exactly one.  Ranges and prefixes are unbiased.  A quantile is read off the nearest distribution
function that never falls (`isotonic.py`), because a noisy one crosses its level several times.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import InvalidParameter
from localdp.estimation.isotonic import monotone_cdf
from localdp.randomizers.definition import Floats, Frequencies, LocalRandomizer
from localdp.randomness.source import Integers


class RangeRandomizer(LocalRandomizer, Protocol):
    """A randomizer whose estimate is the mass of every range."""

    def range_variance(self, low: Integers, high: Integers, prefix: Floats) -> Floats:
        """n times the variance of the estimated mass of low .. high - 1, for the empirical target at these data."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RangeEstimates:
    """Unbiased estimates of the mass of every range of inputs."""

    randomizer: RangeRandomizer
    reports: int
    prefix: Floats  # prefix[t] is the mass of 0 .. t - 1; from 0 to exactly 1, with inputs + 1 entries

    @property
    def values(self) -> Floats:
        """The estimated frequency of every single input."""
        return np.diff(self.prefix)

    def ranges(self, low: ArrayLike, high: ArrayLike) -> Frequencies:
        """The masses of the half-open ranges low .. high - 1, with their variances."""
        starts, ends = np.broadcast_arrays(_places(low), _places(high))
        if starts.size and (starts.min() < 0 or ends.max() >= len(self.prefix) or (starts > ends).any()):
            raise InvalidParameter(
                "a range starts at 0 or later, ends at `inputs` or before, and not before its start"
            )
        masses = self.prefix[ends] - self.prefix[starts]
        rising = np.append(0.0, monotone_cdf(self.prefix[1:]))
        inside = rising[ends] - rising[starts]
        empirical = np.maximum(self.randomizer.range_variance(starts, ends, rising), 0.0) / self.reports
        return Frequencies(
            masses, self.reports, empirical, empirical + inside * (1 - inside) / self.reports
        )

    def cdf(self) -> Frequencies:
        """The mass of 0 .. x for every input x, unbiased, so not always rising."""
        return self.ranges(0, np.arange(1, len(self.prefix)))

    def quantile(self, level: float) -> int:
        """The smallest input x with a mass of 0 .. x of at least the level, after isotonic regression."""
        return self._first_reaching(level)

    def quantile_interval(self, level: float, confidence: float = 0.95) -> tuple[int, int]:
        """Where the estimated distribution function is, within its error at the quantile, at the level."""
        if not 0 < confidence < 1:
            raise InvalidParameter("a confidence lies strictly between 0 and 1")
        error = float(self.ranges(0, self.quantile(level) + 1).standard_errors[0])
        width = NormalDist().inv_cdf((1 + confidence) / 2) * error
        return self._first_reaching(max(level - width, 0.0)), self._first_reaching(min(level + width, 1.0))

    def _first_reaching(self, level: float) -> int:
        if not 0 <= level <= 1:
            raise InvalidParameter("the level of a quantile lies between 0 and 1")
        return int(np.searchsorted(monotone_cdf(self.prefix[1:]), level))


def _places(bounds: ArrayLike) -> Integers:
    places = np.atleast_1d(np.asarray(bounds))
    if places.ndim != 1 or places.dtype.kind not in "ui":
        raise InvalidParameter("the ends of ranges are integers")
    return places.astype(np.int64)
