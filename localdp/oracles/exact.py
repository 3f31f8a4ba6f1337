"""The exact oracle: means of the records themselves, and no privacy.  The yardstick of every other oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Ranges
from localdp.domains import Records
from localdp.mechanisms.noisy_maximum import first_largest
from localdp.oracles.base import ModelOracle, _Told
from localdp.oracles.by_answers import planned_by_answers, selected
from localdp.oracles.definition import Answer, OnRecords, Selected, VectorAnswer
from localdp.oracles.plans import Plan, PlannedQuery
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.blocks import SEED_BYTES, BlockEstimate, PeopleInBlocks
from localdp.queries.encoded import GRID, blocks, encoded_sums, encoding_of, entries_of, means_of
from localdp.queries.scores import LARGEST, Rule, Scores
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery
from localdp.randomizers.definition import Floats


def _mean_square(query: StatisticalQuery, records: Records) -> float:
    return float(np.mean(np.square(query.encode(records, GRID) / GRID)))


def vector_moments(query: VectorQuery, records: Records) -> tuple[Floats, Floats]:
    """Means and mean squares of the entries of a query, without noise and, for vectors, without a grid."""
    if query.kind in ("category", "parities"):
        means = means_of(query, encoded_sums(query, records), records.people)
        return means, means if query.kind == "category" else np.ones_like(means)
    first, second = np.zeros(query.length), np.zeros(query.length)
    for start, stop in blocks(records.people, query.length):
        values = query.evaluate(records.slice(start, stop))
        first += values.sum(axis=0)
        second += np.square(values).sum(axis=0)
    return first / records.people, second / records.people


class ExactOracle(ModelOracle):
    """Answers from the records, without noise."""

    model = "exact"
    sees_records = True

    def __init__(self, records: Records) -> None:
        super().__init__(records.schema, records.people, Epsilon(0))
        self._records = records

    @property
    def claim(self) -> PrivacyClaim:
        """None at all."""
        honest = "Whoever asks learns the records' true answers."
        return PrivacyClaim(self.model, None, Strength.NONE, "anybody", honest)

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, exactly."""
        checked = checked_round(queries, self.schema)
        self._begin(len(checked))
        return [self._one(query) for query in checked]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, exactly."""
        checked = checked_vectors(queries, self.schema)
        self._begin(len(checked))
        return [self._vector(query) for query in checked]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """The best candidate, the first of several."""
        scores = Scores.checked(of, by, self.schema)
        self._begin(len(scores.queries))
        return selected(scores, first_largest(scores.of(self._records)), self.people, self.people, 0.0)

    def on_records(self, mechanism: OnRecords[_Told]) -> _Told:
        """The truth about the records."""
        mechanism.require(self.schema, self.people, self._epsilon)
        self._begin(1)
        return mechanism.truth(self._records)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """No error at all."""
        checked = checked_plan(queries, self.schema)
        rows = [
            PlannedQuery(query.text, entries_of(query), "the truth", self.people, 0.0) for query in checked
        ]
        return Plan(self.model, tuple(rows), self.people, self._epsilon)

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """No error at all."""
        return planned_by_answers(self, of, by)

    def in_rounds(self, rounds: int) -> Self:
        """The truth as often as it is asked for, within the rounds."""
        view = type(self)(self._records)._as_view(self, self._rounds.within(rounds))
        view._among_blocks = self._among_blocks
        return view

    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        return type(self)(self._records.of_ranges(some))

    def _of_blocks(self, estimate: BlockEstimate, number: int) -> Self:
        return type(self)(PeopleInBlocks(estimate, bytes(SEED_BYTES)).records(self._records, number))

    def _begin(self, queries: int) -> None:
        self._rounds.begin()
        self._account.book(queries, Epsilon(0), Epsilon(0), 0)

    def _one(self, query: StatisticalQuery) -> Answer:
        total, bound = int(encoded_sums(query, self._records)[0]), encoding_of(query).bound
        mean = total / (bound * self.people)
        square = mean if query.kind == "bit" else _mean_square(query, self._records)
        spread = max(0.0, square - mean * mean) / self.people
        return Answer(query.text, mean, self.people, self.people, 0.0, spread)

    def _vector(self, query: VectorQuery) -> VectorAnswer:
        means, squares = vector_moments(query, self._records)
        spread = np.maximum(squares - means**2, 0.0) / self.people
        return VectorAnswer(query.text, means, self.people, self.people, np.zeros_like(means), spread)
