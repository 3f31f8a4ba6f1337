"""One quantile of a column: selected, where somebody can compare sums without telling them, or read off a tree.

Selecting costs the same for a thousand values as for two (`StatisticalQueryOracle.select`): it tells the value between which
and the quantile the fewest people lie, and no interval.  So half of epsilon selects the value, and the other half asks a
tree of histograms (`RangeRelease`) for the interval, and for the place within a bin.  Where selecting would need answers
about all values, or a bin holds more people than the tree is off by, the tree alone is better and gives all of it.  Which
one it is the plans say, before anybody is asked.

FIGURES

Checked in tests/unit/algorithms/release/test_quantiles.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from localdp.algorithms.release.ranges import MOST_BINS, RangeRelease
from localdp.domains import IntegerDomain, Schema
from localdp.oracles.definition import LEVEL, StatisticalQueryOracle
from localdp.queries.scores import Quantile
from localdp.randomness.source import Floats

_HALVED = 2  # half of epsilon doubles the noise of a selection


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """A value that a share of the people lies below, nearly, and an interval for it."""

    value: float
    low: float
    high: float
    selected: bool  # or read off the tree


def estimated_quantile(
    oracle: StatisticalQueryOracle,
    column: str,
    at: float,
    level: float = LEVEL,
    *,
    check_signal: bool = True,
) -> QuantileEstimate:
    """The quantile of a column of numbers, by whichever way the plans say is better."""
    rule, tree = Quantile(at), RangeRelease(column, check_signal=check_signal)
    bins = _Bins.of(column, oracle.schema)
    noise = _HALVED * oracle.plan_select(bins.query, rule).rows[0].standard_error
    if noise + bins.even_share >= tree.expected_error(oracle):
        tree.fit(oracle)
        return QuantileEstimate(tree.quantile(at), *tree.quantile_interval(at, level), selected=False)
    view = oracle.in_rounds(2)
    low, high = tree.fit(view).quantile_interval(at, level)  # first, because it may refuse
    value = bins.within(view.select(bins.query, rule).place, tree.quantile(at))
    return QuantileEstimate(value, min(low, value), max(high, value), selected=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """What is selected from: the values of a column of few whole numbers, or as many bins as there can be."""

    edges: Floats
    query: str
    whole: bool  # numbers
    even_share: float  # of the people in a bin, if it holds more than one value

    @classmethod
    def of(cls, column: str, schema: Schema) -> _Bins:
        """Those of a column."""
        domain = schema[column]
        whole = isinstance(domain, IntegerDomain)
        values = domain.high - domain.low + 1 if isinstance(domain, IntegerDomain) else MOST_BINS + 1
        bins = max(2, min(values, MOST_BINS))
        edges, query = RangeRelease(column, bins=bins).leaves(schema)
        return cls(edges, query, whole, 0.0 if bins == values else 1 / bins)

    def within(self, place: int, estimate: float) -> float:
        """An estimate that lies in a bin, or else the middle of the bin."""
        low, high = float(self.edges[place]), float(self.edges[place + 1])
        value = estimate if low <= estimate < high else (low + high) / 2
        return float(floor(value)) if self.whole else value
