"""Joint noise at a share server: it is asked for a release, meets the two others, and draws with them.

    collector --Release--> each of three servers
                           server --Compute--> server, rounds of `localdp.computing.joint_release`
              <--two components of the noisy sums each

Where all have said that they keep the verified components, each of them releases.  A server that was stopped between the
two finds its components on record and asks the others whether they have released: then so does it, and otherwise all try
again.

Checked in tests/statistical/test_shared_error.py, and with kill -9 in tests/fault/test_share_kill_nine.py.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

import grpc

from localdp.computing.dialogue import others
from localdp.computing.joint_release import joint_release
from localdp.computing.keyed_streams import NONCE_BYTES
from localdp.computing.proof import compiled_later
from localdp.errors import ComputationAborted, InvalidParameter, MalformedReport, PolicyRefused
from localdp.sharing.blame import Blame
from localdp.sharing.collection import Collection
from localdp.sharing.joint_terms import JointTerms
from localdp.sharing.prio3.batch.kernels import kernel_for
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Published, Release
from parties.observability.observer import Observer
from parties.shares.computing import Awaited, Calling, Computed, Link, Meetings, computed, left
from parties.shares.gathering import together
from parties.shares.helper import RemoteHelper
from parties.shares.leading import RunJob
from parties.shares.warming import Warming
from parties.status import NotAMessage, require_message
from parties.wire.v1 import share_server_pb2 as pb

Reach = Callable[[Sequence[str], Sequence[str]], list[tuple[str, grpc.aio.Channel]]]


class JointNoise:
    """One server's side of drawing noise with two others."""

    def __init__(
        self, server: ShareServer, work: RunJob, reach: Reach, warming: Warming, observer: Observer
    ) -> None:
        """`work` runs what touches the server's state; `reach` makes channels to servers of these names and addresses."""
        self._server, self._work, self._reach = server, work, reach
        self._warming, self._observer = warming, observer
        self._meetings = Meetings()
        self._drawing: dict[bytes, asyncio.Lock] = {}
        self._leaving = set[asyncio.Task[None]]()
        self._rounds: dict[bytes, int] = {}

    def round_of(self, name: bytes) -> int:
        """Which round of a collection's computation this server is in; 0: it computes nothing."""
        return self._rounds.get(name, 0)

    async def close(self) -> None:
        """Part from whoever has not been left yet."""
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def prepare(self, collection: Collection) -> None:
        """Have what proofs need compiled, or loaded, while people upload; a release goes on without it meanwhile."""
        if collection.plan.is_joint:
            self._warming.begin(compiled_later(kernel_for(collection.field)))

    async def released(
        self, name: bytes, accepted: bytes, signed: Sequence[bytes], addresses: Sequence[str]
    ) -> Computed[Release]:
        """A release, after its joint noise was drawn where that is to be done.

        Of two requests the second waits until the first has released, and reads the same from the record.
        """
        async with self._drawing.setdefault(name, asyncio.Lock()):
            drawn = await self._drawn(name, accepted, signed, addresses)
            joint = None if drawn is None else drawn.result
            release = await self._work(lambda: self._server.release(name, accepted, signed, joint))
        self._drawing.pop(name, None)  # whoever waits finds it on record
        return Computed(release) if drawn is None else Computed(release, drawn.rounds, drawn.octets)

    async def _drawn(
        self, name: bytes, accepted: bytes, signed: Sequence[bytes], addresses: Sequence[str]
    ) -> Computed[Published] | None:
        """What this server has of the sums with joint noise; None where there is none to draw, or it has been drawn."""
        if not self._server.in_progress(name) or not self._server.collection(name).plan.is_joint:
            return None
        terms = await self._work(lambda: self._server.joint_terms(name, accepted, signed))
        await self._work(lambda: self.prepare(terms.collection))  # if this server was started again since
        channels = self._neighbours(terms, addresses)
        if terms.record.tag and await self._is_released(terms, channels):
            return Computed(terms.record.published)
        return await self._computed(terms, channels)

    async def _computed(
        self, terms: JointTerms, channels: Sequence[tuple[str, grpc.aio.Channel]]
    ) -> Computed[Published]:
        name = terms.collection.digest
        previous, following = [
            self._linked(terms, number, channel)
            for number, channel in zip(others(terms.server), channels, strict=True)
        ]
        part = joint_release(
            terms, os.urandom(NONCE_BYTES), lambda record: self._server.keep_joint(name, record)
        )
        begun = partial(self._rounds.__setitem__, name)
        try:
            result = await computed(part, previous, following, self._work, begun)
        except ComputationAborted as stopped:
            named = stopped.among(terms.collection.servers)
            self._noted(terms.collection, dict.fromkeys(named.suspects, named.check))
            raise named from None
        except MalformedReport as wrong:
            said = {number: str(wrong) for number in others(terms.server) if _says(terms, number, wrong)}
            self._noted(terms.collection, said)
            raise
        finally:
            self._rounds.pop(name, None)
        leaving = asyncio.create_task(left(previous, following))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return result

    def _noted(self, collection: Collection, against: Mapping[int, str]) -> None:
        """Have in log and metrics whom this server suspects: one, or two of whom one has lied."""
        why = "joint noise: {}; it is dishonest or broken" + (
            ", or another one is" if len(against) > 1 else ""
        )
        told = {collection.servers[number]: why.format(check) for number, check in against.items()}
        self._observer.names(collection.digest, told)

    def _neighbours(
        self, terms: JointTerms, addresses: Sequence[str]
    ) -> list[tuple[str, grpc.aio.Channel]]:
        """The servers before and after this one."""
        around = others(terms.server)
        known = (
            [addresses[number] for number in around]
            if len(addresses) == len(terms.collection.servers)
            else ()
        )
        return self._reach([terms.collection.servers[number] for number in around], known)

    def _linked(self, terms: JointTerms, number: int, channel: tuple[str, grpc.aio.Channel]) -> Link:
        name, digest = channel[0], terms.collection.digest
        if number < terms.server:
            return Awaited(name, self._meetings.met(digest, number, name))
        return Calling(*channel, digest, terms.server)

    async def _is_released(
        self, terms: JointTerms, channels: Sequence[tuple[str, grpc.aio.Channel]]
    ) -> bool:
        """Whether another server has released what this one has on record."""
        helpers = [RemoteHelper(*channel, Blame(1, proved=False)) for channel in channels]
        holdings = await together(*(helper.holding(terms.collection.digest) for helper in helpers))
        return any(holding.attempt == terms.record.tag for holding in holdings)

    async def answered(
        self, requests: AsyncIterator[pb.ComputeRequest], caller: str | None
    ) -> AsyncIterator[pb.ComputeResponse]:
        """What is said to a server that calls."""
        first = require_message(await anext(requests, NotAMessage()))
        name, number = first.collection, first.server
        collection = await self._work(lambda: self._server.collection(name))
        if not collection.plan.is_joint or not number < collection.number_of(self._server.name):
            raise InvalidParameter("a server of a lower number calls, for a collection with joint noise")
        if caller not in (None, collection.servers[number]):
            raise PolicyRefused("only the servers of a collection draw its noise")

        async def all_of_them() -> AsyncIterator[pb.ComputeRequest]:
            yield first
            async for request in requests:
                yield require_message(request)

        meeting = self._meetings.answered(name, number, collection.servers[number], all_of_them())
        async for response in meeting:
            yield response


def _says(terms: JointTerms, number: int, wrong: MalformedReport) -> bool:
    """Whether it was this server that said something else than it should."""
    return str(wrong).startswith(f"share server {terms.collection.servers[number]} says")
