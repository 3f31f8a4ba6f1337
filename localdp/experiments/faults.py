"""Parties that are away, and parties that answer too late, in one process: what a round with a quorum makes of them.

Whoever is away is not charged.  Whoever is late is charged and makes a report, which nobody waits for: so a person's budget
is spent and nothing is learned.  Answers are then about those who answered, and their standard errors say so, on the
assumption that parties are missing for reasons that have nothing to do with their records.

Not for the shuffled model: its promise is computed for the reports of everybody.
Checked in tests/unit/experiments/test_faults.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.oracles.lr import InProcessLROracle, cohorts_by_party
from localdp.oracles.party import Party, Request
from localdp.oracles.shared import InProcessShareServers
from localdp.randomizers.definition import Reports
from localdp.randomness.source import RandomSource
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer


@dataclass(frozen=True, slots=True)
class Missing:
    """Which parties, by number, are away and which are late."""

    away: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()

    @classmethod
    def drawn(cls, parties: int, away: int, late: int, source: RandomSource) -> Missing:
        """So many of them, at random; somebody is left to answer."""
        if away < 0 or late < 0 or away + late >= parties:
            raise InvalidParameter("of all parties at least one has to answer")
        order = [int(number) for number in np.argsort(source.raw(np.uint64, parties), kind="stable")]
        return cls(frozenset(order[:away]), frozenset(order[away : away + late]))

    @property
    def anybody(self) -> bool:
        """Whether anybody is missing."""
        return bool(self.away or self.late)


class IncompleteLROracle(InProcessLROracle):
    """Parties of which some are missing."""

    def __init__(self, parties: Sequence[Party], missing: Missing) -> None:
        super().__init__(parties)
        self._missing = missing

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of whoever answers in time."""
        first = 0
        for number, party in enumerate(self.parties):
            part = _within(cohort, first, party.people)
            first += party.people
            if part is None or number in self._missing.away:
                continue
            if number in self._missing.late:
                _charge_in_vain(self.parties, number, request, cohort)
            else:
                yield from super().reports(request, part)


class IncompleteShareServers(InProcessShareServers):
    """Share servers whose contributors are partly missing."""

    def __init__(self, parties: Sequence[Party], servers: Sequence[ShareServer], missing: Missing) -> None:
        super().__init__(parties, servers)
        self._missing = missing

    def contribute(self, collection: Collection, cohort: Cohort) -> int:
        """Have those who are there split their answers; the late ones are charged, and come after the end."""
        new = 0
        sizes = [party.people for party in self._parties]
        first = 0
        for number, size in enumerate(sizes):
            part = _within(cohort, first, size)
            first += size
            if part is None or number in self._missing.away:
                continue
            if number in self._missing.late:
                own = dict(cohorts_by_party(cohort, sizes))[number]
                self._parties[number].shared(collection, own)
            else:
                new += super().contribute(collection, part)
        return new


def _within(cohort: Cohort, first: int, size: int) -> Cohort | None:
    """The people of the cohort who are with one party, in the numbering of all people."""
    start, stop = max(cohort.start, first), min(cohort.stop, first + size)
    return Cohort(start, stop, cohort.split) if start < stop else None


def _charge_in_vain(parties: Sequence[Party], number: int, request: Request, cohort: Cohort) -> None:
    own = dict(cohorts_by_party(cohort, [party.people for party in parties]))[number]
    parties[number].charged(request, own)
