"""Servers that compute together over gRPC: each runs its own part, and meets the others round by round.

Of two servers the one with the lower number calls the other (`Compute`); there the stream waits until that server is asked
for the same release itself.  Every server drives its own `Dialogue`: this module only carries what it says to its two
neighbours, and what they say to it.  Whatever breaks off ends the attempt at all servers; the next one begins anew
(`localdp.sharing.joint_terms`).

    0 ----> 1 ----> 2        who calls whom
    `-------------> 2

Checked in tests/fault/test_joint_streams.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import grpc

from localdp.computing.dialogue import Dialogue, Exchange, Received
from localdp.errors import Busy, DeadlineMissed, LocalDpError, MalformedReport, Unreachable
from parties.repeating import Stub
from parties.serving import CHUNK_BYTES
from parties.shares.gathering import together
from parties.shares.leading import RunJob
from parties.status import error_of
from parties.wire.v1 import share_server_pb2 as pb
from parties.wire.v1 import share_server_pb2_grpc

MEETING_SECONDS = 20.0  # that a stream waits for the called server's part, and that for the stream
ROUND_SECONDS = 20.0  # that a server waits for what another one says
MOST_WAITING = 64  # streams that wait

_Result = TypeVar("_Result")


class Link(Protocol):
    """A stream to another server."""

    @property
    def name(self) -> str:
        """Whom it leads to."""
        ...

    async def send(self, number: int, payload: bytes) -> None:
        """What this server says in a round."""
        ...

    async def receive(self, number: int, size: int) -> bytes:
        """What the other one says in a round, in so many octets."""
        ...

    async def finish(self) -> None:
        """Everything was said: wait until it has arrived."""
        ...

    def close(self) -> None:
        """Nothing more is said."""
        ...


class Calling:
    """The stream to a server that this one calls."""

    def __init__(self, name: str, channel: grpc.aio.Channel, collection: bytes, server: int) -> None:
        """`server`: the number of the one that calls."""
        self.name = f"share server {name}"
        self._opening: pb.ComputeRequest | None = pb.ComputeRequest(collection=collection, server=server)
        stub: Stub = share_server_pb2_grpc.ShareServerServiceStub(channel)
        self._call = stub.Compute()

    async def send(self, number: int, payload: bytes) -> None:
        with (
            suppress(asyncio.InvalidStateError),
            self._saying(),
        ):  # of a stream that is over, reading says why
            for part, more in _parts(payload):
                message = pb.ComputeRequest(round=number, payload=part, more=more)
                if self._opening is not None:  # who calls, and about what, stands in the first message
                    message.MergeFrom(self._opening)
                    self._opening = None
                await self._call.write(message)

    async def receive(self, number: int, size: int) -> bytes:
        with self._saying():
            return await _received(self.name, number, size, self._read)

    async def finish(self) -> None:
        with self._saying():
            await self._call.done_writing()
            if await self._read() is not None:
                raise MalformedReport(f"{self.name} says more than there is to say")

    async def _read(self) -> pb.ComputeResponse | None:
        message = await self._call.read()
        return None if message is grpc.aio.EOF else message

    @contextmanager
    def _saying(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as failure:
            raise error_of(failure, self.name) from None

    def close(self) -> None:
        self._call.cancel()


class Called:
    """The stream of a server that called this one."""

    def __init__(self, name: str, requests: AsyncIterator[pb.ComputeRequest]) -> None:
        self.name, self._requests = f"share server {name}", requests
        self._said = asyncio.Queue[pb.ComputeResponse | None]()

    async def send(self, number: int, payload: bytes) -> None:
        for part, more in _parts(payload):
            self._said.put_nowait(pb.ComputeResponse(round=number, payload=part, more=more))

    async def receive(self, number: int, size: int) -> bytes:
        return await _received(self.name, number, size, lambda: anext(self._requests, None))

    async def finish(self) -> None:
        self.close()

    def close(self) -> None:
        self._said.put_nowait(None)

    async def said(self) -> AsyncIterator[pb.ComputeResponse]:
        """What goes to the caller, until nothing more is said."""
        while (response := await self._said.get()) is not None:
            yield response


class Awaited:
    """The stream of a server that is to call this one: what it is told waits until it is there."""

    def __init__(self, name: str, meeting: Coroutine[object, None, Called]) -> None:
        self.name, self._meeting = f"share server {name}", asyncio.create_task(meeting)

    async def send(self, number: int, payload: bytes) -> None:
        await (await self._meeting).send(number, payload)

    async def receive(self, number: int, size: int) -> bytes:
        return await (await self._meeting).receive(number, size)

    async def finish(self) -> None:
        await (await self._meeting).finish()

    def close(self) -> None:
        """Whoever has not come need not come any more."""
        if not self._meeting.cancel() and not self._meeting.cancelled() and not self._meeting.exception():
            self._meeting.result().close()


Reading: TypeAlias = Callable[[], Awaitable[pb.ComputeRequest | pb.ComputeResponse | None]]


def _parts(payload: bytes) -> Iterator[tuple[bytes, bool]]:
    """What is said in a round, in messages, and whether another one follows."""
    starts = range(0, len(payload), CHUNK_BYTES)
    for start in starts:
        yield payload[start : start + CHUNK_BYTES], start != starts[-1]


async def _received(name: str, number: int, size: int, read: Reading) -> bytes:
    """All that the other one says in a round."""
    parts, missing, more = list[bytes](), size, True
    while more:
        message = await read()
        if message is None:
            raise Unreachable(f"{name} broke off the computation")
        missing, more = missing - len(message.payload), message.more
        if message.round != number or not message.payload or missing < 0 or bool(missing) != more:
            raise MalformedReport(f"{name} says something else than this round is about")
        parts.append(message.payload)
    return b"".join(parts)


class Meetings:
    """Streams that wait for this server's part, by collection and number of the caller."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[bytes, int], Called] = {}
        self._news = asyncio.Event()

    async def answered(
        self, collection: bytes, number: int, name: str, requests: AsyncIterator[pb.ComputeRequest]
    ) -> AsyncIterator[pb.ComputeResponse]:
        """What is said to a server that called, from when this server takes part until it is done."""
        if len(self._waiting) >= MOST_WAITING:
            raise Busy("too many servers wait for this one to release; ask again later")
        stream, key = Called(name, requests), (collection, number)
        if (old := self._waiting.get(key)) is not None:  # it broke off
            self._let_go(key, old)
        self._waiting[key] = stream
        self._news.set()
        overdue = asyncio.get_running_loop().call_later(MEETING_SECONDS, self._let_go, key, stream)
        try:
            async for response in stream.said():
                yield response
        finally:
            overdue.cancel()
            self._let_go(key, stream)

    def _let_go(self, key: tuple[bytes, int], stream: Called) -> None:
        """If it still waits, it has waited long enough."""
        if self._waiting.get(key) is stream:
            del self._waiting[key]
            stream.close()

    async def met(self, collection: bytes, number: int, name: str) -> Called:
        """The stream of a server that calls this one."""
        try:
            async with asyncio.timeout(MEETING_SECONDS):
                while (collection, number) not in self._waiting:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise DeadlineMissed(f"share server {name} did not come to draw joint noise") from None
        return self._waiting.pop((collection, number))


class Computed(NamedTuple, Generic[_Result]):
    """What a server's part came to, and what it took."""

    result: _Result
    rounds: int = 0
    octets: int = 0  # that this server said


@dataclass(frozen=True, slots=True)
class _Ended(Generic[_Result]):
    """What a dialogue came to."""

    result: _Result


def _advanced(dialogue: Dialogue[_Result], told: Received | None) -> Exchange | _Ended[_Result]:
    """What a server says next, or what it came to."""
    try:
        return next(dialogue) if told is None else dialogue.send(told)
    except StopIteration as end:
        return _Ended(end.value)


async def computed(
    dialogue: Dialogue[_Result],
    previous: Link,
    following: Link,
    work: RunJob,
    begun: Callable[[int], None] = lambda number: None,
) -> Computed[_Result]:
    """Drive one server's part to its end, beside its two neighbours; whoever asked then leaves them (`left`).

    `begun` hears the number of each round, from 1 on.  If this is given up while the worker takes a step, that is waited
    for: no other attempt begins beside it.
    """
    number, octets, told = 0, 0, None
    try:
        while not isinstance(said := await work(partial(_advanced, dialogue, told)), _Ended):
            begun(number + 1)
            told = await _round(number, said, previous, following)
            number, octets = number + 1, octets + len(said.to_previous) + len(said.to_next)
        return Computed(said.result, number, octets)
    except BaseException:
        previous.close()
        following.close()
        with suppress(RuntimeError):  # the worker is gone: nothing goes on
            await work(dialogue.close)
        raise


async def left(previous: Link, following: Link) -> None:
    """Part from the neighbours when what was said last has arrived, or when that takes too long.

    Nobody waits for it: who has not heard the last word finds its components on record, and asks.
    """
    try:
        async with asyncio.timeout(ROUND_SECONDS):
            await together(previous.finish(), following.finish())
    except (TimeoutError, LocalDpError, asyncio.InvalidStateError):
        pass
    finally:
        previous.close()
        following.close()


async def _round(number: int, said: Exchange, previous: Link, following: Link) -> Received:
    """Say and hear what there is, at the same time: or each side might wait for the other to read."""
    before, after, *_ = await together(
        _heard(previous, number, said.from_previous),
        _heard(following, number, said.from_next),
        _said(previous, number, said.to_previous),
        _said(following, number, said.to_next),
    )
    return Received(before, after)


async def _heard(link: Link, number: int, size: int) -> bytes:
    with _in_time(link.name):
        async with asyncio.timeout(ROUND_SECONDS):
            return await link.receive(number, size) if size else b""


async def _said(link: Link, number: int, payload: bytes) -> bytes:
    with _in_time(link.name):
        async with asyncio.timeout(ROUND_SECONDS):
            if payload:
                await link.send(number, payload)
    return payload


@contextmanager
def _in_time(name: str) -> Iterator[None]:
    """Whose time is over is named."""
    try:
        yield
    except TimeoutError:
        raise DeadlineMissed(f"{name} did not go on with joint noise in time") from None
