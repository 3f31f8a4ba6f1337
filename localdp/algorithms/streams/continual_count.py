"""Continual counting: how many people met a condition so far, after every step of a stream (section 12.3, Figure 12.1).

People come in steps, each person in one; who comes in which step is public, what their records say is not.  After each
step one interval of steps is asked, as one round about the people who came in it (`oracle.among`), and the running count is
a sum of released intervals (`mechanisms/intervals.py`).  No sum of records is kept anywhere between two steps: an
interval is added up by whoever adds up, of the people's own reports, when it ends.

Claim.  A person is asked in at most log2 T + 1 intervals of a tree, each at a part of epsilon, so all T counts together
cost a person epsilon, whatever the trust model.  A ledger charges just that.  A person comes once, with one record, so
hiding an event and hiding a person are the same.  Whoever comes in k steps has k records, each of which is hidden at
epsilon (the event level of section 12.3) and charged: together they are hidden at k epsilon (the level of users).

Error, with discrete Laplace noise at epsilon = 1 and T = 1,024: 34.8 in root mean square by the tree where one noise is
added in all (a curator; share servers that divide it or draw it jointly), 49.2 with the full noises of two servers.
Locally every step asks its own people once, at all of epsilon, and the errors are those of a count of everybody so far.
By default the layout with the smaller error by the plan is used.
Checked in tests/unit/algorithms/streams/test_continual_count.py and, for every trust model, in
tests/contract/test_algorithms.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.streams.running_count import (
    Layout,
    RunningCount,
    SummedInterval,
    asked_interval,
    layouts,
    people_of,
    predicted_rms,
    stream_query,
)
from localdp.domains import Records
from localdp.errors import InvalidParameter, TooFewReports
from localdp.mechanisms.intervals import Intervals
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.queries.encoded import Query, entries_of


class ContinualCount(Learner):
    """How many people met a condition by the end of each step of a stream.

    Parameters
    ----------
    query : str
        What is counted, such as "smoker and age >= 65"; a query with several entries has a count for each.
    steps : int, default=64
        How many steps the stream has; a power of two for a tree.
    layout : {"best", "tree", "steps"}, default="best"
        Which steps are summed together. "best" is the one with the smaller error by the plan.
    arrivals : list of int, optional
        How many people had come by the end of each step, in the order in which people are numbered. Default: the same
        number in every step.
    signal : float, default=0.1
        The error of a count, as a share of everybody who comes, that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the counts would drown in the noise. False asks all the same.
    epsilon : float, optional
        Data frames only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Data frames only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Data frames only: what numbers can hold, from what is known about them. Every model but "exact" needs them, and
        "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.

    Attributes
    ----------
    counts_, standard_errors_ : array
        After each step, and for each entry of a query that has several.
    people_ : array
        How many people had come.
    layout_ : str
        The layout that was used.
    predicted_rms_ : float
        The root mean square error that was to be expected.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error of the first interval, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> with ldp.simulate({"ill": [True, False] * 400}, {"ill": {"kind": "bit"}}) as people:
    ...     release = people.release(ldp.ContinualCount("ill", steps=8), model="exact")
    >>> [int(count) for count in release.counts_]
    [50, 100, 150, 200, 250, 300, 350, 400]
    """

    def __init__(
        self,
        query: str,
        steps: int = 64,
        *,
        layout: Layout = "best",
        arrivals: Sequence[int] | None = None,
        signal: float = 0.1,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.query = query
        self.steps = steps
        self.layout = layout
        self.arrivals = arrivals
        self.signal = signal
        self.check_signal = check_signal
        self.epsilon, self.model, self.bounds = epsilon, model, bounds

    def _rounds(self) -> int:
        """One: nobody is asked more than a whole round's worth, however many steps there are."""
        layouts(self.steps, self.layout)
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        query, ends = stream_query(self.query, oracle), ends_of(oracle.people, self.steps, self.arrivals)
        planned = [
            (predicted_rms(oracle, query, one, ends), one) for one in layouts(self.steps, self.layout)
        ]
        self.predicted_rms_, intervals = min(planned, key=lambda pair: pair[0])
        self.layout_: str = intervals.layout
        first = people_of(range(1, intervals.steps + 1), ends)
        self.plan_ = oracle.among((first,), intervals.most).plan([query])
        self._require_signal(self.signal, self.predicted_rms_ / ends[-1], "a share")
        running = RunningCount(intervals)
        counts = [
            running.add(_asked(oracle, query, intervals, people_of(intervals.ending_at(step), ends)))
            for step in range(1, intervals.steps + 1)
        ]
        several = entries_of(query) > 1
        self.counts_ = np.array([one.values if several else one.values[0] for one in counts])
        errors = [one.standard_errors if several else one.standard_errors[0] for one in counts]
        self.standard_errors_ = np.array(errors)
        self.people_ = np.array([one.people for one in counts])

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of the counts over all steps."""
        return measures_of_errors(self.counts_ - truth.counts_)


def _asked(
    oracle: StatisticalQueryOracle, query: Query, intervals: Intervals, people: range
) -> SummedInterval:
    if not people:
        return SummedInterval.empty(entries_of(query))
    return asked_interval(oracle.among((people,), intervals.most), query)


def ends_of(people: int, steps: int, arrivals: Sequence[int] | None) -> list[int]:
    """How many people had come by the end of each step: as is said, or the same number in every step."""
    if arrivals is None:
        if people < steps:
            raise TooFewReports(f"there are {people} people for {steps} steps")
        return [people * step // steps for step in range(1, steps + 1)]
    ends = [int(one) for one in arrivals]
    if len(ends) != steps or any(a > b for a, b in pairwise([0, *ends])) or not 0 < ends[-1] <= people:
        raise InvalidParameter(
            f"arrivals are {steps} numbers that do not fall: how many of the {people} people had come by the end of each "
            "step"
        )
    return ends
