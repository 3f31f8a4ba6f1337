"""Servers that compute together over gRPC, and streams that break off, are late, or say what is not of their round.

The dialogues are small ones of these tests, so that every message is known; what servers really say is in
tests/unit/computing/test_joint_release.py, and whole releases by processes in tests/statistical/test_shared_error.py.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from localdp.computing.dialogue import Dialogue, Exchange, Received
from localdp.errors import DeadlineMissed, MalformedReport, Unreachable
from parties.serving import CHUNK_BYTES
from parties.shares import computing
from parties.shares.computing import Awaited, Called, Calling, Computed, Link, Meetings, computed, left
from parties.wire.v1 import share_server_pb2 as pb

LARGE = 3 * CHUNK_BYTES + 5
NAME = bytes(32)


class Facing:
    """A link whose other side is in the same process: what one sends the other receives, as messages."""

    name = "share server other"

    def __init__(self) -> None:
        self.inbox = asyncio.Queue[pb.ComputeRequest | None]()
        self.other: Facing | None = None
        self._behind = Called("other", self._requests())

    async def _requests(self) -> AsyncIterator[pb.ComputeRequest]:
        while (message := await self.inbox.get()) is not None:
            yield message

    async def send(self, number: int, payload: bytes) -> None:
        assert self.other is not None
        for part, more in computing._parts(payload):
            self.other.inbox.put_nowait(pb.ComputeRequest(round=number, payload=part, more=more))

    async def receive(self, number: int, size: int) -> bytes:
        return await self._behind.receive(number, size)

    async def finish(self) -> None:
        """Nothing is on its way here."""

    def close(self) -> None:
        assert self.other is not None
        self.other.inbox.put_nowait(None)


def facing() -> tuple[Facing, Facing]:
    one, other = Facing(), Facing()
    one.other, other.other = other, one
    return one, other


def circle() -> list[tuple[Link, Link]]:
    """The links of three servers to the one before and the one after."""
    pairs = [facing() for _ in range(3)]  # of server i and i + 1
    return [(pairs[server - 1][1], pairs[server][0]) for server in range(3)]


def talk(server: int, rounds: int, size: int) -> Dialogue[bytes]:
    """Each says its number to the next one; in the last round nobody says anything to the one before."""
    heard = b""
    for _ in range(rounds):
        received: Received = yield Exchange(to_next=bytes([server]) * size, from_previous=size)
        heard += received.previous[-1:]
    return heard


async def together(parts: list[Dialogue[bytes]]) -> list[Computed[bytes]]:
    with ThreadPoolExecutor(3) as pool:
        loop = asyncio.get_running_loop()

        def work(job: Callable[[], object]) -> asyncio.Future[object]:
            return loop.run_in_executor(pool, job)

        runs = [computed(part, *links, work) for part, links in zip(parts, circle(), strict=True)]  # type: ignore[arg-type]
        return list(await asyncio.gather(*runs))


def test_what_a_server_says_arrives_at_its_neighbour_round_by_round() -> None:
    parts = [talk(server, 3, LARGE) for server in range(3)]
    heard = [b"\2\2\2", b"\0\0\0", b"\1\1\1"]
    assert asyncio.run(together(parts)) == [(one, 3, 3 * LARGE) for one in heard]


def test_how_far_a_computation_is_can_be_heard() -> None:
    async def run() -> list[int]:
        heard = list[int]()
        with ThreadPoolExecutor(3) as pool:
            loop = asyncio.get_running_loop()

            def work(job: Callable[[], object]) -> asyncio.Future[object]:
                return loop.run_in_executor(pool, job)

            parts = zip((talk(server, 3, 4) for server in range(3)), circle(), strict=True)
            runs = [computed(part, *links, work, heard.append) for part, links in parts]  # type: ignore[arg-type]
            await asyncio.gather(*runs)
        return sorted(heard)

    assert asyncio.run(run()) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def broken(server: int) -> Iterator[Exchange]:
    """Stops after its first word."""
    yield Exchange(to_next=b"x" * 4, from_previous=4)
    raise MalformedReport("this server has enough")


def test_when_one_stops_the_others_hear_of_it_at_once() -> None:
    parts: list[Dialogue[bytes]] = [talk(0, 3, 4), broken(1), talk(2, 3, 4)]  # type: ignore[list-item]
    with pytest.raises((MalformedReport, Unreachable)):
        asyncio.run(asyncio.wait_for(together(parts), 5))


def test_who_gives_up_while_a_step_is_taken_hears_nothing_else_and_the_part_is_closed_after_it() -> None:
    """A caller that hangs up, while the worker computes or compiles."""
    begun, may_end = threading.Event(), threading.Event()

    def slow() -> Dialogue[bytes]:
        begun.set()
        assert may_end.wait(5)
        yield Exchange()
        return b""

    async def run() -> bool:
        part, loop = slow(), asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            task = asyncio.create_task(
                computed(part, *facing(), lambda job: loop.run_in_executor(pool, job))
            )
            assert await asyncio.to_thread(begun.wait, 5)
            task.cancel()
            loop.call_later(0.05, may_end.set)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert may_end.is_set()  # nothing else was begun beside it
        return inspect.getgeneratorstate(part) == inspect.GEN_CLOSED

    assert asyncio.run(run())


class Gone:
    """A call to a server that is not there: what is written to it fails."""

    async def write(self, message: pb.ComputeRequest) -> None:
        raise grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata())


def test_a_server_that_is_away_when_it_is_told_something_is_away_and_may_be_back() -> None:
    """Its process died, or the channel is still that to the one before: whoever asked asks again."""

    async def run() -> None:
        async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
            link = Calling("server-1", channel, NAME, 0)
            link.close()
            link._call = Gone()
            with pytest.raises(Unreachable, match="share server server-1 cannot be reached"):
                await link.send(0, b"four")

    asyncio.run(run())


def test_a_server_that_says_nothing_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "ROUND_SECONDS", 0.05)

    def silent() -> Dialogue[bytes]:
        yield Exchange(from_next=1)  # which never comes
        return b""

    with pytest.raises(DeadlineMissed, match="share server other did not go on"):
        asyncio.run(together([talk(0, 1, 4), silent(), talk(2, 1, 4)]))


@pytest.mark.parametrize(
    "messages",
    [
        [pb.ComputeRequest(round=1, payload=b"four")],
        [pb.ComputeRequest(round=0, payload=b"three"), pb.ComputeRequest(round=0, payload=b"")],
        [pb.ComputeRequest(round=0, payload=b"fo")],
        [pb.ComputeRequest(round=0, payload=b"fo", more=True), pb.ComputeRequest(round=0, payload=b"urth")],
        [pb.ComputeRequest(round=0, payload=b"", more=True)] * 3,
        [pb.ComputeRequest(round=0, payload=b"four", more=True)],
    ],
    ids=[
        "another round",
        "too long",
        "too short",
        "too long in parts",
        "nothing, and more",
        "more to come",
    ],
)
def test_what_is_not_of_the_round_is_refused(messages: list[pb.ComputeRequest]) -> None:
    async def received() -> bytes:
        async def said() -> AsyncIterator[pb.ComputeRequest]:
            for message in messages:
                yield message

        return await Called("server-1", said()).receive(0, 4)

    with pytest.raises(MalformedReport, match="server-1"):
        asyncio.run(received())


async def nothing() -> AsyncIterator[pb.ComputeRequest]:
    return
    yield


def test_a_stream_waits_for_this_server_and_a_newer_one_takes_its_place() -> None:
    async def run() -> tuple[list[pb.ComputeResponse], int]:
        meetings = Meetings()
        first = asyncio.create_task(collected(meetings))
        await asyncio.sleep(0)
        second = asyncio.create_task(collected(meetings))
        await asyncio.sleep(0)
        met = await meetings.met(NAME, 0, "server-0")
        assert await asyncio.wait_for(first, 5) == []  # it was let go
        await met.send(0, b"word")
        met.close()
        return await second, len(meetings._waiting)

    responses, left = asyncio.run(run())
    assert [one.payload for one in responses] == [b"word"] and left == 0


async def collected(
    meetings: Meetings, requests: AsyncIterator[pb.ComputeRequest] | None = None
) -> list[pb.ComputeResponse]:
    return [one async for one in meetings.answered(NAME, 0, "server-0", requests or nothing())]


def test_neither_waits_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "MEETING_SECONDS", 0.05)

    async def run() -> list[pb.ComputeResponse]:
        meetings = Meetings()
        with pytest.raises(DeadlineMissed, match="server-0 did not come"):
            await meetings.met(NAME, 0, "server-0")
        return await collected(meetings)

    assert asyncio.run(run()) == []


def test_who_is_awaited_is_told_what_was_said_before_it_came() -> None:
    async def run() -> tuple[list[pb.ComputeResponse], bytes]:
        meetings = Meetings()
        link = Awaited("server-0", meetings.met(NAME, 0, "server-0"))
        saying, hearing = (
            asyncio.create_task(link.send(0, b"word")),
            asyncio.create_task(link.receive(0, 4)),
        )
        await asyncio.sleep(0)

        async def said() -> AsyncIterator[pb.ComputeRequest]:
            yield pb.ComputeRequest(round=0, payload=b"four")

        responses = asyncio.create_task(collected(meetings, said()))
        heard = await hearing
        await saying
        link.close()
        return await responses, heard

    responses, heard = asyncio.run(asyncio.wait_for(run(), 5))
    assert [one.payload for one in responses] == [b"word"] and heard == b"four"


def test_who_is_awaited_no_more_is_not_waited_for() -> None:
    async def run() -> int:
        link = Awaited("server-0", Meetings().met(NAME, 0, "server-0"))
        await asyncio.sleep(0)
        link.close()
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1


def test_to_part_waits_only_so_long_and_says_nothing_of_what_goes_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computing, "ROUND_SECONDS", 0.05)

    class Stuck(Facing):
        async def finish(self) -> None:
            await asyncio.Event().wait()

    class Broken(Facing):
        async def finish(self) -> None:
            raise Unreachable("gone")

    async def run(kind: type[Facing]) -> list[bool]:
        one, other = kind(), Facing()
        one.other, other.other = other, one
        await left(one, other)
        return [side.inbox.get_nowait() is None for side in (one, other)]

    assert asyncio.run(run(Stuck)) == asyncio.run(run(Broken)) == [True, True]
