"""The leader's side of the agreement over the network: the steps of `localdp.sharing.agreement`, several blocks in flight.

While the helpers compute, so does the leader; and while a message travels, the next block is on its way.  Decisions
are taken and told one at a time, in order.  A call does a bounded amount of work and says whether it is complete:
whoever wants an agreement asks until it is, and nobody who goes away in between spoils anything.

Checked in tests/fault/test_share_server_faults.py and tests/fault/test_share_kill_nine.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from localdp.sharing.agreement import held_by_all, proposals, require_newest, require_same_set
from localdp.sharing.blocks import Mask, Octets, Positions
from localdp.sharing.collection import Collection
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Holding
from parties.shares.gathering import together
from parties.shares.helper import RemoteHelper

IN_FLIGHT = 3
BUSY_SECONDS = 10.0  # of one call; a deadline of a minute is far

_Result = TypeVar("_Result")


class RunJob(Protocol):
    """Runs a job on the one thread that owns the server's state."""

    def __call__(self, job: Callable[[], _Result]) -> Awaitable[_Result]:
        """Its result, awaited."""
        ...


class Check(Protocol):
    """The server's own check of a block."""

    def __call__(
        self, name: bytes, verify_key: bytes, positions: Positions
    ) -> Awaitable[tuple[Mask, Octets]]:
        """What it says, awaited."""
        ...


class Leading:
    """One collection, led by this server."""

    def __init__(
        self,
        server: ShareServer,
        helpers: Sequence[RemoteHelper],
        collection: Collection,
        work: RunJob,
        check: Check | None = None,
    ) -> None:
        """`check`: the server's own, where it has other cores do it."""
        self._server = server
        self._helpers = list(helpers)
        self._collection = collection
        self._name = collection.digest
        self._work = work
        self._check = check or self._checked_here
        self._deciding = asyncio.Lock()

    async def agree(self) -> tuple[bool, Holding]:
        """Come nearer to an agreement: returns whether it is complete, and what the leader counts."""
        deadline = asyncio.get_running_loop().time() + BUSY_SECONDS
        if not (await self._work(lambda: self._server.holding(self._name))).sealed:
            await together(*(self._catch_up(helper) for helper in self._helpers))
        blocks = iter(await self._work(lambda: list(proposals(self._server, self._collection))))
        await together(*(self._verify_until(deadline, blocks) for _ in range(IN_FLIGHT)))
        if next(blocks, None) is not None:
            return False, await self._work(lambda: self._server.holding(self._name))
        await self._work(lambda: self._server.require_enough(self._name))
        await together(*(self._catch_up(helper) for helper in self._helpers))
        return True, await self._seal()

    async def _seal(self) -> Holding:
        """Make the set final here, then at all others, with the openings of all; unless it is already."""
        own = await self._work(lambda: self._server.holding(self._name))
        theirs = await together(*(helper.holding(self._name) for helper in self._helpers))
        if all(holding.sealed for holding in (own, *theirs)):
            return own
        opening = await self._work(lambda: self._server.opening(self._name))
        openings = [opening, *await together(*(helper.opening(self._name) for helper in self._helpers))]
        holding = await self._work(lambda: self._server.seal(self._name, None, openings))
        await together(*(helper.seal(self._name, holding, openings) for helper in self._helpers))
        return holding

    async def _verify_until(self, deadline: float, blocks: Iterator[Positions]) -> None:
        while asyncio.get_running_loop().time() < deadline:
            positions = next(blocks, None)
            if positions is None:
                return
            await self._verify(positions)

    async def _verify(self, positions: Positions) -> None:
        """Decide about the reports of a block that all servers have."""
        server, name = self._server, self._name
        key = await self._work(lambda: server.verify_key(name))
        checked = await together(
            _awaited(self._check(name, key, positions)),
            *(helper.check(name, key, positions) for helper in self._helpers),
        )
        held = await self._work(lambda: held_by_all(server, name, positions, checked))
        if not held.all():
            if held.any():
                await self._verify(positions[held])
            return
        said = [rows for _, rows in checked]
        votes = await together(
            _awaited(self._work(lambda: server.vote(name, positions, said))),
            *(helper.vote(name, positions, said) for helper in self._helpers),
        )
        async with self._deciding:  # or a helper would hear of a decision before it heard of the one before
            job = await self._work(lambda: server.decide(name, positions, votes))
            await together(*(helper.commit(name, job) for helper in self._helpers))

    async def _checked_here(self, name: bytes, key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        return await self._work(lambda: self._server.check(name, key, positions))

    async def _catch_up(self, helper: RemoteHelper) -> None:
        theirs = await helper.holding(self._name)
        own = await self._work(lambda: self._server.holding(self._name))
        require_newest(own, theirs)
        if theirs.jobs != own.jobs:
            for job in await self._work(lambda: list(self._server.jobs(self._name))):
                await helper.commit(self._name, job)
            theirs = await helper.holding(self._name)
        await self._work(lambda: require_same_set(self._server, helper.name, self._name, theirs))


async def _awaited(work: Awaitable[_Result]) -> _Result:
    return await work
