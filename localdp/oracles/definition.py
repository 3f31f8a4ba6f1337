"""The one interface that algorithms speak to: a statistical-query oracle (Definitions 12.4 and 12.6).

An algorithm asks batches of statistical queries and receives their means over the people, each with a standard
error.  It cannot tell, and need not know, whether the answers come from the records themselves, a trusted curator,
randomized reports of the parties, or share servers.  One call of `answer` (numbers) or of `answer_vectors` (histograms,
vectors, parities) is one round of interaction; the queries of one call are chosen before any of them is answered.  So is
one call of `select`, which tells the best of many candidates and not their numbers: where that is cheaper, its price does
not grow with how many there are.

What a round may cost belongs to the oracle, how many rounds there are to the algorithm: `in_rounds(T)` is a view of the
oracle whose T rounds together cost a person what one round of the oracle costs.  Whoever splits people gives every
round fresh ones; whoever adds noise to sums gives every round its part of epsilon.  `among` is a view of some people,
for those who come step by step.  `plan` says what a round would yield, and asks nobody.

Checked for every implementation by tests/contract/test_statistical_query_oracle.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from statistics import NormalDist
from typing import Protocol, TypeVar

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.oracles.account import Cost
from localdp.oracles.plans import Plan
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.scores import LARGEST, Rule
from localdp.randomizers.definition import Floats
from localdp.randomness.source import RandomSource
from localdp.sharing.summed_noise import SummedNoise

_Told = TypeVar("_Told")
_Told_co = TypeVar("_Told_co", covariant=True)
MOST_ROUNDS = 1 << 16
LEVEL = 0.95  # of intervals, unless another one is asked for


@dataclass(frozen=True, slots=True)
class GridNoise:
    """Noise whose exact law is known: whole numbers, each of them `unit` of an answer."""

    law: SummedNoise
    unit: float

    def half_width(self, level: float) -> float:
        """How far an answer is off at most, with a probability of at least `level`."""
        return self.law.half_width(level) * self.unit


def normal_width(level: float) -> float:
    """How many standard errors an estimate is off at most, with a probability of `level`."""
    if not 0 < level < 1:
        raise InvalidParameter("the level of an interval lies strictly between 0 and 1")
    return NormalDist().inv_cdf((1 + level) / 2)


@dataclass(frozen=True, slots=True)
class Answer:
    """The mean of a query over the people, and how far off it may be."""

    query: str
    value: float  # unbiased, hence not clipped to [0, 1]
    people: int  # over whom the mean is taken
    reports: int  # how many of them answered
    variance_empirical: float  # about the mean of these people
    variance_population: float  # about the mean of the distribution that they are a sample of
    noise: GridNoise | None = field(
        default=None, repr=False
    )  # all that an answer is off by, where its law is known

    def half_width(self, level: float = LEVEL) -> float:
        """Half of the interval about the mean of these people: by the exact law of the noise, or else a normal one."""
        return (
            normal_width(level) * self.standard_error
            if self.noise is None
            else self.noise.half_width(level)
        )

    def to_data(self) -> dict[str, object]:
        """As plain data, for JSON."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "noise"}
        return {
            **plain,
            "standard_error": self.standard_error,
            "half_width": self.half_width(),
            "level": LEVEL,
            "count": self.count,
            "count_error": self.count_error,
        }

    @property
    def standard_error(self) -> float:
        """Standard error about the mean of these people."""
        return math.sqrt(self.variance_empirical)

    @property
    def count(self) -> float:
        """The answer as a number of people."""
        return self.value * self.people

    @property
    def count_error(self) -> float:
        """Standard error of `count`."""
        return self.standard_error * self.people


@dataclass(frozen=True, slots=True, eq=False)
class VectorAnswer:
    """The means of all entries of a query over the people, and how far off they may be."""

    query: str
    values: Floats  # frequencies, means of coordinates, or means of signs; unbiased, hence not clipped
    people: int
    reports: int
    variance_empirical: Floats
    variance_population: Floats
    noise: GridNoise | None = field(default=None, repr=False)  # on every entry, as above

    def half_widths(self, level: float = LEVEL) -> Floats:
        """Of the interval of each entry by itself, about the means of these people."""
        if self.noise is not None:
            return np.full(len(self.values), self.noise.half_width(level))
        return normal_width(level) * self.standard_errors

    @property
    def standard_errors(self) -> Floats:
        """Standard errors about the means of these people."""
        return np.sqrt(self.variance_empirical)


@dataclass(frozen=True, slots=True)
class Selected:
    """Which of several candidates is nearly the best."""

    query: str  # what was selected, and from what
    place: int  # of the candidate, in the order of the candidates
    name: str  # of the candidate
    candidates: int
    people: int
    reports: int  # of them answered, about the candidate with the fewest
    shortfall: (
        float  # below the best score, as a mean over the people, it is at most so far; but for 1 - LEVEL
    )


class OnRecords(Protocol[_Told_co]):
    """What only somebody who sees all records can compute, such as how far they are from other ones (section 7.2)."""

    @property
    def delta(self) -> Fraction:
        """The probability, beside epsilon, that its promise does not hold."""
        ...

    @property
    def text(self) -> str:
        """What is computed, in words."""
        ...

    @property
    def instead(self) -> str:
        """What to ask where nobody sees records."""
        ...

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what cannot be computed, or never told, before anybody pays."""
        ...

    def error(self, epsilon: Epsilon) -> float:
        """The standard deviation of the noise on what is told, if it is told."""
        ...

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> _Told_co:
        """What is told, (epsilon, delta)-private for replace-one neighbours."""
        ...

    def truth(self, records: Records) -> _Told_co:
        """The same without any privacy."""
        ...


class StatisticalQueryOracle(Protocol):
    """Answers statistical queries about people whose records it may or may not see."""

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        ...

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        ...

    @property
    def cost(self) -> Cost:
        """What the answers have cost so far."""
        ...

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised to the people about all answers so far."""
        ...

    @property
    def selects(self) -> bool:
        """Whether `select` is cheaper than answers about all candidates: its price does not grow with their number."""
        ...

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """One round: the mean of every query, in order."""
        ...

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """One round: the means of all entries of every category, vector or list of parities, in order."""
        ...

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """One round: the best of several queries, or of the values of a category, by a rule (`queries/scores.py`)."""
        ...

    @property
    def sees_records(self) -> bool:
        """Whether somebody has all records in the clear, and can compute what is no sum over people (`on_records`)."""
        ...

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """One round: something of the records themselves; refused where nobody sees them."""
        ...

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """What a round of these queries, all numbers or all vectors, would yield; nobody is asked."""
        ...

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """How a selection would be made, and how far it may miss the best; nobody is asked."""
        ...

    def in_rounds(self, rounds: int) -> StatisticalQueryOracle:
        """A view whose `rounds` rounds cost a person together what one round of this oracle costs.

        What a view asks counts in this oracle's cost and claim as well.  A view of a view takes one of its rounds.
        """
        ...

    def among(self, ranges: Sequence[range], parts: int = 1) -> StatisticalQueryOracle:
        """A view of one round about some of the people, at a part of what a round costs: nobody else is asked, or pays.

        All such views of an oracle are one round of it together, so that nobody can be in more than `parts` of them.
        """
        ...

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> StatisticalQueryOracle:
        """A view whose people are blocks of people: a table of one column, `value`, with an estimate of each of them.

        Whoever holds people's records computes it of them (`queries/blocks.py`); a round costs every person what a round
        of this oracle costs.
        """
        ...


class RoundCount:
    """How many rounds a view has, and how many were asked."""

    def __init__(self, total: int | None = None) -> None:
        """`None` stands for as many as the budget allows."""
        if total is not None and not 1 <= total <= MOST_ROUNDS:
            raise InvalidParameter(f"an algorithm has 1 to {MOST_ROUNDS} rounds")
        self.total = total
        self.asked = 0

    def within(self, rounds: int) -> RoundCount:
        """The rounds of a view: of a view of a view they are one round of it."""
        inner = RoundCount(rounds)
        if self.total is not None:
            self.begin()
        return inner

    def require_left(self) -> None:
        """Refuse if all of them were asked."""
        if self.total is not None and self.asked >= self.total:
            raise BudgetExhausted(f"all {self.total} rounds of this view of the oracle were asked")

    def begin(self) -> int:
        """The number of the round that begins."""
        self.require_left()
        self.asked += 1
        return self.asked - 1
