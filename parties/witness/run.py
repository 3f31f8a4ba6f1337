"""A witness that serves until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from localdp.errors import InvalidParameter
from parties.identity import Identity
from parties.observability.logs import configure_logs, release_logs
from parties.observability.observer import Observer
from parties.revocation import Revocations
from parties.serving import host_and_port, start_server, told_to_stop
from parties.witness.heads import public_key_of
from parties.witness.record import WitnessRecord
from parties.witness.service import SERVICE_NAME, WitnessService

GRACE_SECONDS = 2.0


async def serve_witness(
    name: str,
    address: str,
    state: Path,
    started: Callable[[str, str], None],
    *,
    new: bool = False,
    identity: Identity | None = None,
    keys: Mapping[str, bytes] | None = None,
    revoked: Path | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `started` hears the address and the witness's public key."""
    host, port = host_and_port(address, "a witness", 7200)
    if identity is not None:
        identity.require_speaks_for(name)
    stop = told_to_stop()
    with ExitStack() as stack:
        stack.callback(release_logs, configure_logs("warning"))
        revocations = _revocations(revoked, identity)
        record = WitnessRecord(state, new=new)
        stack.callback(record.close)
        observer = Observer("witness", name)
        service = WitnessService(record, keys=keys, revocations=revocations, observer=observer)
        server, bound = await start_server(host, port, [(SERVICE_NAME, service.register)], identity)
        started(f"{host}:{bound}", public_key_of(record.signer).hex())
        await stop.wait()
        await server.stop(GRACE_SECONDS)
        await service.close()


def _revocations(path: Path | None, identity: Identity | None) -> Revocations | None:
    if path is None:
        return None
    if identity is None:
        raise InvalidParameter("without --tls nobody shows a certificate: --revoked goes with it")
    return Revocations(path, identity.authority)
