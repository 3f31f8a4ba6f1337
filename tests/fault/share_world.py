"""A world of share servers whose processes, disks, links, operators and colleagues fail on demand.

        party                      collector: opens, asks for an agreement, asks for releases
          | shares                     |
    +-----v------+   Link / Puppet   +-v----------+   +------------+
    |  server-0  |------------------>|  server-1  |   |  server-2  |     honest or not, but never all dishonest
    |  (leads)   |  lost, repeated   +------------+   +------------+
    +------------+  or late                |                |
      state, vault                    state, vault     state, vault     copies are taken, put back, lost (`share_disks`)

A step is one thing that happens somewhere: an upload, an agreement, a release, a crash at some write to come, a message
that comes again or late, an accident of a disk, time, or an attack of the dishonest servers (`share_adversary`).  After
every step the rules of `share_book` hold for every honest server.  No failure is: an operation that is refused or gets no
answer; a report that some server never got; a collection that has to begin anew after an accident.

Which accidents there are is drawn once for a world:

    none    nobody loses anything, but processes
    state   any honest server is put back to an old state, or loses its state or its vault
    both    one honest server is put back to an old state and an old vault, alone or together; an honest one loses nothing

Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from localdp.errors import LocalDpError, Unreachable
from localdp.oracles.shared import binding_of
from localdp.sharing import agreement
from localdp.sharing.blocks import Mask
from localdp.sharing.collection import Tier
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import KeptCollection
from tests.fault.share_adversary import Adversary, Puppet, error_of
from tests.fault.share_book import MINIMUM, REPORTS, Batch, Book, bad_for, set_of
from tests.fault.share_disks import STATE, VAULT, Crash, Disk, Draw, Failing, Fuse, MemoryDisk

MESSAGES = frozenset(
    {"open", "accept", "check", "vote", "commit", "seal", "release"}
)  # that may come again
SECONDS = 100  # from the beginning of a collection to its end
MOST_BATCHES, MOST_COPIES = 5, 4
ACCIDENTS = ("none", "state", "both")
STEPS = {
    "upload": 3,
    "upload to all": 6,
    "agree": 6,
    "release": 5,
    "crash": 2,
    "dies soon": 3,
    "comes again": 4,
    "copy": 3,
    "accident": 5,
    "begin": 3,
    "time passes": 1,
    "new key": 1,
}


class MakeServer(Protocol):
    """A share server, or a broken twin of one."""

    def __call__(
        self, name: str, vault: Any, storage: Any, *, clock: Callable[[], float]
    ) -> ShareServer: ...


class MakeDisk(Protocol):
    """Where the state and the vault of an honest server are."""

    def __call__(self, number: int, draw: Draw) -> Disk: ...


def _in_memory(number: int, draw: Draw) -> Disk:
    return MemoryDisk(draw)


@dataclass(frozen=True)
class Setting:
    """Who is honest, and what may happen to whom."""

    servers: int
    tier: Tier = "additive"
    dishonest: frozenset[int] = frozenset()
    accidents: str = "none"
    forgetful: int = 0  # who loses both parts, in a world where somebody does

    @classmethod
    def drawn(cls, seed: int, servers: int, tier: Tier = "additive") -> Setting:
        draw = np.random.default_rng([seed, servers])
        count = int(draw.choice(servers, p=[0.4, 0.6] if servers == 2 else [0.3, 0.45, 0.25]))
        order = draw.permutation(servers) if draw.random() < 0.5 else np.arange(servers)
        accidents = str(draw.choice(ACCIDENTS, p=[0.25, 0.35, 0.4]))
        if accidents == "both" and servers - count < 2:
            accidents = "state"
        honest = order[count:].tolist()
        return cls(servers, tier, frozenset(order[:count].tolist()), accidents, max(honest))


@dataclass
class Seat:
    """One server's place."""

    disk: Disk
    fuse: Fuse = field(default_factory=Fuse)
    running: ShareServer | None = None
    copies: list[Any] = field(default_factory=list)


class Link:
    """The leader's way to an honest helper: a call may get lost on the way there or back, or come later."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number = world, number
        self.name = f"server-{number}"

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            there, back = self._world.loses_calls(), self._world.loses_calls()
            if there:
                self._world.messages.extend([(self._number, name, arguments)] if name in MESSAGES else [])
                raise Unreachable("lost on the way there")
            result = self._world.call(self._number, name, *arguments)
            if back:
                raise Unreachable("lost on the way back")
            return result

        return call


class Own:
    """An honest leader, to itself."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._world.call(0, name, *arguments, own=True)


class World:
    """Servers, their disks, the collections, and a book of what happened."""

    def __init__(
        self,
        seed: int,
        setting: Setting,
        make_server: MakeServer = ShareServer,
        make_disk: MakeDisk = _in_memory,
    ) -> None:
        self.random = np.random.default_rng([seed, setting.servers, 1])
        self.setting, self.servers, self._make_server = setting, setting.servers, make_server
        self.honest = frozenset(range(setting.servers)) - setting.dishonest
        self.now, self.well = 0.0, False
        self.book, self.adversary = Book(self.honest), Adversary(self)
        self.batches: list[Batch] = []
        self.messages: list[tuple[int, str, tuple[Any, ...]]] = []
        draws = np.random.default_rng([seed, setting.servers, 2])
        makes = [make_disk if number in self.honest else _in_memory for number in range(self.servers)]
        self.seats = [Seat(make(number, lambda: draws.bytes(32))) for number, make in enumerate(makes)]
        for number in range(self.servers):
            self.copy(number)
        self.begin()

    # Servers and calls.

    def server(self, number: int) -> ShareServer:
        """A server, which is started if it is not running."""
        seat = self.seats[number]
        if seat.running is None:
            with self._dying(number):
                storage, vault = seat.disk.opened()
                failing = [Failing(part, seat.fuse, self._told(number)) for part in (vault, storage)]
                make = self._make_server if number in self.honest else ShareServer
                seat.running = make(f"server-{number}", *failing, clock=lambda: self.now)
        assert seat.running is not None
        return seat.running

    @contextmanager
    def _dying(self, number: int) -> Iterator[None]:
        """A crash is no answer; nor is what keeps a server from starting."""
        try:
            yield
        except Crash:
            self.crash(number)
            raise Unreachable("the server is gone") from None
        except LocalDpError:
            if self.seats[number].running is None:
                self.seats[number].disk.close()
            raise

    def call(self, number: int, method: str, *arguments: Any, own: bool = False) -> Any:
        """Ask an honest server; everybody remembers what it says."""
        server = self.server(number)
        if not own and method in MESSAGES:
            self.messages.append((number, method, arguments))
        try:
            with self._dying(number):
                answer = getattr(server, method)(*arguments)
        except LocalDpError as error:
            self.book.requires_truth(error)
            raise
        self._note(number, method, arguments, answer)
        self.adversary.hears(number, method, arguments, answer)
        return answer

    def _note(self, number: int, method: str, arguments: tuple[Any, ...], answer: Any) -> None:
        if method == "check" and answer[0].all():
            self.book.checks(number, *arguments)
        elif method == "release":
            self.book.releases(number, self._batch(arguments[0]), answer)
        elif method == "decide":
            self._require_named(arguments[0], arguments[2])

    def _require_named(self, name: bytes, votes: Sequence[Mask]) -> None:
        """The leader has it against a helper that it refuses what holds; without proofs nobody can know what does."""
        refusing = self.server(0).blame(name).refusing
        if self.setting.tier == "additive":
            assert not refusing, "a server is named for what a party may have sent"
            return
        for number, vote in enumerate(votes):
            assert not (votes[0] & ~vote).any() or refusing[f"server-{number}"], "a liar is not named"

    def _told(self, number: int) -> Callable[..., None]:
        """What is written on a server's disk."""

        def told(write: str, name: bytes, what: Any, *more: Any) -> None:
            if number not in self.honest:
                return
            if write == "commit":
                self.book.counts(number, what)
            elif write == "seal":
                self.book.seals(number, name, what.accepted, set_of(self._kept(number, name)))
            elif write == "release":
                secret = self._parts(number)[1].secret(name)
                self.book.records(number, self._batch(name), what, secret, self.now)

        return told

    def _parts(self, number: int) -> tuple[Any, Any]:
        server: Any = self.seats[number].running
        return server._storage.inner, server._vault.inner

    def _kept(self, number: int, name: bytes) -> KeptCollection:
        kept: list[KeptCollection] = self._parts(number)[0].kept()
        return next(one for one in kept if one.collection.digest == name)

    def _batch(self, name: bytes) -> Batch:
        return next(batch for batch in self.batches if batch.name == name)

    def sets(self, batch: Batch) -> list[list[frozenset[int]]]:
        """The sets that honest servers sealed."""
        return [list(self.book.sealed[number, batch.name].values()) for number in sorted(self.honest)]

    def loses_calls(self) -> bool:
        return not self.well and self.random.random() < 0.05

    # What happens.

    def begin(self) -> None:
        """A new collection, bound to the servers as they are."""
        servers = [self.server(number) for number in range(self.servers)]
        number = len(self.batches)
        binding = binding_of(servers, number.to_bytes(16, "big"))
        binding = replace(binding, ends=int(self.now) + SECONDS)
        self.batches.append(Batch.begun(number, binding, self.setting.tier, self._parts(0)[1].keys[0]))
        self._open(self.batches[-1])

    def _open(self, batch: Batch) -> None:
        for number in range(self.servers):
            self.open(batch, number)

    def open(self, batch: Batch, number: int) -> None:
        """As a collector does before everything else."""
        if number in self.honest:
            self.call(number, "open", batch.collection)

    def upload(self, batch: Batch, number: int, places: Sequence[range]) -> None:
        """Some blocks of consecutive reports, in this order, to one server in one stream."""
        if number not in self.honest:
            return
        self.open(batch, number)
        blocks = [batch.block(number, place) for place in places]
        reports = {index for place in places for index in place}
        batch.sent[number] |= reports
        self.call(number, "accept", *blocks)
        batch.acknowledged[number] |= reports

    def agree(self, batch: Batch) -> None:
        """Ask the leader for an agreement."""
        if 0 not in self.honest:
            self.adversary.attack(batch)
            return
        self._open(batch)
        helpers = [self._helper(batch, number) for number in range(1, self.servers)]
        leader: Any = Own(self)
        try:
            agreement.agree(leader, helpers, batch.collection)
        except LocalDpError as error:
            self.book.requires_truth(error)
            raise

    def _helper(self, batch: Batch, number: int) -> Any:
        if number in self.honest:
            return Link(self, number)
        return Puppet(self.adversary, self, number, batch)

    def release(self, batch: Batch, number: int) -> None:
        """Ask a server for its release of what all have sealed."""
        self.adversary.ask_for_release(batch, number)

    def crash(self, number: int) -> None:
        """kill -9."""
        self.seats[number].running = None
        self.seats[number].disk.close()

    def dies_soon(self, number: int) -> None:
        """At a write that is to come."""
        fuse = self.seats[number].fuse
        fuse.writes, fuse.after = int(self.random.integers(6)), bool(self.random.integers(2))

    def comes_again(self) -> None:
        """Some message, of now or long ago."""
        some = self.messages[-8:] if self.random.random() < 0.5 else self.messages
        if some:
            number, method, arguments = some[int(self.random.integers(len(some)))]
            self.call(number, method, *arguments)

    def copy(self, number: int) -> None:
        """Of a server's disk; the oldest is of the day on which it was set up, and is kept."""
        self.crash(number)
        copies = self.seats[number].copies
        copies.append(self.seats[number].disk.copied())
        if len(copies) > MOST_COPIES:
            del copies[1]

    def accident(self, batch: Batch) -> None:
        """Something is put back or lost, perhaps after a release; then the release is tried again, or all begins anew."""
        some = [number for number in sorted(self.honest) if self._accidents(number)]
        if not some:
            return
        number = int(self.random.choice(some))
        if self.random.random() < 0.5:
            self._try_release(batch, number)
        self._befalls(number, str(self.random.choice(self._accidents(number))))
        if self.random.random() < 0.7:
            self._try_release(batch, number)
        if len(self.batches) < MOST_BATCHES and self.random.random() < 0.5:
            self.begin()

    def _try_release(self, batch: Batch, number: int) -> None:
        with suppress(LocalDpError):
            self.agree(batch)
            self.release(batch, number)

    def _befalls(self, number: int, accident: str) -> None:
        self.crash(number)
        self.book.forgot.add(number)
        disk = self.seats[number].disk
        old, other = self._some_copy(number), self._some_copy(number)
        match accident:
            case "old state":
                disk.put_back(old, STATE)
            case "no state":
                disk.lose(STATE)
            case "new vault":
                disk.lose(VAULT)
            case "new machine":
                disk.lose(STATE, VAULT)
            case "old vault":
                disk.put_back(old, VAULT)
            case "old both":
                disk.put_back(old, STATE, VAULT)
            case "mixed":
                disk.put_back(old, STATE)
                disk.put_back(other, VAULT)

    def _some_copy(self, number: int) -> Any:
        """The first, the last, or any."""
        copies = self.seats[number].copies
        return copies[int(self.random.choice([0, -1, int(self.random.integers(len(copies)))]))]

    def _accidents(self, number: int) -> tuple[str, ...]:
        """What may happen to a server."""
        alone = "old state", "old state", "no state", "new vault", "new machine"
        match self.setting.accidents:
            case "state":
                return alone
            case "both" if number == self.setting.forgetful:
                return *alone, "old vault", "mixed", *["old both"] * 6
            case "both" if number != min(self.honest):
                return alone
        return ()

    def time_passes(self) -> None:
        """And servers look for what has ended."""
        self.now += SECONDS * self.random.choice([0.1, 0.4])
        for number in sorted(self.honest):
            with suppress(Unreachable):
                self.call(number, "expire")
                vault = self._parts(number)[1]
                ended = [batch for batch in self.batches if batch.collection.binding.ends <= self.now]
                assert not any(vault.secret(batch.name) for batch in ended), "what ended can still be read"

    def new_key(self, number: int) -> None:
        """The operator gives a server a new key."""
        self.crash(number)
        self.seats[number].disk.add_key()

    # Schedules.

    def step(self) -> None:
        """Something happens, somewhere; whether it works out does not matter."""
        kinds, weights = zip(*STEPS.items(), strict=True)
        kind = str(self.random.choice(kinds, p=np.array(weights) / sum(weights)))
        batch, number = self._some_batch(), int(self.random.choice(sorted(self.honest)))
        with suppress(LocalDpError):
            self._do(kind, batch, number)
        self._require_fairness()

    def _do(self, kind: str, batch: Batch, number: int) -> None:
        match kind:
            case "upload":
                self.upload(batch, number, self._some_places())
            case "upload to all":
                places = self._some_places()
                for each in range(self.servers):
                    self.upload(batch, each, places)
            case "agree":
                self.agree(batch)
            case "release":
                self.release(batch, number)
            case "crash":
                self.crash(number)
            case "dies soon":
                self.dies_soon(number)
            case "comes again":
                self.comes_again()
            case "copy":
                self.copy(number)
            case "accident":
                self.accident(batch)
            case "begin" if len(self.batches) < MOST_BATCHES:
                self.begin()
            case "time passes":
                self.time_passes()
            case "new key":
                self.new_key(number)

    def _some_batch(self) -> Batch:
        last = len(self.batches) - 1
        at = last if self.random.random() < 0.6 else int(self.random.integers(last + 1))
        return self.batches[at]

    def _some_places(self) -> list[range]:
        if self.random.random() < 0.4:
            return [range(REPORTS)]
        starts = self.random.integers(REPORTS, size=int(self.random.integers(1, 4)))
        return [
            range(start, min(REPORTS, start + int(self.random.integers(1, 6)))) for start in starts.tolist()
        ]

    def _require_fairness(self) -> None:
        for number in sorted(self.honest):
            server = self.seats[number].running
            for batch in self.batches:
                if server is not None and server.in_progress(batch.name):
                    self.book.requires_fairness(server._tasks[batch.name].blame)

    def settle(self) -> list[str]:
        """All is well again: agree and release, and say what came of each collection."""
        self.well = True
        for seat in self.seats:
            seat.fuse.writes = None
        return [self._settled(batch) for batch in self.batches]

    def _settled(self, batch: Batch) -> str:
        ended = batch.collection.binding.ends <= self.now
        if not (self.setting.dishonest or self.book.forgot or ended):
            return self._require_released(batch)
        with suppress(LocalDpError):
            self.agree(batch)
        for number in sorted(self.honest):
            with suppress(LocalDpError):
                self.release(batch, number)
        return "tried" if any(self.book.returned[number, batch.name] for number in self.honest) else "stuck"

    def _require_released(self, batch: Batch) -> str:
        """Rule 3: what all acknowledged while it was not too late is in the release, and nothing that is bad."""
        late = any(self.sets(batch))
        must = set.intersection(*batch.acknowledged) - bad_for(range(self.servers))
        error = error_of(self.agree, batch)
        if error is not None:
            assert len(must) < MINIMUM, f"the batch is stuck: {error}"
            assert not any(self.book.returned[number, batch.name] for number in self.honest)
            return "too few"
        for number in range(self.servers):
            self.release(batch, number)
            self.crash(number)
            self.release(batch, number)
        ((counted,), *_) = self.sets(batch)
        assert late or must <= counted, "a report that all acknowledged is missing"
        assert counted <= set.intersection(*batch.sent), "a report counts that some server never got"
        expected = [int(place in counted) for place in range(REPORTS)]
        assert self.book.buckets(batch) == expected, "a bucket is not what was counted"
        return "released"

    def close(self) -> None:
        """The world ends."""
        for number in range(self.servers):
            self.crash(number)


def run(world: World, steps: int) -> list[str]:
    """A schedule, and what came of each collection."""
    try:
        for _ in range(steps):
            world.step()
        return world.settle()
    finally:
        world.close()
