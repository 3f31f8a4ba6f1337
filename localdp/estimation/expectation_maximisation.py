"""The most likely distribution behind randomized reports: EM, and EM with smoothing (Li et al., SIGMOD 2020).

Definition.  Reports come from a channel P[o | i] applied to inputs of an unknown distribution f.  One step of
expectation maximisation (Dempster, Laird and Rubin 1977) multiplies f(i) by the average over the reports o of
P[o | i] / (P f)(o); it never lowers the log-likelihood, which is concave in f.  EMS then smooths f with the kernel
(1, 2, 1) / 4, or (2, 1) / 3 at an end: a prior that neighbouring inputs are about equally frequent, without which the
maximum follows the noise.

The iteration starts at the uniform distribution and stops as soon as a step gains less than 10**-3 in log-likelihood.
A channel is applied as two functions; that of a window takes two running sums, O(inputs) in place of O(inputs**2).

Claim.  Neither estimate is unbiased.  Checked in tests/unit/estimation/test_expectation_maximisation.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Integers

LEAST_GAIN = 1e-3
MOST_ITERATIONS = 10_000


class Channel(Protocol):
    """The law of a randomizer, in floating point, as the two products that the iteration needs."""

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        ...

    def forward(self, masses: Floats) -> Floats:
        """The law of the output, for inputs of this distribution."""
        ...

    def backward(self, weights: Floats) -> Floats:
        """For each input, the expectation of the weight of its output."""
        ...


@dataclass(frozen=True, slots=True)
class WindowChannel:
    """Output o = i .. i + width - 1 of input i has probability `inside`, every other one `outside`."""

    inputs: int
    width: int
    inside: float
    outside: float

    def forward(self, masses: Floats) -> Floats:
        running = np.concatenate([[0.0], np.cumsum(masses)])
        output = np.arange(self.inputs + self.width - 1)
        newest, oldest = np.minimum(output + 1, self.inputs), np.maximum(output - self.width + 1, 0)
        within = running[newest] - running[oldest]
        return self._mixture(within, running[-1])

    def backward(self, weights: Floats) -> Floats:
        running = np.concatenate([[0.0], np.cumsum(weights)])
        return self._mixture(running[self.width :] - running[: self.inputs], running[-1])

    def _mixture(self, within: Floats, total: float) -> Floats:
        mixture: Floats = self.outside * total + (self.inside - self.outside) * within
        return mixture


@dataclass(frozen=True, slots=True, eq=False)
class BucketDistribution:
    """An estimated distribution over equal buckets of [0, 1]; its masses are not negative and add up to 1."""

    masses: Floats
    reports: int
    iterations: int
    log_likelihood: float

    @property
    def cumulative(self) -> Floats:
        """The mass up to the end of each bucket."""
        return np.cumsum(self.masses)

    @property
    def mean(self) -> float:
        """The mean, each bucket taken at its middle."""
        buckets = len(self.masses)
        return float(self.masses @ (np.arange(buckets) + 0.5)) / buckets

    def quantile(self, level: float) -> float:
        """The point of [0, 1] below which this much of the mass lies, each bucket taken as uniform."""
        if not 0 <= level <= 1:
            raise InvalidParameter("the level of a quantile lies between 0 and 1")
        ends = np.linspace(0.0, 1.0, len(self.masses) + 1)
        return float(np.interp(level, np.concatenate([[0.0], self.cumulative]), ends))


def smoothed(masses: Floats) -> Floats:
    """One pass of the kernel (1, 2, 1) / 4, or (2, 1) / 3 at an end, with total 1."""
    if len(masses) < 2:
        return masses
    passed: Floats = np.empty_like(masses)
    passed[1:-1] = (masses[:-2] + 2 * masses[1:-1] + masses[2:]) / 4
    passed[0], passed[-1] = (2 * masses[0] + masses[1]) / 3, (2 * masses[-1] + masses[-2]) / 3
    passed /= passed.sum()
    return passed


def maximise_likelihood(
    counts: Integers,
    channel: Channel,
    *,
    smoothing: bool = True,
    least_gain: float = LEAST_GAIN,
    most_iterations: int = MOST_ITERATIONS,
) -> BucketDistribution:
    """The distribution under which the output counts are (nearly) most likely."""
    masses = np.full(channel.inputs, 1.0 / channel.inputs)
    predicted = channel.forward(masses)
    reports = _checked_total(counts, predicted)
    likelihood, iterations, gain = _log_likelihood(counts, predicted), 0, np.inf
    while gain >= least_gain and iterations < most_iterations:
        masses = masses * channel.backward(counts / predicted) / reports
        masses = smoothed(masses) if smoothing else masses / masses.sum()
        predicted = channel.forward(masses)
        reached = _log_likelihood(counts, predicted)
        likelihood, gain, iterations = reached, reached - likelihood, iterations + 1
    return BucketDistribution(masses, reports, iterations, likelihood)


def _checked_total(counts: Integers, predicted: Floats) -> int:
    if counts.shape != predicted.shape or counts.min() < 0 or counts.sum() < 1:
        raise InvalidParameter("an estimate needs one count for each output of the channel, not all zero")
    if predicted.min() <= 0:
        raise InvalidParameter("every output of the channel must be possible")
    return int(counts.sum())


def _log_likelihood(counts: Integers, predicted: Floats) -> float:
    return float(counts @ np.log(predicted))
