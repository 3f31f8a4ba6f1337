"""What several servers' noises add up to: the generalised discrete Laplace law, as predictions.

Definition.  SummedNoise(parameter, shape) is X - X' for independent X, X' ~ NB(shape, a), a = exp(-parameter), where
Pr[X = k] = w(k) (1 - a)^shape a^k and w(k) = shape (shape + 1) ... (shape + k - 1) / k!.  Shapes of independent
noises of one parameter add up; shape 1 is the discrete Laplace law.

    Pr[k]    = (1 - a)^(2 shape) a^|k| sum over j of w(j) w(j + |k|) a^(2 j)
    E X^2    = shape * 2 a / (1 - a)^2
    E exp(itX) = (1 + 4 a sin^2(t/2) / (1 - a)^2)^-shape, from which E|X| is integrated

These are floats, for predictions and tests: no draw and no claim is made from them.
Checked in tests/unit/sharing/test_summed_noise.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, lgamma, log, pi

import numpy as np

from localdp.errors import InvalidParameter

LARGEST_PROBABILITY_SCALE = 1 << 16
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
