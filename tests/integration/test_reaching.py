"""What is told of a peer that cannot be reached: nobody listens, it wants TLS, or it speaks none."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from parties.identity import Identity, load_identity, make_authority, make_identity
from parties.serving import open_aio_channel, start_server
from parties.status import error_of

HOST = "127.0.0.1"


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    make_authority(tmp_path / "authority")
    make_identity(tmp_path / "authority", tmp_path / "north", "north")
    return load_identity(tmp_path / "north")


async def told(address: str, identity: Identity | None) -> str:
    """What is told of a call to an address."""
    async with open_aio_channel(address, identity) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
        except grpc.RpcError as failure:
            return str(error_of(failure, "north"))
    return "reached"


async def told_by(server_identity: Identity | None, identity: Identity | None) -> str:
    """What is told of a call to a server."""
    server, port = await start_server(HOST, 0, [], server_identity)
    try:
        return await told(f"{HOST}:{port}", identity)
    finally:
        await server.stop(None)


def test_a_peer_is_reached_if_both_sides_speak_alike(identity: Identity) -> None:
    assert asyncio.run(told_by(identity, identity)) == "reached"
    assert asyncio.run(told_by(None, None)) == "reached"


def test_a_peer_that_wants_tls_is_told_from_one_that_is_not_there(identity: Identity) -> None:
    wanted = "north cannot be reached: it hangs up; does it want TLS? Show --identity"
    assert asyncio.run(told_by(identity, None)) == wanted
    with socket.socket() as free:
        free.bind((HOST, 0))  # and does not listen
        assert asyncio.run(told(f"{HOST}:{free.getsockname()[1]}", None)) == "north cannot be reached"


def test_a_peer_that_speaks_no_tls_is_told(identity: Identity) -> None:
    assert "TLS could not be agreed on" in asyncio.run(told_by(None, identity))
