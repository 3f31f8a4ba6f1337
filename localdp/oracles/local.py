"""The local oracle: statistical queries answered from randomized reports (section 12.1).

Every slot of a round (`slots.py`) is asked of its own random part of the people, so that nobody answers more than once a
round.  With one query in the round everybody answers it, and a count of n bits has an error of order sqrt(n) / epsilon.

In a view of T rounds every round has fresh people, so that a person is asked once: T rounds cost a factor T in variance
and nothing in epsilon.  Without a number of rounds everybody is asked in every round, and the epsilons add up.

Checked in tests/contract/test_statistical_query_oracle.py, tests/unit/oracles/test_local.py and
tests/statistical/test_plans.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import reduce
from typing import Literal, Self

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import LARGEST_SPLIT, SEED_BYTES, Cohort, Split
from localdp.errors import InvalidParameter
from localdp.oracles.base import CohortOracle, range_of_people
from localdp.oracles.by_answers import planned_by_answers, selected_by_answers
from localdp.oracles.definition import Answer, RoundCount, Selected, VectorAnswer
from localdp.oracles.lr import LROracle, TallyOracle, tally_of
from localdp.oracles.plans import Plan, PlannedQuery
from localdp.oracles.slots import (
    Slot,
    number_answers,
    number_slots,
    planned_slots,
    slot_error,
    vector_answer,
    vector_slot,
)
from localdp.party.party import Request
from localdp.queries.asked import Asked, AskedVector, checked_plan, checked_round, checked_vectors
from localdp.queries.encoded import Query, entries_of
from localdp.queries.scores import LARGEST, Rule
from localdp.randomizers.definition import Tally
from localdp.randomness.source import RandomSource, uniform_bytes

Divided = Literal["people", "epsilon"]


class LocalOracle(CohortOracle):
    """Asks the parties through an LR oracle, one report from each person and round."""

    model = "local"

    def __init__(
        self,
        reports: LROracle | TallyOracle,
        epsilon: Epsilon,
        source: RandomSource,
        cohort: Cohort | None = None,
        *,
        divide: Divided = "people",
    ) -> None:
        """`epsilon` is what each person's reports of a round may cost together; `source` only makes public coins.

        `divide` says what the queries of a round share: the people, or, much worse, everybody's epsilon.
        """
        super().__init__(
            reports.schema, range_of_people(cohort, reports.people), Epsilon.requested(epsilon)
        )
        self._reports = reports
        self._source = source
        if divide not in ("people", "epsilon"):
            raise InvalidParameter("the queries of a round divide people or epsilon among them")
        self._divide: Divided = divide
        self._seed = b""  # of the partition into rounds
        # Of a view within a round of a view: how many rounds there were, and which one this is.
        self._within = (1, 0)

    @property
    def claim(self) -> PrivacyClaim:
        """Pure, and nobody has to be trusted but one's own party."""
        rows = self._reports
        return PrivacyClaim.of_local(self.cost.epsilon_promised, by_row=rows.by_row, samples=rows.samples)

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The means, estimated from one report of each person."""
        checked = checked_round(queries, self.schema)
        slots = number_slots(checked, self._each(checked), self._expected(1))
        texts = [query.text for query in checked]
        answers: dict[int, Answer] = {}
        for slot, tally in self._ask(slots, len(checked)):
            answers.update(zip(slot.places, number_answers(slot, tally, texts, self.people), strict=True))
        return [answers[place] for place in range(len(checked))]

    def answer_vectors(self, queries: Sequence[AskedVector]) -> list[VectorAnswer]:
        """The means of all entries, estimated from one report of each person."""
        checked = checked_vectors(queries, self.schema)
        each, people = self._each(checked), self._expected(len(checked))
        slots = [vector_slot(place, query, each, people) for place, query in enumerate(checked)]
        asked = zip(self._ask(slots, len(checked)), checked, strict=True)
        return [vector_answer(slot, query, tally, self.people) for (slot, tally), query in asked]

    def select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Selected:
        """The best of estimated candidates: whoever sees no record cannot look for it in any other way."""
        return selected_by_answers(self, of, by)

    def plan(self, queries: Sequence[Asked | AskedVector]) -> Plan:
        """The randomizers that would be used, and their errors."""
        checked = checked_plan(queries, self.schema)
        slots = planned_slots(checked, self._each(checked), self._expected(1))
        reports = self._expected(len(slots))
        rows = {
            place: PlannedQuery(
                checked[place].text,
                entries_of(checked[place]),
                slot.randomizer.canonical,
                reports,
                slot_error(slot, checked[place], reports, self.people),
            )
            for slot in slots
            for place in slot.places
        }
        return self._planned(checked, [rows[place] for place in sorted(rows)])

    def plan_select(self, of: Sequence[Asked] | AskedVector, by: Rule = LARGEST) -> Plan:
        """What answers about all candidates would yield."""
        return planned_by_answers(self, of, by)

    def in_rounds(self, rounds: int) -> Self:
        """A view whose rounds are asked of different people, drawn by public coins.

        A view of a view takes one of its rounds, and divides the people of that round.
        """
        view = copy(self)._as_view(self, RoundCount(rounds), once=True)
        if self._rounds.total is None:
            view._seed = uniform_bytes(self._source, SEED_BYTES)
        else:
            view._seed, (ways, place) = self._seed, self._within
            view._within = (ways * self._rounds.total, self._rounds.begin() * ways + place)
        return view

    def _each(self, queries: Sequence[Query]) -> Epsilon:
        """What one report may cost."""
        return self._epsilon if self._divide == "people" else self._part(len(queries))

    def _expected(self, slots: int) -> int:
        """How many people would answer one of so many slots of a round."""
        return max(1, self.people // (self._ways * (slots if self._divide == "people" else 1)))

    @property
    def _ways(self) -> int:
        """Into how many parts the rounds divide the people."""
        return self._within[0] * (self._rounds.total or 1)

    def _ask(self, slots: Sequence[Slot], queries: int) -> list[tuple[Slot, Tally]]:
        """One round."""
        number, before = self._rounds.begin(), self._reports.bytes_moved
        seed = self._seed or uniform_bytes(self._source, SEED_BYTES)
        groups = [self._group(seed, number, part, len(slots)) for part in range(len(slots))]
        asked = []
        try:
            for slot, group in zip(slots, groups, strict=True):
                request = Request.fresh(slot.text, slot.randomizer, self._source)
                tallies = (tally_of(self._reports, request, cohort) for cohort in group)
                asked.append((slot, reduce(Tally.merge, tallies)))
        finally:  # who answered has paid, also where the round broke off
            moved = self._reports.bytes_moved - before
            self._account.book(queries, self._epsilon, self._charge(slots), moved)
            self._account.risk(self._risk(()))
        return asked

    def _charge(self, slots: Sequence[Slot]) -> Epsilon:
        """What a ledger is charged for a round at most: for one of its slots, or where everybody answers them for all."""
        each = [slot.randomizer.epsilon for slot in slots]
        return max(each) if self._divide == "people" else sum(each, Epsilon(0))

    def _group(self, seed: bytes, number: int, part: int, parts: int) -> tuple[Cohort, ...]:
        """Who is asked a slot of a round.

        A partition into T m parts refines the one into T parts of the same seed (`Split` takes a word modulo the number
        of parts), so parts r, r + T, r + 2 T, ... of it are the people of round r, whatever m is in each round.
        """
        parts = parts if self._divide == "people" else 1
        (outer, place), total = self._within, self._ways * parts
        if total == 1:
            return self._cohorts
        if total > LARGEST_SPLIT:
            raise InvalidParameter(
                f"people can be split {LARGEST_SPLIT} ways, over rounds and queries together"
            )
        inner = part % parts * (self._rounds.total or 1) + (number if self._rounds.total else 0)
        split = Split(seed, total, inner * outer + place)
        return tuple(Cohort(one.start, one.stop, split) for one in self._cohorts)
