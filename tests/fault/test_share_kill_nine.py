"""Share servers that are killed with SIGKILL at one write after the other, and started again on what is on disk.

Two processes, real files, real sockets.  However often and wherever they die, the batch is released in the end, and
the numbers are those of servers that never died: the noise is a function of the key and the set of reports, so equal
numbers mean equal sums.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from localdp.errors import DeadlineMissed, Unreachable
from localdp.sharing import additive
from localdp.sharing.agreement import agree
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.share_server import ShareServer
from parties.coordinator import Peer
from parties.repeating import Patience
from parties.serving import open_aio_channel
from parties.shares.client import upload
from parties.shares.collector import RemoteShareServers
from parties.shares.storage import SqliteStorage
from tests.support.processes import Stage, read_line, stage
from tests.support.shares import blocks_of, collection_of, one_hot

VALUES = one_hot(3, *[0, 1, 2, 2, 1] * 6)
NAMES = ("server-0", "server-1")
HEALTHY = -1

_Result = TypeVar("_Result")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Servers:
    """Two processes, each with a list of lives: after how many writes it dies, until it is healthy."""

    def __init__(self, place: Stage, lives: dict[str, list[int]], when: str) -> None:
        self._place, self._lives, self._when = place, lives, when
        self._ports = {name: free_port() for name in NAMES}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.deaths = 0
        for name in NAMES:
            self._start(name)

    @property
    def peers(self) -> list[Peer]:
        return [Peer(name, f"127.0.0.1:{port}") for name, port in self._ports.items()]

    def _start(self, name: str) -> None:
        lives = self._lives[name]
        writes = lives.pop(0) if lives else HEALTHY
        state, port = self._place.directory / name, self._ports[name]
        arguments = [
            "-u",
            "-m",
            "tests.fault.share_process",
            name,
            str(state),
            str(port),
            str(writes),
            self._when,
        ]
        process = self._place.popen([sys.executable, *arguments], stdout=subprocess.PIPE, bufsize=0)
        self._running[name] = process
        assert read_line(process).strip() == str(port)

    def revive(self) -> None:
        """Start again whoever is dead."""
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                self.deaths += 1
                self._ended(process)
                self._start(name)

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
            self._ended(process)

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def insist(self, job: Callable[[], _Result]) -> _Result:
        """Until it works out."""
        for _ in range(60):
            try:
                return job()
            except (Unreachable, DeadlineMissed):
                time.sleep(0.1)  # a channel does not dial again at once
                self.revive()
        raise AssertionError("it never worked out")


@contextmanager
def servers_of(place: Stage, lives: dict[str, list[int]], when: str) -> Iterator[Servers]:
    with closing(Servers(place, lives, when)) as made:
        yield made


def uploaded(peers: list[Peer], blocks: list[ShareBlock]) -> None:
    async def run() -> None:
        async def each() -> AsyncIterator[list[ShareBlock]]:
            yield blocks

        channels = [open_aio_channel(peer.address) for peer in peers]
        try:
            outcomes = await upload(channels, each(), 20)
        finally:
            for channel in channels:
                await channel.close()
        if not all(isinstance(outcome, int) for outcome in outcomes):
            raise Unreachable("an upload was not acknowledged")

    asyncio.run(run())


def collected(made: Servers, shared: RemoteShareServers, collection: Collection) -> list[int]:
    """The whole protocol, by a collector that never gives up."""
    made.insist(lambda: shared.open(collection))
    for part in (slice(0, 12), slice(12, 30)):
        blocks = blocks_of(collection, VALUES[part], part.start)
        made.insist(functools.partial(uploaded, made.peers, blocks))
    agreed = made.insist(lambda: shared.agree(collection))
    assert agreed.reports == len(VALUES)
    first = made.insist(lambda: shared.release(collection, agreed.accepted))
    assert made.insist(lambda: shared.release(collection, agreed.accepted)) == first
    return additive.combined(first, collection.field.modulus)


def expected_from(place: Stage, collection: Collection) -> list[int]:
    """What servers with these keys release if nothing happens."""
    with ExitStack() as stack:
        states = [SqliteStorage(place.directory / name, name) for name in NAMES]
        for state in states:
            stack.callback(state.close)
        servers = [ShareServer(name, state.key) for name, state in zip(NAMES, states, strict=True)]
    for server, block in zip(servers, blocks_of(collection, VALUES), strict=True):
        server.open(collection)
        server.accept(block)
    agreed = agree(servers[0], servers[1:], collection)
    released = [server.release(collection.digest, agreed.accepted) for server in servers]
    return additive.combined(released, collection.field.modulus)


def check(directory: Path, lives: dict[str, list[int]], when: str, tier: str, deaths: int) -> None:
    collection = collection_of(encoding=Encoding.histogram(3), tier=tier)
    nobody: Any = None  # there are no parties here to be asked
    with stage(directory) as place:
        with (
            servers_of(place, lives, when) as made,
            closing(RemoteShareServers(nobody, made.peers, 20, patience=Patience(attempts=1))) as shared,
        ):
            result = collected(made, shared, collection)
            assert made.deaths >= deaths
        assert result == expected_from(place, collection)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDP_NO_NUMBA", "1")


def test_servers_that_die_at_write_after_write_release_what_they_would_have_released(
    tmp_path: Path,
) -> None:
    check(tmp_path, {"server-0": [1, 2], "server-1": [2]}, "after", "prio3", 3)


def test_also_if_they_die_before_they_wrote(tmp_path: Path) -> None:
    check(tmp_path, {"server-0": [3], "server-1": [1]}, "before", "additive", 2)


@pytest.mark.nightly
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("write", range(6))
def test_at_every_write_of_each_server(tmp_path: Path, write: int, tier: str, when: str) -> None:
    check(tmp_path, {"server-0": [write], "server-1": [write]}, when, tier, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("when", ["before", "after"])
def test_at_one_write_after_the_other(tmp_path: Path, when: str) -> None:
    check(tmp_path, {"server-0": [0, 1, 0, 2, 3], "server-1": [1, 0, 1, 2]}, when, "prio3", 6)
