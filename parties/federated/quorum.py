"""The parties of a federation as rounds with a quorum ask them: in a journal, and whoever is away is missing, and counted.

Checked in tests/integration/test_quorum_oracle.py.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.local import Divided, LocalOracle
from localdp.randomness.source import RandomSource
from parties.federated.events import Event
from parties.federated.places import Place
from parties.federated.watching import Spending
from parties.rounds.oracle import QuorumReports, apart
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Part, Quorum
from parties.rounds.roster import Enrolled, schema_digest
from parties.rounds.round import Rounds


def quorum_reports(
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
    rounds = Rounds(Path(journal or Path(directory) / "rounds"), place.identity)
    stack.callback(rounds.close)
    reports = QuorumReports(rounds, quorum, seconds, by_row=place.lr.by_row, heard=heard)
    weakref.finalize(reports, stack.close)
    apart(lambda: _enrol(rounds, place))
    return reports


def quorum_oracle(
    place: Place,
    spending: Spending,
    model: str,
    epsilon: Epsilon | None,
    source: RandomSource,
    *,
    quorum: str | float,
    deadline_seconds: float = 60.0,
    journal: str | Path | None = None,
    divide: Divided = "people",
) -> LocalOracle:
    """The local model without whoever is slow or gone, if a quorum answers every request by its deadline."""
    name = LocalOracle.model
    if model != name or epsilon is None:
        raise InvalidParameter(f'a quorum is of the {name} model: oracle("{name}", epsilon=1, quorum=0.7)')
    reports = quorum_reports(place, spending, Quorum.of_text(quorum), deadline_seconds, journal)
    return LocalOracle(reports, epsilon, source, divide=divide)


def ended(result: RoundResult, query: str, people: int, epsilon: Epsilon) -> Event:
    """What is told of a round that brought an answer."""
    return Event(
        "round ended",
        LocalOracle.model,
        (query,),
        people,
        reports=result.answered.people,
        missing={why: count.people for why, count in result.missing.items()},
        epsilon=float(epsilon),
        value=result.answer.value,
        standard_error=result.answer.standard_error,
        half_width=result.answer.half_width(),
        parties=result.answered.parties,
        asked=result.asked.parties,
    )


def _enrol(rounds: Rounds, place: Place) -> None:
    """Everybody, also whoever is away by now: they are missing, and counted."""
    schema = place.lr.schema
    for party, peer in zip(place.contributors, place.dialled, strict=True):
        rounds.roster.enrol(Enrolled(party.name, peer.address, party.people, schema_digest(schema)), schema)
    rounds.enrol(place.away, place.stated)
