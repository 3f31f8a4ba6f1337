"""Parties that are away, that answer too late or that cheat, in one process: what a round with a quorum makes of them.

Whoever is away is not charged.  Whoever is late is charged and makes a report, which nobody waits for: so a person's budget
is spent and nothing is learned.  Answers are then about those who answered, and their standard errors say so, on the
assumption that parties are missing for reasons that have nothing to do with their records.  Whoever cheats answers in time
(`cheating.py`), and standard errors know nothing of it.

Everybody who is there in time is asked whether they would answer before anybody pays, as over a network: so all who refuse
are counted, and nobody has paid.

Missing parties are not for the shuffled model: its promise is computed for the reports of everybody.
Checked in tests/unit/experiments/test_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError
from localdp.oracles.lr import PEOPLE_PER_PART, InProcessLROracle, cohorts_by_party, refusals_of
from localdp.oracles.shared import InProcessShareServers
from localdp.party.party import Draw, Party, Request
from localdp.randomizers.definition import Reports
from localdp.randomness.source import RandomSource
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding


@dataclass(frozen=True, slots=True)
class Faulty:
    """Which parties, by number, are away, which are late and which cheat."""

    away: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    cheating: frozenset[int] = frozenset()

    def in_time(self, number: int) -> bool:
        """Whether the party is there, and not late."""
        return number not in self.away and number not in self.late

    @classmethod
    def drawn(cls, parties: int, away: int, late: int, cheating: int, source: RandomSource) -> Faulty:
        """So many of them, at random, each of one kind; somebody is left to answer honestly."""
        if min(away, late, cheating) < 0 or away + late + cheating >= parties:
            raise InvalidParameter("of all parties at least one has to answer, and honestly")
        order = [int(number) for number in np.argsort(source.raw(np.uint64, parties), kind="stable")]
        missing = away + late
        return cls(
            frozenset(order[:away]),
            frozenset(order[away:missing]),
            frozenset(order[missing : missing + cheating]),
        )


class FaultyLROracle(InProcessLROracle):
    """Parties of which some are missing, and some may refuse."""

    def __init__(self, parties: Sequence[Party], faulty: Faulty) -> None:
        super().__init__(parties)
        self._faulty = faulty
        self.refusing = 0  # parties that refused the last request
        self.asked: Epsilon | None = None  # what the last request was to cost each person

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of whoever answers in time; if somebody refuses, none."""
        for part, draw in self._charged(request, cohort):
            for some in part.parts(PEOPLE_PER_PART):
                yield self._over_the_wire(request, draw(some))

    def _charged(self, request: Request, cohort: Cohort) -> list[tuple[Cohort, Draw]]:
        self.asked = request.randomizer.epsilon
        parts = list(cohorts_by_party(cohort, [party.people for party in self.parties]))
        there = [(number, part) for number, part in parts if self._faulty.in_time(number)]
        refusals = _refusals(self.parties, there, lambda party, part: party.granted(request, part))
        self.refusing = len(refusals)
        if refusals:
            raise refusals[0]
        for number, part in parts:
            if number in self._faulty.late:
                with suppress(LocalDpError):  # a refusal comes too late, as well
                    self.parties[number].charged(request, part)
        return [(part, self.parties[number].charged(request, part)) for number, part in there]


class Rejections:
    """How many reports share servers did not accept: of those that were new when they were uploaded."""

    def __init__(self) -> None:
        self._uploaded: dict[bytes, int] = {}
        self.rejected = 0  # over all collections

    def uploaded(self, collection: Collection, reports: int) -> None:
        """So many came."""
        self._uploaded[collection.digest] = self._uploaded.get(collection.digest, 0) + reports

    def agreed(self, collection: Collection, reports: int) -> None:
        """So many of them count."""
        self.rejected += self._uploaded.pop(collection.digest, reports) - reports


class FaultyShareServers(InProcessShareServers):
    """Share servers whose contributors are partly missing, may refuse, and may send what is no answer."""

    def __init__(self, parties: Sequence[Party], servers: Sequence[ShareServer], faulty: Faulty) -> None:
        super().__init__(parties, servers)
        self._faulty = faulty
        self.rejections = Rejections()
        self.refusing = 0  # parties that refused the last collection

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have those who are there split their answers; the late ones are charged, and come after the end."""
        sizes = [party.people for party in self._parties]
        parts = [part for cohort in cohorts for part in cohorts_by_party(cohort, sizes)]
        there = [(number, part) for number, part in parts if self._faulty.in_time(number)]
        refusals = _refusals(
            self._parties, there, lambda party, part: party.granted_shares(collection, part)
        )
        self.refusing = len(refusals)
        if refusals:
            raise refusals[0]
        new = sum(self._of_those_there(collection, cohort) for cohort in cohorts)
        self.rejections.uploaded(collection, new)
        return new

    def _of_those_there(self, collection: Collection, cohort: Cohort) -> int:
        new, first = 0, 0
        for number, party in enumerate(self._parties):
            part = _within(cohort, first, party.people)
            first += party.people
            if part is not None and number not in self._faulty.away:
                new += self._contributed(collection, number, part)
        return new

    def _contributed(self, collection: Collection, number: int, part: Cohort) -> int:
        if number not in self._faulty.late:
            return super().contribute(collection, part)
        own = dict(cohorts_by_party(part, [party.people for party in self._parties]))[number]
        with suppress(LocalDpError):  # a refusal comes too late, as well
            self._parties[number].shared(collection, own)
        return 0

    def agree(self, collection: Collection) -> Holding:
        """Verify, decide and seal; what was uploaded and is not accepted was rejected."""
        agreed = super().agree(collection)
        self.rejections.agreed(collection, agreed.reports)
        return agreed


def _refusals(
    parties: Sequence[Party], parts: Sequence[tuple[int, Cohort]], ask: Callable[[Party, Cohort], object]
) -> list[LocalDpError]:
    """What those say who would refuse."""
    refusals: list[LocalDpError] = []
    for number, part in parts:
        try:
            with refusals_of(parties[number]):
                ask(parties[number], part)
        except LocalDpError as error:
            refusals.append(error)
    return refusals


def _within(cohort: Cohort, first: int, size: int) -> Cohort | None:
    """The people of the cohort who are with one party, in the numbering of all people."""
    start, stop = max(cohort.start, first), min(cohort.stop, first + size)
    return Cohort(start, stop, cohort.split) if start < stop else None
