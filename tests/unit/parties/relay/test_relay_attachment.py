"""The coordinator's end of a relayed stream: answers reach whoever asked, and a bad agent harms its own calls alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from localdp.errors import (
    BudgetExhausted,
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    MalformedReport,
    Unreachable,
)
from parties.relay.attachment import MOST_WAITING_FRAMES, Attachment, RelayedCall
from parties.relay.channel import RelayChannel
from parties.relay.limits import (
    LARGEST_PAYLOAD_BYTES,
    MOST_CALLS,
    WINDOW_PARTS,
    RelayedFailure,
    status_of,
    status_of_error,
)
from parties.status import error_of
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc
from parties.wire.v1 import relay_pb2 as pb


def attached(test: Callable[[Attachment], None]) -> None:
    """Run a test on a loop, where an attachment lives; here it is also the desk of its calls."""

    async def run() -> None:
        test(Attachment("north"))

    asyncio.run(run())


def made(attachment: Attachment, timeout: float | None = 5.0, request: bytes = b"") -> RelayedCall:
    return RelayChannel(attachment, "north").call("/service/Method", request, timeout)


def sent(attachment: Attachment) -> list[pb.AttachResponse]:
    """The frames that wait for the stream."""
    return [attachment._outgoing.get_nowait() for _ in range(attachment._outgoing.qsize())]


def part(number: int, response: bytes = b"") -> pb.AttachRequest:
    return pb.AttachRequest(part=pb.RelayPart(call_id=number, response=response))


def end(number: int, status: bytes = b"") -> pb.AttachRequest:
    return pb.AttachRequest(end=pb.RelayEnd(call_id=number, status=status))


@contextmanager
def failing(kind: type[LocalDpError]) -> Iterator[None]:
    """The call fails, and the coordinator makes this error of it."""
    with pytest.raises(RelayedFailure) as caught:
        yield
    assert type(error_of(caught.value, "party north")) is kind


def test_a_call_travels_with_its_deadline_and_its_credit_and_its_answer_comes_in_order() -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment, request=b"asked")
        frame = sent(attachment)[0].call
        assert (frame.method, frame.request) == ("/service/Method", b"asked")
        assert (frame.timeout_milliseconds, frame.credit) == (5000, WINDOW_PARTS)
        for response in (b"one", b"two"):
            attachment.take(part(frame.call_id, response))
        attachment.take(end(frame.call_id))
        assert list(call) == [b"one", b"two"]
        assert list(call) == []

    attached(test)


def test_credit_is_given_for_what_was_used_and_for_nothing_else() -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment)
        for _ in range(WINDOW_PARTS):
            attachment.take(part(1))
        assert [frame.WhichOneof("frame") for frame in sent(attachment)] == ["call"]
        next(call)
        assert [frame.credit.parts for frame in sent(attachment)] == [1]
        attachment.take(part(1))
        with pytest.raises(MalformedReport):
            attachment.take(part(1))

    attached(test)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (status_of_error(BudgetExhausted("no more")), BudgetExhausted),
        (status_of(grpc.StatusCode.DEADLINE_EXCEEDED, ""), DeadlineMissed),
        (status_of(grpc.StatusCode.INTERNAL, ""), Unreachable),
        (b"\xff\xff garbage", Unreachable),
        (b"\x08\xe7\x07", Unreachable),  # code 999
    ],
    ids=["typed", "deadline", "internal", "garbage", "unknown code"],
)
def test_a_failure_is_told_as_if_the_party_had_been_dialled(
    status: bytes, kind: type[LocalDpError]
) -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment)
        attachment.take(part(1, b"one"))
        attachment.take(end(1, status))
        assert next(call) == b"one"
        for _ in range(2):
            with failing(kind):
                next(call)

    attached(test)


def test_a_call_without_an_answer_ends_at_its_deadline_and_the_agent_is_told() -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment, 0.01)
        with failing(DeadlineMissed):
            next(call)
        assert [frame.WhichOneof("frame") for frame in sent(attachment)] == ["call", "cancel"]
        assert not attachment._pending
        attachment.take(part(1))  # too late: ignored
        attachment.take(end(1))

    attached(test)


def test_a_call_that_is_given_up_is_cancelled_once() -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment)
        call.cancel()
        call.cancel()
        assert [frame.WhichOneof("frame") for frame in sent(attachment)] == ["call", "cancel"]
        with failing(Unreachable):
            next(call)

    attached(test)


def test_the_end_of_the_stream_is_the_end_of_its_calls_and_of_those_that_come_later() -> None:
    def test(attachment: Attachment) -> None:
        before = made(attachment)
        attachment.end("gone")
        for call in (before, made(attachment)):
            with failing(Unreachable):
                next(call)

    attached(test)


def test_an_agent_that_leaves_finishes_but_gets_no_new_calls() -> None:
    def test(attachment: Attachment) -> None:
        before = made(attachment)
        attachment.take(pb.AttachRequest(leaving=pb.RelayLeaving()))
        with failing(Unreachable):
            next(made(attachment))
        attachment.take(part(1, b"done"))
        attachment.take(end(1))
        assert list(before) == [b"done"]

    attached(test)


def test_a_request_that_does_not_fit_into_a_frame_fails_alone() -> None:
    def test(attachment: Attachment) -> None:
        with failing(InvalidParameter):
            next(made(attachment, request=bytes(LARGEST_PAYLOAD_BYTES + 1)))
        assert not sent(attachment)

    attached(test)


def test_calls_to_one_party_are_bounded() -> None:
    def test(attachment: Attachment) -> None:
        for _ in range(MOST_CALLS):
            made(attachment)
        with failing(Unreachable):
            next(made(attachment))
        assert len(sent(attachment)) == MOST_CALLS

    attached(test)


def test_an_agent_that_takes_nothing_is_not_waited_for_with_ever_more_frames() -> None:
    def test(attachment: Attachment) -> None:
        for _ in range(4 * MOST_WAITING_FRAMES):
            made(attachment).cancel()
        assert attachment._outgoing.qsize() <= MOST_WAITING_FRAMES + 1

    attached(test)


def test_an_agent_that_sends_and_does_not_take_is_detached() -> None:
    def test(attachment: Attachment) -> None:
        call = made(attachment)
        for _ in range(3 * MOST_WAITING_FRAMES):
            attachment.take(part(1))
            if attachment.over.done():
                break
            next(call)
        assert attachment.over.done()
        assert attachment._outgoing.qsize() <= 2 * MOST_WAITING_FRAMES

    attached(test)


@pytest.mark.parametrize("frame", [pb.AttachRequest(), part(99), end(99)], ids=["empty", "part", "end"])
def test_frames_about_nothing_are_ignored(frame: pb.AttachRequest) -> None:
    attached(lambda attachment: attachment.take(frame))


def test_a_second_hello_breaks_the_rules() -> None:
    def test(attachment: Attachment) -> None:
        with pytest.raises(MalformedReport):
            attachment.take(pb.AttachRequest(hello=pb.RelayHello(party="south")))

    attached(test)


def answered(attachment: Attachment, *frames: pb.AttachRequest) -> Any:
    """What a generated stub makes of these frames."""
    stub: Any = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(RelayChannel(attachment, "north"))
    future = stub.Describe.future(oracle_pb2.DescribeRequest(), timeout=5)
    for frame in frames:
        attachment.take(frame)
    return future.result()


def test_a_generated_stub_works_over_a_relay() -> None:
    def test(attachment: Attachment) -> None:
        told = oracle_pb2.DescribeResponse(name="north", people=3)
        assert answered(attachment, part(1, told.SerializeToString()), end(1)) == told

    attached(test)


@pytest.mark.parametrize(
    "frames",
    [[end(1)], [part(1), part(1), end(1)], [part(1, b"\xff"), end(1)]],
    ids=["no message", "two messages", "no message of ours"],
)
def test_a_unary_answer_is_one_message(frames: list[pb.AttachRequest]) -> None:
    def test(attachment: Attachment) -> None:
        with failing(Unreachable):
            answered(attachment, *frames)

    attached(test)
