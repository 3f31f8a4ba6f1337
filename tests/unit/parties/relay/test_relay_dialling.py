"""How an agent stays attached: how long it waits before it dials again, and how frames leave."""

import asyncio

import pytest

from parties.relay.dialling import Outbox, Waits
from parties.repeating import Patience
from parties.wire.v1 import relay_pb2 as pb


def test_the_wait_grows_up_to_its_cap_and_half_of_it_is_chance() -> None:
    waits = Waits(Patience(first_pause_seconds=1, longest_pause_seconds=8))
    for whole in (1, 2, 4, 8, 8, 8, *[8] * 2000):
        assert whole / 2 <= waits.after(0) < whole


def test_the_wait_is_short_again_only_after_a_stream_that_lasted() -> None:
    waits = Waits(Patience(first_pause_seconds=1, longest_pause_seconds=8), lasting_seconds=30)
    for _ in range(5):
        waits.after(29)
    assert waits.after(29) >= 4
    assert waits.after(30) < 1


class Stream:
    """Like a stream of gRPC, which is over once a task that writes to it is cancelled."""

    def __init__(self) -> None:
        self.room = asyncio.Event()
        self.written: list[int] = []
        self.over = False

    async def write(self, frame: pb.AttachRequest) -> None:
        try:
            await self.room.wait()
        except asyncio.CancelledError:
            self.over = True
            raise
        self.written.append(frame.end.call_id)


def end(number: int) -> pb.AttachRequest:
    return pb.AttachRequest(end=pb.RelayEnd(call_id=number))


def test_a_call_that_is_cancelled_while_its_answer_leaves_does_not_end_the_stream_of_all_calls() -> None:
    async def test() -> None:
        stream = Stream()
        outbox = Outbox(stream)
        writing = asyncio.create_task(outbox.write())
        calls = [asyncio.create_task(outbox.send(end(number))) for number in range(4)]
        done, waiting = await asyncio.wait(calls, timeout=0.01)
        assert (len(done), len(waiting)) == (
            2,
            2,
        )  # one is being written, one is next; the others wait their turn
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert not stream.over
        stream.room.set()
        await asyncio.wait_for(outbox.sent(), 20)
        assert stream.written == [0, 1]
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(test())
