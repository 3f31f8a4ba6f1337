"""Local randomizers: Definition 12.1, and what one must own to be useful at both ends.

Definition 12.1 (epsilon-local randomizer).  R : X -> W is epsilon-local when
P[R(x) = w] <= exp(epsilon) P[R(x') = w] for all inputs x, x' and all outputs w.

One frozen object owns its integer law, the epsilon that follows from that law, the draw at the party, the packed
form of a report, and the tally and the estimator at the aggregator; no end recomputes what the other knows.  Inputs are
the integers 0 .. inputs - 1.  Reports of any number of workers are summed up in a `Tally`, whose merging is exact and in
any order.

On an agent, whose coins come from a `LanedSource`, the time of `randomize` and `pack` tells neither values nor coins: with
the report, a coin tells the value.  So nothing is selected by a mask or by `np.where`, sorted, or searched there.

Checked for every randomizer by tests/contract/test_randomizer.py; the time, by
tests/unit/randomizers/test_quiet_randomizers.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import ShuffledAs
from localdp.errors import InvalidParameter
from localdp.randomizers.input_kinds import InputKind
from localdp.randomness.source import Integers, RandomSource

Values = NDArray[Any]
Reports = NDArray[Any]
Floats = NDArray[np.float64]
Parameters = dict[str, Any]  # whole numbers and truths, or such dictionaries again, or tuples of them


@dataclass(frozen=True, slots=True)
class DrawCost:
    """What drawing and packing reports takes, on the machine that `party/cost.py` speaks of."""

    fixed_us: float  # for a part of a cohort
    person_ns: float
    words: int = 4  # of 64 coins, for one person


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Integer sums over reports: all that an estimator needs, and all that is kept."""

    randomizer: LocalRandomizer
    reports: int
    sums: Integers

    def merge(self, other: Tally) -> Tally:
        """The tally of both sets of reports."""
        if other.randomizer != self.randomizer:
            raise InvalidParameter("tallies of different randomizers cannot be merged")
        return Tally(self.randomizer, self.reports + other.reports, self.sums + other.sums)


class LocalRandomizer(Protocol):
    """An epsilon-local randomizer on the inputs 0 .. inputs - 1: frozen, hashable, equal by its parameters."""

    memoised: ClassVar[bool]  # draws a permanent answer first: it is a `MemoisedRandomizer`
    shuffled_as: ClassVar[ShuffledAs]  # which law of mixed reports is that of its own

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours: derived from the integer law, rounded up."""
        ...

    @property
    def likely(self) -> Fraction:
        """The share of reports that are likely under an input, where each has one of two probabilities; else a half."""
        ...

    def at(self, epsilon: Epsilon) -> Self:
        """The same construction at another epsilon."""
        ...

    @property
    def inputs(self) -> int:
        """How many different inputs there are."""
        ...

    @property
    def report_bits(self) -> int:
        """Size of one packed report, whatever the input."""
        ...

    @property
    def canonical(self) -> str:
        """Name and parameters as text: equal exactly for equal randomizers."""
        ...

    @property
    def takes(self) -> InputKind:
        """What its inputs stand for."""
        ...

    @property
    def draw_cost(self) -> DrawCost:
        """What a draw takes, whatever the inputs."""
        ...

    @property
    def parameters(self) -> Parameters:
        """What it is made from, under the names that its message has on the wire."""
        ...

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """One report for each value, in order, along the first axis."""
        ...

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact output law for one input; for small parameters."""
        ...

    def pack(self, reports: Reports) -> bytes:
        """Reports as bytes; the length depends on their number alone."""
        ...

    def unpack(self, data: bytes, count: int) -> Reports:
        """The reports again; raises `MalformedReport` unless the bytes are exactly `count` valid reports."""
        ...


@runtime_checkable
class TalliedRandomizer(LocalRandomizer, Protocol):
    """A randomizer whose reports are summed up on arrival; over an open domain they are kept instead."""

    def tally(self, reports: Reports) -> Tally:
        """What the aggregator keeps of the reports."""
        ...


def require_tallied(randomizer: LocalRandomizer) -> TalliedRandomizer:
    """The randomizer, if its reports are summed up; or a refusal."""
    if not isinstance(randomizer, TalliedRandomizer):
        raise InvalidParameter(
            "reports over an open domain are not summed up: keep them, and score candidates"
        )
    return randomizer


@runtime_checkable
class PackedTally(Protocol):
    """A randomizer that sums reports up without unpacking them."""

    def tally_packed(self, data: bytes, count: int) -> Tally:
        """What `tally` says of what `unpack` returns."""
        ...


def tally_packed(randomizer: TalliedRandomizer, data: bytes, count: int) -> Tally:
    """The tally of exactly `count` packed reports; raises `MalformedReport` unless that is what the bytes are."""
    if isinstance(randomizer, PackedTally):
        return randomizer.tally_packed(data, count)
    return randomizer.tally(randomizer.unpack(data, count))


class MeanRandomizer(TalliedRandomizer, Protocol):
    """A randomizer for the mean of a value in [0, 1]: input j stands for j / resolution."""

    @property
    def resolution(self) -> int:
        """One less than the number of inputs."""
        ...

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased estimate of the mean of input / resolution."""
        ...

    def variance(self, values: ArrayLike) -> float:
        """Variance of one debiased report about its person's value, averaged over people with these values."""
        ...


class FrequencyRandomizer(TalliedRandomizer, Protocol):
    """A randomizer for the frequencies of all inputs: a frequency oracle."""

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased estimate of the frequency of every input."""
        ...

    def variance(self, frequency: float) -> float:
        """n times the variance of the estimate of an input of this frequency, for the empirical target."""
        ...


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InvalidParameter("a confidence lies strictly between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate of a mean, with its variance for both targets.

    The empirical target is the mean of the people who answered; the population target is the mean of the
    distribution that they are a sample of, and has the sampling term on top.
    """

    value: float
    reports: int
    variance_empirical: float
    variance_population: float

    @property
    def standard_error(self) -> float:
        """Standard error for the empirical target."""
        return math.sqrt(self.variance_empirical)

    def interval(self, confidence: float = 0.95, *, population: bool = False) -> tuple[float, float]:
        """A normal confidence interval; not clipped, so that averages of estimates stay unbiased."""
        variance = self.variance_population if population else self.variance_empirical
        width = _quantile(confidence) * math.sqrt(variance)
        return self.value - width, self.value + width


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Unbiased estimates of many frequencies at once, with their variances for both targets."""

    values: Floats
    reports: int
    variance_empirical: Floats
    variance_population: Floats

    @property
    def standard_errors(self) -> Floats:
        """Standard errors for the empirical target."""
        return np.sqrt(self.variance_empirical)

    def intervals(
        self, confidence: float = 0.95, *, population: bool = False, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Normal confidence intervals: each by itself, or all at once by Bonferroni's inequality."""
        variance = self.variance_population if population else self.variance_empirical
        each = 1 - (1 - confidence) / len(self.values) if simultaneous else confidence
        width = _quantile(each) * np.sqrt(variance)
        return self.values - width, self.values + width
