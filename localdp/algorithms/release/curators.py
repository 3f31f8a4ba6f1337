"""Who points at the mistakes of a guess, privately: selection and measurement (Algorithm 8, Theorem 5.3).

Each time takes two rounds of an oracle: one to `select` the query with the largest |sum over the people - n f(D)|, which
one record moves by at most 1, and one to answer it.  So it runs on any oracle; where `select` costs no more for many
candidates than for two, it is worth it.

`SelectingCurator` is a trusted curator that spends (epsilon, delta) on all of these rounds together, and may use another
distinguisher than the noisy maximum that a curator selects with.

Claim.  T rounds are (epsilon, delta)-private for replace-one neighbours.  With delta = 0, epsilon0 = epsilon / (2 T);
otherwise it is the largest one that the accountant vouches for.  **Deviation**: the book's epsilon / (4 sqrt(T ln(1 /
delta))) is valid and smaller; optimal composition allows about 2.5 times as much.  Both are in a test.  Where a delta is
given and the distinguisher is of bounded range, as the exponential mechanism is, a selection costs no more than a
measurement of half its epsilon (Cesar and Rogers 2021): it has 2 epsilon0.  The noisy maximum is not of bounded range.
The whole of (epsilon, delta) is charged before anything is drawn; nothing is given back when a construction ends early.

Checked in tests/unit/algorithms/release/test_curators.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from localdp.accounting.accountant import Delta, Method, largest_epsilon_each, largest_unit
from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent, exact_delta
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.algorithms.release.distinguishers import Distinguisher, is_of_bounded_range
from localdp.algorithms.release.synthetic import rows_of
from localdp.algorithms.release.universe import Universe
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.oracles.curator import CuratorOracle, charge_anew
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.plans import Plan
from localdp.queries.scores import Furthest, WeightRows
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers, RandomSource

_FAVOUR = 2  # how many times the epsilon of a measurement a selection of bounded range has: then both have the same rho
_CONCENTRATED = (Method.BASIC, Method.CONCENTRATED, Method.RENYI)


@dataclass(frozen=True, slots=True)
class Mistake:
    """The query that a guess is furthest off on, nearly, and its answer, about."""

    place: int
    value: float


class Side(Protocol):
    """Knows the database, in some way, and points at mistakes."""

    def furthest(self, answers: Floats) -> Mistake:
        """Where a guess with these answers is furthest off."""
        ...


@dataclass(frozen=True, slots=True)
class IterationBudget:
    """What T rounds of selecting and measuring may spend, out of (epsilon, delta)."""

    epsilon: Epsilon  # in total per person, in nats, replace-one neighbours
    rounds: int
    delta: Fraction = Fraction(0)
    bounded_range: bool = False  # of what selects

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise InvalidParameter("a construction has at least one round")

    @property
    def each(self) -> Epsilon:
        """Epsilon0: that of one measurement, and of one selection, unless it is of bounded range."""
        uses = 2 * self.rounds
        if not self.delta:
            return Epsilon.requested(self.epsilon.divided_by(uses))
        if self._favoured:
            return Epsilon.requested(largest_unit(self.epsilon, self._events, self.delta, _CONCENTRATED))
        vouching = (Method.BASIC, Method.ADVANCED, Method.OPTIMAL)
        return Epsilon.requested(largest_epsilon_each(self.epsilon, uses, self.delta, vouching))

    @property
    def selecting(self) -> Epsilon:
        """That of one selection."""
        return self.each * (_FAVOUR if self._favoured else 1)

    @property
    def _favoured(self) -> bool:
        return bool(self.bounded_range and self.delta)

    def _events(self, each: Epsilon) -> list[PrivacyEvent]:
        selections = PrivacyEvent(each * _FAVOUR, self.rounds, bounded_range=True)
        return [selections, PrivacyEvent(each, self.rounds)]

    @property
    def each_by_the_book(self) -> float:
        """Epsilon0 of Theorem 5.3."""
        if not self.delta:
            return float(self.epsilon) / (2 * self.rounds)
        return float(self.epsilon) / (4 * math.sqrt(self.rounds * math.log(1 / self.delta)))


class SelectingCurator:
    """Holds the records of people who trust it, and runs iterative constructions over them."""

    def __init__(
        self,
        records: Records,
        epsilon: Epsilon | float,
        source: RandomSource,
        *,
        delta: Delta = 0,
        ledger: Ledger | None = None,
    ) -> None:
        """Spend (epsilon, delta) on each construction; without a ledger, there is one of them."""
        self._records = records
        self._source = source
        self.epsilon = Epsilon.requested(epsilon)
        self.delta = exact_delta(delta)
        self._ledger = ledger or MemoryLedger(records.people, self.epsilon)
        self._constructions = 0

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self._records.schema

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        return self._records.people

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised about all constructions so far."""
        return PrivacyClaim.of_curator(self.epsilon * self._constructions, self.delta * self._constructions)

    def begin(
        self,
        universe: Universe,
        queries: Sequence[str],
        budget: IterationBudget,
        distinguisher: Distinguisher | None = None,
    ) -> SelectingSide:
        """Charge for a whole construction about these queries; without a distinguisher, the curator's own selects."""
        if budget.epsilon > self.epsilon or budget.delta > self.delta:
            raise InvalidParameter("a construction spends no more than it is charged for")
        if budget.bounded_range and not is_of_bounded_range(distinguisher):
            raise InvalidParameter("this budget is for a distinguisher of bounded range")
        each = budget.each
        inside = _Distinguishing(self._records, each, self._source, budget=each * (2 * budget.rounds))
        inside.distinguisher, inside.selecting = distinguisher, budget.selecting
        side = SelectingSide(inside, universe, queries)
        number, cells = b"%d" % self._constructions, universe.query()
        request = digest(b"construction", number, cells.encode(), *(query.encode() for query in queries))
        purpose = (
            f"a construction of {budget.rounds} rounds at most over {len(queries)} queries about {cells}"
        )
        charge_anew(self._ledger, request, self._records, self.epsilon, purpose)
        self._constructions += 1
        return side


class _Distinguishing(CuratorOracle):
    """A curator that selects with the distinguisher that an algorithm names."""

    distinguisher: Distinguisher | None = None
    selecting: Epsilon  # what a selection of the distinguisher may cost

    def _chosen(self, scores: Integers, sensitivity: int) -> int:
        if self.distinguisher is None:
            return super()._chosen(scores, sensitivity)
        return self.distinguisher.choose(scores, sensitivity, self.selecting, self._curator.source)


class SelectingSide:
    """An oracle as what points at mistakes: it selects a query, and answers it."""

    def __init__(self, oracle: StatisticalQueryOracle, universe: Universe, queries: Sequence[str]) -> None:
        """Nobody is asked yet; what cannot be asked is refused."""
        self._oracle = oracle
        self._queries = list(queries)
        self._cells = VectorQuery.parse(universe.query(), oracle.schema)
        self._rows = WeightRows.of(rows_of(queries, universe))

    def plan(self) -> Plan:
        """How a mistake would be selected."""
        return self._oracle.plan_select(self._cells, Furthest(np.zeros(len(self._queries)), self._rows))

    def furthest(self, answers: Floats) -> Mistake:
        """A query that is nearly the furthest off, and its noisy mean."""
        place = self._oracle.select(self._cells, Furthest(answers, self._rows)).place
        return Mistake(place, self._oracle.answer([self._queries[place]])[0].value)
