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
from parties.database import is_address
from parties.identity import Identity
from parties.serving import host_and_port, start_server, told_to_stop
from parties.shares.old_state import key_of
from parties.shares.service import SERVICE_NAME, ShareService
from parties.shares.storage import TableStorage, has_state, storage_errors, storage_of
from parties.shares.vault import FileVault, vault_path

GRACE_SECONDS = 10.0  # an upload that was begun is worth finishing
WARM_SECONDS = 2.0  # a server that lives shorter than that need not compile anything
EXPIRY_SECONDS = 30.0  # how often it is looked for what has ended
LOOK_SECONDS = 0.2  # how often, whether the database is there
AGAIN_SECONDS = 0.5  # between two attempts to reach it


Told = Callable[[str], None]


@contextmanager
def server_with_state(
    name: str,
    state: str | Path,
    policy: ServerPolicy | None = None,
    told: Told | None = None,
    *,
    secrets: Path | None = None,
) -> Iterator[ShareServer]:
    """The server of a state, a file or a database, and its secrets; what there is none of is made.

    `told` hears of a state that is not the one of the secrets.  If both are old, nothing here can show it.
    """
    with _opened(name, state, secrets, policy, told) as (server, _):
        yield server


@contextmanager
def _opened(
    name: str, state: str | Path, secrets: Path | None, policy: ServerPolicy | None, told: Told | None
) -> Iterator[tuple[ShareServer, TableStorage]]:
    secrets_path, old_key = _secrets_of(state, secrets)
    vault = FileVault(secrets_path, old_key, server=name)
    try:
        storage = storage_of(state, name, vault)
        try:
            server = ShareServer(name, vault, storage, policy=policy, clock=time.time)
            if server.began_anew and told is not None:
                told(
                    f"{name}: {state} lacks something that this server released, so it is an old copy or"
                    " a new one. The server begins a new memory, and refuses every collection of before"
                )
            yield server, storage
        finally:
            storage.close()
    finally:
        vault.close()


def _secrets_of(state: str | Path, secrets: Path | None) -> tuple[Path, bytes | None]:
    """Where the secrets of a state are, and the key that version 0.1 left in it; refuses a state without its secrets."""
    if is_address(str(state)):
        if secrets is None:
            raise InvalidParameter(
                "the secrets of a state in a database are in a file beside it, never in the database: name it with"
                " --secrets FILE"
            )
        path, old_key, there = secrets, None, has_state(str(state))
    else:
        path = secrets or vault_path(Path(state))
        with storage_errors(Path(state)):
            old_key = key_of(Path(state))
        there = _has_content(Path(state))
    if old_key is None and there and not _has_content(path):
        raise StorageFailed(
            f"{path} is gone, and with it the keys to {state}: move the state away to begin anew, under a new"
            " key that agents have to be told"
        )
    return path, old_key


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def rotated(name: str, state: str | Path, told: Told | None = None, *, secrets: Path | None = None) -> str:
    """Give a server a new key; returns it."""
    with server_with_state(name, state, told=told, secrets=secrets):
        pass  # or there is nothing to go on with, and it says why
    vault = FileVault(secrets or vault_path(Path(state)), server=name)
    try:
        vault.add_key()
    finally:
        vault.close()
    with server_with_state(name, state, secrets=secrets) as server:
        return server.sealing_key.public.hex()  # the older keys that nothing is open under are destroyed


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
    state: str | Path | None = None,
    secrets: Path | None = None,
    peers: Mapping[str, str] | None = None,
    collectors: frozenset[str] | None = None,
    policy: ServerPolicy | None = None,
    told: Told | None = None,
    workers: int = 1,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what was begun; `started` is told name, address and key.

    A server that loses its database has another life: it reads again what is on record, once the database is back, and
    serves where it did.  Meanwhile nobody is answered, and whoever asks is told to try again.
    """
    host, port = host_and_port(address, "a share server", 7001)
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidParameter(f"a share server has a name of 1 to {LONGEST_NAME} characters")
    if identity is not None:
        identity.require_speaks_for(name)
    if state is None and identity is not None:  # without one it listens on loopback only
        raise InvalidParameter("a share server with a certificate needs --state: it must not forget")
    stop, lives = told_to_stop(), 0
    while not stop.is_set():
        try:
            with _made(name, state, secrets, policy, told) as (machine, storage):
                service = ShareService(
                    machine,
                    identity=identity,
                    peers=peers,
                    collectors=collectors,
                    told=told,
                    workers=workers,
                )
                server, port = await start_server(host, port, [(SERVICE_NAME, service.register)], identity)
                if lives == 0:
                    started(machine.name, f"{host}:{port}", machine.sealing_key.public.hex())
                    asyncio.get_running_loop().call_later(WARM_SECONDS, service.warm)
                elif told is not None:
                    told(f"{name}: the database is back, and the server goes on")
                lives += 1
                await _until(stop, service, storage)
                await server.stop(GRACE_SECONDS if stop.is_set() else None)
                await service.close()
        except StorageFailed:
            if lives == 0:
                raise
        if not stop.is_set():
            await asyncio.sleep(AGAIN_SECONDS)


async def _until(stop: asyncio.Event, service: ShareService, storage: TableStorage | None) -> None:
    """Return when the server is to stop, or has lost its database; drop what has ended meanwhile."""
    loop = asyncio.get_running_loop()
    expiry = loop.time() + EXPIRY_SECONDS
    while not stop.is_set() and not (storage is not None and storage.lost):
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_SECONDS)
        if loop.time() > expiry:
            expiry = loop.time() + EXPIRY_SECONDS
            with suppress(StorageFailed):  # it is tried again, and whoever uploads is told what is wrong
                await service.expire()


@contextmanager
def _made(
    name: str,
    state: str | Path | None,
    secrets: Path | None,
    policy: ServerPolicy | None,
    told: Told | None,
) -> Iterator[tuple[ShareServer, TableStorage | None]]:
    if state is None:
        with server_without_state(name, policy) as machine:
            yield machine, None
    else:
        with _opened(name, state, secrets, policy, told) as made:
            yield made
