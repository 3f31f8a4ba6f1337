"""Agents that dial out, over real gRPC: asked over the stream that they hold, they answer as if they had been dialled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort, Split
from localdp.errors import (
    BudgetExhausted,
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    QueryRefused,
    UnknownIndex,
    Unreachable,
)
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Request
from parties.agent.service import AgentService
from parties.coordinator import Peer, Reachable, RemoteParties
from parties.relay.server import RelayServer
from parties.relay.service import SERVICE_NAME
from parties.repeating import Patience
from parties.serving import KEEPALIVE_OPTIONS
from parties.shares.collector import RemoteShareServers, never
from parties.shares.service import SERVICE_NAME as SHARE_SERVICE
from parties.shares.service import ShareService
from parties.wire.v1 import relay_pb2 as pb
from parties.wire.v1 import relay_pb2_grpc
from tests.support.federations import (
    BUDGET,
    KEYRING,
    ONE,
    parties_of,
    party,
    people,
    request,
    share_servers_of,
)
from tests.support.processes import wait_until
from tests.support.relays import PATIENCE_SECONDS, attaching, relayed

PEOPLE = 300


def bits(oracle: LROracle, asked: Request, cohort: Cohort) -> list[bool]:
    return [bool(bit) for bit in np.concatenate(list(oracle.reports(asked, cohort)))]


@pytest.mark.parametrize(
    "cohort", [Cohort(0, PEOPLE), Cohort(50, 250), Cohort(0, PEOPLE, Split(b"public coins 16b", 5, 3))]
)
def test_reports_over_a_relay_are_those_in_process_bit_for_bit(cohort: Cohort) -> None:
    twin = InProcessLROracle(parties_of(people(PEOPLE), 3))
    with relayed(parties_of(people(PEOPLE), 3)) as (relay, _), closing(relay.parties()) as remote:
        asked = request(1, "age >= 65 or smoker")
        assert bits(remote, asked, cohort) == bits(twin, asked, cohort)
        assert remote.bytes_moved == twin.bytes_moved > 0


def test_the_shared_curator_answers_the_same_with_parties_that_dialled_in() -> None:
    here = InProcessShareServers(parties_of(people(PEOPLE), 3), share_servers_of(2))
    with attaching() as agents, RelayServer() as relay:
        addresses = {
            one.name: agents.threads.serve(SHARE_SERVICE, ShareService(one)) for one in share_servers_of(2)
        }
        for one in parties_of(people(PEOPLE), 3):
            agents.add(AgentService(one, addresses), one.name, relay.address)
        relay.wait_for(["party-0", "party-1", "party-2"], PATIENCE_SECONDS)
        servers = [Peer(name, address) for name, address in addresses.items()]
        with (
            closing(relay.parties()) as remote,
            closing(RemoteShareServers(remote, servers, ends=never)) as there,
        ):
            answers = [
                SharedOracle(shared, ONE, KEYRING.source("relayed")).answer(["smoker"])
                for shared in (here, there)
            ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("asked", "cohort", "error"),
    [
        (request(1, "smokr"), Cohort(0, 1), QueryRefused),
        (request(2, "clip(0.01*age)"), Cohort(0, 1), InvalidParameter),
        (request(3, epsilon=Epsilon.requested(21)), Cohort(0, 1), PolicyRefused),
        (request(4), Cohort(0, 11), UnknownIndex),
    ],
    ids=["no such column", "not a bit", "too large an epsilon", "nobody there"],
)
def test_a_refusal_arrives_typed_and_charges_nothing(
    asked: Request, cohort: Cohort, error: type[LocalDpError]
) -> None:
    one = party(people(10))
    with relayed([one]) as (relay, _), closing(relay.parties()) as remote, pytest.raises(error):
        bits(remote, asked, cohort)
    assert one.ledger.spent().sum() == 0


def test_the_budget_is_the_agents_whichever_way_it_is_asked() -> None:
    one = party(people(10), budget=request().randomizer.epsilon)
    with relayed([one]) as (relay, agents), closing(relay.parties()) as remote:
        first = bits(remote, request(1), Cohort(0, 10))
        assert bits(remote, request(1), Cohort(0, 10)) == first
        with pytest.raises(BudgetExhausted):
            bits(remote, request(2), Cohort(0, 10))
        address = agents.threads.serve(
            "parties.wire.v1.LocalRandomizerOracleService", AgentService(one, {})
        )
        with closing(RemoteParties([Peer("party-0", address)], 20)) as dialled:
            assert bits(dialled, request(1), Cohort(0, 10)) == first


def test_dialled_and_attached_parties_are_asked_together() -> None:
    two = parties_of(people(40), 2)
    twin = InProcessLROracle(parties_of(people(40), 2))
    with relayed(two[:1]) as (relay, agents):
        address = agents.threads.serve(
            "parties.wire.v1.LocalRandomizerOracleService", AgentService(two[1], {})
        )
        peers: list[Reachable] = [*relay.peers(), Peer("party-1", address)]
        with closing(RemoteParties(peers, 20)) as remote:
            assert bits(remote, request(1), Cohort(0, 40)) == bits(twin, request(1), Cohort(0, 40))


def test_two_hundred_agents_of_one_process_answer_a_round() -> None:
    count = 200
    names = [f"party-{number}" for number in range(count)]
    twin = InProcessLROracle(parties_of(people(5 * count), count))
    with relayed(parties_of(people(5 * count), count)) as (relay, _):
        with closing(relay.parties(names, 30)) as remote:
            began = time.monotonic()
            there = bits(remote, request(1), Cohort(0, 5 * count))
            seconds = time.monotonic() - began
        assert there == bits(twin, request(1), Cohort(0, 5 * count))
    assert seconds < 10  # 0.2 s on an idle machine: about 1,200 queries a second


def test_a_large_answer_comes_in_parts_and_whole() -> None:
    count = 3 << 20  # three parts, more than the window
    one = party(people(count))
    with relayed([one]) as (relay, _), closing(relay.parties()) as remote:
        parts = [len(reports) for reports in remote.reports(request(1), Cohort(0, count))]
    assert parts == [1 << 20] * 3


def test_an_agent_comes_back_when_the_coordinator_does() -> None:
    with attaching() as agents:
        with RelayServer() as relay:
            agents.add(AgentService(party(people(10)), {}), "party-0", relay.address)
            relay.wait_for(["party-0"], PATIENCE_SECONDS)
            with closing(relay.parties()) as remote:
                first = bits(remote, request(1), Cohort(0, 10))
                address = relay.address
        wait_until(lambda: agents.news["party-0"][-1] is not None, "the agent has noticed")
        assert isinstance(agents.news["party-0"][-1], Unreachable)
        with RelayServer(port=int(address.rpartition(":")[2])) as again:
            again.wait_for(["party-0"], PATIENCE_SECONDS)
            with closing(again.parties()) as remote:
                assert bits(remote, request(1), Cohort(0, 10)) == first


def test_a_party_that_is_not_there_is_unreachable_at_once_and_named_when_it_is_awaited() -> None:
    with RelayServer() as relay:
        with pytest.raises(Unreachable, match="party nobody"):
            relay.parties(["nobody"])
        with pytest.raises(DeadlineMissed, match="1 of 1 parties did not attach: nobody"):
            relay.wait_for(["nobody"], 0.01)


class Waiting(MemoryLedger):
    """A ledger that holds its first charge up."""

    def __init__(self, count: int) -> None:
        super().__init__(count, BUDGET)
        self.entered, self.goes_on = threading.Event(), threading.Event()

    def charge(self, charge: Charge) -> Receipt:
        self.entered.set()
        self.goes_on.wait(PATIENCE_SECONDS)
        return super().charge(charge)


def test_a_second_stream_of_a_party_takes_the_place_of_the_first() -> None:
    old, new, once = Waiting(10), MemoryLedger(10, BUDGET), Patience(attempts=1)
    with (
        relayed([party(people(10), ledger=old)]) as (relay, agents),
        closing(RemoteParties(relay.peers(), patience=once)) as remote,
    ):
        asked = remote.reports(request(1), Cohort(0, 10))
        failed: list[Exception] = []

        def ask() -> None:
            try:
                next(asked)
            except LocalDpError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        assert old.entered.wait(PATIENCE_SECONDS)
        agents.add(AgentService(party(people(10), ledger=new), {}), "party-0", relay.address)
        asking.join(PATIENCE_SECONDS)
        assert [type(error) for error in failed] == [Unreachable]
        wait_until(
            lambda: any("taken its place" in str(news) for news in agents.news["party-0"]),
            "the older agent has been told why",
        )
        old.goes_on.set()


def test_whoever_gives_up_is_not_answered_and_what_was_not_begun_is_not_charged() -> None:
    ledger = Waiting(10)
    with relayed([party(people(10), ledger=ledger)]) as (relay, _), closing(relay.parties()) as patient:
        with ThreadPoolExecutor(1) as thread, closing(relay.parties()) as hasty:
            hasty._timeout = 0.2
            begun = thread.submit(bits, patient, request(1), Cohort(0, 10))
            assert ledger.entered.wait(PATIENCE_SECONDS)
            with pytest.raises(DeadlineMissed):
                bits(hasty, request(2), Cohort(0, 10))  # waited behind the first, and was never begun
            time.sleep(0.5)  # the cancellation has arrived
            ledger.goes_on.set()
            assert begun.result(PATIENCE_SECONDS)
        assert bits(patient, request(3), Cohort(0, 10))
    assert ledger.spent().tolist() == [2 * request().randomizer.epsilon.nanonats] * 10


def test_calls_that_are_given_up_in_the_middle_leave_the_stream_as_it_is() -> None:
    count = 4 << 20
    with relayed([party(people(count))]) as (relay, agents):
        with closing(relay.parties()) as remote:
            for number in range(12):
                answers = remote.reports(
                    request(number, epsilon=Epsilon.requested("0.1")), Cohort(0, count)
                )
                next(answers)
                answers.close()  # type: ignore[attr-defined]
            assert len(bits(remote, request(99), Cohort(0, 10))) == 10
        assert agents.news["party-0"] == [None]  # one stream, which has never been lost


def test_a_party_that_calls_itself_otherwise_is_refused() -> None:
    with attaching() as agents, RelayServer() as relay:
        agents.add(AgentService(party(people(4), 7), {}), "party-0", relay.address)
        relay.wait_for(["party-0"], PATIENCE_SECONDS)
        with pytest.raises(InvalidParameter, match="party party-0 calls itself otherwise"):
            relay.parties()


def first_failure(address: str, *frames: Any) -> grpc.RpcError:
    """How the coordinator ends a stream that begins with these frames, as messages or as raw bytes."""
    with grpc.insecure_channel(address) as channel:
        raw: Any = channel.stream_stream(f"/{SERVICE_NAME}/Attach")
        written = (frame if isinstance(frame, bytes) else frame.SerializeToString() for frame in frames)
        with pytest.raises(grpc.RpcError) as caught:
            list(raw(written, timeout=10))
        return caught.value


HELLO = pb.AttachRequest(hello=pb.RelayHello(party="south"))


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [pb.AttachRequest()],
        [pb.AttachRequest(end=pb.RelayEnd(call_id=1))],
        [pb.AttachRequest(hello=pb.RelayHello(party=""))],
        [pb.AttachRequest(hello=pb.RelayHello(party="x" * 129))],
        [pb.AttachRequest(hello=pb.RelayHello(party="two\nlines"))],
        [b"\xff" * 40],
        [HELLO, HELLO],
        [HELLO, b"\xff" * 40],
    ],
    ids=["nothing", "empty", "no hello", "no name", "long", "lines", "garbage", "twice", "later garbage"],
)
def test_an_agent_that_does_not_speak_as_it_should_is_turned_away_and_others_stay(
    frames: list[Any],
) -> None:
    with relayed([party(people(4))]) as (relay, _), closing(relay.parties()) as remote:
        assert first_failure(relay.address, *frames).code() is not grpc.StatusCode.OK
        wait_until(lambda: relay.attached == {"party-0"}, "the stranger is gone")
        assert len(bits(remote, request(1), Cohort(0, 4))) == 4


def test_an_agent_that_sends_garbage_instead_of_an_answer_fails_the_round_alone() -> None:
    with RelayServer() as relay, grpc.insecure_channel(relay.address) as channel:
        raw: Any = channel.stream_stream(
            f"/{SERVICE_NAME}/Attach", response_deserializer=pb.AttachResponse.FromString
        )
        asked, done = threading.Event(), threading.Event()

        def frames() -> Iterator[bytes]:
            yield HELLO.SerializeToString()
            asked.wait(PATIENCE_SECONDS)
            yield pb.AttachRequest(part=pb.RelayPart(call_id=1, response=b"\xff")).SerializeToString()
            done.wait(PATIENCE_SECONDS)

        stream = raw(frames(), timeout=PATIENCE_SECONDS)
        assert next(stream).WhichOneof("frame") == "accepted"
        relay.wait_for(["south"], PATIENCE_SECONDS)
        asked.set()
        with pytest.raises(Unreachable, match="party south"):
            relay.parties()
        done.set()
        stream.cancel()


class Coordinating(relay_pb2_grpc.AgentRelayServiceServicer):
    """A coordinator that sends garbage: instead of its first frame, then in between."""

    def __init__(self) -> None:
        self.streams = 0
        self.answers: list[pb.AttachRequest] = []

    def register(self, server: Any) -> None:
        handler = grpc.stream_stream_rpc_method_handler(
            self.Attach, pb.AttachRequest.FromString, lambda message: message
        )
        server.add_registered_method_handlers(SERVICE_NAME, {"Attach": handler})
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE_NAME, {"Attach": handler}),)
        )

    async def Attach(self, requests: Any, context: Any) -> None:  # noqa: N802
        self.streams += 1
        await context.read()
        if self.streams == 1:
            await context.write(b"\xff" * 40)
        await context.write(pb.AttachResponse(accepted=pb.RelayAccepted()).SerializeToString())
        await context.write(b"\xff" * 40)
        call = pb.RelayCall(
            call_id=1, method="/parties.wire.v1.LocalRandomizerOracleService/Describe", credit=1
        )
        await context.write(pb.AttachResponse(call=call).SerializeToString())
        while (frame := await context.read()) is not grpc.aio.EOF:
            self.answers.append(frame)


def test_an_agent_survives_a_coordinator_that_sends_garbage() -> None:
    with attaching() as agents:
        nonsense = Coordinating()
        address = agents.threads.serve(SERVICE_NAME, nonsense)
        agents.add(AgentService(party(people(4)), {}), "party-0", address)
        wait_until(lambda: len(nonsense.answers) >= 2, "the agent has come back and answered")
        assert nonsense.streams == 2
        assert [frame.WhichOneof("frame") for frame in nonsense.answers[:2]] == ["part", "end"]


class Wire:
    """A wire that can be cut without anybody being told: a proxy that stops passing bytes on."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._there = (host, int(port))
        self.cut = asyncio.Event()

    async def listen(self) -> str:
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut.is_set():
            writer.close()
            return
        other = await asyncio.open_connection(*self._there)
        self._writers = [writer, other[1]]
        await asyncio.gather(self._pass(reader, other[1]), self._pass(other[0], writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                if not self.cut.is_set():
                    writer.write(data)
                    await writer.drain()
        except OSError:
            pass

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()


@contextmanager
def wired(address: str, agents: Any) -> Iterator[tuple[str, Wire]]:
    wire = Wire(address)
    try:
        yield agents.threads.run(wire.listen()), wire
    finally:
        agents.threads.run(wire.close())


def test_a_dead_peer_is_noticed_though_nobody_says_so() -> None:
    quick = [("grpc.keepalive_time_ms", 300), ("grpc.http2.ping_timeout_ms", 300)]
    with (
        RelayServer(options=quick) as relay,
        attaching() as agents,
        wired(relay.address, agents) as (way, wire),
    ):
        agents.add(AgentService(party(people(4)), {}), "party-0", way)
        relay.wait_for(["party-0"], PATIENCE_SECONDS)
        agents.threads.loop.call_soon_threadsafe(wire.cut.set)
        wait_until(lambda: not relay.attached, "the coordinator has noticed")


def test_a_dead_peer_is_noticed_in_half_a_minute_and_pings_are_welcome() -> None:
    options = dict(KEEPALIVE_OPTIONS)
    assert options["grpc.keepalive_time_ms"] + options["grpc.http2.ping_timeout_ms"] <= 30_000
    assert options["grpc.keepalive_time_ms"] >= 10_000  # what servers allow


def test_a_coordinator_listens_on_loopback_unless_it_has_an_identity() -> None:
    with pytest.raises(InvalidParameter, match="loopback"):
        RelayServer("0.0.0.0")  # noqa: S104


def test_a_closed_relay_takes_no_calls() -> None:
    with relayed([party(people(4))]) as (relay, _):
        remote = relay.parties()
        relay.close()
        with pytest.raises(Unreachable):
            bits(remote, request(1), Cohort(0, 4))
