"""Moments of the largest scores among normal candidates: what the scale of `priv_unit.py` is made of.

N = K / 2 scores are standard normal, and each comes with its negative.  The k <= N largest of the K are the k largest
of N absolute values.  With f and S the density and the tail of an absolute value, the sum of any function h over them
has expectation N times the integral of h f P[Bin(N - 1, S) < k]: a score is among them when fewer than k others exceed
it.
The integral is by Gauss and Legendre, to about 12 digits.

With probability p one of the k near candidates is reported, else one of the K - k others.  All K scores add up to 0 and
their squares to K on average, which gives the moments of the others.
Checked against the order statistics of small N, and against PrivUnitG for large N, in
tests/unit/randomizers/test_priv_unit.py.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from localdp.randomness.source import Floats

_PANELS, _NODES_PER_PANEL = 72, 8
_REACH = 9.0  # beyond it lies less than 10**-18 of the normal law


def _nodes() -> tuple[Floats, Floats]:
    """Nodes and weights of the integral from 0 to 9: the rule of Gauss and Legendre on each of many panels."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half = _REACH / _PANELS / 2
    middles = half * (2 * np.arange(_PANELS) + 1)
    return (middles[:, None] + half * nodes).ravel(), np.tile(half * weights, _PANELS)


@lru_cache(maxsize=16)
def near_moments(pairs: int) -> tuple[Floats, Floats]:
    """The mean score and the mean squared score of the k near candidates, for k = 1 .. pairs."""
    score, weights = _nodes()
    density = weights * np.sqrt(2 / np.pi) * np.exp(-(score**2) / 2)
    tail = np.array([math.erfc(value / math.sqrt(2)) for value in score])
    exceeding = np.arange(pairs)[:, None]
    ways = [math.lgamma(pairs) - math.lgamma(r + 1) - math.lgamma(pairs - r) for r in range(pairs)]
    mass = np.exp(
        np.array(ways)[:, None] + exceeding * np.log(tail) + (pairs - 1 - exceeding) * np.log1p(-tail)
    )
    each = pairs * np.cumsum(mass, axis=0) * density / (exceeding + 1)
    return each @ score, each @ score**2


@dataclass(frozen=True, slots=True)
class NearScores:
    """The score of the reported candidate: near with probability `keep`, else one of the others."""

    candidates: int
    near: int
    keep: float

    @property
    def mean(self) -> float:
        """m: the reported candidate has mean m x."""
        top = float(near_moments(self.candidates // 2)[0][self.near - 1])
        return top * (self.keep - (1 - self.keep) * self.near / (self.candidates - self.near))

    @property
    def scale(self) -> float:
        """sigma = 1 / m."""
        return 1 / self.mean

    @property
    def mean_square(self) -> float:
        """The mean squared score of the reported candidate."""
        top = float(near_moments(self.candidates // 2)[1][self.near - 1])
        others = (self.candidates - self.near * top) / (self.candidates - self.near)
        return self.keep * top + (1 - self.keep) * others


@lru_cache(maxsize=1024)
def best_near(candidates: int, epsilon: float) -> int:
    """The k of the smallest scale."""
    near = np.arange(1, candidates // 2 + 1)
    top = near_moments(candidates // 2)[0]
    # p - (1 - p) k / (K - k) for p = k e / (k e + K - k), with e = exp(epsilon).
    gain = near * np.expm1(epsilon) / (near * np.exp(epsilon) + candidates - near)
    return int(near[np.argmax(top * gain)])
