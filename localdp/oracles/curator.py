"""The trusted curator: it sees every record and releases sums with discrete Laplace noise (sections 3.3 and 9.3).

A query is encoded on the integers 0 .. R and summed; replacing one record moves the sum by at most R, and noise
with Pr[k] proportional to exp(-epsilon |k| / R) makes the sum epsilon-private.  Epsilon of a round is divided equally
among its queries (basic composition, Theorem 3.14).  The expected error does not depend on n.

The same mechanism as the shared curator of `shared.py`, without anybody having to be trusted there.
"""

from collections.abc import Sequence

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Ledger, MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records, Schema
from localdp.framing import digest
from localdp.oracles.definition import Answer, Cost, checked_round, encoded_sum, resolution_of
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.source import RandomSource
from localdp.sharing.noise_plans import central_law


class CuratorOracle:
    """Answers with the discrete Laplace mechanism, on behalf of people who trust it with their records."""

    def __init__(
        self, records: Records, epsilon: Epsilon, source: RandomSource, budget: Epsilon | None = None
    ) -> None:
        """Spend `epsilon` per person in each round, and `budget` (one round's worth if not given) in total."""
        self._records = records
        self._epsilon = Epsilon.requested(epsilon)
        self._source = source
        self._ledger: Ledger = MemoryLedger(records.people, budget or epsilon)
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
        """Pure, but the curator sees everything."""
        return PrivacyClaim(
            "curator",
            self.cost.epsilon_per_person,
            Strength.PURE,
            "anybody but the curator",
            "The curator holds every record in the clear and must be honest.",
        )

    def answer(self, queries: Sequence[str | StatisticalQuery]) -> list[Answer]:
        """The means, each with its share of the round's epsilon in noise."""
        checked = checked_round(queries, self.schema)
        part = Epsilon.requested(self._epsilon.divided_by(len(checked)))
        self._charge(checked)
        self.cost = self.cost.after_round(len(checked), self._epsilon, 0)
        return [self._one(query, part) for query in checked]

    def _charge(self, queries: list[StatisticalQuery]) -> None:
        text = "; ".join(query.text for query in queries)
        request = digest(b"curator round", b"%d" % self.cost.rounds, text.encode())
        everybody = Cohort(0, self.people)
        self._ledger.charge(Charge(request, self._records.fingerprint(), everybody, self._epsilon, text))

    def _one(self, query: StatisticalQuery, epsilon: Epsilon) -> Answer:
        resolution = resolution_of(query)
        law = central_law(epsilon, resolution)
        noisy = encoded_sum(query, self._records) + int(law.sample(self._source, 1)[0])
        return sum_answer(query.text, noisy, resolution, self.people, law.variance())


def sum_answer(query: str, noisy_sum: int, resolution: int, people: int, noise_variance: float) -> Answer:
    """A noisy sum on the grid as an answer about a mean."""
    scale = resolution * people
    value = noisy_sum / scale
    variance = noise_variance / scale**2
    inside = min(max(value, 0.0), 1.0)
    # inside (1 - inside) is the largest spread that values in [0, 1] with this mean can have.
    return Answer(query, value, people, people, variance, variance + inside * (1 - inside) / people)
