"""Winners, as releases: what most people have of a category, and what most blocks say (Algorithm 13, Algorithm 14).

A winner is told as it is where it is far ahead, by whoever sees records and at (epsilon, delta), or selected, under every
trust model and at epsilon alone: in the way that needs the smaller lead, unless one is named.
Checked in tests/unit/algorithms/stability/test_winners.py and tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from typing import Literal, Self, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import exact_delta
from localdp.algorithms.definition import Learner, Measures
from localdp.algorithms.release.ranges import RangeRelease
from localdp.algorithms.stability.stable import DELTA, planned_on_records
from localdp.algorithms.stability.votes import SampledVote, StableVote, lead_for_select, lead_needed
from localdp.domains import Records
from localdp.errors import InvalidParameter, QueryRefused
from localdp.mechanisms.propose_test_release import StabilityTest
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.blocks import VALUE, BlockEstimate
from localdp.queries.value_names import value_names
from localdp.queries.vector_query import VectorQuery
from localdp.sharing.selection import MOST_CANDIDATES

FAILURE = 0.01
ByVotes = Literal["best", "distance", "select", "histogram"]


class StableWinner(Learner):
    """What most people have of a category (Algorithm 13), told as it is if it is far ahead, or selected.

    Parameters
    ----------
    query : str
        A category: a column, which(...), cells(...).
    by : {"best", "distance", "select", "histogram"}, default="best"
        "distance" tells the winner only if nobody's vote could matter, at (epsilon, delta): A_dist. "select" tells a nearly
        largest one under every trust model, at epsilon alone, and so does "histogram", by looking at noisy counts of all
        options. "best" is whichever of the first two needs the smaller lead.
    delta : float, default=1e-6
        The probability that epsilon does not hold; of "distance".
    failure : float, default=0.01
        With which probability the winner may not be told where the lead is as large as `lead_needed_`.
    check_signal : bool, default=True
        Refuse, before anybody pays, what even the stablest data could hardly pass. False asks all the same.

    Attributes
    ----------
    value_ : float or None
        The number of the winner; None: it was not far enough ahead.
    choice_ : str or None
        What it is called.
    by_ : str
        How it was asked for.
    lead_needed_ : int or None
        The lead, in votes, that is enough; None where counts of all options are asked for: see `plan_`.
    simpler_ : str or None
        Whether something else needs a smaller lead.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.StableWinner("b"), model="exact")
    >>> release.choice_
    'true'
    """

    def __init__(
        self,
        query: str,
        by: ByVotes = "best",
        delta: float = DELTA,
        failure: float = FAILURE,
        *,
        check_signal: bool = True,
    ) -> None:
        self.check_signal = check_signal
        self.query = query
        self.by = by
        self.delta = delta
        self.failure = failure

    def _rounds(self) -> int:
        if self.by not in get_args(ByVotes):
            raise InvalidParameter(f"a winner is told by {', '.join(get_args(ByVotes))}")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        query = VectorQuery.parse(self.query, oracle.schema)
        if query.kind != "category":
            raise QueryRefused("votes are the values of one category")
        few = query.length <= MOST_CANDIDATES
        self.plan_ = oracle.plan_select(self.query) if few else oracle.plan([self.query])
        tested, selected = self._leads(self.plan_.epsilon, query.length)
        other = "select" if few else "histogram"
        best = "distance" if oracle.sees_records and (tested < selected or not few) else other
        self.by_: str = best if self.by == "best" else self.by
        self.simpler_ = None if self.by_ == best else f"{best} needs a smaller lead here"
        needed = {"distance": tested, "select": selected if oracle.selects else None}
        self.lead_needed_ = needed.get(self.by_)
        place = self._winner(oracle)
        self.value_ = None if place is None else float(place)
        names = value_names(query.expression, query.schema, query.length)
        self.choice_ = None if place is None else names[place]

    def _winner(self, oracle: StatisticalQueryOracle) -> int | None:
        if self.by_ == "distance":
            delta, anyway = exact_delta(self.delta), not self.check_signal
            return oracle.on_records(StableVote(self.query, delta, anyway))
        if self.by_ == "select":
            return oracle.select(self.query).place
        (answer,) = oracle.answer_vectors([self.query])
        return int(answer.values.argmax())

    def _leads(self, epsilon: Epsilon, options: int) -> tuple[int, int]:
        """Of both ways; where nothing is spent, no lead is needed."""
        if not epsilon.nanonats:
            return 0, 0
        test = StabilityTest(epsilon, exact_delta(self.delta))
        return lead_needed(test, self.failure), lead_for_select(epsilon, options, self.failure)

    def measures(self, truth: Self, records: Records) -> Measures:
        """Whether it is the winner, and whether there was an answer."""
        return {
            "score": float(self.value_ == truth.value_),
            "score_of_truth": 1.0,
            "released": float(self.value_ is not None),
        }


class SampleAndVote(Learner):
    """What most blocks of people say an estimate is (Algorithm 14): of a partition, or of subsamples that overlap.

    Parameters
    ----------
    estimate : str
        What is computed of a block, as in `SampleAndAggregate`; "best(ill, smoker, old)" chooses.
    low, high : float, optional
        The bounds of a number, which is then put into bins.
    bins : int, default=16
        Of a number.
    blocks : int, optional
        How many blocks there are. Default: 60 of a partition; of subsamples as many as suffice.
    repeated : bool, default=False
        Subsamples, in which a person may be many times, as the book has it. It needs hundreds of times more blocks.
    delta : float, default=1e-6
        The probability that epsilon does not hold; where records are seen.
    failure : float, default=0.01
        As in `StableWinner`.
    check_signal : bool, default=True
        Refuse, before anybody pays, what even the stablest data could hardly pass. False asks all the same.

    Attributes
    ----------
    value_ : float or None
        The middle of the bin, or the number of the choice; None: blocks did not agree enough.
    choice_ : str or None
        What was chosen, of an estimator that chooses.
    by_ : str
        How it was asked for.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.SampleAndVote("best(a, b, not a)", blocks=20), model="exact")
    >>> release.choice_
    'not a'
    """

    def __init__(
        self,
        estimate: str,
        low: float | None = None,
        high: float | None = None,
        *,
        bins: int = 16,
        blocks: int | None = None,
        repeated: bool = False,
        delta: float = DELTA,
        failure: float = FAILURE,
        check_signal: bool = True,
    ) -> None:
        self.check_signal = check_signal
        self.estimate = estimate
        self.low = low
        self.high = high
        self.bins = bins
        self.blocks = blocks
        self.repeated = repeated
        self.delta = delta
        self.failure = failure

    def _rounds(self) -> int:
        if not isinstance(self.bins, int) or not 2 <= self.bins <= 1024:
            raise InvalidParameter("a number is put into 2 to 1,024 bins")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        estimate = BlockEstimate.parse(self.estimate, oracle.schema, self.low, self.high)
        if self.repeated:
            self._of_subsamples(oracle, estimate)
            return
        blocks = self.blocks or 60
        view = oracle.in_blocks(self.estimate, blocks, self.low, self.high)
        query = VALUE if estimate.estimator.kind == "choice" else self._bins_of(estimate)
        winner = StableWinner(query, "best", self.delta, self.failure, check_signal=self.check_signal)
        winner._learn(view)
        self.plan_, self.by_ = winner.plan_, winner.by_
        self._tell(estimate, winner.value_)

    def _of_subsamples(self, oracle: StatisticalQueryOracle, estimate: BlockEstimate) -> None:
        delta = exact_delta(self.delta)
        vote = SampledVote(self.estimate, self.bins, self.low, self.high, delta, self.blocks)
        self.plan_ = planned_on_records(oracle, vote)
        self.by_ = "distance"
        place = oracle.on_records(vote)
        self._tell(estimate, None if place is None else float(place))

    def _tell(self, estimate: BlockEstimate, place: float | None) -> None:
        self.choice_: str | None = None
        self.value_ = place
        if place is None:
            return
        if estimate.choices:
            self.choice_ = estimate.choices[int(place)]
        else:
            self.value_ = estimate.low + (place + 0.5) * (estimate.high - estimate.low) / self.bins

    def _bins_of(self, estimate: BlockEstimate) -> str:
        return RangeRelease(VALUE, bins=self.bins).leaves(estimate.table)[1]

    def measures(self, truth: Self, records: Records) -> Measures:
        """Whether it is what everybody together says, and whether there was an answer."""
        return {
            "score": float(self.value_ == truth.value_),
            "score_of_truth": 1.0,
            "released": float(self.value_ is not None),
        }
