"""One round of a federation that does without whoever is slow or gone: enrolment, and asking or going on.

Checked in tests/integration/test_federation.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container
from contextlib import closing
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.local import LocalOracle
from parties.federated.events import Event
from parties.federated.places import Place
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Quorum
from parties.rounds.roster import Enrolled, schema_digest
from parties.rounds.round import Rounds, one_bit_for


def require_dialled(place: Place) -> None:
    """A round may miss parties that are dialled: those of this process are never late."""
    place.require_known()
    if not place.agents:
        raise InvalidParameter("parties in this process are never late: use oracle, or processes=True")
    if len(place.dialled) < len(place.agents):
        raise InvalidParameter("agents that dial in have no address to ask them again: use oracle")


def asked_round(
    place: Place, query: str, epsilon: Epsilon, quorum: Quorum, seconds: float, journal: str | Path | None
) -> tuple[RoundResult, Container[str] | None]:
    """What the round brought, and who did not answer; None: it went on with one that was cut off."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(journal or Path(directory) / "rounds")
        with closing(Rounds(path, place.identity)) as rounds:
            _enrol(place, rounds)
            randomizer = one_bit_for(query, epsilon, rounds.roster.schema)
            begun = rounds.unfinished(query, randomizer)
            if begun is not None:
                return rounds.resume(begun.round_id, deadline_seconds=seconds, quorum=quorum), None
            result = rounds.ask(query, randomizer, deadline_seconds=seconds, quorum=quorum)
            return result, rounds.refusals


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
        parties=result.answered.parties,
        asked=result.asked.parties,
    )


def _enrol(place: Place, rounds: Rounds) -> None:
    """Everybody, also whoever is away by now: they are missing, and counted."""
    schema = place.lr.schema
    for party, peer in zip(place.contributors, place.dialled, strict=True):
        known = Enrolled(party.name, peer.address, party.people, schema_digest(schema))
        rounds.roster.enrol(known, schema)
    rounds.enrol(place.away, place.stated)
