"""The parties of a federation as rounds with a quorum ask them: in a journal, and whoever is away is missing, and counted.

Checked in tests/integration/test_quorum_oracle.py.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import Answer, Selected, VectorAnswer
from localdp.oracles.local import Divided, LocalOracle
from localdp.randomness.source import RandomSource
from parties.federated.events import Event, Events
from parties.federated.watching import AnyAnswer, AnyAsked, Spending, WatchedOracle
from parties.federated.whereabouts import Place
from parties.rounds.oracle import QuorumReports
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Part, Quorum
from parties.rounds.roster import Enrolled, schema_digest
from parties.rounds.round import Rounds


def _reports(
    place: Place, spending: Spending, quorum: Quorum, seconds: float, journal: str | Path | None
) -> QuorumReports:
    """What an oracle asks; without a journal of somebody's it has one for as long as it lives."""
    place.require_known()
    if not place.agents:
        raise InvalidParameter("parties in this process are never late: use oracle, or processes=True")
    if len(place.dialled) < len(place.agents):
        raise InvalidParameter("agents that dial in have no address to ask them again: use oracle")
    known = {party.name: number for number, party in enumerate(place.contributors)}
    sizes = [party.people for party in place.contributors]

    def heard(parts: Sequence[Part], cost: Epsilon) -> None:
        """Those who answered a round have paid for it."""
        for part in parts:
            if part.party in known:
                spending.add_part(known[part.party], part.cohort, sizes, cost)

    stack = ExitStack()
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    rounds = Rounds(journal or Path(directory) / "rounds", place.identity)
    stack.callback(rounds.close)
    reports = QuorumReports(
        rounds, quorum, seconds, by_row=place.lr.by_row, samples=place.lr.samples, heard=heard
    )
    weakref.finalize(reports, stack.close)
    _enrol(rounds, place)
    return reports


class WatchedQuorum(WatchedOracle):
    """The local model without whoever is slow or gone; what is told of its rounds says who is missing, by reason."""

    def __init__(
        self,
        reports: QuorumReports,
        epsilon: Epsilon,
        source: RandomSource,
        events: Events,
        *,
        divide: Divided = "people",
        owner: object = None,
    ) -> None:
        oracle = LocalOracle(reports, epsilon, source, divide=divide)
        super().__init__(oracle, events, oracle.model, owner, epsilon=float(epsilon))
        self._reports = reports
        self._before = 0

    @property
    def results(self) -> Sequence[RoundResult]:
        """Of how many people each answer to a request is, and who is missing."""
        return self._reports.results

    def _told(
        self, queries: Sequence[AnyAsked], ask: Callable[[Sequence[AnyAsked]], list[AnyAnswer]]
    ) -> list[AnyAnswer]:
        self._before = len(self.results)
        return super()._told(queries, ask)

    def _ended(
        self, started: Event, spent: float, answers: Sequence[Answer | VectorAnswer | Selected]
    ) -> Event:
        results = self.results[self._before :]  # one for each part of the people
        missing = Counter[str]()
        for result in results:
            missing.update({why: count.people for why, count in result.missing.items()})
        return replace(
            super()._ended(started, spent, answers),
            missing=dict(missing),
            parties=min(result.answered.parties for result in results),
            asked=max(result.asked.parties for result in results),
        )


def quorum_oracle(
    place: Place,
    spending: Spending,
    events: Events,
    epsilon: Epsilon,
    source: RandomSource,
    *,
    owner: object,
    quorum: str | float,
    deadline_seconds: float = 60.0,
    journal: str | Path | None = None,
    divide: Divided = "people",
) -> WatchedQuorum:
    """The oracle of a federation's parties, of whom a quorum is to answer every request by its deadline."""
    reports = _reports(place, spending, Quorum.of_text(quorum), deadline_seconds, journal)
    return WatchedQuorum(reports, epsilon, source, events, divide=divide, owner=owner)


def _enrol(rounds: Rounds, place: Place) -> None:
    """Everybody, also whoever is away by now: they are missing, and counted.  Whom only the journal knows is not asked."""
    named = {*(party.name for party in place.contributors), *(peer.name for peer in place.away)}
    rounds.only(named)
    schema = place.lr.schema
    for party, peer in zip(place.contributors, place.dialled, strict=True):
        met = Enrolled(party.name, peer.address, party.people, schema_digest(schema))
        rounds.roster.enrol(met, schema, named)
    rounds.enrol(place.away, place.stated)
