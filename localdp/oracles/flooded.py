"""The shuffled model at the curator's error: sealed messages in a flood of noise that all people draw together.

Everybody sends +1 for a one, and with all others a little noise and a flood of pairs of +1 and -1, each message sealed
to the analyst, who sees them mixed and adds up (`accounting/flooding.py`).  Against the analyst that is (epsilon,
delta); a count is off by hardly more than a curator's, at n = 10**6 for 1.01 messages a person.  What it costs is
trust: a single message hides nothing, so against a shuffler that tells who sent what, or the analyst together with it,
there is no promise at all, where the protocol of single messages (`shuffled.py`) keeps its eps0.  Parties take part
only if their owners accept that.

Ledgers are charged epsilon: what holds if the shuffler is honest and enough people are.  The queries of a round, and the
rounds of a view, divide epsilon and delta.

Checked in tests/unit/oracles/test_flooded.py, tests/contract/test_flooded.py and test_statistical_query_oracle.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.claim import PrivacyClaim, Strength, about_rows
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import DEFAULT_EXTRA, FloodPlan, planned
from localdp.accounting.promise_ledger import TRILLION
from localdp.cohorts import Cohort, Ranges
from localdp.errors import InvalidParameter, PolicyRefused, TooFewReports
from localdp.oracles.base import CohortOracle, range_of_people
from localdp.oracles.by_answers import planned_by_answers, selected_by_answers
from localdp.oracles.curator import spread_about, sum_answer
from localdp.oracles.definition import Answer, GridNoise, Selected, VectorAnswer
from localdp.oracles.flood_mixing import FloodedParties
from localdp.oracles.plans import Plan, PlannedQuery
from localdp.oracles.shuffler import DEFAULT_DELTA, Mixer, Shuffler, hidden_from
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.encoded import Query, entries_of
from localdp.queries.in_messages import DEFAULT_STEPS, InMessages
from localdp.queries.scores import LARGEST, Rule
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Integers, RandomSource, uniform_bytes
from localdp.sharing.flooded_batch import added
from localdp.sharing.flooded_round import ROUND_ID_BYTES, FloodedQuestion
from localdp.sharing.summed_noise import SummedNoise

EVERYBODY = Fraction(1)  # honest


class FloodedOracle(CohortOracle):
    """Answers from flooded rounds, one for each query."""

    model = "flooded"

    def __init__(
        self,
        mixer: Mixer,
        epsilon: Epsilon,
        source: RandomSource,
        cohort: Cohort | None = None,
        *,
        delta: Fraction = DEFAULT_DELTA,
        honest: Fraction = EVERYBODY,
        steps: int = DEFAULT_STEPS,
        extra: Fraction = DEFAULT_EXTRA,
    ) -> None:
        """(epsilon, delta) is what a round may cost each person against whoever sees the mixed messages.

        At least the part `honest` of the people are there and draw their noise, or nothing is released; numbers that
        are no whole numbers are sent in `steps`; for noise and flood a person sends up to `extra` messages where there
        are many people.
        """
        super().__init__(mixer.schema, range_of_people(cohort, mixer.people), Epsilon.requested(epsilon))
        if not 0 < delta < 1 or not 0 < honest <= 1 or extra <= 0:
            raise InvalidParameter(
                "a delta lies strictly between 0 and 1, the honest part above 0 and up to 1"
            )
        if mixer.by_row:
            raise PolicyRefused("parties whose every row answers take part in no flooded round")
        if isinstance(mixer, Shuffler) and isinstance(mixer.behind, FloodedParties) and mixer.behind.seals:
            raise InvalidParameter(
                "flooded messages of other processes are sealed, for a shuffler that is not the analyst: start one, by "
                "launch(..., shuffler=Promise(...)) or `localdp parties up --shuffler`"
            )
        promise = mixer.promise
        if promise is not None and (promise.epsilon < epsilon or promise.delta < delta):
            raise PolicyRefused("this shuffler promises more than that, and mixes no such round")
        self._mixer, self._source, self._delta = mixer, source, delta
        self._fraction, self._steps, self._extra = honest, steps, extra

    @property
    def claim(self) -> PrivacyClaim:
        """Approximate and computational, and only while the shuffler is honest."""
        return PrivacyClaim(
            self.model,
            self.cost.epsilon_promised,
            Strength.COMPUTATIONAL,
            hidden_from(self._mixer),
            f"{self._trust()} {self._assumption()} A party can move a sum by as many messages as its people send.",
            self._account.delta,
            about=about_rows(samples=self._mixer.samples),
        )

    def _risk(self, queries: Sequence[Query]) -> Fraction:
        return self._delta

    def _trust(self) -> str:
        if self._mixer.second_key:
            return (
                "One of the two shufflers must keep to itself which message is which, and the first pass on what it was "
                "sent; against both together with the analyst nothing holds at all, nor if the first gives agents other "
                "keys than theirs."
            )
        return (
            "The shuffler must mix messages and keep to itself who sent them; against the shuffler together with the "
            "analyst, and against a shuffler that gives agents another key for the analyst's, nothing holds at all."
        )

    def _assumption(self) -> str:
        return (
            f"At least {self._honest(self.people):,} of the {self.people:,} people must draw their noise, and their "
            "parties must not tell the analyst what they sent."
        )

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, each from a flooded round with its share of epsilon and delta."""
        checked = checked_round(queries, self.schema)
        return [self._number(*found) for found in self._flooded(checked)]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, each query from one flooded round."""
        checked = checked_vectors(queries, self.schema)
        return [self._vector(*found) for found in self._flooded(checked)]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """The best of noisy answers: who adds messages cannot compare sums without seeing them."""
        return selected_by_answers(self, of, by)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The noise alone, and for numbers that are rounded at random the most that rounding adds."""
        checked = checked_plan(queries, self.schema)
        return self._planned(checked, [self._row(query, len(checked)) for query in checked])

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """What answers about all candidates would yield."""
        return planned_by_answers(self, of, by)

    def in_rounds(self, rounds: int) -> Self:
        """A view that spends a part of epsilon and of delta in each round."""
        counted = self._rounds.within(rounds)
        view = self._at(self._epsilon.divided_by(rounds), self._cohorts)
        view._delta = self._delta / rounds
        return view._as_view(self, counted)

    def _of_some(self, some: Ranges, epsilon: Epsilon) -> Self:
        view = super()._of_some(some, epsilon)
        view._delta = self._delta * epsilon.nanonats / self._epsilon.nanonats
        return view

    def _honest(self, people: int) -> int:
        return math.ceil(self._fraction * people)

    def _flood_plan(self, query: Query, queries: int) -> FloodPlan:
        """The noise of one of so many queries."""
        encoding = InMessages.of(query, self._steps)
        delta = Fraction(math.floor(self._delta / queries * TRILLION), TRILLION)
        honest = self._honest(self.people)
        return planned(self._part(queries), delta, encoding.flooded, self.people, honest, self._extra)

    def _row(self, query: Query, queries: int) -> PlannedQuery:
        plan, encoding = self._flood_plan(query, queries), InMessages.of(query, self._steps)
        error = math.sqrt(self._variance(plan, encoding, self.people)) * encoding.unit(query) / self.people
        size = sum(plan.size(cohort.size()) for cohort in self._cohorts) / self.people
        how = f"a flood of {plan.flood.pairs:,} pairs, {size:.4g} messages a person"
        return PlannedQuery(query.text, entries_of(query), how, self.people, error)

    def _flooded(self, queries: Sequence[Query]) -> list[tuple[Query, FloodPlan, Integers, int]]:
        """One round: the sums of each query, and of how many people."""
        if self.people < 1:
            raise TooFewReports("there is nobody to ask")
        plans = [self._flood_plan(query, len(queries)) for query in queries]
        self._rounds.begin()
        self._account.book(len(queries), self._epsilon, self._epsilon, 0)
        return [self._asked(query, plan) for query, plan in zip(queries, plans, strict=True)]

    def _asked(self, query: Query, plan: FloodPlan) -> tuple[Query, FloodPlan, Integers, int]:
        self._account.risk(plan.delta)
        round_id = uniform_bytes(self._source, ROUND_ID_BYTES)
        before = self._mixer.bytes_moved
        mixed = self._mixer.flooded(FloodedQuestion(round_id, query.text, self._steps, plan), self._cohorts)
        self._account.carry(self._mixer.bytes_moved - before)
        return query, plan, added(mixed.messages.astype(np.uint32), plan.flooded.entries), mixed.people

    def _number(self, query: Query, plan: FloodPlan, sums: Integers, people: int) -> Answer:
        encoding, noise = InMessages.of(query, self._steps), noise_of(plan, people)
        answer = sum_answer(query.text, int(sums[0]), encoding.bound, people, noise)
        if not encoding.rounded:
            return answer
        # Of a number that is rounded at random, noise is not all that the answer is off by.
        more = encoding.rounding_variance / (encoding.bound**2 * people)
        variances = answer.variance_empirical + more, answer.variance_population + more
        return Answer(query.text, answer.value, people, people, *variances)

    def _vector(self, query: Query, plan: FloodPlan, sums: Integers, people: int) -> VectorAnswer:
        assert isinstance(query, VectorQuery)
        encoding, noise = InMessages.of(query, self._steps), noise_of(plan, people)
        values, unit = encoding.means(query, sums, people), encoding.unit(query) / people
        variance = np.full(query.length, self._variance(plan, encoding, people) * unit**2)
        law = None if encoding.rounded else GridNoise(noise, unit)
        spread = spread_about(query, values) / people
        return VectorAnswer(query.text, values, people, people, variance, variance + spread, law)

    def _variance(self, plan: FloodPlan, encoding: InMessages, people: int) -> float:
        """Of a sum of messages."""
        return noise_of(plan, people).variance() + encoding.rounding_variance * people


def noise_of(plan: FloodPlan, people: int) -> SummedNoise:
    """The law of the noise on each sum, if so many of the people are there."""
    return SummedNoise(plan.flood.rate, plan.share(people))
