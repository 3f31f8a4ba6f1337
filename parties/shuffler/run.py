"""A shuffler that serves until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from parties.coordinator import Peer, RemoteParties
from parties.identity import Identity
from parties.serving import host_and_port, start_server, told_to_stop
from parties.shuffler.ledger import promise_ledger
from parties.shuffler.service import SERVICE_NAME, ShufflerService

GRACE_SECONDS = 10.0  # an answer that parties were charged for is worth finishing


async def serve_shuffler(
    name: str,
    address: str,
    agents: Sequence[Peer],
    promise: Promise,
    started: Callable[[str], None],
    *,
    ledger: str | Path,
    new: bool = False,
    identity: Identity | None = None,
    aggregators: frozenset[str] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun; the secret is the operating system's, and is forgotten.

    What was promised about people is not: it stands in `ledger`, which is made if it is a `new` one.
    """
    host, port = host_and_port(address, "a shuffler", 7002)
    if identity is not None:
        identity.require_speaks_for(name)
    stop = told_to_stop()
    parties = await asyncio.to_thread(RemoteParties, agents, identity=identity)
    try:
        promised = promise_ledger(ledger, promise.epsilon_total, promise.delta_total, new=new)
        shuffler = Shuffler(parties, KeystreamSource.from_system(), promise, promised)
        service = ShufflerService(name, shuffler, aggregators=aggregators)
        server, bound = await start_server(host, port, [(SERVICE_NAME, service.register)], identity)
        started(f"{host}:{bound}")
        await stop.wait()
        await server.stop(GRACE_SECONDS)
        await service.close()
        promised.close()
    finally:
        parties.close()
