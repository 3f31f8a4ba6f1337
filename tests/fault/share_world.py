"""A world of share servers whose disks, processes and links fail on demand; each report fills a bucket of its own.

A failure is: a bucket that is not 0 or 1, a release that is not exactly the set that all servers sealed, two different
releases, a decided or acknowledged report that is missing, an honest batch that cannot be released any more.
No failure is: an operation that is refused or gets no answer; a report that some server never got.

Everything that happens follows from the seed.  Storages survive a crash, servers do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from localdp.cohorts import Cohort
from localdp.errors import CollectionClosed, LocalDpError, TooFewReports, Unreachable
from localdp.sharing import additive
from localdp.sharing.agreement import agree
from localdp.sharing.blocks import Rows, ShareBlock
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import MemoryStorage, Storage
from tests.support.shares import KEYRING, blocks_of, collection_of, one_hot

REPORTS = 24
SPOILED = (5, 17)  # two of them are bad, and must never count
JOB = 4  # reports that are decided together: several jobs a batch
MINIMUM = 3
WRITES = ("open", "keep_key", "upload", "commit", "seal", "release")

MakeServer = Callable[[str, bytes, Storage], ShareServer]
MakeStorage = Callable[[int], Storage]


class Crash(Exception):
    """The process is gone, before or after a write."""


class Disk:
    """A storage whose process dies before or after its n-th write from now."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.writes_left: int | None = None
        self.after = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return self._failing(method) if name in WRITES else method

    def _failing(self, method: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any) -> None:
            if self.writes_left is not None:
                self.writes_left -= 1
                if self.writes_left < 0:
                    self.writes_left = None
                    if self.after:
                        method(*arguments)
                    raise Crash
            method(*arguments)

        return write


class Link:
    """The leader's way to a helper: a call may get lost on the way there or back, or kill the helper."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number = world, number

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            there, back = self._world.loses_calls(), self._world.loses_calls()
            if there:
                raise Unreachable("lost on the way there")
            result = self._world.on_server(self._number, lambda server: getattr(server, name)(*arguments))
            if back:
                raise Unreachable("lost on the way back")
            return result

        return call


@lru_cache(maxsize=8)
def task(servers: int, tier: str) -> tuple[Collection, tuple[ShareBlock, ...]]:
    """The collection, and all reports for each server."""
    names = tuple(f"server-{number}" for number in range(servers))
    collection = collection_of(
        encoding=Encoding.histogram(REPORTS),
        tier=tier,
        servers=names,
        parties=(Contributor("party-0", REPORTS),),
        minimum_batch=MINIMUM,
    )
    blocks = blocks_of(collection, one_hot(REPORTS, *range(REPORTS)))
    return collection, tuple(_spoiled(block, number) for number, block in enumerate(blocks))


def _spoiled(block: ShareBlock, server: int) -> ShareBlock:
    """With two bad reports: one that the leader cannot accept, and one that only the other servers find fault with."""
    public, inputs = block.rows.public.copy(), block.rows.inputs.copy()
    place = SPOILED[0] if server == 0 else SPOILED[1]
    if public.size and server:
        public[place] ^= 1  # another joint randomness than the leader was shown
    else:
        inputs[place] = 0xFF  # no field element
    return ShareBlock(block.collection, block.party, block.cohort, Rows(public, inputs))


@dataclass
class World:
    """Servers, their disks, and what the test remembers of what they said."""

    seed: int
    servers: int = 2
    tier: str = "additive"
    make_server: MakeServer = ShareServer
    make_storage: MakeStorage = field(default=lambda number: MemoryStorage())
    heal: bool = False

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.collection, self.blocks = task(self.servers, self.tier)
        self.disks = [Disk(self.make_storage(number)) for number in range(self.servers)]
        self.running: list[ShareServer | None] = [None] * self.servers
        self.acknowledged = [set[int]() for _ in range(self.servers)]
        self.sent = [set[int]() for _ in range(self.servers)]
        self.published: list[set[tuple[int, ...]]] = [set() for _ in range(self.servers)]

    @property
    def name(self) -> bytes:
        return self.collection.digest

    def loses_calls(self) -> bool:
        return not self.heal and self.random.random() < 0.05

    def on_server(self, number: int, job: Callable[[ShareServer], Any]) -> Any:
        """Run something on a server, which is started if it is not running; a crash is no answer."""
        try:
            return job(self._server(number))
        except Crash:
            self.running[number] = None
            raise Unreachable("the server is gone") from None

    def _server(self, number: int) -> ShareServer:
        server = self.running[number]
        if server is None:
            key = KEYRING.server(number)
            server = self.make_server(self.collection.servers[number], key, self.disks[number])
            self.running[number] = server
            server.open(self.collection)
        return server

    def upload(self, number: int, places: Sequence[range]) -> None:
        """Some blocks of consecutive reports, in this order, to one server in one stream."""
        blocks = [self._block(number, place) for place in places]
        self.sent[number].update(index for place in places for index in place)
        self.on_server(number, lambda server: server.accept(*blocks))
        self.acknowledged[number].update(index for place in places for index in place)

    def _block(self, number: int, place: range) -> ShareBlock:
        block, part = self.blocks[number], slice(place.start, place.stop)
        rows = Rows(block.rows.public[part], block.rows.inputs[part])
        return ShareBlock(self.name, "party-0", Cohort(place.start, place.stop), rows)

    def agree(self) -> None:
        """Ask the leader for an agreement."""
        helpers: list[Any] = [Link(self, number) for number in range(1, self.servers)]
        self.on_server(0, lambda server: agree(server, helpers, self.collection))

    def release(self, number: int) -> None:
        """Ask a server for its release of whatever it counts."""

        def ask(server: ShareServer) -> tuple[int, ...]:
            return server.release(self.name, server.holding(self.name).accepted)

        self.published[number].add(self.on_server(number, ask))

    def crash(self, number: int) -> None:
        """kill -9, at rest."""
        self.running[number] = None

    def arm(self, number: int, writes: int, after: bool) -> None:
        """The server dies at a write that is to come."""
        self.disks[number].writes_left, self.disks[number].after = writes, after

    def step(self) -> None:
        """Some operation, somewhere; whether it works out does not matter."""
        draw, number = self.random, int(self.random.integers(self.servers))
        kind = draw.choice(
            ["upload", "everywhere", "agree", "release", "crash", "arm"], p=[0.25, 0.25, 0.2, 0.1, 0.1, 0.1]
        )
        try:
            match kind:
                case "upload":
                    self.upload(number, self._some_places())
                case "everywhere":
                    places = self._some_places()
                    for each in range(self.servers):
                        self.upload(each, places)
                case "agree":
                    self.agree()
                case "release":
                    self.release(number)
                case "crash":
                    self.crash(number)
                case "arm":
                    self.arm(number, int(draw.integers(4)), bool(draw.integers(2)))
        except LocalDpError:
            return

    def _some_places(self) -> list[range]:
        starts = self.random.integers(REPORTS, size=int(self.random.integers(1, 4)))
        return [
            range(start, min(REPORTS, start + int(self.random.integers(1, 7)))) for start in starts.tolist()
        ]

    def settle(self) -> list[int]:
        """All is well again: agree, release, and return the buckets without the noise that is on record."""
        self.heal = True
        for disk in self.disks:
            disk.writes_left = None
        before = self._must_count()
        self.agree()
        for number in range(self.servers):
            self.release(number)
            self.crash(number)
            self.release(number)
        assert all(len(values) == 1 for values in self.published), "a server released two different numbers"
        buckets = self._buckets()
        assert set(buckets) <= {0, 1}, f"a bucket is {max(buckets, key=abs)}"
        counted = {index for index, bucket in enumerate(buckets) if bucket}
        assert before <= counted, "a report that was acknowledged by all, or decided, is missing"
        assert counted <= set.intersection(*self.sent), "a report counts that some server never got"
        holdings = {
            self.on_server(number, lambda server: server.holding(self.name))
            for number in range(self.servers)
        }
        assert len(holdings) == 1 and next(iter(holdings)).reports == len(counted)
        assert not counted & set(SPOILED), "a bad report counts"
        return buckets

    def _must_count(self) -> set[int]:
        """What all servers acknowledged while it was not too late, and is no lie."""
        kept = [next(iter(disk.kept()), None) for disk in self.disks]
        assert all(kept)
        if any(one is not None and one.sealed for one in kept):
            return set()  # the set was final before; that it was whole is checked by the digests
        return set.intersection(*self.acknowledged) - set(SPOILED)

    def _buckets(self) -> list[int]:
        shares = []
        modulus = self.collection.field.modulus
        for number, disk in enumerate(self.disks):
            record = next(iter(disk.kept())).released
            assert record is not None and self.published[number] == {record.noisy_sums}
            pairs = zip(record.noisy_sums, record.noise, strict=True)
            shares.append([(noisy - noise) % modulus for noisy, noise in pairs])
        return additive.combined(shares, modulus)


def run(world: World, steps: int) -> str:
    """A sequence of operations, and what came of it."""
    for _ in range(steps):
        world.step()
    try:
        world.settle()
    except TooFewReports:
        assert not any(world.published), "something was released below the minimum batch"
        return "too few"
    except CollectionClosed as error:  # an honest batch that is stuck
        raise AssertionError("the batch is stuck") from error
    return "released"
