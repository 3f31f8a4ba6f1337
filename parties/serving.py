"""How every server of the system listens: loopback, one process a port, health, reflection, bounded messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from localdp.errors import InvalidParameter, Unreachable

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


async def start_server(
    host: str, port: int, services: Sequence[tuple[str, Register]]
) -> tuple[grpc.aio.Server, int]:
    """Start the named services, with health and reflection, and return the server and its port."""
    if host not in LOOPBACK:
        raise InvalidParameter("without TLS a server listens on loopback only")
    server = grpc.aio.server(options=_SERVER_OPTIONS)
    names = [name for name, _ in services]
    for _, register in services:
        register(server)
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise Unreachable(f"cannot listen on {host}:{port}; is the port in use?") from error
    await server.start()
    for name in ["", *names]:
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    return server, bound
