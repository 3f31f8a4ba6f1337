"""Streams that nobody reads: an agent's own deadline for each message of an answer.

gRPC holds a message until its reader takes it, for ever.  After `seconds` without progress the call is aborted, and
its place goes to others; the caller's own place stays taken until it reads the rest or goes, because so long gRPC
holds what was sent.

Checked in tests/unit/parties/agent/test_agent_work.py and tests/integration/test_load.py.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import grpc

from localdp.errors import DeadlineMissed
from parties.agent.work import CallPlace
from parties.identity import Context
from parties.status import details


class Unread(grpc.aio.AbortError, DeadlineMissed):
    """The call was aborted, because nobody read its answer."""


class Progress:
    """Watches the messages of one answer."""

    def __init__(self, context: Context, place: CallPlace, seconds: float) -> None:
        self._context, self._place, self._seconds = context, place, seconds
        self._abort: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def expected(self) -> Iterator[None]:
        """While a message is handed over."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self._give_up)
        try:
            yield
        finally:
            timer.cancel()
        if self._abort is not None:
            raise Unread("nobody read the answer in time")

    def _give_up(self) -> None:
        self._place.stall()
        self._abort = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        error = DeadlineMissed(f"nobody read the answer for {self._seconds:g} s; ask again")
        code, message, trailing = details(error)
        with contextlib.suppress(Exception):  # it raises in any case; the caller hears of it once it reads
            await self._context.abort(code, message, trailing_metadata=trailing)
