"""A server on loopback, asked over gRPC: what every simulated party needs."""

from __future__ import annotations

import asyncio
import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from localdp.errors import LocalDpError
from parties.doctor.finding import Finding, fails, ok
from parties.repeating import Stub
from parties.serving import open_aio_channel, start_server

SECONDS = 5.0
HOST = "127.0.0.1"


def loopback() -> Finding:
    """Bind a free port, ask for health, and say how long it took."""
    try:
        seconds = asyncio.run(_round_trip())
    except LocalDpError:
        return fails("loopback", f"no port of {HOST} can be bound", "allow servers on loopback")
    except (grpc.RpcError, OSError):
        return fails(
            "loopback",
            f"a server at {HOST} did not answer within {SECONDS:.0f} s",
            "allow connections on loopback",
        )
    return ok("loopback", f"a gRPC call takes {seconds * 1000:.1f} ms")


async def _round_trip() -> float:
    server, port = await start_server(HOST, 0, [])
    try:
        async with open_aio_channel(f"{HOST}:{port}") as channel:
            stub: Stub = health_pb2_grpc.HealthStub(channel)
            check = stub.Check
            await check(health_pb2.HealthCheckRequest(), timeout=SECONDS, wait_for_ready=True)
            started = time.perf_counter()
            await check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
            return time.perf_counter() - started
    finally:
        await server.stop(None)
