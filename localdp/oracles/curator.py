"""The trusted curator: it sees every record and releases sums with discrete Laplace noise (sections 3.3 and 9.3).

A query is encoded on whole numbers and summed; replacing one record moves the sums by at most the encoding's
sensitivity R, and noise with Pr[k] proportional to exp(-epsilon |k| / R) on every entry makes them epsilon-private.
Epsilon of a round is divided equally among its queries, and that of a view among its rounds (basic composition,
Theorem 3.14).  The expected error of a count does not depend on n.

The same mechanism as the shared curator of `shared.py`, without anybody having to be trusted there.
Checked in tests/contract/test_statistical_query_oracle.py, tests/unit/oracles/test_curator.py and
tests/statistical/test_plans.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.framing import digest
from localdp.mechanisms.adder import TrustedCurator
from localdp.oracles.base import ModelOracle
from localdp.oracles.definition import Answer, GridNoise, VectorAnswer
from localdp.oracles.plans import Plan, PlannedQuery
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.encoded import Query, encoded_sums, encoding_of, entries_of, means_of, unit_of
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.noise_plans import central_law
from localdp.sharing.summed_noise import SummedNoise


class CuratorOracle(ModelOracle):
    """Answers with the discrete Laplace mechanism, on behalf of people who trust it with their records."""

    model = "curator"

    def __init__(
        self,
        records: Records,
        epsilon: Epsilon,
        source: RandomSource,
        budget: Epsilon | None = None,
        *,
        ledger: Ledger | None = None,
    ) -> None:
        """Spend `epsilon` per person in each round, and `budget` (one round's worth if not given) in total."""
        super().__init__(records.schema, records.people, Epsilon.requested(epsilon))
        self._records = records
        self._curator = TrustedCurator(source)
        self._ledger = ledger or MemoryLedger(records.people, budget or epsilon)

    @property
    def claim(self) -> PrivacyClaim:
        """Pure, but the curator sees everything."""
        return PrivacyClaim.of_curator(self.cost.epsilon_per_person)

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, each with its share of the round's epsilon in noise."""
        checked = checked_round(queries, self.schema)
        part = self._part(len(checked))
        self._begin(checked)
        return [self._one(query, part) for query in checked]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, each query with its share of the round's epsilon in noise."""
        checked = checked_vectors(queries, self.schema)
        part = self._part(len(checked))
        self._begin(checked)
        return [self._vector(query, part) for query in checked]

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The noise alone: nobody is left out."""
        checked = checked_plan(queries, self.schema)
        part = self._part(len(checked))
        rows = [planned_sum(query, part, self.people) for query in checked]
        return self._planned(checked, rows)

    def in_rounds(self, rounds: int) -> CuratorOracle:
        """A view that spends a part of epsilon in each round, from the same budget."""
        counted = self._rounds.within(rounds)
        view = CuratorOracle(
            self._records, self._epsilon.divided_by(rounds), self._curator.source, ledger=self._ledger
        )
        return view._as_view(self, counted)

    def _begin(self, queries: Sequence[Query]) -> None:
        """Charge for a round before anything is drawn."""
        number = self._rounds.begin()
        text = "; ".join(query.text for query in queries)
        request = digest(b"curator round", b"%d" % number, text.encode())
        charge_anew(self._ledger, request, self._records, self._epsilon, text)
        self._account.book(len(queries), self._epsilon, 0)

    def _one(self, query: StatisticalQuery, epsilon: Epsilon) -> Answer:
        resolution = encoding_of(query).bound
        noisy = self._curator.released(encoded_sums(query, self._records), resolution, epsilon)
        return sum_answer(
            query.text, int(noisy[0]), resolution, self.people, central_noise(epsilon, resolution)
        )

    def _vector(self, query: VectorQuery, epsilon: Epsilon) -> VectorAnswer:
        sensitivity = encoding_of(query).sensitivity
        noisy = self._curator.released(encoded_sums(query, self._records), sensitivity, epsilon)
        return sums_answer(query, noisy, self.people, central_noise(epsilon, sensitivity))


def charge_anew(ledger: Ledger, name: bytes, records: Records, cost: Epsilon, purpose: str) -> None:
    """Charge everybody for noise that is drawn anew, which is never the repetition of an earlier request.

    Another curator may have used the name on the same ledger; then the charge goes under the next name.
    """
    everybody, state = Cohort(0, records.people), records.fingerprint()
    request = digest(name, state)
    while not ledger.charge(Charge(request, state, everybody, cost, purpose)).new and records.people:
        request = digest(b"anew", request)


def planned_sum(query: Query, epsilon: Epsilon, people: int, factor: float = 1.0) -> PlannedQuery:
    """The expected error of a sum with `factor` times the variance of the central noise."""
    sensitivity = encoding_of(query).sensitivity
    variance = factor * central_law(epsilon, sensitivity).variance()
    error = unit_of(query) * variance**0.5 / people
    how = f"discrete Laplace noise for a sensitivity of {sensitivity}"
    return PlannedQuery(query.text, entries_of(query), how, people, error)


def central_noise(epsilon: Epsilon, sensitivity: int) -> SummedNoise:
    """What a trusted curator adds to each sum, as a law to predict with."""
    return SummedNoise(epsilon.exact / sensitivity, Fraction(1))


def sum_answer(query: str, noisy_sum: int, resolution: int, people: int, noise: SummedNoise) -> Answer:
    """A noisy sum on the grid as an answer about a mean."""
    scale = resolution * people
    value = noisy_sum / scale
    variance = noise.variance() / scale**2
    inside = min(max(value, 0.0), 1.0)
    # inside (1 - inside) is the largest spread that values in [0, 1] with this mean can have.
    population = variance + inside * (1 - inside) / people
    return Answer(query, value, people, people, variance, population, GridNoise(noise, 1 / scale))


def sums_answer(query: VectorQuery, noisy_sums: Integers, people: int, noise: SummedNoise) -> VectorAnswer:
    """Noisy sums of encoded entries as an answer about their means."""
    values, unit = means_of(query, noisy_sums, people), unit_of(query) / people
    variance = np.full(query.length, noise.variance() * unit**2)
    low = 0.0 if query.kind in ("category", "cube") else -1.0
    inside = np.clip(values, low, 1.0)
    # (1 - x)(x - low) is the largest spread that values in [low, 1] with mean x can have.
    spread = (1 - inside) * (inside - low) / people
    return VectorAnswer(
        query.text, values, people, people, variance, variance + spread, GridNoise(noise, unit)
    )
