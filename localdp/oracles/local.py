"""The local oracle: statistical queries answered from randomized reports (section 12.1).

Every query of a round is asked of its own random group of the people, so that nobody answers more than one query a
round: splitting the people costs a factor m in variance, splitting epsilon would cost m squared.  With one query in the
round everybody answers it, and a count of n bits has an error of order sqrt(n) / epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import SEED_BYTES, Cohort, Split
from localdp.domains import Schema
from localdp.oracles.definition import Answer, Cost, checked_round, resolution_of
from localdp.oracles.lr import LROracle, tally_of
from localdp.oracles.party import Request
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.definition import Estimate, Floats
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.source import RandomSource

_Variance = TypeVar("_Variance", float, Floats)


class LocalOracle:
    """Asks the parties through an LR oracle, one one-bit report from each person and round."""

    def __init__(
        self, reports: LROracle, epsilon: Epsilon, source: RandomSource, cohort: Cohort | None = None
    ) -> None:
        """`epsilon` is what each report may cost; `source` only makes request identifiers and public coins."""
        self._reports = reports
        self._epsilon = Epsilon.requested(epsilon)
        self._source = source
        self._cohort = cohort or Cohort(0, reports.people)
        self.cost = Cost()

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self._reports.schema

    @property
    def people(self) -> int:
        """How many people the answers are about."""
        return self._cohort.stop - self._cohort.start

    @property
    def claim(self) -> PrivacyClaim:
        """Pure, and nobody has to be trusted but one's own party."""
        return PrivacyClaim(
            "local",
            self.cost.epsilon_per_person,
            Strength.PURE,
            "anybody outside the person's own party",
            "Nobody else has to be honest.",
        )

    def answer(self, queries: Sequence[str | StatisticalQuery]) -> list[Answer]:
        """The means, estimated from one bit of each person."""
        checked = checked_round(queries, self.schema)
        moved = self._reports.bytes_moved
        seed = self._source.raw("u1", SEED_BYTES).tobytes()
        answers = [
            self._one(query, self._group(seed, part, len(checked))) for part, query in enumerate(checked)
        ]
        self.cost = self.cost.after_round(len(checked), self._epsilon, self._reports.bytes_moved - moved)
        return answers

    def _group(self, seed: bytes, part: int, parts: int) -> Cohort:
        if parts == 1:
            return self._cohort
        return Cohort(self._cohort.start, self._cohort.stop, Split(seed, parts, part))

    def _one(self, query: StatisticalQuery, group: Cohort) -> Answer:
        randomizer = OneBitRandomizer(self._epsilon, resolution_of(query))
        tally = tally_of(self._reports, Request.fresh(query.text, randomizer, self._source), group)
        return extrapolated(query.text, randomizer.estimate(tally), self.people)


def extrapolated(text: str, estimate: Estimate, people: int) -> Answer:
    """From those who answered to all the people that they are a random sample of."""
    reports, population = estimate.reports, estimate.variance_population
    variance = extrapolated_variance(estimate.variance_empirical, population, reports, people)
    return Answer(text, estimate.value, people, reports, float(variance), population)


def extrapolated_variance(
    empirical: _Variance, population: _Variance, reports: int, people: int
) -> _Variance:
    """Variance about the mean of all people, of whom `reports` answered: a sample without replacement.

    What the population target has on top is the sampling term; of a finite population only the part 1 - n/N of it
    remains.  Where noise makes the difference negative, or the spread cannot be told from the noise, it is taken as 0:
    the variance is never below that of the noise alone.
    """
    variance: _Variance = empirical + (1 - reports / people) * np.maximum(population - empirical, 0.0)
    return variance
