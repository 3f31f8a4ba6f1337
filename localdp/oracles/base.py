"""What the oracles of all trust models have in common: whom they are about, their rounds, and what these have cost.

Checked for every oracle by tests/contract/test_statistical_query_oracle.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from typing import ClassVar, Self, TypeVar

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Ranges, checked_ranges, whole_ranges
from localdp.domains import Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.oracles.account import Account, Cost
from localdp.oracles.definition import OnRecords, RoundCount
from localdp.oracles.plans import Plan, PlannedQuery, Resizing
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.blocks import BlockEstimate
from localdp.queries.encoded import Query

_Told = TypeVar("_Told")


class ModelOracle(ABC):
    """An oracle of a trust model; what it answers, plans and promises is its own."""

    model: ClassVar[str]  # its row in `models.py`
    schema: Schema  # what queries may be about
    people: int  # how many the answers are about
    selects: bool = False  # cheaper than by answers about all candidates
    sees_records: bool = False  # somebody has all of them in the clear
    _among_blocks = False  # of people, which answer in their place

    def __init__(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """`epsilon` is what a round may cost a person."""
        self.schema, self.people = schema, people
        self._epsilon = self._granted = epsilon
        self._rounds = RoundCount()
        self._account = Account()
        self._step_by_step: Self | None = None  # the round that all views of some of the people are

    @property
    def cost(self) -> Cost:
        """What the answers have cost so far, those of views included."""
        return self._account.cost

    def _part(self, queries: int) -> Epsilon:
        """What one of so many queries may cost where they divide epsilon among them."""
        return Epsilon.requested(self._epsilon.divided_by(queries))

    def _as_view(self, whole: Self, rounds: RoundCount, *, once: bool = False) -> Self:
        """This oracle as a view of another one, in whose cost its rounds count as well; `once`: each asks other people."""
        return self._counted_as(whole, rounds, Account(whole._account, once=once))

    def _counted_as(self, whole: Self, rounds: RoundCount, account: Account) -> Self:
        self._rounds, self._account, self._granted = rounds, account, whole._granted
        self._step_by_step = None
        return self

    def among(self, ranges: Sequence[range], parts: int = 1) -> Self:
        """A view of one round about some of the people, at a part of what a round costs."""
        if self._among_blocks:
            raise InvalidParameter(
                "blocks are asked all at once: each of them is of anybody, so that all pay"
            )
        some = checked_ranges(ranges, self.people)
        if self._step_by_step is None:
            self._step_by_step = self.in_rounds(1)
        whole = self._step_by_step
        each = whole._epsilon.divided_by(parts)
        whole._account.require_left(some, each, whole._epsilon)
        view = whole._of_some(some, each)
        return view._counted_as(whole, RoundCount(1), Account(whole._account, among=some))

    def in_blocks(
        self, estimate: str, blocks: int, low: float | None = None, high: float | None = None
    ) -> Self:
        """A view whose people are blocks of people, and whose records say what an estimate of each of them is."""
        if self._among_blocks:
            raise InvalidParameter("these are blocks of people already")
        view = self._of_blocks(BlockEstimate.parse(estimate, self.schema, low, high), blocks)
        view._among_blocks = True
        return view._as_view(self, self._rounds)

    def _of_blocks(self, estimate: BlockEstimate, number: int) -> Self:
        """This oracle about blocks of its people, at the same epsilon."""
        raise QueryRefused(
            "in the local model everybody answers alone, so that a block is one person, of whom nothing can be estimated: "
            "ask share servers, whose parties compute their own blocks, or a curator"
        )

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """Something of the records themselves, of which nobody here has all."""
        raise QueryRefused(
            f"{mechanism.text} is computed by whoever sees all records, and in the {self.model} model nobody does: "
            f"{mechanism.instead}"
        )

    @abstractmethod
    def in_rounds(self, rounds: int) -> Self:
        """A view whose rounds together cost a person what one round of this oracle costs."""

    @abstractmethod
    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        """This oracle about some of the people, at this epsilon a round."""

    def _planned(self, queries: Sequence[Query], rows: Sequence[PlannedQuery]) -> Plan:
        """The plan of a round of these rows, which can be made anew for other people and another epsilon."""
        resizing = Resizing(self._granted, lambda people, times: self._resized(people, times).plan(queries))
        return Plan(self.model, tuple(rows), self.people, self._epsilon, resizing, self._risk(queries))

    def _risk(self, queries: Sequence[Query]) -> Fraction:
        """With which probability, at most, the epsilon of a round of these queries does not hold."""
        return Fraction(0)

    def _resized(self, people: int, times: float) -> Self:
        """This oracle if it had so many people and so many times the epsilon: to plan with, and not to ask."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.people = people
        other._epsilon = Epsilon.requested(f"{times * float(self._epsilon):.9f}")
        return other

    @abstractmethod
    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """What a round of these queries would yield; nobody is asked."""


class CohortOracle(ModelOracle):
    """An oracle that asks cohorts of people: in a view of some of them, those ranges."""

    def __init__(self, schema: Schema, cohort: Cohort, epsilon: Epsilon) -> None:
        super().__init__(schema, cohort.stop - cohort.start, epsilon)
        self._cohorts: tuple[Cohort, ...] = (cohort,)

    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        return self._at(epsilon, whole_ranges(self._cohorts, some))

    def _at(self, epsilon: Epsilon, cohorts: Sequence[Cohort]) -> Self:
        """The same of these people, at this epsilon."""
        other = copy(self)
        other._cohorts, other.people = tuple(cohorts), sum(one.size() for one in cohorts)
        other._epsilon = Epsilon.requested(epsilon)
        other._step_by_step = None
        return other


def range_of_people(cohort: Cohort | None, people: int) -> Cohort:
    """Everybody, or these people: a part of them that is drawn is the affair of a round."""
    asked = cohort or Cohort(0, people)
    if asked.split is not None:
        raise InvalidParameter("the cohort of an oracle is a range of people")
    return asked
