"""What the oracles of all trust models have in common: whom they are about, their rounds, and what these have cost.

Checked for every oracle by tests/contract/test_statistical_query_oracle.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.oracles.definition import Account, Cost, RoundCount
from localdp.oracles.plans import Plan, PlannedQuery, Resizing
from localdp.queries.asked import Asked, AskedVector
from localdp.queries.encoded import Query


class ModelOracle(ABC):
    """An oracle of a trust model; what it answers, plans and promises is its own."""

    model: ClassVar[str]  # its row in `models.py`
    schema: Schema  # what queries may be about
    people: int  # how many the answers are about
    selects: bool = False  # cheaper than by answers about all candidates

    def __init__(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """`epsilon` is what a round may cost a person."""
        self.schema, self.people = schema, people
        self._epsilon = self._granted = epsilon
        self._rounds = RoundCount()
        self._account = Account()

    @property
    def cost(self) -> Cost:
        """What the answers have cost so far, those of views included."""
        return self._account.cost

    def _part(self, queries: int) -> Epsilon:
        """What one of so many queries may cost where they divide epsilon among them."""
        return Epsilon.requested(self._epsilon.divided_by(queries))

    def _as_view(self, whole: Self, rounds: RoundCount, *, once: bool = False) -> Self:
        """This oracle as a view of another one, in whose cost its rounds count as well; `once`: each asks other people."""
        self._rounds, self._account = rounds, Account(whole._account, once=once)
        self._granted = whole._granted
        return self

    def _planned(self, queries: Sequence[Query], rows: Sequence[PlannedQuery]) -> Plan:
        """The plan of a round of these rows, which can be made anew for other people and another epsilon."""
        resizing = Resizing(self._granted, lambda people, times: self._resized(people, times).plan(queries))
        return Plan(self.model, tuple(rows), self.people, self._epsilon, resizing)

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
