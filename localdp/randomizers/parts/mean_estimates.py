"""What the mean randomizers share: from the moments of debiased reports to an estimate with both variances.

A debiased report Z of a person with value x in [0, 1] has E[Z | x] = x and a variance v(x) about x.  For randomizers
whose v is a polynomial of degree two, v(x) = c0 + c1 x + c2 x**2, the average of v over people depends on the first two
moments of their values alone, and E[Z**2] = c0 + c1 E[x] + (1 + c2) E[x**2] gives the second of them back:

    empirical target     n Var = c0 + c1 E[x] + c2 E[x**2]
    population target    n Var = the same + E[x**2] - E[x]**2.

Where 1 + c2 = 0 (a report of one bit) the second moment is not observable; the smallest possible one, E[x]**2, is used,
which makes both variances the same and bounds the empirical one from above.
Checked in tests/unit/randomizers/test_piecewise.py and tests/unit/randomizers/test_hybrid.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from localdp.randomizers.definition import Estimate, Values
from localdp.randomness.source import Integers

_UNOBSERVABLE = 1e-9
_LOW_BITS = 32
_LOW_MASK = (1 << _LOW_BITS) - 1
# The temporaries of a block stay in the cache: those of all reports cost more than the sums.
_BLOCK = 1 << 14


@dataclass(frozen=True, slots=True)
class QuadraticVariance:
    """v(x) = constant + linear x + square x**2: the variance of one debiased report about the value x."""

    constant: float
    linear: float
    square: float

    def average(self, mean: float, mean_square: float) -> float:
        """The average of v over people whose values have these moments."""
        return self.constant + self.linear * mean + self.square * mean_square

    def over(self, values: ArrayLike) -> float:
        """The average of v over people with these values; a single one is everybody's."""
        each = np.asarray(values, dtype=np.float64)
        return self.average(float(each.mean()), float((each * each).mean()))

    def mixed(self, other: QuadraticVariance, weight: float) -> QuadraticVariance:
        """The variance when this one applies with probability `weight`, else the other; both unbiased."""
        rest = 1 - weight
        return QuadraticVariance(
            weight * self.constant + rest * other.constant,
            weight * self.linear + rest * other.linear,
            weight * self.square + rest * other.square,
        )

    def estimate(self, mean: float, second_moment: float, reports: int) -> Estimate:
        """The estimate from the mean and the mean square of the debiased reports."""
        inside = min(max(mean, 0.0), 1.0)
        mean_square = inside * inside
        if 1 + self.square > _UNOBSERVABLE:
            solved = (second_moment - self.constant - self.linear * inside) / (1 + self.square)
            mean_square = min(max(solved, mean_square), inside)
        empirical = max(self.average(inside, mean_square), 0.0)
        population = empirical + mean_square - inside * inside
        return Estimate(mean, reports, empirical / reports, population / reports)


def power_sums(scores: Values) -> Integers:
    """The sum of integer scores below 2**31, and that of their squares in two parts, so that nothing overflows."""
    sums = np.zeros(3, np.int64)
    for start in range(0, len(scores), _BLOCK):
        wide = scores[start : start + _BLOCK].astype(np.int64)
        squares = wide * wide
        sums += (wide.sum(), (squares >> _LOW_BITS).sum(), (squares & _LOW_MASK).sum())
    return sums


def power_sums_of_counts(counts: Integers) -> Integers:
    """The same, when score s = 0, 1, 2, .. occurred counts[s] times."""
    scores = np.arange(len(counts), dtype=np.int64)
    squares = scores * scores
    return np.array([counts @ scores, counts @ (squares >> _LOW_BITS), counts @ (squares & _LOW_MASK)])


def debiased_moments(
    sums: Integers, count: int, intercept: Fraction, slope: Fraction
) -> tuple[Fraction, Fraction]:
    """The sums of Z and of Z**2 over `count` reports with these power sums, where Z = (score - intercept) / slope."""
    first, high, low = (int(part) for part in sums)
    squares = (high << _LOW_BITS) + low
    second = squares - 2 * intercept * first + count * intercept**2
    return (first - count * intercept) / slope, second / slope**2
