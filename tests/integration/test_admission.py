"""Admission over gRPC: a caller whom the policy does not name costs no parsing, dialled or over a relay."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from localdp.cohorts import Cohort
from localdp.errors import PolicyRefused
from localdp.party.party import Party
from parties.admission import Door
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.identity import Identity, load_identity, make_authority, make_identity
from parties.observability.observer import Observer
from parties.relay.server import RelayServer
from parties.serving import LARGEST_MESSAGE_BYTES, open_channel
from tests.support.federations import loopback, party, people, request
from tests.support.relays import PATIENCE_SECONDS, attaching
from tests.unit.parties.observability.test_observability import lines, logged


class Guarded(AgentService):
    """An agent with a door, which counts what it decodes."""

    def __init__(self, holder: Party, admitted: str) -> None:
        self.observer = Observer("agent", holder.name)
        door = Door(self.observer, lambda caller: self._require(caller, admitted))
        super().__init__(holder, {}, observer=self.observer, door=door)
        self.decoded = 0

    @staticmethod
    def _require(caller: str, admitted: str) -> None:
        if caller != admitted:
            raise PolicyRefused("the party does not answer this analyst")

    def register(self, server: Any) -> None:
        counting: Any = _Counting(server, self)
        super().register(counting)


class _Counting:
    def __init__(self, server: Any, service: Guarded) -> None:
        self._server, self._service = server, service

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing: the other half names the methods."""

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        counted = {
            name: handler._replace(request_deserializer=self._counting(handler.request_deserializer))
            for name, handler in handlers.items()
        }
        self._server.add_registered_method_handlers(service, counted)

    def _counting(self, decode: Any) -> Any:
        def counted(data: bytes) -> Any:
            self._service.decoded += 1
            return decode(data)

        return counted


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    directory: Path = tmp_path_factory.mktemp("keys")
    make_authority(directory / "authority")
    names = ("analyst", "mallory", "party-0")
    for name in names:
        make_identity(directory / "authority", directory / name, name)
    return {name: load_identity(directory / name) for name in names}


def reports(parties: RemoteParties) -> int:
    return sum(len(part) for part in parties.reports(request(), Cohort(0, 4)))


def test_a_certificate_that_is_not_named_costs_no_parsing_and_leaves_a_trace(
    known: dict[str, Identity],
) -> None:
    service = Guarded(party(people(4)), "analyst")
    with loopback() as threads, logged("warning") as stream:
        address = threads.serve(SERVICE_NAME, service, identity=known["party-0"])
        with open_channel(address, known["mallory"], "party-0") as channel:
            raw: Any = channel.unary_stream(f"/{SERVICE_NAME}/Randomize")
            for data in (b"", b"\xff" * 100, bytes(LARGEST_MESSAGE_BYTES - 100)):
                with pytest.raises(grpc.RpcError) as caught:
                    list(raw(data, timeout=20))
                assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert service.decoded == 0
        with closing(RemoteParties([Peer("party-0", address)], 20, known["analyst"])) as parties:
            assert reports(parties) == 4
        assert service.decoded > 0
    told = [(line["caller"], line["method"], line["reason"]) for line in lines(stream)]
    assert told[0] == ("mallory", "Randomize", "POLICY_REFUSED") and len(told) <= 3
    assert (
        'localdp_refused_total{method="Randomize",reason="POLICY_REFUSED"} 3'
        in service.observer.exposition()
    )


@pytest.mark.parametrize(("admitted", "answered"), [("analyst", True), ("somebody else", False)])
def test_the_same_door_is_in_front_of_calls_over_a_relay(
    known: dict[str, Identity], admitted: str, answered: bool
) -> None:
    service = Guarded(party(people(4)), admitted)
    with attaching() as agents, RelayServer(identity=known["analyst"]) as relay:
        agents.add(service, "party-0", relay.address, known["party-0"], "analyst")
        relay.wait_for(["party-0"], PATIENCE_SECONDS)
        if answered:
            with closing(relay.parties()) as parties:
                assert reports(parties) == 4
            assert service.decoded > 0
        else:
            with pytest.raises(PolicyRefused):
                relay.parties()
            assert service.decoded == 0
