"""A running count by the square-root factorisation, by whoever sees records (`mechanisms/factorised_counter.py`).

Its noise is Gaussian, and its error grows like ln T where the tree's grows like the power 1.5 of it; it needs a
delta, and sums of all people so far with weights that differ from step to step: whoever came would have to send
shares again after every later step, to servers that add no Gaussian noise (`SharesInProcess` does, to arrays).  So a
curator has it, and everywhere else `ContinualCount` is right.

People come in steps as in `ContinualCount`.  Replacing one record moves the sum of one step by at most 1.
Checked in tests/unit/algorithms/streams/test_factorised_count.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import exact_delta
from localdp.algorithms.definition import Learner, Measures, measures_of_errors
from localdp.algorithms.streams.continual_count import ends_of
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.factorised_counter import FactorisedCounter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.plans import PlannedQuery
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import Floats, Integers, RandomSource

DELTA = 1e-6


class FactorisedCount(Learner):
    """How many people met a condition by the end of each step, with Gaussian noise of a curator.

    Parameters
    ----------
    query : str
        A condition.
    steps : int, default=64
        How many steps the stream has.
    delta : float, default=1e-6
        The probability that epsilon does not hold.
    arrivals : list of int, optional
        As in `ContinualCount`.
    signal : float, default=0.1
        The error of a count, as a share of everybody who comes, that is not worth asking for.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if the counts would drown in the noise. False asks all the same.

    Attributes
    ----------
    counts_, standard_errors_ : array
        After each step.
    people_ : array
        How many people had come.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        What error was expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> schema = {"a": {"kind": "bit"}, "b": {"kind": "bit"}}
    >>> table = {"a": [True, False] * 200, "b": [True, True, True, False] * 100}
    >>> with ldp.simulate(table, schema) as people:
    ...     release = people.release(ldp.FactorisedCount("a", steps=4), model="exact")
    >>> [int(one) for one in release.counts_]
    [50, 100, 150, 200]
    """

    def __init__(
        self,
        query: str,
        steps: int = 64,
        delta: float = DELTA,
        *,
        arrivals: Sequence[int] | None = None,
        signal: float = 0.1,
        check_signal: bool = True,
    ) -> None:
        self.query = query
        self.steps = steps
        self.delta = delta
        self.arrivals = arrivals
        self.signal = signal
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if not 0 < exact_delta(self.delta) < 1:
            raise InvalidParameter("Gaussian noise needs a delta above 0, such as 1e-6")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        ends = ends_of(oracle.people, self.steps, self.arrivals)
        stream = FactorisedStream(self.query, tuple(ends), exact_delta(self.delta))
        plan = oracle.plan(["which(true)"])
        errors = stream.errors(plan.epsilon)
        error = float(np.sqrt(np.mean(errors**2))) / ends[-1]
        row = PlannedQuery(stream.text, self.steps, "Gaussian noise, factorised", oracle.people, error)
        self.plan_ = replace(plan, rows=(row,), resizing=None)
        self._require_signal(self.signal, error, "a share")
        self.counts_: Floats = oracle.on_records(stream)
        self.standard_errors_ = errors
        self.people_ = np.array(ends)

    def measures(self, truth: Self, records: Records) -> Measures:
        """The errors of the counts over all steps."""
        return measures_of_errors(self.counts_ - truth.counts_)


@dataclass(frozen=True, slots=True)
class FactorisedStream:
    """All running counts at once, by whoever sees records."""

    query: str
    ends: tuple[int, ...]  # how many people had come by the end of each step
    delta: Fraction

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"running counts of {self.query} after {len(self.ends)} steps, factorised,"

    @property
    def instead(self) -> str:
        """What needs no curator."""
        return "ContinualCount counts under every trust model, without a delta"

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what is not counted."""
        if StatisticalQuery.parse(self.query, schema).kind != "bit":
            raise InvalidParameter("a factorised count is of a condition")
        if self.ends[-1] > people:
            raise InvalidParameter("more people come than there are")

    def error(self, epsilon: Epsilon) -> float:
        """Root mean square over all steps."""
        return float(np.sqrt(np.mean(self.errors(epsilon) ** 2)))

    def errors(self, epsilon: Epsilon) -> Floats:
        """Of the count after each step."""
        if not epsilon.nanonats:
            return np.zeros(len(self.ends))
        return self._counter(epsilon, KeystreamSource.from_system()).standard_errors  # draws nothing

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> Floats:
        """The noisy counts."""
        return self._counter(epsilon, source).release(self._steps(records))

    def truth(self, records: Records) -> Floats:
        """The counts."""
        return np.cumsum(self._steps(records)).astype(np.float64)

    def _steps(self, records: Records) -> Integers:
        met = StatisticalQuery.parse(self.query, records.schema).evaluate(records).astype(np.int64)
        so_far = np.append(0, np.cumsum(met))[np.array(self.ends)]
        each: Integers = np.diff(so_far, prepend=0).astype(np.int64)
        return each

    def _counter(self, epsilon: Epsilon, source: RandomSource) -> FactorisedCounter:
        return FactorisedCounter(len(self.ends), epsilon, self.delta, TrustedCurator(source))
