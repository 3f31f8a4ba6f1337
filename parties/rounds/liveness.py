"""Who is there: a health check with a short timeout, and the schema as it is now.

A party that does not say within `LIVENESS_SECONDS` that it serves is not asked, so that nothing is charged for an answer
that would not arrive; one whose schema is no longer the enrolled one would answer another question.

Checked in tests/integration/test_rounds.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from localdp.domains import Schema
from localdp.errors import LocalDpError, Unreachable
from parties import codec
from parties.coordinator import Peer
from parties.identity import Identity
from parties.repeating import Persistence, Stub
from parties.rounds.asking import fan_out, reason_of
from parties.rounds.plan import Headcount
from parties.rounds.roster import Enrolled, Roster, SchemaDiffers, schema_digest
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc

LIVENESS_SECONDS = 2.0
ENROL_SECONDS = 30.0


class NotServing(Unreachable):
    """The process is up, and says that it does not serve."""


class AnotherParty(LocalDpError):
    """Somebody else answers at a party's address: its people would be counted for those of the party."""


async def require_live(channel: grpc.aio.Channel, name: str, schema: bytes, until: float) -> None:
    """Refuse a party that does not serve, is another one, or no longer serves records of this schema."""
    described, found = await _introduced(channel, until)
    if described.name != name:
        raise AnotherParty("another party than the enrolled one answers at this address")
    if schema_digest(found) != schema:
        raise SchemaDiffers("a party has other columns than it was enrolled with")


def enrol_peers(
    roster: Roster, peers: Sequence[Peer], identity: Identity | None = None
) -> dict[str, Headcount]:
    """Ask each who it is, and enrol it; returns who could not be enrolled, by reason.

    How many people those hold is not known, so they count as parties only, and no answer is about them.
    """
    refused: dict[str, Headcount] = {}
    for _, error in enrolling(roster, peers, identity):
        refused[reason_of(error)] = refused.get(reason_of(error), Headcount()) + Headcount(1, 0)
    return refused


def enrolling(
    roster: Roster, peers: Sequence[Peer], identity: Identity | None = None
) -> list[tuple[Peer, LocalDpError]]:
    """The same; returns each who could not be enrolled, and why."""
    outcomes = asyncio.run(_introductions(peers, identity))
    refused: list[tuple[Peer, LocalDpError]] = []
    for peer, outcome in zip(peers, outcomes, strict=True):
        try:
            if isinstance(outcome, LocalDpError):
                raise outcome
            described, schema = outcome
            if described.name != peer.name:
                raise AnotherParty("a party calls itself otherwise")
            servers = tuple(described.share_servers)
            digest = schema_digest(schema)
            roster.enrol(Enrolled(described.name, peer.address, described.people, digest, servers), schema)
        except LocalDpError as error:
            refused.append((peer, error))
    return refused


def standing(roster: Roster, identity: Identity | None = None) -> Mapping[str, str]:
    """What can be said of every enrolled party now: live, or why not; for the operator of the roster."""
    parties = roster.enrolled()
    outcomes = asyncio.run(_standing(parties, identity))
    return {
        party.name: reason_of(outcome) if isinstance(outcome, LocalDpError) else "live"
        for party, outcome in zip(parties, outcomes, strict=True)
    }


async def _standing(parties: Sequence[Enrolled], identity: Identity | None) -> list[LocalDpError | None]:
    async def check(party: Enrolled, until: float) -> None:
        async with Peer(party.name, party.address).open_aio(identity) as channel:
            await require_live(channel, party.name, party.schema_digest, until)

    return await fan_out(parties, check, asyncio.get_running_loop().time() + ENROL_SECONDS)


async def _introductions(
    peers: Sequence[Peer], identity: Identity | None
) -> list[tuple[oracle_pb2.DescribeResponse, Schema] | LocalDpError]:
    async def introduce(peer: Peer, until: float) -> tuple[oracle_pb2.DescribeResponse, Schema]:
        async with peer.open_aio(identity) as channel:
            return await Persistence().result_of(lambda: _introduced(channel, until), until)

    deadline = asyncio.get_running_loop().time() + ENROL_SECONDS
    return await fan_out(peers, introduce, deadline, named=lambda peer: f"party {peer.name}")


async def _introduced(
    channel: grpc.aio.Channel, until: float
) -> tuple[oracle_pb2.DescribeResponse, Schema]:
    """What a party that serves says of itself, and its schema."""
    seconds = min(LIVENESS_SECONDS, max(0.0, until - asyncio.get_running_loop().time()))
    health: Stub = health_pb2_grpc.HealthStub(channel)
    oracle: Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
    answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=seconds)
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise NotServing("a party is up but does not serve")
    described = await oracle.Describe(oracle_pb2.DescribeRequest(), timeout=seconds)
    return described, codec.schema_from_wire(described.schema)
