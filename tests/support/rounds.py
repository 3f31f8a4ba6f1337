"""Parties behind real gRPC for tests of rounds: sound ones, and each way of not answering."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localdp.party.party import Party
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer
from parties.rounds.asking import reason_of
from parties.rounds.liveness import enrolling
from parties.rounds.plan import Headcount
from parties.rounds.roster import Enrolled, Roster
from parties.rounds.round import Rounds
from tests.support.federations import Loopback, loopback

Wrap = Callable[[Party], AgentService]


def sound(party: Party) -> AgentService:
    """An agent that does what it should."""
    return AgentService(party, {})


class SlowAgent(AgentService):
    """Charges and draws, and holds the reports back until it is let go."""

    def __init__(self, party: Party) -> None:
        super().__init__(party, {})
        self.let_go = asyncio.Event()
        self.asked = 0

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.asked += 1
        parts = [part async for part in super().Randomize(request, context)]
        await self.let_go.wait()
        for part in parts:
            yield part


class LyingAgent(AgentService):
    """Sends something else than the reports that it drew."""

    def __init__(self, party: Party, lie: Callable[[Any], list[Any]]) -> None:
        super().__init__(party, {})
        self._lie = lie

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for part in super().Randomize(request, context):
            for said in self._lie(part):
                yield said


def enrol_peers(roster: Roster, peers: Sequence[Peer]) -> dict[str, Headcount]:
    """Enrol parties; returns who could not be, by reason: how many people those hold is not known."""
    refused: dict[str, Headcount] = {}
    for _, error in enrolling(roster, peers):
        refused[reason_of(error)] = refused.get(reason_of(error), Headcount()) + Headcount(1, 0)
    return refused


@dataclass(frozen=True)
class Served:
    """A coordinator, and the agents of the parties that it enrolled."""

    rounds: Rounds
    parties: list[Party]
    agents: list[AgentService]
    peers: list[Peer]
    loopback: Loopback

    def move(self, number: int, address: str) -> None:
        """Have the roster say that a party is somewhere else."""
        known = {party.name: party for party in self.rounds.roster.enrolled()}
        old = known[self.parties[number].name]
        self.rounds.roster.enrol(
            Enrolled(old.name, address, old.people, old.schema_digest), self.rounds.roster.schema
        )

    def spent(self, number: int) -> set[int]:
        """What the people of a party have spent, each amount once."""
        return {int(amount) for amount in self.parties[number].ledger.spent()}


@contextmanager
def enrolled(
    path: Path, parties: Sequence[Party], wraps: Sequence[Wrap] = (), **options: Any
) -> Iterator[Served]:
    """The parties behind agents, the first ones as the test wants them, all enrolled while they were sound."""
    with ExitStack() as stack:
        threads = stack.enter_context(loopback())
        kinds = [*wraps, *[sound] * (len(parties) - len(wraps))]
        agents = [kind(party) for kind, party in zip(kinds, parties, strict=True)]
        peers = [
            Peer(party.name, threads.serve(SERVICE_NAME, agent))
            for party, agent in zip(parties, agents, strict=True)
        ]
        rounds = stack.enter_context(closing(Rounds(path, **options)))
        assert enrol_peers(rounds.roster, peers) == {}
        yield Served(rounds, list(parties), agents, peers, threads)


@contextmanager
def black_hole() -> Iterator[str]:
    """The address of somebody who takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def nobody() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"
