"""How every server of the system listens and is reached: loopback or TLS, health, reflection, bounded messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from localdp.errors import InvalidParameter, Unreachable
from parties.identity import Identity

LARGEST_MESSAGE_BYTES = 4 << 20  # gRPC's own default, on both sides: larger things are streamed in parts
CHUNK_BYTES = 1 << 20
GRACE_SECONDS = 1.0
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
    (
        "grpc.max_reconnect_backoff_ms",
        2000,
    ),  # a peer that is back is found again at once, not after two minutes
)
_SERVER_OPTIONS = (
    *CHANNEL_OPTIONS,
    ("grpc.so_reuseport", 0),  # otherwise two servers would share one port without a word
    ("grpc.max_concurrent_streams", 1024),
)

Register = Callable[[grpc.aio.Server], None]


def is_loopback(address: str) -> bool:
    """Whether an address of the form host:port stays on this machine."""
    return address.rpartition(":")[0] in LOOPBACK


def open_channel(address: str, identity: Identity | None = None) -> grpc.Channel:
    """A channel to a server: with TLS if there is an identity, and never without it off loopback."""
    if identity is not None:
        return grpc.secure_channel(address, identity.channel_credentials(), options=CHANNEL_OPTIONS)
    _require_loopback(address)
    return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)


def open_aio_channel(address: str, identity: Identity | None = None) -> grpc.aio.Channel:
    """The same for a caller that lives on an event loop."""
    if identity is not None:
        return grpc.aio.secure_channel(address, identity.channel_credentials(), options=CHANNEL_OPTIONS)
    _require_loopback(address)
    return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)


def _require_loopback(address: str) -> None:
    if not is_loopback(address):
        raise InvalidParameter(
            f"{address} is not on this machine: off loopback an identity is needed (localdp keys)"
        )


async def start_server(
    host: str, port: int, services: Sequence[tuple[str, Register]], identity: Identity | None = None
) -> tuple[grpc.aio.Server, int]:
    """Start the named services, with health and reflection, and return the server and its port."""
    if identity is None and host not in LOOPBACK:
        raise InvalidParameter("without TLS a server listens on loopback only")
    server = grpc.aio.server(options=_SERVER_OPTIONS)
    names = [name for name, _ in services]
    for _, register in services:
        register(server)
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    bound = _bind(server, f"{host}:{port}", identity)
    await server.start()
    for name in ["", *names]:
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    return server, bound


def _bind(server: grpc.aio.Server, address: str, identity: Identity | None) -> int:
    try:
        if identity is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, identity.server_credentials())
    except RuntimeError as error:
        raise Unreachable(f"cannot listen on {address}; is the port in use?") from error
