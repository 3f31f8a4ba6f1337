"""Who is there: a health check with a short timeout, and the schema as it is now.

A party that does not say within `LIVENESS_SECONDS` that it serves is not asked, so that nothing is charged for an answer
that would not arrive; one whose schema is no longer the enrolled one would answer another question.

Checked in tests/integration/test_rounds.py.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Sequence

from grpc_health.v1 import health_pb2

from localdp.domains import Schema
from localdp.errors import LocalDpError, Unreachable
from parties import codec
from parties.coordinator import Peer, RemoteParty, introduced
from parties.identity import Identity
from parties.repeating import Persistence
from parties.rounds.asking import fan_out
from parties.rounds.roster import Enrolled, Roster, SchemaDiffers, schema_digest
from parties.wire.v1 import oracle_pb2

LIVENESS_SECONDS = 2.0
ENROL_SECONDS = 30.0
_Introduction = tuple[oracle_pb2.DescribeResponse, Schema]


class NotServing(Unreachable):
    """The process is up, and says that it does not serve."""


def require_live(party: RemoteParty, schema: bytes, seconds: float) -> None:
    """Refuse a party that does not serve, is another one, or no longer serves records of this schema."""
    described, found = described_live(party, seconds)
    introduced(described, party.peer)
    if schema_digest(found) != schema:
        raise SchemaDiffers("a party has other columns than it was enrolled with")


def described_live(party: RemoteParty, seconds: float) -> tuple[oracle_pb2.DescribeResponse, Schema]:
    """What a party that serves says of itself, and its schema; one attempt, whose failure is gRPC's."""
    briefly = min(LIVENESS_SECONDS, seconds)
    if party.health().answer(briefly).status != health_pb2.HealthCheckResponse.SERVING:
        raise NotServing("a party is up but does not serve")
    described = party.description().answer(briefly)
    return described, codec.schema_from_wire(described.schema)


def enrolling(
    roster: Roster,
    peers: Sequence[Peer],
    identity: Identity | None = None,
    among: Container[str] | None = None,
) -> list[tuple[Peer, LocalDpError]]:
    """Ask each who it is, and enrol it; returns each who could not be enrolled, and why.

    Those whose columns most have are enrolled first, so one of other columns does not decide what the roster's are.
    """

    def introduce(peer: Peer, seconds: float) -> _Introduction:
        with peer.open(identity) as channel:
            party = RemoteParty(peer, channel)
            return Persistence().result_of(lambda left: described_live(party, left), party.name, seconds)

    outcomes = fan_out(peers, introduce, time.monotonic() + ENROL_SECONDS)
    refused: list[tuple[Peer, LocalDpError]] = []
    held = Counter(outcome[1] for outcome in outcomes if not isinstance(outcome, LocalDpError))
    for peer, outcome in sorted(zip(peers, outcomes, strict=True), key=lambda one: -_holders(one[1], held)):
        try:
            if isinstance(outcome, LocalDpError):
                raise outcome
            described, schema = outcome
            introduced(described, peer)
            servers = tuple(described.share_servers)
            digest = schema_digest(schema)
            party = Enrolled(described.name, peer.address, described.people, digest, servers)
            roster.enrol(party, schema, among)
        except LocalDpError as error:
            refused.append((peer, error))
    return sorted(refused, key=lambda one: peers.index(one[0]))


def _holders(outcome: _Introduction | LocalDpError, held: Counter[Schema]) -> int:
    return 0 if isinstance(outcome, LocalDpError) else held[outcome[1]]
