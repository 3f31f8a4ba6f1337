"""Ranges, distribution functions and quantiles of one number, from histograms on the levels of a tree.

The range low .. high is cut into bins of equal width, the leaves of a tree in which every inner node has B children
(HH_B of Cormode, Kulkarni and Srivastava 2019).  One round asks the histogram of every level, `which(x < t1, x < t2,
...)`; whoever divides people gives every level its own people, whoever divides epsilon its part.  The levels are then
made consistent (`tree_consistency.py`), each weighted by its own error.

Which B is best depends on who answers: few levels where levels divide epsilon, many where they divide people.  So
unless a branching is given, every candidate is planned (nobody is asked) and the one of least average error is taken.

Claim.  Ranges are unbiased, and their standard errors are those of `LevelTree`.  With every frequency off by at most
tau, a range is off by at most B h (h + 1) tau / 2, and a quantile by no more than half of that in rank, plus the mass
of its bin.  In the local model at epsilon = 1 with 1024 bins, n times the mean squared error of a random range is about
70.

Checked in tests/unit/algorithms/release/test_ranges.py, and for the errors in tests/statistical/test_release.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.estimation.isotonic import monotone_cdf
from localdp.estimation.tree_consistency import LevelTree
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.models import ModelName
from localdp.oracles.plans import Plan
from localdp.queries.tokens import number_text
from localdp.randomness.source import Floats

MOST_BINS = 1024
BRANCHINGS = (2, 4, 8, 16, 32)
_DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class RangeAnswers:
    """The masses of ranges and their standard errors."""

    values: Floats
    standard_errors: Floats


class RangeRelease(Learner):
    """The mass of every range of a bounded number, and its quantiles.

    Parameters
    ----------
    column : str
        The number.
    low, high : float, optional
        The range goes from `low` up to and not including `high`; what lies outside counts to the nearest bin. Default: the
        bounds of the column, where a whole number x stands for x up to x + 1.
    bins : int, default=256
        In how many bins of equal width the range is cut. A range is taken to the nearest edges. A whole number has at most
        one bin of its own.
    branching : int, optional
        How many children a node of the tree over the bins has. Default: the number with the least error by the plan.
    signal : float, default=0.1
        The standard error of a range that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Data frames only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Data frames only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Data frames only: what numbers can hold, from what is known about them. Every model but "exact" needs them, and
        "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.

    Attributes
    ----------
    bins_ : int
        How many bins there are.
    edges_ : array
        The edges of the bins.
    prefix_ : array
        The mass below every edge, unbiased, from 0 to 1.
    tree_ : LevelTree
        The tree, with the errors of its levels.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> age = {"age": np.linspace(0, 100, 20_000)}
    >>> release = RangeRelease("age", bins=64, model="curator", epsilon=1.0, bounds=(0, 100)).fit(age)
    >>> 45 < release.quantile(0.5) < 55
    True
    """

    def __init__(
        self,
        column: str,
        low: float | None = None,
        high: float | None = None,
        bins: int = 256,
        *,
        branching: int | None = None,
        signal: float = 0.1,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.column = column
        self.low = low
        self.high = high
        self.bins = bins
        self.branching = branching
        self.signal = signal
        self.check_signal = check_signal
        self.epsilon, self.model, self.bounds = epsilon, model, bounds

    bins_: int
    tree_: LevelTree
    edges_: Floats  # of the bins, one more than there are bins
    prefix_: Floats  # the mass below every edge, unbiased; from 0 to exactly 1

    def _wanted(self) -> Sequence[str]:
        return (self.column,)

    def _rounds(self) -> int:
        if not isinstance(self.bins, int) or not 2 <= self.bins <= MOST_BINS:
            raise InvalidParameter(f"a range is cut into 2 to {MOST_BINS} bins")
        if self.branching is not None and not 2 <= self.branching <= MOST_BINS:
            raise InvalidParameter(f"the branching of a tree is from 2 to {MOST_BINS}")
        if not self.signal > 0:
            raise InvalidParameter("the signal is positive")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        edges = self._edges(oracle.schema)
        branching, queries = self._planned(oracle, edges)
        expected = _tree_of(self.plan_, branching)
        error = expected.mean_range_variance(_scaled(self.bins_, expected)) ** 0.5
        self._require_signal(self.signal, error, "a range")
        answers = oracle.answer_vectors(queries)
        self.tree_ = LevelTree(branching, tuple(float(a.variance_empirical.mean()) for a in answers))
        self.edges_ = np.array([float(edge) for edge in edges])
        self.prefix_ = self._prefix(answers)
        self._whole = isinstance(oracle.schema[self.column], IntegerDomain)

    def leaves(self, schema: Schema) -> tuple[list[Fraction], str]:
        """The edges of the bins, and the query for a person's bin."""
        self._rounds()
        edges = self._edges(schema)
        return edges, self._histogram(schema, edges[1 : self.bins_], 1)

    def ranges(self, low: ArrayLike, high: ArrayLike) -> RangeAnswers:
        """The masses from low to high, each taken to the nearest edge of a bin."""
        self._require_fitted("prefix_")
        starts, ends = np.broadcast_arrays(self._nearest(low), self._nearest(high))
        if (starts > ends).any() or (np.asarray(low) > np.asarray(high)).any():
            raise InvalidParameter("a range does not end before it starts")
        # What is beyond the last bin is known to be empty, so a range up to it ends at the last leaf.
        last = np.where(ends == self.bins_, self.tree_.leaves, ends)
        variances = self.tree_.range_variances(np.where(starts == self.bins_, last, starts), last)
        return RangeAnswers(self.prefix_[ends] - self.prefix_[starts], np.sqrt(variances))

    def cdf(self) -> Floats:
        """The mass below every edge, made to rise from 0 to 1 by isotonic regression."""
        self._require_fitted("prefix_")
        return np.append(0.0, monotone_cdf(self.prefix_[1:]))

    def frequencies(self) -> Floats:
        """The frequency of every bin, none negative and all together one."""
        self._require_fitted("prefix_")
        return norm_sub(np.diff(self.prefix_))

    def quantile(self, level: float) -> float:
        """Where the mass below reaches the level, on a line within a bin; the number itself if numbers are whole."""
        if not 0 <= level <= 1:
            raise InvalidParameter("the level of a quantile lies between 0 and 1")
        rising = self.cdf()
        return reached(self.edges_, rising, level, whole=self._whole)

    def quantile_interval(self, level: float, confidence: float = 0.95) -> tuple[float, float]:
        """Where the distribution function, within its error at the quantile, is at the level.

        Nobody knows where people are within a bin, so the interval holds whole bins.
        """
        if not 0 < confidence < 1:
            raise InvalidParameter("a confidence lies strictly between 0 and 1")
        error = float(self.ranges(self.edges_[0], [self.quantile(level)]).standard_errors[0])
        width = NormalDist().inv_cdf((1 + confidence) / 2) * error
        low, high = (self._bin_at(min(max(level + off, 0.0), 1.0)) for off in (-width, width))
        return float(self.edges_[low]), float(self.edges_[high + 1] - self._whole)

    def _bin_at(self, level: float) -> int:
        """The bin in which the mass below reaches the level."""
        return max(1, int(np.searchsorted(self.cdf(), level))) - 1

    def _edges(self, schema: Schema) -> list[Fraction]:
        """The edges of the bins: whole where numbers are, else on a grid of 9 decimal digits."""
        domain = schema[self.column]
        if not isinstance(domain, IntegerDomain | RealDomain):
            raise InvalidParameter(f"column {self.column!r:.60} is not a number")
        end = domain.high + 1 if isinstance(domain, IntegerDomain) else domain.high
        low = _exact(domain.low if self.low is None else self.low)
        high = _exact(end if self.high is None else self.high)
        whole = isinstance(domain, IntegerDomain) and low.denominator == high.denominator == 1
        self.bins_ = min(self.bins, max(int(high - low), 1)) if whole else self.bins
        cut = math.ceil if whole else partial(round, ndigits=_DIGITS)
        edges = [
            Fraction(cut(low + (high - low) * Fraction(place, self.bins_)))
            for place in range(self.bins_ + 1)
        ]
        if any(left >= right for left, right in pairwise(edges)):
            raise InvalidParameter("the range must be of positive length, and not too short for its bins")
        return edges

    def _planned(self, oracle: StatisticalQueryOracle, edges: Sequence[Fraction]) -> tuple[int, list[str]]:
        """The best branching and its queries; sets `plan_`."""
        wanted = (self.branching,) if self.branching else (*BRANCHINGS, self.bins_)
        best = math.inf
        for branching in sorted({min(candidate, self.bins_) for candidate in wanted}):
            queries = self._queries(oracle.schema, edges, branching)
            plan = oracle.plan(queries)
            tree = _tree_of(plan, branching)
            error = tree.mean_range_variance(_scaled(self.bins_, tree))
            if error < best:
                best, chosen, self.plan_ = error, (branching, queries), plan
        return chosen

    def _queries(self, schema: Schema, edges: Sequence[Fraction], branching: int) -> list[str]:
        levels = 1
        while branching**levels < self.bins_:
            levels += 1
        sizes = [branching ** (levels - depth) for depth in range(1, levels + 1)]
        return [self._histogram(schema, edges[size : self.bins_ : size], size) for size in sizes]

    def _histogram(self, schema: Schema, cuts: Sequence[Fraction], size: int) -> str:
        """The histogram of the nodes that these edges separate."""
        domain = schema[self.column]
        unbounded = self.low is None and self.high is None and size == 1
        if unbounded and isinstance(domain, IntegerDomain) and self.bins_ == domain.high - domain.low + 1:
            return self.column
        return cut_at(self.column, cuts)

    def _prefix(self, answers: Sequence[VectorAnswer]) -> Floats:
        levels = []
        for depth, answer in enumerate(answers, start=1):
            level = np.zeros(self.tree_.branching**depth)
            level[: len(answer.values)] = answer.values  # nobody is in the nodes beyond the last bin
            levels.append(level)
        prefix = np.append(0.0, np.cumsum(self.tree_.fit(levels)))[: self.bins_ + 1]
        prefix[-1] = 1.0
        return prefix

    def _nearest(self, places: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        values = np.atleast_1d(np.asarray(places, np.float64))
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InvalidParameter("the ends of ranges are numbers")
        middles = (self.edges_[1:] + self.edges_[:-1]) / 2
        return np.searchsorted(middles, values, side="left")

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of what is released."""
        return measures_of_errors(self.prefix_ - truth.prefix_)


def cut_at(column: str, cuts: Sequence[Fraction]) -> str:
    """The query for which of the parts a number lies in that these cuts separate."""
    conditions = ", ".join(f"{column} < {number_text(cut)}" for cut in cuts)
    return f"which({conditions or 'true'})"


def reached(edges: Floats, rising: Floats, level: float, *, whole: bool) -> float:
    """Where a distribution function on edges reaches a level: on a line between two of them, or the whole number there."""
    end = max(1, int(np.searchsorted(rising, level)))
    below, above = rising[end - 1], rising[end]
    share = (level - below) / (above - below) if above > below else 0.0
    place = edges[end - 1] + share * (edges[end] - edges[end - 1])
    # Of a whole number x the bin goes up to and not including x + 1, so what is reached there is x.
    return float(max(math.ceil(place) - 1, edges[end - 1])) if whole else float(place)


def _tree_of(plan: Plan, branching: int) -> LevelTree:
    """The tree with the errors that a plan expects; a bound that is certain counts like a standard error."""
    return LevelTree(branching, tuple(row.standard_error**2 for row in plan.rows))


def _scaled(bins: int, tree: LevelTree) -> int:
    return min(bins, tree.leaves)


def _exact(value: float) -> Fraction:
    if not math.isfinite(value):
        raise InvalidParameter("the bounds of a range are finite")
    return Fraction(Decimal(str(value)))
