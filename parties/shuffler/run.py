"""A shuffler that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from parties.coordinator import Peer, RemoteParties
from parties.identity import Identity
from parties.serving import start_server
from parties.shuffler.ledger import SqlitePromiseLedger
from parties.shuffler.service import SERVICE_NAME, ShufflerService

GRACE_SECONDS = 10.0  # an answer that parties were charged for is worth finishing


async def serve_shuffler(
    name: str,
    address: str,
    agents: Sequence[Peer],
    promise: Promise,
    started: Callable[[str], None],
    *,
    ledger: Path,
    new: bool = False,
    identity: Identity | None = None,
    aggregators: frozenset[str] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun; the secret is the operating system's, and is forgotten.

    What was promised about people is not: it stands in `ledger`, which is made if it is a `new` one.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidParameter("a shuffler listens at an address such as 127.0.0.1:7002")
    if identity is not None:
        identity.require_speaks_for(name)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    parties = await asyncio.to_thread(RemoteParties, agents, identity=identity)
    try:
        promised = SqlitePromiseLedger(ledger, promise.epsilon_total, promise.delta_total, new=new)
        shuffler = Shuffler(parties, KeystreamSource.from_system(), promise, promised)
        service = ShufflerService(name, shuffler, aggregators=aggregators)
        server, bound = await start_server(host, int(port), [(SERVICE_NAME, service.register)], identity)
        started(f"{host}:{bound}")
        await stop.wait()
        await server.stop(GRACE_SECONDS)
        await service.close()
        promised.close()
    finally:
        parties.close()
