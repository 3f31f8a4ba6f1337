"""Isotonic regression: the nearest sequence that never falls (Ayer, Brunk, Ewing, Reid and Silverman 1955).

For values v and weights w > 0 the result minimises sum w (x - v)**2 over x_1 <= x_2 <= ... <= x_n.  Adjacent blocks
whose means fall are pooled into their common mean until none is left; the order of pooling does not matter, so that
whole runs of falling blocks are pooled at once, in numpy, as long as such a round removes a good part of the blocks,
and one by one with a stack after that.

Claim.  Work is O(n); the result is the exact minimiser up to the rounding of the sums.  A cumulative distribution
function that is estimated point by point becomes one that rises from 0 to 1.
Checked in tests/unit/estimation/test_isotonic.py, against the conditions of optimality.
"""

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Numbers

Counts = NDArray[np.int64]
# A round that leaves more of the blocks than this is not worth its passes over them.
_LEAST_SHRINKING = 0.9


def isotonic(values: Numbers, weights: Numbers | None = None) -> Floats:
    """The nearest sequence, in weighted squares, that never falls."""
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    moment = np.asarray(values, np.float64) * mass
    if moment.ndim != 1 or not np.isfinite(moment).all() or not (mass > 0).all():
        raise InvalidParameter("values are finite, and weights positive, one for each value")
    sizes: Counts = np.ones(len(values), np.int64)
    while True:
        blocks = len(mass)
        moment, mass, sizes = _pool_runs(moment, mass, sizes)
        if len(mass) == blocks:
            return np.repeat(moment / mass, sizes)
        if len(mass) > _LEAST_SHRINKING * blocks:
            moment, mass, sizes = _pool_in_order(moment, mass, sizes)


def monotone_cdf(cdf: Numbers) -> Floats:
    """The nearest never falling sequence, kept between 0 and 1, that ends in 1."""
    pooled = np.clip(isotonic(cdf), 0.0, 1.0)
    pooled[-1:] = 1.0
    return pooled


def _pool_runs(moment: Floats, mass: Floats, sizes: Counts) -> tuple[Floats, Floats, Counts]:
    """Every maximal run of falling block means pooled into one block."""
    if not len(mass):
        return moment, mass, sizes
    means = moment / mass
    starts = np.concatenate(([0], np.flatnonzero(means[1:] >= means[:-1]) + 1))
    return np.add.reduceat(moment, starts), np.add.reduceat(mass, starts), np.add.reduceat(sizes, starts)


def _pool_in_order(moment: Floats, mass: Floats, sizes: Counts) -> tuple[Floats, Floats, Counts]:
    """Blocks taken from the left, each pooled with those before it that exceed it."""
    moments: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for block_moment, block_mass, block_size in zip(
        moment.tolist(), mass.tolist(), sizes.tolist(), strict=True
    ):
        total, weight, size = block_moment, block_mass, block_size
        while moments and moments[-1] / masses[-1] > total / weight:
            total, weight, size = total + moments.pop(), weight + masses.pop(), size + counts.pop()
        moments.append(total)
        masses.append(weight)
        counts.append(size)
    return np.array(moments), np.array(masses), np.array(counts, np.int64)
