"""Checking blocks of reports on several cores: what one thread reads, others compute.

One thread owns a server's state, so that every step is whole.  Of what it does, computing verifier shares takes the
most, is a function of what was read, and in compiled code runs beside it.  So a block is read by the owner, computed by
a verifier, and noted by the owner; what a check says is then at hand.  A block whose verifier was lost is computed
again by the owner: nothing depends on who computed it.

Checked in tests/unit/parties/shares/test_verifying.py.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from localdp.sharing.blocks import Mask, Octets, Positions
from localdp.sharing.share_server import ShareServer
from parties.shares.leading import RunJob


class Verifying:
    """The checks of one server."""

    def __init__(self, server: ShareServer, work: RunJob, workers: int = 1) -> None:
        """`work` runs a step on the thread that owns the state; with one worker that computes as well."""
        self._server, self._work = server, work
        self._pool = None if workers == 1 else ThreadPoolExecutor(workers, thread_name_prefix="verifier")

    async def check(self, name: bytes, verify_key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        """What the server says about a block."""
        if self._pool is not None:
            computing = await self._work(lambda: self._server.checking(name, verify_key, positions))
            if computing is not None:
                checked = await asyncio.get_running_loop().run_in_executor(self._pool, computing)
                await self._work(lambda: self._server.note_check(name, checked))
        return await self._work(lambda: self._server.check(name, verify_key, positions))

    def close(self) -> None:
        """Let go of the verifiers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
