"""A running count: the released intervals of a stream, and the count after each step that follows from them.

Nothing else is kept: a count is a sum of what was released, so whoever sees this state sees no more than the answers.
Checked in tests/unit/algorithms/streams/test_continual_count.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from localdp.errors import InvalidParameter
from localdp.mechanisms.intervals import LAYOUTS, Intervals, LayoutName
from localdp.oracles.definition import Answer, StatisticalQueryOracle, VectorAnswer
from localdp.queries.asked import AskedVector, query_of
from localdp.queries.encoded import Query
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.source import Floats

Layout: TypeAlias = Literal["best", "tree", "steps"]


@dataclass(frozen=True, slots=True, eq=False)
class SummedInterval:
    """What was released about one interval: a sum for each entry of the query, over the people who came in it."""

    sums: Floats
    variances: Floats
    people: int

    def __add__(self, other: SummedInterval) -> SummedInterval:
        """Both together: their noises are independent."""
        return SummedInterval(
            self.sums + other.sums, self.variances + other.variances, self.people + other.people
        )

    @classmethod
    def empty(cls, entries: int) -> SummedInterval:
        """Of an interval in which nobody came, which everybody knows."""
        return cls(np.zeros(entries), np.zeros(entries), 0)


@dataclass(frozen=True, slots=True, eq=False)
class CountSoFar:
    """The count after a step: of everybody who came so far."""

    step: int
    so_far: SummedInterval

    @property
    def values(self) -> Floats:
        """One for each entry of the query."""
        return self.so_far.sums

    @property
    def standard_errors(self) -> Floats:
        """Of each of them."""
        return np.sqrt(self.so_far.variances)

    @property
    def people(self) -> int:
        """How many have come."""
        return self.so_far.people


@dataclass(slots=True)
class RunningCount:
    """The released intervals of a stream so far."""

    intervals: Intervals
    counts: list[CountSoFar] = field(default_factory=list)  # after each step that is over

    @property
    def step(self) -> int:
        """How many steps are over."""
        return len(self.counts)

    def add(self, released: SummedInterval) -> CountSoFar:
        """The interval that ends at the next step, and the count after that."""
        if self.step == self.intervals.steps:
            raise InvalidParameter(
                f"the stream was made for {self.intervals.steps} steps, and they are over"
            )
        before = self.intervals.before(self.step + 1)
        last = self.counts[before - 1].so_far if before else SummedInterval.empty(len(released.sums))
        self.counts.append(CountSoFar(self.step + 1, last + released))
        return self.counts[-1]


def layouts(steps: int, layout: Layout) -> list[Intervals]:
    """The layout that was told, or those among which the best one is."""
    if layout != "best":
        return [Intervals(steps, layout)]
    whole = isinstance(steps, int) and steps > 0 and steps & (steps - 1) == 0
    names: tuple[LayoutName, ...] = LAYOUTS if whole else ("steps",)
    return [Intervals(steps, name) for name in names]


def asked_interval(view: StatisticalQueryOracle, query: Query) -> SummedInterval:
    """Ask a view of the people of an interval, in one round."""
    if isinstance(query, StatisticalQuery):
        (number,) = view.answer([query])
        return of_answer(number)
    (vector,) = view.answer_vectors([query])
    return of_vector(vector)


def of_answer(answer: Answer) -> SummedInterval:
    """A mean as the sum that it stands for."""
    sums, variances = np.array([answer.count]), np.array([answer.count_error**2])
    return SummedInterval(sums, variances, answer.people)


def of_vector(answer: VectorAnswer) -> SummedInterval:
    """The means of a vector as sums."""
    return SummedInterval(
        answer.values * answer.people, answer.variance_empirical * answer.people**2, answer.people
    )


def predicted_rms(
    oracle: StatisticalQueryOracle, query: Query, intervals: Intervals, ends: Sequence[int]
) -> float:
    """The root mean square error over all steps and entries, as the oracle plans; nobody is asked."""
    of_size, squares = {0: 0.0}, [0.0]
    for step in range(1, intervals.steps + 1):
        people = people_of(intervals.ending_at(step), ends)
        if len(people) not in of_size:
            (row,) = oracle.among((people,), intervals.most).plan([query]).rows
            of_size[len(people)] = (row.standard_error * len(people)) ** 2
        squares.append(of_size[len(people)] + squares[intervals.before(step)])
    return math.sqrt(float(np.mean(squares[1:])))


def people_of(steps: range, ends: Sequence[int]) -> range:
    """Who came in these steps; `ends` has how many had come by the end of each step."""
    first = ends[steps.start - 2] if steps.start > 1 else 0
    return range(first, ends[steps.stop - 2])


def stream_query(text: AskedVector | StatisticalQuery, oracle: StatisticalQueryOracle) -> Query:
    """The query of a stream, of whatever kind."""
    return query_of(text, oracle.schema) if isinstance(text, str) else text
