"""Divided noise: the difference of two Polya (negative binomial) variables (Acs and Castelluccia 2011,
discrete).

Definition.  PolyaDifference(epsilon, parts) is NB(r, a) - NB'(r, a), with r = 1 / parts and a =
exp(-epsilon).

Claim.  The sum of `parts` independent copies is exactly DiscreteLaplace(epsilon): a geometric variable is
the sum of `parts` copies of NB(1 / parts, a), and the discrete Laplace is the difference of two geometrics.
 One copy alone is *not* epsilon-private; what a coalition that knows some of the copies can still learn is
 computed by the accounting.

Its characteristic function is (1 + 4 a sin^2(t/2) / (1 - a)^2)^-r, from which the mean absolute value is
integrated.
Checked, exactly by convolution and as a law, in tests/unit/randomness/test_polya.py and
tests/statistical/test_samplers.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, lgamma, log, pi

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.negative_binomial import NegativeBinomial
from localdp.randomness.source import Integers, RandomSource

LARGEST_PROBABILITY_SCALE = 1 << 16
_NEGLIGIBLE = 45.0  # exp(-45) is below the rounding of a double.
_NODES = 24


@dataclass(frozen=True, slots=True)
class PolyaDifference:
    """One of `parts` equal shares of DiscreteLaplace(epsilon) noise; 2**-40 <= epsilon <= 64."""

    epsilon: Fraction  # Of the *sum* of all parts at sensitivity 1, in nats.
    parts: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self._half().rate)

    def _half(self) -> NegativeBinomial:
        return NegativeBinomial(self.epsilon, self.parts)

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        half = self._half()
        return half.sample(source, count) - half.sample(source, count)

    def probability(self, k: int) -> float:
        """Pr[k] = sum over j of NB(j) NB(j + |k|), in floating point, for scales up to 2**16."""
        if 1 / self.epsilon > LARGEST_PROBABILITY_SCALE:
            raise InvalidParameter(f"probabilities are computed up to scale {LARGEST_PROBABILITY_SCALE}")
        epsilon, r, k = float(self.epsilon), 1.0 / self.parts, abs(k)
        log_first = 2 * r * log(-expm1(-epsilon)) - epsilon * k + lgamma(k + r) - lgamma(k + 1) - lgamma(r)
        j = np.arange(int(_NEGLIGIBLE / epsilon) + 2, dtype=np.float64)
        ratios = (r + j) / (j + 1) * ((k + r + j) / (k + 1 + j)) * exp(-2 * epsilon)
        return exp(log_first) * (1.0 + float(np.cumprod(ratios).sum()))

    def mean_absolute(self) -> float:
        """E|X| = (1/pi) times the integral over 0 .. pi of (1 - phi(t)) / (1 - cos t)."""
        epsilon = float(self.epsilon)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # phi bends at t of the size of epsilon, so the panels halve towards 0 until far below it.
        ends = pi * 0.5 ** np.arange(64 + max(0, int(-log(epsilon, 2))))
        half_widths = ends[:, None] / 4.0
        t = half_widths * (nodes + 3.0)
        squares = np.sin(t / 2.0) ** 2
        bend = 4.0 * exp(-epsilon) / expm1(-epsilon) ** 2 * squares
        integrand = -np.expm1(-np.log1p(bend) / self.parts) / (2.0 * squares)
        return float((integrand * weights * half_widths).sum()) / pi

    def variance(self) -> float:
        """E X^2 = 2 a / (1 - a)^2 / parts."""
        epsilon = float(self.epsilon)
        return 2.0 * exp(-epsilon) / expm1(-epsilon) ** 2 / self.parts
