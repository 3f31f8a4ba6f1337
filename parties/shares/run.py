"""A share server that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from localdp.errors import InvalidParameter
from localdp.randomness.keys import KEY_BYTES
from localdp.sharing.collection import LONGEST_NAME
from localdp.sharing.share_server import ShareServer
from parties.identity import Identity
from parties.serving import start_server
from parties.shares.service import SERVICE_NAME, ShareService
from parties.shares.storage import SqliteStorage

GRACE_SECONDS = 10.0  # an upload that was begun is worth finishing


async def serve_share_server(
    name: str,
    address: str,
    identity: Identity | None,
    started: Callable[[str, str], None],
    *,
    state: Path | None = None,
    peers: Mapping[str, str] | None = None,
    collectors: frozenset[str] | None = None,
    told: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun; without a `state` everything is forgotten then."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < len(name) <= LONGEST_NAME:
        raise InvalidParameter(
            "a share server has a name, and listens at an address such as 127.0.0.1:7001"
        )
    if identity is not None:
        identity.require_speaks_for(name)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    storage = None if state is None else SqliteStorage(state, name)
    key = os.urandom(KEY_BYTES) if storage is None else storage.key
    machine = ShareServer(name, key, storage)
    service = ShareService(machine, identity=identity, peers=peers, collectors=collectors, told=told)
    server, bound = await start_server(host, int(port), [(SERVICE_NAME, service.register)], identity)
    started(f"{host}:{bound}", machine.sealing_key.public.hex())
    await stop.wait()
    await server.stop(GRACE_SECONDS)
    await service.close()
    if storage is not None:
        storage.close()
