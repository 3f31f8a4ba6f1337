"""Agents that dial out, for tests: on an event loop of this process, attached to a relay on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from localdp.errors import LocalDpError
from localdp.party.party import Party
from parties.agent.service import AgentService
from parties.identity import Identity
from parties.relay.answering import Methods
from parties.relay.dialling import Line, Waits, keep_attached
from parties.relay.server import RelayServer
from parties.repeating import Patience
from parties.serving import open_aio_channel
from tests.support.federations import Loopback, loopback

GRACE_SECONDS = 5.0
PATIENCE_SECONDS = 20.0


class Attached:
    """Agents on a loop, that stay attached until they are told to leave."""

    def __init__(self, threads: Loopback) -> None:
        self.threads = threads
        self.news: dict[str, list[LocalDpError | None]] = {}
        self._stops: list[asyncio.Event] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._services: list[AgentService] = []

    def add(
        self,
        service: AgentService,
        party: str,
        address: str,
        identity: Identity | None = None,
        coordinator: str | None = None,
    ) -> asyncio.Event:
        """Attach a service under a name; returns what makes it leave."""
        heard = self.news.setdefault(party, [])
        line = Line(
            party,
            coordinator,
            Methods.of(service.register),
            lambda: open_aio_channel(address, identity, coordinator),
        )

        async def begin() -> asyncio.Event:
            stop = asyncio.Event()
            keeping = keep_attached(line, stop, GRACE_SECONDS, Waits(Patience(4, 0.05, 0.5)), heard.append)
            self._tasks.append(asyncio.create_task(keeping))
            self._stops.append(stop)
            return stop

        self._services.append(service)
        return self.threads.run(begin())

    def leave(self) -> None:
        """Have everybody leave, and wait until they have."""

        async def end() -> None:
            for stop in self._stops:
                stop.set()
            await asyncio.gather(*self._tasks)
            for service in self._services:
                await service.close()

        self.threads.run(end())


@contextmanager
def attaching() -> Iterator[Attached]:
    """A loop for agents that dial."""
    with loopback() as threads:
        attached = Attached(threads)
        try:
            yield attached
        finally:
            attached.leave()


@contextmanager
def relayed(
    parties: Sequence[Party], share_servers: dict[str, str] | None = None, **options: Any
) -> Iterator[tuple[RelayServer, Attached]]:
    """A relay to which an agent of each party is attached."""
    with RelayServer(**options) as relay, attaching() as agents:
        for party in parties:
            agents.add(AgentService(party, share_servers or {}), party.name, relay.address)
        relay.wait_for([party.name for party in parties], PATIENCE_SECONDS)
        yield relay, agents
