"""Experts and linear losses over a stream of people, through an oracle (Algorithm 16, Algorithm 17, Theorem 11.6).

People come step by step, and each has a loss in [0, 1] for each of k experts.  Before every step an expert is to be
followed, knowing only what people of earlier steps told, privately:

- by counts: running sums of all k losses are released as a stream is (`streams/continual_count.py`), for what one
  answer costs, and expert i is followed with probability proportional to exp(-eta L_i), which costs nothing more.
  Under every trust model.
- by selection: before every step the oracle selects the expert of the smallest sum so far, at a part of epsilon:
  follow the perturbed leader, as Algorithm 16 does with draws of the exponential mechanism. It pays where a selection
  does not cost more for many experts than for two (a curator, three servers) and steps are few.

A step's losses are read as the average over its people, so that T steps have an average regret of at most 2 sqrt(ln k
/ T) (Theorem 11.1), and more by at most exp(2 eta z) - 1 where running sums are off by z steps' worth.

`SimplexPoint` is LinearLearner: columns are coordinates, brought to [0, 1] (the **deviation** of
`linear_learner.py`), the corners of the simplex are the experts, and the average of what is followed is theta.

Checked in tests/unit/algorithms/online/test_experts.py and, for every trust model, in tests/contract/test_algorithms.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Self, get_args

import numpy as np

from localdp.algorithms.definition import Learner, Measures
from localdp.algorithms.online.weighted_majority import MOST_EXPERTS, best_rate, followed, regret_bound
from localdp.algorithms.streams.continual_count import ContinualCount
from localdp.domains import BitDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.queries.scores import Furthest
from localdp.queries.tokens import number_text
from localdp.randomness.source import Floats

ByLosses = Literal["counts", "selection"]
_ABOVE = 2.0  # beyond every mean: the furthest from it is the smallest


class FollowedExperts(Learner):
    """Which experts to follow at each step, from what people of earlier steps told.

    Parameters
    ----------
    losses : list of str
        A condition or a clipped number for each expert: what a person loses with it.
    steps : int, default=16
        How many steps there are; people come in them in the order in which they are numbered.
    by : {"counts", "selection"}, default="counts"
        How earlier losses are asked for.
    eta : float, optional
        The rate. Default: sqrt(ln k / T), the best one where nothing is off.
    signal : float, default=0.5
        How far off a running sum, as a share of everybody, makes what is followed worthless.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the sums would drown in the noise. False asks all the same.

    Attributes
    ----------
    probabilities_ : array
        A row for each step: with which probability each expert is followed in it.
    eta_ : float
        The rate that was used.
    regret_bound_ : float
        What the average regret does not exceed on average, if running sums were right.
    people_ : int
        How many people told.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.FollowedExperts(["a", "b"], steps=4), model="exact")
    >>> release.probabilities_.shape
    (4, 2)
    """

    def __init__(
        self,
        losses: Sequence[str],
        steps: int = 16,
        *,
        by: ByLosses = "counts",
        eta: float | None = None,
        signal: float = 0.5,
        check_signal: bool = True,
    ) -> None:
        self.losses = losses
        self.steps = steps
        self.by = by
        self.eta = eta
        self.signal = signal
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if self.by not in get_args(ByLosses):
            raise InvalidParameter(f"losses are asked for by {' or '.join(get_args(ByLosses))}")
        if isinstance(self.losses, str) or not 2 <= len(self.losses) <= MOST_EXPERTS:
            raise InvalidParameter(f"there are 2 to {MOST_EXPERTS} experts, each with a loss")
        return self._stream([]).steps and 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        losses = self._losses(oracle.schema)
        self.people_ = oracle.people
        self.eta_ = self.eta or best_rate(self.steps, len(losses))
        self.regret_bound_ = regret_bound(self.eta_, self.steps, len(losses))
        self.probabilities_ = (
            self._selected(oracle, losses) if self.by == "selection" else self._counted(oracle, losses)
        )

    def _losses(self, schema: Schema) -> list[str]:
        return list(self.losses)

    def _stream(self, losses: Sequence[str]) -> ContinualCount:
        stream = ContinualCount(
            f"vector({', '.join(losses)})", self.steps, signal=self.signal, check_signal=self.check_signal
        )
        stream._rounds()
        return stream

    def _counted(self, oracle: StatisticalQueryOracle, losses: Sequence[str]) -> Floats:
        stream = self._stream(losses)
        try:
            stream._learn(oracle)
        finally:
            if hasattr(stream, "plan_"):
                self.plan_ = stream.plan_
        before = np.concatenate([np.zeros((1, len(losses))), stream.counts_[:-1]])
        return followed(before * (self.steps / oracle.people), self.eta_)

    def _selected(self, oracle: StatisticalQueryOracle, losses: Sequence[str]) -> Floats:
        ends = [oracle.people * step // self.steps for step in range(1, self.steps)]
        smallest = Furthest(np.full(len(losses), _ABOVE))
        views = [range(end) for end in ends if end]
        parts = max(1, len(views))
        self.plan_ = oracle.among((views[-1] if views else range(oracle.people),), parts).plan_select(
            losses, smallest
        )
        self._require_signal(
            self.signal, self.plan_.tolerance(0.05), "a smallest loss, as a share of everybody,"
        )
        rows = np.full((self.steps, len(losses)), 1 / len(losses))
        for place, view in enumerate(views, start=self.steps - len(views)):
            chosen = oracle.among((view,), parts).select(losses, smallest).place
            rows[place] = np.eye(len(losses))[chosen]
        return rows

    def excess_bound(self, failure: float) -> float:
        """What following on average loses on people to come, beyond the best expert, but for the failure (Theorem 11.6).

        For people who are drawn independently, and running sums that are right: the regret, and twice how far a mean over
        these people may be from that of the others.
        """
        self._require_fitted("probabilities_")
        if not 0 < failure < 1:
            raise InvalidParameter("a failure is a probability between 0 and 1")
        return self.regret_bound_ + 2 * math.sqrt(math.log(2 / failure) / (2 * self.people_))

    def regret(self, records: Records) -> float:
        """The average loss, beyond that of the best expert, of following these probabilities on records at hand."""
        self._require_fitted("probabilities_")
        truth = ContinualCount(
            f"vector({', '.join(self._losses(records.schema))})", self.steps, layout="steps"
        )
        counts = truth.fit(ExactOracle(records)).counts_
        each = np.diff(counts, axis=0, prepend=np.zeros((1, counts.shape[1]))) / records.people
        return float((self.probabilities_ * each).sum() - each.sum(axis=0).min())

    def measures(self, truth: Self, records: Records) -> Measures:
        """Minus the regret, and that of whoever knows the losses of earlier steps."""
        return {"score": -self.regret(records), "score_of_truth": -truth.regret(records)}


class SimplexPoint(FollowedExperts):
    """The point of the simplex with the least linear loss, nearly (Algorithm 17): LinearLearner through an oracle.

    Parameters
    ----------
    columns : list of str
        The coordinates of an example: columns of numbers or bits.
    steps : int, default=16
        Into how many steps the people are divided.
    by : {"counts", "selection"}, default="counts"
        As in `FollowedExperts`.
    eta : float, optional
        The rate.
    signal : float, default=0.5
        As in `FollowedExperts`.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the sums would drown in the noise. False asks all the same.

    Attributes
    ----------
    theta_ : array
        A weight for each column, none negative, all together 1.
    columns_ : list of str
        The columns.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.SimplexPoint(["a", "b"], steps=4), model="exact")
    >>> release.columns_[int(release.theta_.argmax())]
    'a'
    """

    def __init__(
        self,
        columns: Sequence[str],
        steps: int = 16,
        *,
        by: ByLosses = "counts",
        eta: float | None = None,
        signal: float = 0.5,
        check_signal: bool = True,
    ) -> None:
        super().__init__(columns, steps, by=by, eta=eta, signal=signal, check_signal=check_signal)
        self.columns = columns

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        super()._learn(oracle)
        self.columns_ = list(self.columns)
        self.theta_: Floats = self.probabilities_.mean(axis=0)

    def _losses(self, schema: Schema) -> list[str]:
        """Each column brought to [0, 1]."""
        return [_within_unit(name, schema) for name in self.columns]


def _within_unit(name: str, schema: Schema) -> str:
    match schema.columns.get(name):
        case BitDomain():
            return name
        case IntegerDomain(low, high) | RealDomain(low, high):
            start, width = Fraction(low), (Fraction(high) - Fraction(low)) or Fraction(1)
            return f"clip({number_text(1 / width)} * {name} + {number_text(-start / width)})"
    raise InvalidParameter(f"a coordinate is a column of numbers or bits, and {name!r:.60} is none")
