"""How every server listens: loopback alone, one process a port, health, reflection, bounded messages."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, Unreachable
from parties import codec
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.serving import LARGEST_MESSAGE_BYTES, open_aio_channel, open_channel, start_server
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.simulation.launcher import wait_until_healthy
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc
from tests.fault.fuzzing import hostile, noise
from tests.support.federations import loopback, parties_of, party, people, request, served


def test_health_says_serving_and_reflection_lists_the_services() -> None:
    with served(parties_of(people(4), 1)) as federation:
        peer: Any = federation.remote._channels.peers[0]
        agent = peer.address
        for address, service in ((agent, SERVICE_NAME), (federation.addresses["server-0"], SHARE_SERVICE)):
            with grpc.insecure_channel(address) as channel:
                stub: Any = health_pb2_grpc.HealthStub(channel)
                for name in ("", service):
                    answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)
                    assert answer.status == health_pb2.HealthCheckResponse.SERVING
                assert service in _listed(channel)
                assert "grpc.health.v1.Health" in _listed(channel)


def _listed(channel: grpc.Channel) -> set[str]:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    answer = next(iter(stub.ServerReflectionInfo(iter([asked]), timeout=5)))
    return {service.name for service in answer.list_services_response.service}


def test_a_second_server_on_a_port_is_told_that_it_is_taken() -> None:
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(party(people(2)), {}))
        port = address.split(":")[1]
        with pytest.raises(Unreachable, match=f"127.0.0.1:{port}.*in use"):
            threads.serve(SERVICE_NAME, AgentService(party(people(2)), {}), port=int(port))


def test_without_tls_a_proxy_that_the_environment_names_is_never_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    with loopback() as threads, socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("grpc_proxy", "https_proxy", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        address = threads.serve(SERVICE_NAME, AgentService(party(people(2)), {}))
        wait_until_healthy([Peer("party-0", address)], timeout_seconds=5)
        with open_channel(address) as channel:
            assert _serving(channel)
        assert asyncio.run(_serving_on_a_loop(address))
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has come
            proxy.accept()


def _serving(channel: grpc.Channel) -> bool:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def _serving_on_a_loop(address: str) -> bool:
    async with open_aio_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


ELSEWHERE = ["0.0.0.0", "[::]", "", "192.0.2.1", "127.0.0.1.example.org", "unix:/tmp/x"]  # noqa: S104


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_server_does_not_listen_beyond_loopback(host: str) -> None:
    with pytest.raises(InvalidParameter, match="loopback"):
        asyncio.run(start_server(host, 0, []))


def test_a_message_over_the_limit_is_refused_and_the_agent_stays_up() -> None:
    with loopback() as threads:
        asked = party(people(4))
        address = threads.serve(SERVICE_NAME, AgentService(asked, {}))
        message = codec.request_to_wire(request(), Cohort(0, 4))
        message.query = "x" * (LARGEST_MESSAGE_BYTES + 1)
        unbounded = [("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(address, options=unbounded) as channel:
            stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                list(stub.Randomize(message, timeout=10))
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert stub.Describe(oracle_pb2.DescribeRequest(), timeout=10).people == 4
        assert asked.ledger.spent().sum() == 0


def test_garbage_on_the_wire_is_refused_and_the_agent_stays_up() -> None:
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(party(people(4)), {}))
        with grpc.insecure_channel(address) as channel:
            raw: Any = channel.unary_stream(f"/{SERVICE_NAME}/Randomize")
            for data in (b"\xff" * 50, b"", b"\x0a\x05abc"):
                with pytest.raises(grpc.RpcError) as caught:
                    list(raw(data, timeout=10))
                assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
            assert stub.Describe(oracle_pb2.DescribeRequest(), timeout=10).people == 4


def test_a_message_that_is_too_large_to_send_is_told_as_such() -> None:
    with served(parties_of(people(4), 1)) as federation:
        asked = request()
        object.__setattr__(asked, "request_id", b"x" * (LARGEST_MESSAGE_BYTES + 1))
        with pytest.raises(InvalidParameter, match="larger than a message may be"):
            list(federation.remote.reports(asked, Cohort(0, 4)))


def test_an_address_where_nobody_listens_is_unreachable_at_once() -> None:
    with pytest.raises(Unreachable, match="party x"):
        RemoteParties([Peer("x", "127.0.0.1:1")], 5)


# Health and reflection: what is sent to them, and that none of their answers quotes an exception.

HEALTH = ("/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch")
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
ECHOES = ("Error", "Exception", "Unexpected", "Traceback", "<class")


def sent(channel: grpc.Channel, method: str, data: bytes) -> tuple[grpc.StatusCode, str]:
    """How a call with these bytes ends; one that would go on for ever is cut off when it has answered."""
    raw: Any = channel.stream_stream if method == REFLECTION else channel.unary_stream
    call = raw(method)(iter([data]) if method == REFLECTION else data, timeout=5)
    try:
        for _ in call:
            call.cancel() if method.endswith("Watch") else None
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


def hostile_bytes() -> list[bytes]:
    messages = [
        health_pb2.HealthCheckRequest(service=SERVICE_NAME),
        reflection_pb2.ServerReflectionRequest(list_services="x"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE_NAME),
        reflection_pb2.ServerReflectionRequest(
            file_containing_extension=reflection_pb2.ExtensionRequest(
                containing_type=SERVICE_NAME, extension_number=-1
            )
        ),
    ]
    valid = [message.SerializeToString() for message in messages]
    return [b"\xff" * 50, b"\x0a\x05abc", b"\x0a\x01\xff", *valid, *noise(1, 20), *hostile(2, 40, valid)]


def quotes_an_exception(address: str) -> list[str]:
    """The words in which a server answers hostile bytes, if they are an exception's."""
    with grpc.insecure_channel(address) as channel:
        ends = [sent(channel, method, data) for method in (*HEALTH, REFLECTION) for data in hostile_bytes()]
    assert (grpc.StatusCode.INVALID_ARGUMENT, NO_MESSAGE) in ends or any(
        echo in str(ends) for echo in ECHOES
    )
    return [told for _, told in ends if any(echo in told for echo in ECHOES)]


NO_MESSAGE = "the bytes of the request are not a message of this call"


def test_health_and_reflection_do_not_answer_with_exceptions() -> None:
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(party(people(2)), {}))
        assert quotes_an_exception(address) == []
        with grpc.insecure_channel(address) as channel:
            for method in (*HEALTH, REFLECTION):
                assert sent(channel, method, b"\xff" * 50) == (grpc.StatusCode.INVALID_ARGUMENT, NO_MESSAGE)
            unknown = health_pb2.HealthCheckRequest(service="nobody").SerializeToString()
            assert sent(channel, HEALTH[0], unknown)[0] is grpc.StatusCode.NOT_FOUND
            assert SERVICE_NAME in _listed(channel)


def test_a_server_whose_health_and_reflection_are_grpcs_own_is_caught() -> None:
    async def bare() -> tuple[grpc.aio.Server, int]:
        server = grpc.aio.server()
        health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
        reflection.enable_server_reflection([], server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        return server, port

    with loopback() as threads:
        server, port = threads.run(bare())
        try:
            assert quotes_an_exception(f"127.0.0.1:{port}")
        finally:
            threads.run(server.stop(0))


def test_a_stream_of_reflection_is_refused_at_the_message_that_is_none() -> None:
    good = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(party(people(2)), {}))
        with grpc.insecure_channel(address) as channel:
            raw: Any = channel.stream_stream(REFLECTION)
            answers = raw(iter([good, good, b"\xff"]), timeout=5)
            assert len([next(answers), next(answers)]) == 2
            with pytest.raises(grpc.RpcError) as caught:
                next(answers)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
