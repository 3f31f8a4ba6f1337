"""The template of "pure" frequency oracles (Wang, Blocki, Li and Jha 2017).

A report supports a set of inputs.  When every report of input x supports x with probability p, and any other given
input with probability q, then with c(x) the number of reports that support x

    f(x) = (c(x) / n - q) / (p - q)                                is unbiased, and
    n Var f(x) = q (1 - q) / (p - q)**2 + f (1 - p - q) / (p - q)  for the empirical target.

p and q are exact rationals, taken from the integers that the randomizer draws with.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Frequencies, Tally
from localdp.randomizers.parts.construction import Construction
from localdp.randomizers.parts.inputs import require_own
from localdp.randomness.source import Integers


@dataclass(frozen=True, slots=True)
class Support:
    """How often a report supports its own input (p) and another one (q)."""

    own: Fraction
    other: Fraction

    def estimate(self, supporting: Integers, reports: int) -> Frequencies:
        """Frequencies from the number of supporting reports of each input."""
        if reports < 1:
            raise InvalidParameter("an estimate needs at least one report")
        share = supporting / reports
        gap = float(self.own - self.other)
        values = (share - float(self.other)) / gap
        inside = np.clip(values, 0.0, 1.0)
        slope = float((1 - self.own - self.other) / (self.own - self.other))
        empirical = np.maximum(self.variance(0.0) + inside * slope, 0.0) / reports
        population = share * (1 - share) / gap**2 / reports
        return Frequencies(values, reports, empirical, population)

    def variance(self, frequency: float) -> float:
        """n times the variance of the estimate at this frequency, for the empirical target."""
        gap = self.own - self.other
        constant = self.other * (1 - self.other) / gap**2
        return float(constant) + frequency * float((1 - self.own - self.other) / gap)


class PureProtocol(Construction):
    """A frequency oracle whose reports support inputs."""

    __slots__ = ()

    @property
    @abstractmethod
    def support(self) -> Support:
        """How often a report supports its own input, and another one."""

    def variance(self, frequency: float) -> float:
        """n times the variance of the estimate of an input of this frequency, for the empirical target."""
        return self.support.variance(frequency)


class CountedSupport(PureProtocol):
    """A pure protocol whose tally is the number of supporting reports of each input."""

    __slots__ = ()

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased estimate of the frequency of every input."""
        require_own(tally, self)
        return self.support.estimate(tally.sums, tally.reports)
