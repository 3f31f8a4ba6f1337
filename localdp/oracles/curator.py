"""The trusted curator: it sees every record and releases sums with discrete Laplace noise (sections 3.3 and 9.3).

A query is encoded on whole numbers and summed; replacing one record moves the sums by at most the encoding's
sensitivity R, and noise with Pr[k] proportional to exp(-epsilon |k| / R) on every entry makes them epsilon-private.
Epsilon of a round is divided equally among its queries, and that of a view among its rounds (basic composition,
Theorem 3.14).  The expected error of a count does not depend on n.

A selection (`select`) tells which candidate is nearly the best, by the noisy maximum (Claim 3.9;
`mechanisms/noisy_maximum.py`) at all of the round's epsilon, however many candidates there are.

The same mechanism as the shared curator of `shared.py`, without anybody having to be trusted there.
Checked in tests/contract/test_statistical_query_oracle.py and test_select.py, tests/unit/oracles/test_curator.py and
tests/statistical/test_plans.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.accounting.ledger_of_some import LedgerOfSome
from localdp.cohorts import Cohort, Ranges
from localdp.domains import Records
from localdp.framing import digest
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.noisy_maximum import NoisyMaximum
from localdp.oracles.base import ModelOracle, _Told
from localdp.oracles.by_answers import selected
from localdp.oracles.definition import LEVEL, Answer, GridNoise, OnRecords, Selected, VectorAnswer
from localdp.oracles.plans import Plan, PlannedQuery, PlannedSelection
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.blocks import SEED_BYTES, BlockEstimate, PeopleInBlocks
from localdp.queries.encoded import Query, encoded_sums, encoding_of, entries_of, means_of, unit_of
from localdp.queries.scores import LARGEST, Rule, Scores
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers, RandomSource, uniform_bytes
from localdp.sharing.noise_plans import central_law
from localdp.sharing.summed_noise import SummedNoise

_SUMS_KEPT = 64


class CuratorOracle(ModelOracle):
    """Answers with the discrete Laplace mechanism, on behalf of people who trust it with their records."""

    model = "curator"
    selects = sees_records = True

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
        self._records = self._charged = records
        self._curator = TrustedCurator(source)
        self._sums: dict[tuple[str, str], Integers] = {}
        self._ledger = ledger or MemoryLedger(records.people, budget or epsilon)

    @property
    def claim(self) -> PrivacyClaim:
        """Pure, but the curator sees everything."""
        return PrivacyClaim.of_curator(self.cost.epsilon_promised, self._account.delta)

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, each with its share of the round's epsilon in noise."""
        checked = checked_round(queries, self.schema)
        part = self._part(len(checked))
        self._begin(len(checked), _texts(checked))
        return [self._one(query, part) for query in checked]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, each query with its share of the round's epsilon in noise."""
        checked = checked_vectors(queries, self.schema)
        part = self._part(len(checked))
        self._begin(len(checked), _texts(checked))
        return [self._vector(query, part) for query in checked]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """The first of the largest noisy scores; nothing else about them is told."""
        scores = Scores.checked(of, by, self.schema)
        shortfall = planned_selection(scores, self._epsilon, self.people).tolerance(1 - LEVEL)
        self._begin(len(scores.queries), scores.text)
        place = self._chosen(scores.scored(self._added, self.people), scores.sensitivity)
        return selected(scores, place, self.people, self.people, shortfall)

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """What a mechanism tells of the records, at a round's epsilon and its own delta."""
        mechanism.require(self.schema, self.people, self._epsilon)
        self._begin(1, mechanism.text)
        self._account.risk(mechanism.delta)
        return mechanism.release(self._records, self._epsilon, self._curator.source)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The noise alone: nobody is left out."""
        checked = checked_plan(queries, self.schema)
        part = self._part(len(checked))
        rows = [planned_sum(query, part, self.people) for query in checked]
        return self._planned(checked, rows)

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """The noise on a score, which does not depend on how many there are."""
        row = planned_selection(Scores.checked(of, by, self.schema), self._epsilon, self.people)
        return Plan(self.model, (row,), self.people, self._epsilon)

    def in_rounds(self, rounds: int) -> Self:
        """A view that spends a part of epsilon in each round, from the same budget."""
        counted = self._rounds.within(rounds)
        part = self._epsilon.divided_by(rounds)
        view = type(self)(self._records, part, self._curator.source, ledger=self._ledger)
        view._charged, view._among_blocks = self._charged, self._among_blocks
        return view._as_view(self, counted)

    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        ledger = LedgerOfSome(self._ledger, some)
        return type(self)(self._records.of_ranges(some), epsilon, self._curator.source, ledger=ledger)

    def _of_blocks(self, estimate: BlockEstimate, number: int) -> Self:
        source = self._curator.source
        blocks = PeopleInBlocks(estimate, uniform_bytes(source, SEED_BYTES))
        table = blocks.records(self._records, number)
        view = type(self)(table, self._epsilon, source, ledger=self._ledger)
        view._charged = self._records
        return view

    def _chosen(self, scores: Integers, sensitivity: int) -> int:
        """What a round's epsilon tells about scores."""
        return NoisyMaximum.within(self._epsilon, sensitivity).choose(scores, self._curator.source)

    def _begin(self, queries: int, text: str) -> None:
        """Charge for a round before anything is drawn."""
        number = self._rounds.begin()
        request = digest(b"curator round", b"%d" % number, text.encode())
        if not number:
            self._require_all(request, text)
        charge_anew(self._ledger, request, self._charged, self._epsilon, text)
        self._account.book(queries, self._epsilon, self._epsilon, 0)

    def _require_all(self, request: bytes, text: str) -> None:
        """Refuse a view whose later rounds nobody could pay for, before anybody pays for the first."""
        everybody, state = Cohort(0, self._charged.people), self._charged.fingerprint()
        cost = self._epsilon * (self._rounds.total or 1)
        self._ledger.require(Charge(digest(b"all rounds", request), state, everybody, cost, text))

    def _added(self, query: Query) -> Integers:
        """The sums of a query; whoever selects again and again asks for the same ones."""
        key = query.kind, query.text  # a condition and a category of two values have one text
        if key not in self._sums:
            if len(self._sums) >= _SUMS_KEPT:
                self._sums.clear()
            self._sums[key] = encoded_sums(query, self._records)
        return self._sums[key]

    def _one(self, query: StatisticalQuery, epsilon: Epsilon) -> Answer:
        resolution = encoding_of(query).bound
        noisy = self._curator.released(self._added(query), resolution, epsilon)
        return sum_answer(
            query.text, int(noisy[0]), resolution, self.people, central_noise(epsilon, resolution)
        )

    def _vector(self, query: VectorQuery, epsilon: Epsilon) -> VectorAnswer:
        sensitivity = encoding_of(query).sensitivity
        noisy = self._curator.released(self._added(query), sensitivity, epsilon)
        return sums_answer(query, noisy, self.people, central_noise(epsilon, sensitivity))


def _texts(queries: Sequence[Query]) -> str:
    return "; ".join(query.text for query in queries)


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


def planned_selection(scores: Scores, epsilon: Epsilon, people: int) -> PlannedSelection:
    """The noise on a score, which does not depend on how many there are."""
    law = NoisyMaximum.within(epsilon, scores.sensitivity)
    unit = 1 / (scores.resolution * people)
    how = f"the largest after geometric noise of scale {float(1 / law.rate):.4g} for a sensitivity of {law.sensitivity}"
    error = law.standard_deviation * unit
    return PlannedSelection(scores.text, len(scores), how, people, error, law=law, unit=unit)


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
    spread = spread_about(query, values) / people
    return VectorAnswer(
        query.text, values, people, people, variance, variance + spread, GridNoise(noise, unit)
    )


def spread_about(query: VectorQuery, values: Floats) -> Floats:
    """The largest variance that entries of a query with these means can have."""
    low = 0.0 if query.kind in ("category", "cube") else -1.0
    inside = np.clip(values, low, 1.0)
    # (1 - x)(x - low) is the largest spread that values in [low, 1] with mean x can have.
    return (1 - inside) * (inside - low)
