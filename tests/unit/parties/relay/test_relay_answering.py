"""The agent's end of a relayed stream: the same answers, charges and refusals as for a caller who dials, within bounds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import grpc
import numpy as np
import pytest

from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort
from localdp.errors import (
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    QueryRefused,
    UnknownIndex,
    Unreachable,
)
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties import codec
from parties.agent.service import SERVICE_NAME, AgentService
from parties.relay.answering import Answering, Methods
from parties.relay.limits import LARGEST_PAYLOAD_BYTES, MOST_CALLS, RelayedFailure
from parties.status import error_of
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc
from parties.wire.v1 import relay_pb2 as pb
from tests.support.federations import BUDGET, KEYRING, party, people, request

CANARY = "the record says 4711"
DESCRIBE, RANDOMIZE = f"/{SERVICE_NAME}/Describe", f"/{SERVICE_NAME}/Randomize"
ASKED = codec.request_to_wire(request(), Cohort(0, 40)).SerializeToString()


class Listening(MemoryLedger):
    """A ledger that remembers who asked."""

    def __init__(self, count: int) -> None:
        super().__init__(count, BUDGET)
        self.callers: list[str] = []

    def charge(self, charge: Charge) -> Receipt:
        self.callers.append(charge.caller)
        return super().charge(charge)


class Scripted(oracle_pb2_grpc.LocalRandomizerOracleServiceServicer):
    """An agent that does what the test says: streams numbered parts, fails, or waits."""

    def __init__(self) -> None:
        self.made = 0
        self.contexts: list[Any] = []
        self.cancelled = asyncio.Event()
        self.goes_on = asyncio.Event()

    def register(self, server: Any) -> None:
        oracle_pb2_grpc.add_LocalRandomizerOracleServiceServicer_to_server(self, server)

    async def Randomize(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        while True:
            self.made += 1
            yield oracle_pb2.RandomizeResponse(reports=self.made)

    async def Describe(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.contexts.append(context)
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return oracle_pb2.DescribeResponse(name="x" * (LARGEST_PAYLOAD_BYTES + 1))

    async def Contribute(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise ValueError(CANARY)


def scripted(kept: list[Scripted]) -> Scripted:
    """Such an agent, made on the loop and kept for the test to look at."""
    kept.append(Scripted())
    return kept[0]


class Stream:
    """What the agent sent; it takes frames while its gate is open."""

    def __init__(self) -> None:
        self.frames: list[pb.AttachRequest] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._news = asyncio.Condition()

    async def send(self, frame: pb.AttachRequest) -> None:
        await self.gate.wait()
        async with self._news:
            self.frames.append(frame)
            self._news.notify_all()

    def parts(self, number: int = 1) -> list[bytes]:
        return [frame.part.response for frame in self.frames if frame.part.call_id == number]

    async def end(self, number: int = 1) -> LocalDpError | None:
        """Wait for the end of a call; what the caller would be told of it."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: any(one.end.call_id == number for one in self.frames))
        status = next(one.end.status for one in self.frames if one.end.call_id == number)
        return error_of(RelayedFailure(status), "party x") if status else None

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: len(self.frames) >= count)


def call(
    number: int = 1, method: str = DESCRIBE, request: bytes = b"", credit: int = 8, milliseconds: int = 0
) -> pb.AttachResponse:
    frame = pb.RelayCall(
        call_id=number, method=method, request=request, credit=credit, timeout_milliseconds=milliseconds
    )
    return pb.AttachResponse(call=frame)


async def eventually(condition: Callable[[], bool]) -> None:
    """Let the loop go on until the condition holds."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


def relayed(
    test: Callable[[Answering, Stream], Coroutine[Any, Any, None]],
    make: Callable[[], Any],
    caller: str | None = None,
) -> None:
    """Run a test against an agent behind a stream."""

    async def run() -> None:
        service, stream = make(), Stream()
        answering = Answering(Methods.of(service.register), caller, stream.send)
        try:
            await test(answering, stream)
        finally:
            stream.gate.set()
            await answering.close()
            if isinstance(service, AgentService):
                await service.close()

    asyncio.run(run())


def test_reports_over_a_relay_are_those_of_the_party_and_charged_to_the_coordinators_name() -> None:
    ledger = Listening(40)
    asked = party(people(40), ledger=ledger)

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(method=RANDOMIZE, request=ASKED))
        assert await stream.end() is None
        packed = [oracle_pb2.RandomizeResponse.FromString(part) for part in stream.parts()]
        reports = request().randomizer.unpack(packed[0].packed, packed[0].reports)
        assert np.array_equal(reports, party(people(40)).randomize(request(), Cohort(0, 40)))

    relayed(test, lambda: AgentService(asked, {}), "analyst")
    assert ledger.callers == ["analyst"]


@pytest.mark.parametrize("caller", [None, "mallory"])
def test_a_coordinator_whom_the_owner_did_not_name_is_refused_and_nothing_is_charged(
    caller: str | None,
) -> None:
    policy = Policy(aggregators=frozenset({"analyst"}))
    asked = Party("party-0", people(40), KEYRING.party(0), MemoryLedger(40, BUDGET), policy)

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(method=RANDOMIZE, request=ASKED))
        assert isinstance(await stream.end(), PolicyRefused)

    relayed(test, lambda: AgentService(asked, {}), caller)
    assert asked.ledger.spent().sum() == 0


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (call(method="/nobody/Knows"), Unreachable),
        (call(method=""), Unreachable),
        (call(method=RANDOMIZE, request=b"\xff" * 50), InvalidParameter),
        (call(method=RANDOMIZE, request=b""), QueryRefused),
        (
            call(
                method=RANDOMIZE,
                request=codec.request_to_wire(request(), Cohort(0, 41)).SerializeToString(),
            ),
            UnknownIndex,
        ),
    ],
    ids=["unknown method", "no method", "garbage", "nothing", "nobody there"],
)
def test_what_cannot_be_answered_is_refused_and_the_next_call_is_answered(
    frame: pb.AttachResponse, error: type[LocalDpError]
) -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(frame)
        assert isinstance(await stream.end(), error)
        await answering.take(call(2))
        assert await stream.end(2) is None

    relayed(test, lambda: AgentService(party(people(40)), {}))


def test_frames_that_make_no_sense_are_ignored() -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        for frame in (
            pb.AttachResponse(),
            pb.AttachResponse(accepted=pb.RelayAccepted()),
            pb.AttachResponse(cancel=pb.RelayCancel(call_id=7)),
            pb.AttachResponse(credit=pb.RelayCredit(call_id=7, parts=2**32 - 1)),
        ):
            await answering.take(frame)
        await answering.take(call())
        assert await stream.end() is None

    relayed(test, lambda: AgentService(party(people(4)), {}))


def test_an_answer_that_gets_no_credit_is_given_up() -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        hasty = Answering(answering._methods, None, stream.send, stall_seconds=0.02)
        await hasty.take(call(method=RANDOMIZE, credit=2))
        assert isinstance(await stream.end(), DeadlineMissed)
        assert len(stream.parts()) == 2
        await eventually(lambda: not hasty._begun)

    relayed(test, lambda: scripted([]))


def test_no_more_parts_leave_than_there_is_credit_for() -> None:
    service: list[Scripted] = []

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(method=RANDOMIZE, credit=2))
        await stream.until(2)
        await answering.take(pb.AttachResponse(credit=pb.RelayCredit(call_id=1, parts=1)))
        await stream.until(3)
        await answering.take(
            call(2, "/nobody/Knows")
        )  # by when that is refused, a fourth part would have left
        await stream.end(2)
        assert len(stream.parts()) == 3
        assert service[0].made == 4  # one is ready

    relayed(test, lambda: scripted(service))


def test_an_agent_draws_nothing_ahead_of_a_coordinator_that_does_not_read() -> None:
    service: list[Scripted] = []

    async def test(answering: Answering, stream: Stream) -> None:
        stream.gate.clear()
        for number in range(1, 4):
            await answering.take(call(number, RANDOMIZE, credit=10**6))
        for _ in range(100):
            await asyncio.sleep(0)
        assert service[0].made == 3  # one for each call, each waiting for the stream
        assert not stream.frames

    relayed(test, lambda: scripted(service))


def test_calls_beyond_the_bound_are_refused_until_one_has_ended() -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        for number in range(1, MOST_CALLS + 1):
            await answering.take(call(number))
        await answering.take(call(MOST_CALLS + 1))
        assert isinstance(await stream.end(MOST_CALLS + 1), Unreachable)
        await answering.take(pb.AttachResponse(cancel=pb.RelayCancel(call_id=1)))
        await eventually(lambda: len(answering._begun) < MOST_CALLS)
        await answering.take(call(MOST_CALLS + 2, f"/{SERVICE_NAME}/Contribute"))
        assert isinstance(await stream.end(MOST_CALLS + 2), Unreachable)
        assert CANARY not in str(stream.frames)  # it ran, and failed without its text

    relayed(test, Scripted)


def test_a_cancelled_call_ends_its_handler_and_says_no_more() -> None:
    service: list[Scripted] = []

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call())
        await eventually(lambda: bool(service[0].contexts))
        await answering.take(pb.AttachResponse(cancel=pb.RelayCancel(call_id=1)))
        await asyncio.wait_for(service[0].cancelled.wait(), 20)
        assert service[0].contexts[0].cancelled()
        await answering.take(call(2, "/nobody/Knows"))
        await stream.end(2)
        assert [frame.end.call_id for frame in stream.frames] == [2]

    relayed(test, lambda: scripted(service))


class Blocked(MemoryLedger):
    """A ledger that waits."""

    def __init__(self) -> None:
        super().__init__(40, BUDGET)
        self.entered, self.goes_on = threading.Event(), threading.Event()

    def charge(self, charge: Charge) -> Receipt:
        self.entered.set()
        self.goes_on.wait(20)
        return super().charge(charge)


@pytest.mark.parametrize("way", ["cancelled", "too late"])
def test_a_request_that_nobody_waits_for_any_more_is_not_charged(way: str) -> None:
    ledger = Blocked()
    other = codec.request_to_wire(request(1), Cohort(0, 40)).SerializeToString()

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(1, RANDOMIZE, ASKED))
        assert await asyncio.to_thread(ledger.entered.wait, 20)
        await answering.take(call(2, RANDOMIZE, other, milliseconds=1 if way == "too late" else 0))
        if way == "cancelled":
            await asyncio.sleep(0)
            await answering.take(pb.AttachResponse(cancel=pb.RelayCancel(call_id=2)))
        else:
            assert isinstance(await stream.end(2), DeadlineMissed)
        ledger.goes_on.set()
        assert await stream.end(1) is None

    relayed(test, lambda: AgentService(party(people(40), ledger=ledger), {}))
    assert ledger.spent().max() == request().randomizer.epsilon.nanonats


def test_an_unexpected_failure_leaves_without_its_text() -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(method=f"/{SERVICE_NAME}/Contribute"))
        error = await stream.end()
        assert isinstance(error, Unreachable) and "INTERNAL" in str(error)
        assert CANARY.encode() not in b"".join(frame.SerializeToString() for frame in stream.frames)

    relayed(test, Scripted)


def test_an_answer_that_does_not_fit_into_a_frame_fails_its_call_alone() -> None:
    service: list[Scripted] = []

    async def test(answering: Answering, stream: Stream) -> None:
        service[0].goes_on.set()
        await answering.take(call())
        assert isinstance(await stream.end(), InvalidParameter)
        assert not stream.parts()

    relayed(test, lambda: scripted(service))


def test_the_same_number_twice_is_refused() -> None:
    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call())
        await answering.take(call())
        assert isinstance(await stream.end(), InvalidParameter)

    relayed(test, Scripted)


def test_whoever_leaves_finishes_what_was_begun_and_takes_no_more() -> None:
    service: list[Scripted] = []

    async def test(answering: Answering, stream: Stream) -> None:
        await answering.take(call(1))
        leaving = asyncio.create_task(answering.leave(20))
        await stream.until(1)
        assert stream.frames[0].WhichOneof("frame") == "leaving"
        await answering.take(call(2))
        assert isinstance(await stream.end(2), Unreachable)
        assert not leaving.done()
        service[0].goes_on.set()
        await asyncio.wait_for(leaving, 20)
        assert stream.frames[-1].end.call_id == 1

    relayed(test, lambda: scripted(service))


def test_methods_with_a_stream_of_requests_are_not_relayed() -> None:
    methods = Methods()
    streaming: Any = grpc.stream_unary_rpc_method_handler(lambda requests, context: None)
    methods.add_registered_method_handlers("service", {"Streaming": streaming})
    with pytest.raises(KeyError):
        methods["/service/Streaming"]
