"""What several servers' noises add up to: the generalised discrete Laplace law, as predictions.

Definition.  SummedNoise(parameter, shape) is X - X' for independent X, X' ~ NB(shape, a), a = exp(-parameter), where
Pr[X = k] = w(k) (1 - a)^shape a^k and w(k) = shape (shape + 1) ... (shape + k - 1) / k!.  Shapes of independent
noises of one parameter add up; shape 1 is the discrete Laplace law.

    Pr[k]    = (1 - a)^(2 shape) a^|k| sum over j of w(j) w(j + |k|) a^(2 j)
    E X^2    = shape * 2 a / (1 - a)^2
    E exp(itX) = (1 + 4 a sin^2(t/2) / (1 - a)^2)^-shape, from which E|X| is integrated
    Pr[|X| > k] = 2 a^(k + 1) / (1 + a) where the shape is 1

These are floats, for predictions and tests: no draw and no claim is made from them.
Checked in tests/unit/sharing/test_summed_noise.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, lgamma, log, log1p, pi

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

LARGEST_PROBABILITY_SCALE = 1 << 16
LARGEST_TABLE_SCALE = 512  # beyond it the law is the same one on a finer grid, up to a part in a thousand
_NEGLIGIBLE = 45.0  # exp(-45) is below the rounding of a double
_NODES = 24


@dataclass(frozen=True, slots=True)
class SummedNoise:
    """The difference of two negative binomials of the same shape and parameter."""

    parameter: Fraction
    shape: Fraction

    def __post_init__(self) -> None:
        if self.parameter <= 0 or self.shape <= 0:
            raise InvalidParameter("noise has a positive parameter and a positive shape")

    def probability(self, k: int) -> float:
        """Pr[k], for scales up to 2**16."""
        if 1 / self.parameter > LARGEST_PROBABILITY_SCALE:
            raise InvalidParameter(f"probabilities are computed up to scale {LARGEST_PROBABILITY_SCALE}")
        rate, shape, k = float(self.parameter), float(self.shape), abs(k)
        log_first = (
            2 * shape * log(-expm1(-rate)) - rate * k + lgamma(k + shape) - lgamma(k + 1) - lgamma(shape)
        )
        # Beyond shape / rate the terms fall like a^(2 j).
        j = np.arange(int((_NEGLIGIBLE + 4 * shape) / rate) + 8, dtype=np.float64)
        ratios = (shape + j) / (j + 1) * ((k + shape + j) / (k + 1 + j)) * exp(-2 * rate)
        return exp(log_first) * (1.0 + float(np.cumprod(ratios).sum()))

    def mean_absolute(self) -> float:
        """E|X| = (1/pi) times the integral over 0 .. pi of (1 - phi(t)) / (1 - cos t)."""
        rate = float(self.parameter)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # phi bends at t of the size of the parameter, so the panels halve towards 0 until far below it.
        ends = pi * 0.5 ** np.arange(64 + max(0, int(-log(rate, 2))))
        half_widths = ends[:, None] / 4.0
        squares = np.sin(half_widths * (nodes + 3.0) / 2.0) ** 2
        bend = 4.0 * exp(-rate) / expm1(-rate) ** 2 * squares
        integrand = -np.expm1(-np.log1p(bend) * float(self.shape)) / (2.0 * squares)
        return float((integrand * weights * half_widths).sum()) / pi

    def variance(self) -> float:
        """E X^2 = shape * 2 a / (1 - a)^2."""
        rate = float(self.parameter)
        return float(self.shape) * 2.0 * exp(-rate) / expm1(-rate) ** 2

    def half_width(self, level: float) -> int:
        """The least k with Pr[|X| <= k] >= level."""
        if not 0 < level < 1:
            raise InvalidParameter("the level of an interval lies strictly between 0 and 1")
        return _half_width(self, level)


@lru_cache(maxsize=256)
def _half_width(noise: SummedNoise, level: float) -> int:
    rate, scale = float(noise.parameter), float(1 / noise.parameter)
    if noise.shape == 1:
        # 2 a^(k + 1) / (1 + a) <= 1 - level, solved for k; a part in 10^12 against rounding at equality.
        exact = (log(2.0 / (1.0 - level)) - log1p(exp(-rate))) / rate - 1.0
        return max(0, ceil(exact - 1e-12 * abs(exact)))
    if scale > LARGEST_TABLE_SCALE:
        coarse = SummedNoise(Fraction(1, LARGEST_TABLE_SCALE), noise.shape)
        return ceil(_half_width(coarse, level) * scale / LARGEST_TABLE_SCALE)
    within = np.cumsum(_folded(noise))
    return int(np.argmax(within >= level * (1 - 1e-12)))


def _folded(noise: SummedNoise) -> Floats:
    """Pr[|X| = k] for k = 0, 1, ..., as far as it is not negligible: a law correlated with itself."""
    rate, shape = float(noise.parameter), float(noise.shape)
    k = np.arange(1, int((_NEGLIGIBLE + 4 * shape) / rate) + 8, dtype=np.float64)
    steps = np.log((shape + k - 1) / k) - rate
    one_sided = np.exp(shape * log(-expm1(-rate)) + np.append(0.0, np.cumsum(steps)))
    spectrum = np.fft.rfft(one_sided, 2 * len(one_sided))
    both = np.fft.irfft(spectrum * spectrum.conj(), 2 * len(one_sided))[: len(one_sided)]
    return np.append(both[0], 2 * both[1:])
