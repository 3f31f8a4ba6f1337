"""The coordinator's end of a relayed stream: calls go out as frames, and answers are handed to whoever asked.

An `Attachment` lives on the event loop of the relay's server.  A `RelayedCall` is made and read by any one thread, like
gRPC's own synchronous calls; the two talk through a queue in one direction and the loop in the other.

Reading never waits for a slow caller, because an agent sends no more than it has credit for; one that does is detached.

Checked in tests/unit/parties/relay/test_relay_attachment.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Protocol

import grpc

from localdp.errors import MalformedReport
from parties.relay.limits import (
    LARGEST_PAYLOAD_BYTES,
    LONGEST_METHOD,
    MOST_CALLS,
    WINDOW_PARTS,
    RelayedFailure,
)
from parties.wire.v1 import relay_pb2 as pb

MOST_WAITING_FRAMES = 4 * MOST_CALLS


class RelayDesk(Protocol):
    """Where calls are handed in, from any thread."""

    def begin(self, call: RelayedCall) -> None:
        """Send the call to its party."""
        ...

    def give_up(self, call: RelayedCall) -> None:
        """Nobody waits for it any more."""
        ...

    def used(self, call: RelayedCall) -> None:
        """One part of its answer was used."""
        ...


class RelayedCall:
    """One call, for the thread that made it: an iterator over the messages of its answer."""

    def __init__(
        self, desk: RelayDesk, party: str, method: str, request: bytes, timeout_seconds: float | None
    ) -> None:
        self.party = party
        self.method = method
        self.request = request
        self.timeout_seconds = timeout_seconds
        self._deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        self._desk = desk
        self._received: SimpleQueue[bytes | RelayedFailure | None] = SimpleQueue()
        self._end: RelayedFailure | StopIteration | None = None

    def put(self, item: bytes | RelayedFailure | None) -> None:
        """A message, a failure, or the end: from the loop."""
        self._received.put(item)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._end is None:
            item = self._next_item()
            if isinstance(item, bytes):
                self._desk.used(self)
                return item
            self._end = StopIteration() if item is None else item
        raise self._end

    def cancel(self) -> None:
        """Stop waiting; an answer that has ended is left as it is."""
        if self._end is None:
            self._end = RelayedFailure.locally(grpc.StatusCode.CANCELLED, "given up by its caller")
            self._desk.give_up(self)

    def _next_item(self) -> bytes | RelayedFailure | None:
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            return self._received.get(timeout=left)
        except Empty:
            self._desk.give_up(self)
            return RelayedFailure.locally(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer in time")


class _Pending:
    """A call on its stream."""

    def __init__(self, call: RelayedCall) -> None:
        self.call = call
        self.credit = WINDOW_PARTS


class Attachment:
    """One party's stream."""

    def __init__(self, party: str) -> None:
        self.party = party
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._outgoing: asyncio.Queue[pb.AttachResponse] = asyncio.Queue()
        self._pending: dict[int, _Pending] = {}
        self._numbers: dict[RelayedCall, int] = {}
        self._last = 0
        self._leaving = False

    async def next_frame(self) -> pb.AttachResponse:
        """What to send next."""
        return await self._outgoing.get()

    def begin(self, call: RelayedCall) -> None:
        """Send a call, or fail it at once."""
        if len(call.request) > LARGEST_PAYLOAD_BYTES or len(call.method) > LONGEST_METHOD:
            call.put(
                RelayedFailure.locally(grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than a message may be")
            )
        elif self.over.done() or self._leaving:
            call.put(unattached())
        elif len(self._pending) >= MOST_CALLS or self._outgoing.qsize() >= MOST_WAITING_FRAMES:
            call.put(
                RelayedFailure.locally(grpc.StatusCode.UNAVAILABLE, "too many calls to this party at once")
            )
        else:
            self._send_call(call)

    def give_up(self, call: RelayedCall) -> None:
        """Forget a call, and tell the agent."""
        number = self._numbers.get(call)
        if number is not None:
            self._forget(number)
            self._send(pb.AttachResponse(cancel=pb.RelayCancel(call_id=number)))

    def used(self, call: RelayedCall) -> None:
        """Let the agent send one more part."""
        number = self._numbers.get(call)
        if number is not None:
            self._pending[number].credit += 1
            self._send(pb.AttachResponse(credit=pb.RelayCredit(call_id=number, parts=1)))

    def take(self, frame: pb.AttachRequest) -> None:
        """Act on a frame of the agent; raises if the agent does not keep to the rules."""
        match frame.WhichOneof("frame"):
            case "part" if frame.part.call_id in self._pending:  # else: given up meanwhile
                self._part(self._pending[frame.part.call_id], frame.part.response)
            case "end" if frame.end.call_id in self._pending:
                call = self._forget(frame.end.call_id)
                call.put(RelayedFailure(frame.end.status) if frame.end.status else None)
            case "leaving":
                self._leaving = True
            case "hello":
                raise MalformedReport("an agent says hello once")

    def end(self, reason: str) -> None:
        """The stream is over, and so are its calls."""
        if not self.over.done():
            self.over.set_result(reason)
        for number in list(self._pending):
            self._forget(number).put(unattached())

    def _send_call(self, call: RelayedCall) -> None:
        self._last += 1
        self._pending[self._last] = _Pending(call)
        self._numbers[call] = self._last
        milliseconds = 0 if call.timeout_seconds is None else max(1, round(call.timeout_seconds * 1000))
        frame = pb.RelayCall(
            call_id=self._last,
            method=call.method,
            request=call.request,
            timeout_milliseconds=milliseconds,
            credit=WINDOW_PARTS,
        )
        self._send(pb.AttachResponse(call=frame))

    def _send(self, frame: pb.AttachResponse) -> None:
        if self._outgoing.qsize() >= 2 * MOST_WAITING_FRAMES:
            self.end("the agent does not take what it is sent")
        elif not self.over.done():
            self._outgoing.put_nowait(frame)

    def _part(self, pending: _Pending, response: bytes) -> None:
        if pending.credit <= 0:
            raise MalformedReport("the agent sent more of an answer than it was allowed to")
        pending.credit -= 1
        pending.call.put(response)

    def _forget(self, number: int) -> RelayedCall:
        call = self._pending.pop(number).call
        del self._numbers[call]
        return call


def unattached() -> RelayedFailure:
    """What a call to a party without a stream ends with."""
    return RelayedFailure.locally(grpc.StatusCode.UNAVAILABLE, "the party is not attached")
