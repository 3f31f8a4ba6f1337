"""What the oracles of all trust models have in common: whom they are about, their rounds, and what these have cost.

Checked for every oracle by tests/contract/test_statistical_query_oracle.py.
"""

from __future__ import annotations

from typing import ClassVar, Self

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.oracles.definition import Account, Cost, RoundCount


class ModelOracle:
    """An oracle of a trust model; what it answers, plans and promises is its own."""

    model: ClassVar[str]  # its row in `models.py`
    schema: Schema  # what queries may be about
    people: int  # how many the answers are about
    selects: bool = False  # cheaper than by answers about all candidates

    def __init__(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """`epsilon` is what a round may cost a person."""
        self.schema, self.people = schema, people
        self._epsilon = epsilon
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
        return self
