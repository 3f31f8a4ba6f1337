"""A share server that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from localdp.errors import InvalidParameter, StorageFailed
from localdp.randomness.keys import KEY_BYTES
from localdp.sharing.collection import LONGEST_NAME
from localdp.sharing.server_policy import ServerPolicy
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault
from parties.identity import Identity
from parties.serving import host_and_port, start_server, told_to_stop
from parties.shares.old_state import key_of
from parties.shares.service import SERVICE_NAME, ShareService
from parties.shares.storage import SqliteStorage, storage_errors
from parties.shares.vault import FileVault, vault_path

GRACE_SECONDS = 10.0  # an upload that was begun is worth finishing
WARM_SECONDS = 2.0  # a server that lives shorter than that need not compile anything
EXPIRY_SECONDS = 30.0  # how often it is looked for what has ended


Told = Callable[[str], None]


@contextmanager
def server_with_state(
    name: str, state: Path, policy: ServerPolicy | None = None, told: Told | None = None
) -> Iterator[ShareServer]:
    """The server of a state and the secrets beside it; both are made if there are none.

    `told` hears of a state that is not the one of the secrets.  If both are old, nothing here can show it.
    """
    secrets_path = vault_path(state)
    with storage_errors(state):
        old_key = key_of(state)
    if old_key is None and _has_content(state) and not _has_content(secrets_path):
        raise StorageFailed(
            f"{secrets_path} is gone, and with it the keys to {state}: move the state away to begin anew, under a new"
            " key that agents have to be told"
        )
    vault = FileVault(secrets_path, old_key, server=name)
    try:
        storage = SqliteStorage(state, name, vault)
        try:
            server = ShareServer(name, vault, storage, policy=policy, clock=time.time)
            if server.began_anew and told is not None:
                told(
                    f"{name}: {state} lacks something that this server released, so it is an old copy or"
                    " a new file. The server begins a new memory, and refuses every collection of before"
                )
            yield server
        finally:
            storage.close()
    finally:
        vault.close()


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def rotated(name: str, state: Path, told: Told | None = None) -> str:
    """Give a server a new key; returns it."""
    with server_with_state(name, state, told=told):  # or there is nothing to go on with, and it says why
        pass
    vault = FileVault(vault_path(state), server=name)
    try:
        vault.add_key()
    finally:
        vault.close()
    with server_with_state(
        name, state
    ) as server:  # which destroys the older keys that nothing is open under
        return server.sealing_key.public.hex()


@contextmanager
def server_without_state(name: str, policy: ServerPolicy | None = None) -> Iterator[ShareServer]:
    """A server that forgets: a random number in its name tells one life from the next."""
    vault = MemoryVault(os.urandom(KEY_BYTES))
    yield ShareServer(f"{name}~{secrets.token_hex(4)}", vault, policy=policy, clock=time.time)


async def serve_share_server(
    name: str,
    address: str,
    identity: Identity | None,
    started: Callable[[str, str, str], None],
    *,
    state: Path | None = None,
    peers: Mapping[str, str] | None = None,
    collectors: frozenset[str] | None = None,
    policy: ServerPolicy | None = None,
    told: Told | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun; `started` is told name, address and key."""
    host, port = host_and_port(address, "a share server", 7001)
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidParameter(f"a share server has a name of 1 to {LONGEST_NAME} characters")
    if identity is not None:
        identity.require_speaks_for(name)
    if state is None and identity is not None:  # without one it listens on loopback only
        raise InvalidParameter("a share server with a certificate needs --state: it must not forget")
    stop = told_to_stop()
    made = (
        server_without_state(name, policy)
        if state is None
        else server_with_state(name, state, policy, told)
    )
    with made as machine:
        service = ShareService(machine, identity=identity, peers=peers, collectors=collectors, told=told)
        server, bound = await start_server(host, port, [(SERVICE_NAME, service.register)], identity)
        started(machine.name, f"{host}:{bound}", machine.sealing_key.public.hex())
        asyncio.get_running_loop().call_later(WARM_SECONDS, service.warm)
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EXPIRY_SECONDS)
            with suppress(StorageFailed):  # it is tried again, and whoever uploads is told what is wrong
                await service.expire()
        await server.stop(GRACE_SECONDS)
        await service.close()
