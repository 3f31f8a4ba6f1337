"""The exact oracle: means of the records themselves, and no privacy.  The yardstick of every other oracle."""

from collections.abc import Sequence

import numpy as np

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records, Schema
from localdp.oracles.definition import GRID, Answer, Cost, checked_round, encoded_sum, resolution_of
from localdp.queries.statistical import StatisticalQuery


def _mean_square(query: StatisticalQuery, records: Records) -> float:
    return float(np.mean(np.square(query.encode(records, GRID) / GRID)))


class ExactOracle:
    """Answers from the records, without noise."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.cost = Cost()

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
        """None at all."""
        return PrivacyClaim(
            "exact", None, Strength.NONE, "anybody", "Whoever asks learns the records' true answers."
        )

    def answer(self, queries: Sequence[str | StatisticalQuery]) -> list[Answer]:
        """The means, exactly."""
        checked = checked_round(queries, self.schema)
        self.cost = self.cost.after_round(len(checked), Epsilon(0), 0)
        return [self._one(query) for query in checked]

    def _one(self, query: StatisticalQuery) -> Answer:
        mean = encoded_sum(query, self._records) / (resolution_of(query) * self.people)
        square = mean if query.kind == "bit" else _mean_square(query, self._records)
        spread = max(0.0, square - mean * mean) / self.people
        return Answer(query.text, mean, self.people, self.people, 0.0, spread)
