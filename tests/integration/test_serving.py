"""How every server listens: loopback alone, one process a port, health, reflection, bounded messages."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, Unreachable
from parties import codec
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.serving import LARGEST_MESSAGE_BYTES, start_server
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc
from tests.support.federations import loopback, parties_of, party, people, request, served


def test_health_says_serving_and_reflection_lists_the_services() -> None:
    with served(parties_of(people(4), 1)) as federation:
        peer: Any = federation.remote._channels.peers[0]
        agent = peer.address
        for address, service in ((agent, SERVICE_NAME), (federation.addresses["server-0"], SHARE_SERVICE)):
            with grpc.insecure_channel(address) as channel:
                health: Any = health_pb2_grpc.HealthStub(channel)
                for name in ("", service):
                    answer = health.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)
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
        message.query.root.label = "x" * (LARGEST_MESSAGE_BYTES + 1)
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
                # UNKNOWN is gRPC's own word for what is no message at all: it never gets as far as the agent.
                assert caught.value.code() in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INVALID_ARGUMENT)
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
