"""A curator who points at the mistakes of a guess, privately: selection and measurement (Algorithm 8, Theorem 5.3).

Each time it spends twice epsilon0: once on a private distinguisher with the score |sum over the people - n f(D)|, which
one record moves by at most 1, and once on the sum of the chosen query with discrete Laplace noise of scale 1 /
epsilon0.  Sums are whole numbers: bits are counted, anything else is rounded to 2**-16 for each cell of the universe.

Claim.  T rounds are (epsilon, delta)-private for replace-one neighbours.  With delta = 0, epsilon0 = epsilon / (2 T);
otherwise it is the largest one that the accountant vouches for.  **Deviation**: the book's epsilon / (4 sqrt(T ln(1 /
delta))) is valid and smaller; optimal composition allows about 2.5 times as much.  Both are in a test.  The whole of
(epsilon, delta) is charged before anything is drawn, and nothing is given back when a construction ends early.

Checked in tests/unit/algorithms/release/test_curators.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from localdp.accounting.accountant import Delta, Method, largest_epsilon_each
from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import exact_delta
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.algorithms.release.distinguishers import Distinguisher
from localdp.algorithms.release.universe import Universe
from localdp.domains import Records, Schema
from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.framing import digest
from localdp.oracles.curator import charge_anew
from localdp.queries.encoded import GRID
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.source import Floats, Integers, RandomSource


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

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise InvalidParameter("a construction has at least one round")

    @property
    def each(self) -> Epsilon:
        """Epsilon0: that of one selection, and of one measurement."""
        uses = 2 * self.rounds
        if not self.delta:
            return Epsilon.requested(self.epsilon.divided_by(uses))
        vouching = (Method.BASIC, Method.ADVANCED, Method.OPTIMAL)
        return Epsilon.requested(largest_epsilon_each(self.epsilon, uses, self.delta, vouching))

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
        self, universe: Universe, rows: Floats, distinguisher: Distinguisher, budget: IterationBudget
    ) -> PrivateSide:
        """Charge for a whole construction; `rows` are the queries' values in the cells of the universe."""
        if budget.epsilon > self.epsilon or budget.delta > self.delta:
            raise InvalidParameter("a construction spends no more than it is charged for")
        if not (rows.ndim == 2 and rows.shape[1] == universe.cells and ((rows >= 0) & (rows <= 1)).all()):
            raise InvalidParameter("a query has a value between 0 and 1 in every cell of the universe")
        cell = VectorQuery.parse(universe.query(), self.schema)
        number = b"%d" % self._constructions
        request = digest(b"construction", number, cell.text.encode(), np.ascontiguousarray(rows).tobytes())
        purpose = (
            f"a construction of {budget.rounds} rounds at most over {len(rows)} queries about {cell.text}"
        )
        charge_anew(self._ledger, request, self._records, self.epsilon, purpose)
        self._constructions += 1
        counts = np.bincount(cell.evaluate(self._records), minlength=universe.cells)
        resolution = 1 if np.isin(rows, (0, 1)).all() else GRID
        sums = np.rint(rows * resolution).astype(np.int64) @ counts.astype(np.int64)
        return PrivateSide(sums, resolution, self.people, distinguisher, budget, self._source)


class PrivateSide:
    """The true sums of a construction's queries, behind private selection and noise."""

    def __init__(
        self,
        sums: Integers,
        resolution: int,
        people: int,
        distinguisher: Distinguisher,
        budget: IterationBudget,
        source: RandomSource,
    ) -> None:
        """`sums` are over all people, in units of 1 / resolution."""
        self._sums, self._resolution, self._people = sums, resolution, people
        self._distinguisher, self._source = distinguisher, source
        self._each, self._left = budget.each, budget.rounds
        self._noise = DiscreteLaplace(self._each.exact / resolution)

    def furthest(self, answers: Floats) -> Mistake:
        """A query chosen by the distinguisher, and its noisy mean."""
        if not self._left:
            raise BudgetExhausted("all rounds of this construction were used")
        self._left -= 1
        scale = self._resolution * self._people
        guessed = np.rint(np.clip(answers, -1.0, 2.0) * scale).astype(np.int64)
        scores = np.abs(self._sums - guessed)
        place = self._distinguisher.choose(scores, self._resolution, self._each, self._source)
        noisy = int(self._sums[place]) + int(self._noise.sample(self._source, 1)[0])
        return Mistake(place, noisy / scale)
