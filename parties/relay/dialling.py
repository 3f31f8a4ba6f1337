"""An agent dials its coordinator, stays attached, and comes back when the stream breaks.

Between two attempts it waits, longer after each failure (`parties.repeating.Patience`).  The wait is short again only
after a stream has lasted: two agents that were given the same name, and take it from one another, end up doing so rarely.

Each attempt opens a channel of its own, so that certificates renewed on disk are used from the next one on.

Checked in tests/unit/parties/relay/test_relay_dialling.py and tests/integration/test_relay.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc

from localdp.errors import LocalDpError, Unreachable
from parties.relay.answering import Answering, Methods
from parties.relay.limits import GREETING_SECONDS
from parties.repeating import Patience
from parties.status import error_of
from parties.wire.v1 import relay_pb2 as pb
from parties.wire.v1 import relay_pb2_grpc

FAREWELL_SECONDS = 2.0
Stream: TypeAlias = Any  # a grpc.aio.StreamStreamCall, whose type does not say how one reads its end


@dataclass(slots=True)
class Waits:
    """How long to wait before the next attempt."""

    patience: Patience = Patience(longest_pause_seconds=10.0)
    lasting_seconds: float = 30.0  # a stream that lasted so long was a good one
    failures: int = 0  # since then

    def after(self, lasted_seconds: float) -> float:
        """The wait after a stream, or an attempt at one, that lasted so long."""
        self.failures = 1 if lasted_seconds >= self.lasting_seconds else self.failures + 1
        return self.patience.pause_seconds(self.failures)


@dataclass(frozen=True, slots=True)
class Line:
    """Who attaches to whom, and with what."""

    party: str
    caller: str | None  # the role that `open` insists on: the name under which calls are charged
    methods: Methods
    open: Callable[[], grpc.aio.Channel]


def _ignored(news: LocalDpError | None) -> None:
    pass


async def keep_attached(
    line: Line,
    stop: asyncio.Event,
    grace_seconds: float,
    waits: Waits | None = None,
    notify: Callable[[LocalDpError | None], None] = _ignored,
) -> None:
    """Be available until told to stop, then finish what was begun.  `notify` hears None, or why the stream is over."""
    waits = waits or Waits()
    while not stop.is_set():
        began = time.monotonic()
        try:
            await _attached_once(line, stop, grace_seconds, notify)
        except grpc.RpcError as failure:
            notify(error_of(failure, "the analyst"))
        except LocalDpError as error:
            notify(error)
        except Exception as error:
            # One bad stream must not end an agent that nobody else can reach.  The type only: it might quote a record.
            notify(Unreachable(f"the stream failed unexpectedly ({type(error).__name__})"))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), waits.after(time.monotonic() - began))


async def _attached_once(
    line: Line, stop: asyncio.Event, grace_seconds: float, notify: Callable[[LocalDpError | None], None]
) -> None:
    """One stream, from hello to its end."""
    async with line.open() as channel:
        stream = relay_pb2_grpc.AgentRelayServiceStub(channel).Attach()
        try:
            await _greet(stream, line.party)
            notify(None)
            await _answer_until(stop, stream, line, grace_seconds)
        finally:
            stream.cancel()


async def _greet(stream: Stream, party: str) -> None:
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            await stream.write(pb.AttachRequest(hello=pb.RelayHello(party=party)))
            answer = await stream.read()
    except TimeoutError:
        raise Unreachable("the analyst does not answer") from None
    except asyncio.InvalidStateError:  # the stream failed before it could be written to
        answer = grpc.aio.EOF
    if answer is grpc.aio.EOF:
        await _raise_status(stream)
    if answer is None or answer.WhichOneof("frame") != "accepted":
        raise Unreachable("the analyst does not speak as it should")


async def _answer_until(stop: asyncio.Event, stream: Stream, line: Line, grace_seconds: float) -> None:
    outbox = Outbox(stream)
    answering = Answering(line.methods, line.caller, outbox.send)
    reading = asyncio.create_task(_read(stream, answering))
    writing = asyncio.create_task(outbox.write())
    stopping = asyncio.create_task(stop.wait())
    tasks = (reading, writing, stopping)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            for task in (reading, writing):
                if task.done() and not task.cancelled():
                    task.result()
            await _raise_status(stream)
        await _leave(stream, answering, outbox, grace_seconds)
    finally:
        for begun in tasks:
            begun.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await answering.close()


class Outbox:
    """Frames leave one at a time, each when the stream has room for it.

    One task writes, for all calls.  gRPC ends the whole stream when a task is cancelled that writes to it, so the task of a
    call, which is cancelled with its call, must never be that task.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._frames: asyncio.Queue[pb.AttachRequest] = asyncio.Queue(maxsize=1)

    async def send(self, frame: pb.AttachRequest) -> None:
        """Return when it is the frame's turn."""
        await self._frames.put(frame)

    async def write(self) -> None:
        """Write until the stream ends."""
        while True:
            await self._stream.write(await self._frames.get())
            self._frames.task_done()

    async def sent(self) -> None:
        """Return when all frames have left."""
        await self._frames.join()


async def _read(stream: Stream, answering: Answering) -> None:
    while (frame := await stream.read()) is not grpc.aio.EOF:
        if frame is not None:  # gRPC's word for bytes that are no message
            await answering.take(frame)


async def _leave(stream: Stream, answering: Answering, outbox: Outbox, grace_seconds: float) -> None:
    """Finish, and wait for the coordinator to end the stream: a cancelled one could lose its last frames."""
    with contextlib.suppress(TimeoutError, asyncio.InvalidStateError, grpc.RpcError):
        async with asyncio.timeout(grace_seconds + FAREWELL_SECONDS):
            await answering.leave(grace_seconds)
            await outbox.sent()
            await stream.done_writing()
            await stream.code()


async def _raise_status(stream: Stream) -> None:
    """The end of a stream that was not asked to end is a failure, whatever its status."""
    if await stream.code() is grpc.StatusCode.OK:
        raise Unreachable("the analyst has ended the stream")
    metadata = await stream.trailing_metadata()
    raise grpc.aio.AioRpcError(await stream.code(), grpc.aio.Metadata(), metadata, details="")
