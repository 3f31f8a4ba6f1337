"""Uploads that wait for the disk are written together: a thousand parties with one report each cost a few syncs.

While one write is being synced, the uploads that come are kept; the next write takes them all.  Each is acknowledged
when it is on disk, and refused on its own if it is wrong.

Checked in tests/unit/parties/shares/test_intake.py.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence

from localdp.errors import LocalDpError
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.share_server import ShareServer

Outcomes = list[int | LocalDpError]


class Intake:
    """What is on its way to the disk of one server."""

    def __init__(
        self, server: ShareServer, work: Callable[[Callable[[], Outcomes]], Awaitable[Outcomes]]
    ) -> None:
        """`work` runs a job on the thread that owns the server's state."""
        self._server = server
        self._work = work
        self._waiting: list[tuple[Sequence[ShareBlock], asyncio.Future[int]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def store(self, blocks: Sequence[ShareBlock]) -> int:
        """Returns how many reports were new, when they are on disk."""
        stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((blocks, stored))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        return await stored

    async def _write(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            job = functools.partial(self._server.accept_all, [blocks for blocks, _ in taken])
            try:
                outcomes: Sequence[int | Exception] = await self._work(job)
            except Exception as error:  # nobody's upload is known to be there: all may come again
                outcomes = [error] * len(taken)
            for (_, stored), outcome in zip(taken, outcomes, strict=True):
                _tell(stored, outcome)
        self._writing = None


def _tell(stored: asyncio.Future[int], outcome: int | Exception) -> None:
    if stored.done():  # whoever waited for it is gone
        return
    if isinstance(outcome, Exception):
        stored.set_exception(outcome)
    else:
        stored.set_result(outcome)
