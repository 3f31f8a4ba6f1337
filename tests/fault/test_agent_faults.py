"""Agents that lie or break, and callers that are gone: typed errors at the coordinator, no budget spent in vain."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import DeadlineMissed, InvalidParameter, MalformedReport, Unreachable
from localdp.oracles.local import LocalOracle
from localdp.party.party import Party
from parties import codec
from parties.admission import Registry
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import oracle_pb2_grpc
from tests.support.federations import (
    BUDGET,
    KEYRING,
    ONE,
    loopback,
    parties_of,
    party,
    people,
    request,
    served,
)
from tests.support.processes import wait_until

PEOPLE = 40
CANARY = "the record says 4711"


class Lying(AgentService):
    """An agent that sends what its lie says."""

    lie = ""

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for part in super().Randomize(request, context):
            if self.lie == "too few":
                part.reports -= part.reports % 8
                part.packed = part.packed[:-1]
            elif self.lie == "wrong length":
                part.packed += b"\0"
            elif self.lie == "dirty padding":
                part.packed = part.packed[:-1] + b"\xff"
            elif self.lie == "claims millions":
                part.reports = 2**32 - 1
            if self.lie != "nothing":
                yield part
        if self.lie == "too many":
            yield pb.RandomizeResponse(reports=8, packed=b"\0")
        while self.lie in ("without end", "empty without end"):
            empty = self.lie.startswith("empty")
            yield pb.RandomizeResponse(reports=0 if empty else 8, packed=b"" if empty else b"\0")
            await asyncio.sleep(0)


LIES = [
    "too few",
    "too many",
    "wrong length",
    "dirty padding",
    "claims millions",
    "nothing",
    "without end",
    "empty without end",
]


def test_an_agent_that_lies_about_its_reports_fails_the_round() -> None:
    agents: list[Lying] = []

    def make(one: Party, addresses: dict[str, str]) -> AgentService:
        agents.append(Lying(one, addresses))
        return agents[-1]

    # 19 people at the liar, so that its last byte has padding.
    with served(parties_of(people(PEOPLE - 1), 2), wrap_agent=make) as federation:
        oracle = LocalOracle(federation.remote, ONE, KEYRING.source("liars"))
        for lie in LIES:
            agents[0].lie = lie
            with pytest.raises(MalformedReport):
                oracle.answer(["smoker"])
        agents[0].lie = ""
        # Nothing was answered, but who reported has paid: a broken round counts, or the claim would understate.
        assert oracle.cost.rounds == len(LIES)
        assert oracle.answer(["smoker"])[0].reports == PEOPLE - 1


class Described(oracle_pb2_grpc.LocalRandomizerOracleServiceServicer):
    """An agent that only describes itself, as told."""

    def __init__(self, description: pb.DescribeResponse) -> None:
        self._description = description

    def register(self, server: Registry) -> None:
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, server)

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        return self._description


SCHEMA = codec.schema_to_wire(Schema({"bit": BitDomain()}))


@pytest.mark.parametrize(
    "description",
    [
        pb.DescribeResponse(name="x", people=5),
        pb.DescribeResponse(name="", people=5, schema=SCHEMA),
        pb.DescribeResponse(name="n" * 10**6, people=5, schema=SCHEMA),
        pb.DescribeResponse(name="x", people=2**64 - 1, schema=SCHEMA),
    ],
    ids=["no schema", "no name", "an endless name", "absurdly many people"],
)
def test_an_agent_that_describes_itself_absurdly_is_not_taken_on(description: pb.DescribeResponse) -> None:
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, Described(description))
        with pytest.raises(InvalidParameter) as caught:
            RemoteParties([Peer("party-0", address)], 10)
    assert len(str(caught.value)) < 200


def test_parties_of_different_schemas_are_not_asked_together() -> None:
    other = Records.from_columns(Schema({"bit": BitDomain()}), {"bit": [True, False]})
    with loopback() as threads:
        peers = [
            Peer(one.name, threads.serve(SERVICE_NAME, AgentService(one, {})))
            for one in (party(people(3)), party(other, 1))
        ]
        with pytest.raises(InvalidParameter, match="have to be the same"):
            RemoteParties(peers, 10)


class Leaking(MemoryLedger):
    """A ledger that fails in a way nobody foresaw, with a record in the exception."""

    def charge(self, charge: Charge) -> Receipt:
        raise ZeroDivisionError(CANARY)


def test_the_text_of_an_unforeseen_exception_never_reaches_the_caller(
    capfd: pytest.CaptureFixture[str],
) -> None:
    broken = party(people(PEOPLE), ledger=Leaking(PEOPLE, BUDGET))
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(broken, {}))
        with grpc.insecure_channel(address) as channel:
            stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                list(stub.Randomize(codec.request_to_wire(request(), Cohort(0, PEOPLE)), timeout=10))
            assert caught.value.code() is grpc.StatusCode.INTERNAL
            assert CANARY not in repr(caught.value) + str(caught.value.trailing_metadata())
            assert stub.Describe(pb.DescribeRequest(), timeout=10).people == PEOPLE
    out, err = capfd.readouterr()
    assert CANARY not in out + err


class Gate(MemoryLedger):
    """A ledger that takes its time: each charge waits until the gate is open."""

    def __init__(self) -> None:
        super().__init__(PEOPLE, BUDGET)
        self.reached = threading.Event()
        self.open = threading.Event()

    def charge(self, charge: Charge) -> Receipt:
        self.reached.set()
        assert self.open.wait(30)
        return super().charge(charge)


def test_a_request_whose_caller_is_gone_before_its_turn_is_not_charged() -> None:
    gate = Gate()
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(party(people(PEOPLE), ledger=gate), {}))
        patient = RemoteParties([Peer("party-0", address)], 30)
        hasty = RemoteParties([Peer("party-0", address)], 0.5)
        first: list[Any] = []
        asking = threading.Thread(
            target=lambda: first.extend(patient.reports(request(1), Cohort(0, PEOPLE)))
        )
        asking.start()
        assert gate.reached.wait(10)
        with pytest.raises(DeadlineMissed):
            list(hasty.reports(request(2), Cohort(0, PEOPLE)))  # waits behind the first, and gives up
        gate.open.set()
        asking.join(30)
        assert first
        last = list(
            patient.reports(request(3), Cohort(0, PEOPLE))
        )  # served after whatever the second left behind
        assert last
        patient.close()
        hasty.close()
    cost = request().randomizer.epsilon.nanonats
    assert gate.spent().tolist() == [2 * cost] * PEOPLE


class _Context:
    """A call whose deadline has passed, or that has none."""

    def __init__(self, left: float | None, cancelled: bool = False) -> None:
        self._left, self._cancelled = left, cancelled

    def auth_context(self) -> dict[str, list[bytes]]:
        return {}

    def time_remaining(self) -> float | None:
        return self._left

    def cancelled(self) -> bool:
        return self._cancelled


@pytest.mark.parametrize(
    ("context", "begun"),
    [(_Context(0.0), False), (_Context(5.0, True), False), (_Context(5.0), True), (_Context(None), True)],
    ids=["deadline passed", "cancelled", "in time", "no deadline"],
)
def test_work_is_begun_only_for_a_caller_who_still_waits(context: Any, begun: bool) -> None:
    done: list[bool] = []

    async def work() -> None:
        service = AgentService(party(people(2)), {})
        try:
            await service._desk.step(context, lambda: done.append(True), 0.0, lambda seconds: None)
        finally:
            await service.close()

    if begun:
        asyncio.run(work())
    else:
        with pytest.raises(DeadlineMissed):
            asyncio.run(work())
    assert done == [True] * begun


def test_an_agent_that_comes_back_is_found_again() -> None:
    asked = party(people(PEOPLE))
    with loopback() as threads:
        address = threads.serve(SERVICE_NAME, AgentService(asked, {}))
        remote = RemoteParties([Peer("party-0", address)], 10)
        threads.run(threads._servers.pop().stop(0))
        with pytest.raises(Unreachable, match="party-0"):
            list(remote.reports(request(1), Cohort(0, PEOPLE)))
        threads.serve(SERVICE_NAME, AgentService(asked, {}), port=int(address.split(":")[1]))

        def answers() -> bool:
            try:
                return bool(list(remote.reports(request(1), Cohort(0, PEOPLE))))
            except Unreachable:
                return False

        wait_until(answers, "the agent is found again", seconds=15, step=0.1)
        remote.close()
