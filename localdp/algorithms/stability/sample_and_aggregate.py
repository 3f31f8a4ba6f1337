"""Sample and aggregate: an estimate that has no useful sensitivity, of blocks of people, aggregated (Figure 7.1).

One person is in one block, so whatever the estimate is, one record moves one block's result (`oracle.in_blocks`).  Three
aggregators, after Example 7.1 and Example 7.2:

| by | asked | by addition | noise, of m blocks |
|---|---|---|---|
| mean | the mean of the results | yes | (high - low) / (m epsilon) times sqrt(2) |
| histogram | a histogram of them; its median afterwards | yes | 2 / epsilon blocks in each bin |
| mode | the same; its fullest bin | yes | the same |
| median | `select`: the bin that holds their median | no: a curator, three servers | about (2 / epsilon) ln(bins) blocks |

By addition each party has its own blocks, so no row moves.  An estimator that chooses (`best`) is aggregated by votes: the
value that most blocks chose, by `select`.

Where something simpler does it, `simpler_` says so: of a mean, and of a median within bounds, no blocks are needed.
Checked in tests/unit/algorithms/stability/test_sample_and_aggregate.py, and for every trust model that can carry it in
tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Self, get_args

import numpy as np

from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.release.quantiles import QuantileBins
from localdp.algorithms.release.ranges import RangeRelease, reached
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.estimation.isotonic import monotone_cdf
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.blocks import VALUE, BlockEstimate
from localdp.queries.scores import LARGEST, Quantile, Rule
from localdp.queries.tokens import number_text
from localdp.randomness.source import Floats

By = Literal["best", "mean", "histogram", "mode", "median"]
BINS = 60  # of a histogram of results
_MEDIAN = Quantile(0.5)
_ROOM = 0.5  # a median that may be off by so many of the blocks says nothing
_SIMPLER = {
    "mean": "a mean needs no blocks: the verb mean has an error as small as that of all people together",
    "median": "within bounds a median needs no blocks: the verb median, or RangeRelease, asks people themselves",
}


class SampleAndAggregate(Learner):
    """An estimate of blocks of people, aggregated privately.

    Parameters
    ----------
    estimate : str
        What is computed of a block: "median(age)", "logistic(smoker, age/100)" and others (`queries/estimators.py`).
    low, high : float, optional
        The bounds of the estimate, which are public. "best" has none.
    blocks : int, default=100
        How many blocks there are: more of them have less noise, and worse estimates each.
    by : {"best", "mean", "histogram", "mode", "median"}, default="best"
        How results are aggregated. "best" is the median where the oracle selects at the price of one answer, and the mean
        elsewhere.
    bins : int, default=60
        Of a histogram.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the result would drown in the noise. False asks all the same.

    Attributes
    ----------
    value_ : float
        The estimate; of one that chooses, the number of what was chosen.
    choice_ : str or None
        What was chosen, of an estimator that chooses.
    by_ : str
        The aggregator that was used.
    simpler_ : str or None
        What would do without blocks, if something would.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error of aggregation was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99}}
    >>> with ldp.simulate({"age": [30, 40, 50] * 400}, schema) as people:
    ...     release = people.release(ldp.SampleAndAggregate("median(age)", 0, 99, blocks=60), model="exact")
    >>> round(release.value_, -1)
    40.0
    """

    def __init__(
        self,
        estimate: str,
        low: float | None = None,
        high: float | None = None,
        *,
        blocks: int = 100,
        by: By = "best",
        bins: int = BINS,
        check_signal: bool = True,
    ) -> None:
        self.estimate = estimate
        self.low = low
        self.high = high
        self.blocks = blocks
        self.by = by
        self.bins = bins
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if self.by not in get_args(By):
            raise InvalidParameter(f"results are aggregated by {', '.join(get_args(By))}")
        if not isinstance(self.blocks, int) or self.blocks < 2:
            raise InvalidParameter("there are at least two blocks")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        asked = BlockEstimate.parse(self.estimate, oracle.schema, self.low, self.high)
        view = oracle.in_blocks(self.estimate, self.blocks, self.low, self.high)
        self.simpler_ = _SIMPLER.get(asked.estimator.name)
        self.choice_: str | None = None
        if asked.estimator.kind == "choice":
            self.by_: str = "mode"
            self.value_ = float(self._selected(view, VALUE, LARGEST))
            self.choice_ = asked.choices[int(self.value_)]
            return
        self.by_ = self.by if self.by != "best" else ("median" if view.selects else "mean")
        self.value_ = self._number(view, asked)

    def _number(self, view: StatisticalQueryOracle, asked: BlockEstimate) -> float:
        if self.by_ == "mean":
            return self._mean(view, asked.low, asked.high)
        if self.by_ == "median":
            bins = QuantileBins.of(VALUE, view.schema)
            place = self._selected(view, bins.query, _MEDIAN)
            return float((bins.edges[place] + bins.edges[place + 1]) / 2)
        return self._of_histogram(view)

    def _mean(self, view: StatisticalQueryOracle, low: float, high: float) -> float:
        start, width = Fraction(low), Fraction(high) - Fraction(low)
        query = f"clip({number_text(1 / width)} * {VALUE} + {number_text(-start / width)})"
        self.plan_ = view.plan([query])
        self._require_signal(
            _ROOM, self.plan_.tolerance(0.05), "the mean of the blocks, as a share of its range"
        )
        return low + (high - low) * view.answer([query])[0].value

    def _selected(self, view: StatisticalQueryOracle, of: str, rule: Rule) -> int:
        self.plan_ = view.plan_select(of, rule)
        self._require_signal(_ROOM, self.plan_.tolerance(0.05), "a share of the blocks")
        return view.select(of, rule).place

    def _of_histogram(self, view: StatisticalQueryOracle) -> float:
        edges, query = RangeRelease(VALUE, bins=self.bins).leaves(view.schema)
        self.plan_ = view.plan([query])
        self._require_signal(_ROOM, self.plan_.tolerance(0.05), "a share of the blocks")
        (answer,) = view.answer_vectors([query])
        numbers = np.array([float(edge) for edge in edges])
        if self.by_ == "mode":
            place = int(np.argmax(answer.values))
            return float(numbers[place] + numbers[place + 1]) / 2
        return _median_of(numbers, answer.values)

    def measures(self, truth: Self, records: Records) -> Measures:
        """How far off it is."""
        return measures_of_errors(np.array([self.value_ - truth.value_]))


def _median_of(edges: Floats, shares: Floats) -> float:
    """Where half of a noisy histogram is reached."""
    even = shares - (shares.sum() - 1) / len(shares)  # all of them together are everybody
    return reached(edges, np.append(0.0, monotone_cdf(np.cumsum(even))), 0.5, whole=False)
