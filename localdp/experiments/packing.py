"""Packing, shown: how many people k counts take with pure privacy, and with a delta (section 8.2).

A trial draws the noise of k counts and says how many people put the largest of it at n/2.
Checked in tests/unit/experiments/test_packing.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_variance
from localdp.experiments.separations import Lab, Separation, Trial, Tried
from localdp.mechanisms.adder import TrustedCurator
from localdp.oracles.bounds import (
    gaussian_people,
    laplace_people,
    packing_people,
    pure_and_approximate_separate,
)
from localdp.randomness.source import Integers, RandomSource

DELTA = Fraction(1, 10**6)
COUNTS = (30, 100, 1000, 10_000, 100_000)  # of fewer, Gaussian noise is too small to be rounded
LAPLACE = "curator, Laplace noise"
GAUSSIAN = f"curator, Gaussian noise, delta = {float(DELTA):g}"
LINE = "at least, without a delta"
_NOBODY = 1  # a row of zeros: what is released is the noise


def packing(counts: Iterable[int] = COUNTS) -> Separation:
    """People needed for so many counts, each within n/2: measured with both noises, beside what packing asks for."""
    tried = [one for many in counts for one in _tried(many)]
    apart = pure_and_approximate_separate(Epsilon.requested(1), DELTA)
    return Separation(
        "packing",
        "Many counts: pure and approximate privacy",
        "counts",
        "people needed, on average, for all errors within half of them",
        tuple(tried),
        (
            f"at epsilon = 1: from {apart:,} counts on Gaussian noise does with fewer people than any pure mechanism",
            "the dashed line of Gaussian noise is what it stays below more often than not",
        ),
    )


def _tried(counts: int) -> list[Tried]:
    return [
        Tried(
            LAPLACE,
            counts,
            _NOBODY,
            _laplace(counts),
            lambda epsilon: laplace_people(float(epsilon), counts),
        ),
        Tried(
            GAUSSIAN,
            counts,
            _NOBODY,
            _gaussian(counts),
            lambda epsilon: gaussian_people(epsilon, DELTA, counts),
        ),
        Tried(LINE, counts, _NOBODY, lambda lab, _, __: packing_people(float(lab.epsilon), counts)),
    ]


def _laplace(counts: int) -> Trial:
    def run(lab: Lab, source: RandomSource, _: str) -> float:
        return _needed(TrustedCurator(source).noisy_sums(_zeros(counts), counts, lab.epsilon))

    return run


def _gaussian(counts: int) -> Trial:
    def run(lab: Lab, source: RandomSource, _: str) -> float:
        variance = gaussian_variance(lab.epsilon, DELTA, counts)
        return _needed(TrustedCurator(source).gaussian_sums(_zeros(counts), variance))

    return run


def _zeros(counts: int) -> Integers:
    return np.zeros((_NOBODY, counts), np.int64)


def _needed(noise: Integers) -> float:
    return 2.0 * float(np.abs(noise).max())
