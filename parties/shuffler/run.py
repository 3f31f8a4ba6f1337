"""A shuffler that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.oracles.second_shuffler import SecondShuffler
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.hpke import PUBLIC_BYTES
from parties.coordinator import Peer, RemoteParties
from parties.durable import require_private, require_there_or_new
from parties.flood_opening import without_envelopes
from parties.identity import Identity
from parties.serving import host_and_port, start_server, told_to_stop
from parties.shuffler.client import RemoteShuffler
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
        await _served(service, (host, port), identity, started, stop)
        promised.close()
    finally:
        parties.close()


async def serve_second_shuffler(
    name: str,
    address: str,
    first: Peer,
    secret: bytes,
    started: Callable[[str], None],
    *,
    identity: Identity | None = None,
    aggregators: frozenset[str] | None = None,
) -> None:
    """The same of a second shuffler, which keeps no account: the first does, and asks the agents."""
    host, port = host_and_port(address, "a shuffler", 7002)
    if identity is not None:
        identity.require_speaks_for(name)
    stop = told_to_stop()
    behind = await asyncio.to_thread(RemoteShuffler, first, identity=identity)
    try:
        second = SecondShuffler(behind, behind.sealed, secret, without_envelopes)
        service = ShufflerService(name, second, aggregators=aggregators)
        await _served(service, (host, port), identity, started, stop)
    finally:
        behind.close()


async def _served(
    service: ShufflerService,
    where: tuple[str, int],
    identity: Identity | None,
    started: Callable[[str], None],
    stop: asyncio.Event,
) -> None:
    host, port = where
    server, bound = await start_server(host, port, [(SERVICE_NAME, service.register)], identity)
    started(f"{host}:{bound}")
    await stop.wait()
    await server.stop(GRACE_SECONDS)
    await service.close()


def second_secret(path: Path, *, new: bool) -> bytes:
    """The key of a second shuffler, from its file; or a `new` one, from the operating system."""
    require_there_or_new(path, new, "key", "would be another second shuffler", "second shuffler", "--key")
    if new:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(os.urandom(PUBLIC_BYTES).hex() + "\n")
    require_private(path)
    try:
        secret = bytes.fromhex(path.read_text().strip())
    except ValueError:
        secret = b""
    if len(secret) != PUBLIC_BYTES:  # a secret key is as long as a public one
        raise InvalidParameter(f"{path} is no file of a second shuffler's key")
    return secret
