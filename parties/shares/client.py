"""Uploading shares: a party's side of the share servers' service.

Blocks are made once and sent to all servers at the same time, a few in flight; a server that ends its stream early,
with an answer or an error, does not hold up the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import grpc

from localdp.sharing.blocks import ShareBlock
from parties.shares.gathering import together
from parties.shares.messages import block_to_wire
from parties.status import error_of
from parties.wire.v1 import share_server_pb2, share_server_pb2_grpc

_IN_FLIGHT = 2


class _Feed:
    """The blocks that one server still has to get."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[ShareBlock | None] = asyncio.Queue(_IN_FLIGHT)
        self._ended = False

    async def put(self, block: ShareBlock | None) -> None:
        """Wait for room; what comes after the end is dropped."""
        if not self._ended:
            await self._queue.put(block)

    def end(self) -> None:
        """Nobody sends any more: whoever waits for room gets it, and whoever waits for a block hears that there is none."""
        self._ended = True
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def messages(self) -> AsyncIterator[share_server_pb2.UploadSharesRequest]:
        """The blocks as messages, until there are no more."""
        while (block := await self._queue.get()) is not None:
            yield block_to_wire(block)


async def upload(
    channels: Sequence[grpc.aio.Channel],
    blocks: AsyncIterator[list[ShareBlock]],
    timeout_seconds: float,
    acknowledged: Callable[[int], None] = lambda number: None,
) -> list[int | grpc.RpcError]:
    """Stream blocks to the servers, to each its own; returns how many reports were new to each, or its failure.

    `acknowledged` hears at once which server has them all, also if the call is given up before the others answer.
    """
    feeds = [_Feed() for _ in channels]

    async def produce() -> None:
        async for row in blocks:
            for feed, block in zip(feeds, row, strict=True):
                await feed.put(block)
        for feed in feeds:
            await feed.put(None)

    async def send(number: int, channel: grpc.aio.Channel, feed: _Feed) -> int | grpc.RpcError:
        stub = share_server_pb2_grpc.ShareServerServiceStub(channel)
        try:
            response = await stub.UploadShares(feed.messages(), timeout=timeout_seconds)
            acknowledged(number)
            return int(response.counted)
        except grpc.RpcError as failure:
            return failure
        finally:
            feed.end()

    sends = [send(number, *pair) for number, pair in enumerate(zip(channels, feeds, strict=True))]
    _, *outcomes = await together(produce(), *sends)
    return [outcome for outcome in outcomes if outcome is not None]


def counted_by(server: str, outcome: int | grpc.RpcError) -> int:
    """How many reports were new to a server; raises its failure."""
    if isinstance(outcome, grpc.RpcError):
        raise error_of(outcome, f"share server {server}")
    return outcome
