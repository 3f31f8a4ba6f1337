"""One quantile of a column: selected, where somebody can compare sums without telling them, or read off a tree.

Selecting costs the same for a thousand values as for two (`StatisticalQueryOracle.select`).  So half of epsilon selects the
bin between which and the quantile the fewest people lie, and the other half asks one histogram around it, of bins that get
twice as wide with every step: for the interval, and for the place within the selected bin.  Where selecting needs answers
about all bins, a tree of histograms (`RangeRelease`) is better, and gives all of it.

With a curator at n = 10,000, in people between the estimate and the median, and in brackets half of the interval (uniform,
lognormal and normal numbers, 60 runs):

| epsilon | the tree, 256 bins | selected among 1,024 |
|---|---|---|
| 0.1 | 119 (273), 65 (194), 112 (233) | 40 (247), 46 (243), 45 (265) |
| 0.3 | 35 (82), 30 (64), 35 (72) | 17 (89), 25 (81), 22 (86) |
| 1 | 12 (25), 10 (20), 12 (21) | 7 (27), 10 (44), 13 (35) |

A bin of the lognormal median holds 78 people; the interval holds the whole bin, because interpolation within it has an
error that nobody can state.

Claim.  A selected bin is no further from the quantile, in people, than `Selected.shortfall` says.  The interval is normal,
from the errors of the histogram.
Checked in tests/unit/algorithms/release/test_quantiles.py; coverage in tests/statistical/test_quantiles.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from statistics import NormalDist

import numpy as np

from localdp.algorithms.release.ranges import MOST_BINS, RangeRelease, cut_at, reached
from localdp.domains import IntegerDomain, Schema
from localdp.estimation.isotonic import monotone_cdf
from localdp.oracles.definition import LEVEL, StatisticalQueryOracle, VectorAnswer, normal_width
from localdp.oracles.plans import require_signal
from localdp.queries.scores import Quantile
from localdp.randomness.source import Floats

_TREE_BINS = 256
SIGNAL = 0.1  # an error of a share that is not worth asking for


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """A value that a share of the people lies below, nearly, and an interval for it."""

    value: float
    low: float
    high: float


def estimated_quantile(
    oracle: StatisticalQueryOracle,
    column: str,
    at: float,
    level: float = LEVEL,
    *,
    check_signal: bool = True,
) -> QuantileEstimate:
    """The quantile of a column of numbers, selected if that is cheaper than answers about all bins."""
    rule, bins = Quantile(at), QuantileBins.of(column, oracle.schema)
    if not oracle.selects:
        tree = RangeRelease(column, bins=min(len(bins), _TREE_BINS), check_signal=check_signal).fit(oracle)
        return QuantileEstimate(tree.quantile(at), *tree.quantile_interval(at, level))
    view = oracle.in_rounds(2)
    if check_signal:
        _require_signal(view, bins)
    place = view.select(bins.query, rule).place
    edges = bins.around(place)
    (answer,) = view.answer_vectors([bins.parts(edges)])
    return bins.estimated(place, edges, answer, at, level)


def _require_signal(oracle: StatisticalQueryOracle, bins: QuantileBins) -> None:
    """Refuse if a share below the quantile would drown, wherever it is: in the middle there are the most parts."""
    edges = bins.around(len(bins) // 2)
    plan = oracle.plan([bins.parts(edges)])
    error = _errors(plan.rows[0].standard_error, len(edges) - 1).max()
    require_signal(SIGNAL, float(error), "a share", plan)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileBins:
    """What is selected from: the values of a column of few whole numbers, or as many bins as there can be."""

    column: str
    edges: Sequence[Fraction]
    query: str
    whole: bool  # numbers

    @classmethod
    def of(cls, column: str, schema: Schema) -> QuantileBins:
        """Those of a column of numbers."""
        domain = schema[column]
        values = domain.high - domain.low + 1 if isinstance(domain, IntegerDomain) else MOST_BINS
        release = RangeRelease(column, bins=max(2, min(values, MOST_BINS)))
        return cls(column, *release.leaves(schema), isinstance(domain, IntegerDomain))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def around(self, place: int) -> list[int]:
        """The edges of parts that get wider with their distance from a bin; the first and the last edge are among them."""
        last, steps = len(self), [0, *(1 << power for power in range(MOST_BINS.bit_length()))]
        near = {place - step for step in steps} | {place + 1 + step for step in steps}
        return sorted({0, last} | {edge for edge in near if 0 < edge < last})

    def parts(self, edges: Sequence[int]) -> str:
        """The query for a person's part."""
        return cut_at(self.column, [self.edges[edge] for edge in edges[1:-1]])

    def estimated(
        self, place: int, edges: Sequence[int], answer: VectorAnswer, at: float, level: float
    ) -> QuantileEstimate:
        """The quantile and its interval, from the parts around a bin."""
        parts, own = len(edges) - 1, edges.index(place)
        even = answer.values - (answer.values.sum() - 1) / parts  # all of them together are everybody
        below, errors = np.append(0.0, np.cumsum(even)), _errors(_spread(answer), parts)
        error = float(max(errors[own], errors[own + 1]))
        numbers, rising = self._numbers(edges), np.append(0.0, monotone_cdf(below[1:]))
        low, high = (
            reached(numbers, rising, min(max(at + off, 0.0), 1.0), whole=self.whole)
            for off in (-normal_width(level) * error, normal_width(level) * error)
        )
        first, end = self._ends(place)
        value = first + (end - first) * _within(at - below[own], even[own], error)
        # Nobody knows where people are within a bin, so the interval holds all of it.
        whole = float(floor(value)) if self.whole else value
        return QuantileEstimate(whole, min(low, first), max(high, end))

    def _numbers(self, edges: Sequence[int]) -> Floats:
        return np.array([float(self.edges[edge]) for edge in edges])

    def _ends(self, place: int) -> tuple[float, float]:
        """The least and the largest value of a bin."""
        low, high = self.edges[place], self.edges[place + 1]
        return (float(ceil(low)), float(ceil(high) - 1)) if self.whole else (float(low), float(high))


def _spread(answer: VectorAnswer) -> float:
    """The standard error of one part."""
    return float(np.sqrt(answer.variance_empirical.mean()))


def _errors(one: float, parts: int) -> Floats:
    """The standard errors of the share below each edge, where each part has the error `one` and all add up to 1."""
    below = np.arange(parts + 1)
    return one * np.sqrt(below * (parts - below) / parts)


def _within(missing: float, held: float, error: float) -> float:
    """How far into a bin the quantile is, from 0 to 1, if the bin holds it: the mean of a normal law cut to the bin.

    `missing` is the share of the people from its lower edge to the quantile, off by `error`, and `held` that in the bin.
    """
    if held <= 0:
        return 0.5
    middle, spread = missing / held, max(error / held, 1e-9)
    law = NormalDist(middle, spread)
    mass = law.cdf(1.0) - law.cdf(0.0)
    if mass < 1e-9:
        return float(middle > 0.5)
    return middle + spread**2 * (law.pdf(0.0) - law.pdf(1.0)) / mass
