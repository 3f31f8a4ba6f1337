"""The agent's end of a relayed stream: calls come in as frames, are put to the agent's own handlers, and answered.

`Methods` stands where a server would, and keeps what the service registers: a relayed call runs the very handlers, with
their admission, their deserializers and their redaction, that a dialled one runs.

Memory is bounded whatever the coordinator does: at most `MOST_CALLS` calls run, each holds one message of its answer and
draws the next one when that has left, and a message leaves only on credit and only as fast as the stream takes it.  An
answer that gets no credit for `STALL_SECONDS` is given up.

Checked in tests/unit/parties/relay/test_relay_answering.py.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import grpc

from localdp.errors import DeadlineMissed, InvalidParameter, LocalDpError, Unreachable
from parties.admission import Handler, Registry, admitting
from parties.relay.context import RelayedContext
from parties.relay.limits import (
    LARGEST_PAYLOAD_BYTES,
    MOST_CALLS,
    STALL_SECONDS,
    status_of,
    status_of_error,
)
from parties.wire.v1 import relay_pb2 as pb

Send = Callable[[pb.AttachRequest], Awaitable[None]]


class Methods:
    """The handlers of a service by the names that they have on the wire."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    @classmethod
    def of(cls, register: Callable[[Registry], None]) -> Methods:
        """What a service adds to a server."""
        methods = cls()
        register(methods)
        return methods

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """The older half of gRPC's registration; the other one names the methods."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Keep the handlers of a service."""
        for name, handler in admitting(handlers).items():
            self._handlers[f"/{service}/{name}"] = handler

    def __getitem__(self, method: str) -> Handler:
        handler = self._handlers.get(method)
        if handler is None or handler.request_streaming:
            raise KeyError(method)
        return handler


class Credit:
    """How many messages of an answer may leave."""

    def __init__(self, parts: int) -> None:
        self._left = parts
        self._more = asyncio.Event()

    def add(self, parts: int) -> None:
        """Allow more."""
        self._left += parts
        self._more.set()

    async def take(self) -> None:
        """Return when one more may leave."""
        while self._left <= 0:
            self._more.clear()
            await self._more.wait()
        self._left -= 1


@dataclass(slots=True)
class _Begun:
    """A call that is being answered."""

    context: RelayedContext
    credit: Credit
    task: asyncio.Task[None] = field(init=False)


class Answering:
    """Answers the calls of one stream."""

    def __init__(
        self, methods: Methods, caller: str | None, send: Send, stall_seconds: float = STALL_SECONDS
    ) -> None:
        """`send` waits until the stream takes a frame; its task may be cancelled meanwhile."""
        self._methods = methods
        self._caller = caller
        self._send = send
        self._stall_seconds = stall_seconds
        self._begun: dict[int, _Begun] = {}
        self._leaving = False

    async def take(self, frame: pb.AttachResponse) -> None:
        """Act on a frame; what makes no sense is refused or ignored, and harms no other call."""
        match frame.WhichOneof("frame"):
            case "call":
                await self._begin(frame.call)
            case "cancel":
                self._give_up(frame.cancel.call_id)
            case "credit" if frame.credit.call_id in self._begun:
                self._begun[frame.credit.call_id].credit.add(frame.credit.parts)

    async def leave(self, grace_seconds: float) -> None:
        """Take no more calls, and finish those that were begun, within the time there is."""
        self._leaving = True
        await self._send(pb.AttachRequest(leaving=pb.RelayLeaving()))
        if tasks := [call.task for call in self._begun.values()]:
            await asyncio.wait(tasks, timeout=grace_seconds)

    async def close(self) -> None:
        """Give up whatever still runs."""
        tasks = [call.task for call in self._begun.values()]
        for call_id in list(self._begun):
            self._give_up(call_id)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _begin(self, call: pb.RelayCall) -> None:
        refusal = self._refusal(call)
        if refusal is not None:
            await self._end(call.call_id, status_of_error(refusal))
            return
        seconds = call.timeout_milliseconds / 1000 if call.timeout_milliseconds else None
        begun = _Begun(RelayedContext(self._caller, seconds), Credit(call.credit))
        begun.task = asyncio.create_task(self._answer(call, begun))
        self._begun[call.call_id] = begun
        begun.task.add_done_callback(lambda _: self._begun.pop(call.call_id))

    def _refusal(self, call: pb.RelayCall) -> LocalDpError | None:
        if call.call_id in self._begun:
            return InvalidParameter("this call is being answered already")
        if self._leaving:
            return Unreachable("the agent is leaving")
        if len(self._begun) >= MOST_CALLS:
            return Unreachable(f"the agent answers {MOST_CALLS} calls at once, and no more")
        return None

    def _give_up(self, call_id: int) -> None:
        if call_id in self._begun:
            self._begun[call_id].context.give_up()
            self._begun[call_id].task.cancel()

    async def _answer(self, call: pb.RelayCall, begun: _Begun) -> None:
        await self._end(call.call_id, await self._outcome(call, begun))

    async def _outcome(self, call: pb.RelayCall, begun: _Begun) -> bytes:
        """Send the answer, and return the status that it ends with."""
        try:
            async with asyncio.timeout(begun.context.time_remaining()):
                await self._respond(call, begun)
            return b""
        except grpc.aio.AbortError:
            return begun.context.status
        except TimeoutError:
            begun.context.give_up()
            return status_of_error(DeadlineMissed("the caller's deadline has passed"))
        except LocalDpError as error:
            return status_of_error(error)
        except Exception as error:
            # The type only: the text could quote a record.
            return status_of(grpc.StatusCode.INTERNAL, f"internal error ({type(error).__name__})")

    async def _respond(self, call: pb.RelayCall, begun: _Begun) -> None:
        try:
            handler = self._methods[call.method]
        except KeyError:
            await begun.context.abort(grpc.StatusCode.UNIMPLEMENTED, "the agent has no such method")
        if not handler.response_streaming:
            response = await handler.unary_unary(call.request, begun.context)
            await self._part(call.call_id, handler.response_serializer(response), begun.credit)
            return
        async with contextlib.aclosing(handler.unary_stream(call.request, begun.context)) as responses:
            async for response in responses:
                await self._part(call.call_id, handler.response_serializer(response), begun.credit)

    async def _part(self, call_id: int, response: bytes, credit: Credit) -> None:
        if len(response) > LARGEST_PAYLOAD_BYTES:
            raise InvalidParameter("an answer is larger than a message may be")
        await self._credited(credit)
        await self._send(pb.AttachRequest(part=pb.RelayPart(call_id=call_id, response=response)))

    async def _credited(self, credit: Credit) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await credit.take()
        except TimeoutError:
            raise DeadlineMissed(
                f"nobody took the answer for {self._stall_seconds:g} s; ask again"
            ) from None

    async def _end(self, call_id: int, status: bytes) -> None:
        await self._send(pb.AttachRequest(end=pb.RelayEnd(call_id=call_id, status=status)))
