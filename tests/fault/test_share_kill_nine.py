"""Share servers that are killed with SIGKILL at one write after the other, and started again on what is on disk.

Two processes, or three that draw joint noise, real files, real sockets, and writes of states and vaults alike.  However
often and wherever they die, the batch is released in the end, and every report is in it once: epsilon is so large that
there is noise in no entry but with probability below 1e-5 a test.  When it is released, the secrets are gone.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import DeadlineMissed, Unreachable
from localdp.oracles.collecting import combined
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import JOINT_SERVERS, NoisePlan
from localdp.sharing.selection import Selection
from localdp.sharing.storage import NOTHING_RELEASED
from parties.coordinator import Peer
from parties.repeating import Patience
from parties.serving import open_aio_channel
from parties.shares.client import upload
from parties.shares.collector import RemoteShareServers
from parties.shares.storage import storage_of
from parties.shares.vault import FileVault, vault_path
from tests.support.postgres import new_database
from tests.support.processes import Stage, read_line, stage
from tests.support.shares import QUIET, blocks_of, collection_of, one_hot

VALUES = one_hot(3, *[0, 1, 2, 2, 1] * 6)
# As quiet as its delta allows: noise on a count with probability 2e-6.
JOINT = {"encoding": Encoding.count(), "epsilon": Epsilon.requested(14), "plan": NoisePlan.JOINT}
# The distances from these are 0, 0 and 9: another than the last is told with probability below 1e-20.
SELECTED = {
    "encoding": Encoding.histogram(3),
    "epsilon": Epsilon.requested(14),
    "plan": NoisePlan.JOINT,
    "selection": Selection("furthest", 3, (6, 12, 3)),
}
PROVED = JOINT | {"plan": NoisePlan.PROVED}
WITHOUT = {"encoding": Encoding.histogram(3), "epsilon": QUIET}
HEALTHY = -1
FIRST_SLOT = 8192  # of a vault: what is before are keys

_Result = TypeVar("_Result")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Servers:
    """Processes, each with a list of lives: after how many writes it dies, until it is healthy."""

    def __init__(
        self, place: Stage, lives: dict[str, list[int]], when: str, states: dict[str, str]
    ) -> None:
        self._place, self._lives, self._when, self._states = place, lives, when, states
        self._ports = {name: free_port() for name in lives}
        self.peers = [Peer(name, f"127.0.0.1:{port}") for name, port in self._ports.items()]
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.deaths = 0
        for name in lives:
            self._start(name)

    def _start(self, name: str) -> None:
        lives = self._lives[name]
        writes = lives.pop(0) if lives else HEALTHY
        port = self._ports[name]
        arguments = [
            "-u",
            "-m",
            "tests.fault.share_process",
            name,
            self._states[name],
            str(port),
            str(writes),
            self._when,
        ]
        process = self._place.popen([sys.executable, *arguments], stdout=subprocess.PIPE, bufsize=0)
        self._running[name] = process
        told = read_line(process).strip()
        if not told:  # it died of a write at its start: what a crash left is put in order there
            assert process.wait() == -signal.SIGKILL
        else:
            assert told == str(port)

    def revive(self) -> None:
        """Start again whoever is dead."""
        for name in list(self._running):
            while (process := self._running[name]).poll() is not None:
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
def servers_of(
    place: Stage, lives: dict[str, list[int]], when: str, states: dict[str, str]
) -> Iterator[Servers]:
    with closing(Servers(place, lives, when, states)) as made:
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


class Insisting(Protocol):
    """Servers that die, and whoever does not give them up."""

    peers: list[Peer]

    def insist(self, job: Callable[[], _Result]) -> _Result:
        """Until it works out."""
        ...


def collected(made: Insisting, shared: RemoteShareServers, collection: Collection) -> list[int]:
    """The whole protocol, by a collector that never gives up; of a count, whoever is in the first bucket is counted."""
    made.insist(lambda: shared.open(collection))
    for part in (slice(0, 12), slice(12, 30)):
        values = VALUES[part, : collection.encoding.length]
        blocks = blocks_of(collection, values, part.start)
        made.insist(functools.partial(uploaded, made.peers, blocks))
    agreed = made.insist(lambda: shared.agree(collection))
    assert agreed.reports == len(VALUES)
    signed = [one.signature for one in made.insist(lambda: shared.holdings(collection))]
    first = made.insist(lambda: shared.release(collection, agreed.accepted, signed))
    assert made.insist(lambda: shared.release(collection, agreed.accepted, signed)) == first
    return combined(collection, first)


def check_secrets_are_gone(state: str, secrets: Path, name: str) -> None:
    """A server that starts on what is left has released once, and has no secret of it, in memory or on the disk."""
    vault = FileVault(secrets, server=name)
    with closing(vault), closing(storage_of(state, name, vault)) as storage:
        assert vault.history == storage.history != NOTHING_RELEASED
        assert not vault.collections() and not storage.kept()
    assert not any(secrets.read_bytes()[FIRST_SLOT:])


def check(
    directory: Path,
    lives: dict[str, list[int]],
    when: str,
    tier: str,
    deaths: int,
    joint: dict[str, Any] = JOINT,
    *,
    proved: bool = False,
    database: bool = False,
) -> None:
    nobody: Any = None  # there are no parties here to be asked
    states = {name: new_database() if database else str(directory / name) for name in lives}
    with stage(directory) as place:
        with (
            servers_of(place, lives, when, states) as made,
            closing(RemoteShareServers(nobody, made.peers, 20, patience=Patience(attempts=1))) as shared,
        ):
            binding = made.insist(lambda: shared.bind(bytes(16)))
            of_three = len(lives) == JOINT_SERVERS
            how = PROVED if proved else joint if of_three else WITHOUT
            collection = collection_of(tier=tier, binding=binding, servers=tuple(lives), **how)
            sums = VALUES.sum(axis=0)[: collection.encoding.length].tolist()
            truth = sums if collection.selection is None else [2]
            assert collected(made, shared, collection) == truth
            assert made.deaths >= deaths
        for name in lives:
            check_secrets_are_gone(states[name], vault_path(place.directory / name), name)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDP_NO_NUMBA", "1")


def test_servers_that_die_at_write_after_write_release_what_they_would_have_released(
    tmp_path: Path,
) -> None:
    check(tmp_path, {"server-0": [1, 2], "server-1": [2]}, "after", "prio3", 3)


def test_also_if_they_die_before_they_wrote(tmp_path: Path) -> None:
    check(tmp_path, {"server-0": [3], "server-1": [1]}, "before", "additive", 2)


def test_also_if_their_state_is_in_a_database(tmp_path: Path) -> None:
    check(tmp_path, {"server-0": [5], "server-1": [2]}, "after", "additive", 2, database=True)


@pytest.mark.nightly
@pytest.mark.parametrize("database", [False, True], ids=["files", "database"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("write", range(9))
def test_at_every_write_of_each_server(
    tmp_path: Path, write: int, tier: str, when: str, database: bool
) -> None:
    check(tmp_path, {"server-0": [write], "server-1": [write]}, when, tier, 1, database=database)


def test_three_servers_that_die_while_they_draw_joint_noise_draw_the_same(tmp_path: Path) -> None:
    check(tmp_path, {"server-0": [8], "server-1": [9], "server-2": [10]}, "before", "additive", 3)


def test_three_servers_that_die_while_they_select_tell_the_same_index(tmp_path: Path) -> None:
    lives = {"server-0": [9], "server-1": [10], "server-2": [8]}
    check(tmp_path, lives, "after", "additive", 3, SELECTED)


@pytest.mark.nightly
@pytest.mark.parametrize("joint", [JOINT, SELECTED], ids=["noise", "selection"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("write", range(12))
def test_at_every_write_of_each_of_three_servers(
    tmp_path: Path, write: int, tier: str, when: str, joint: dict[str, Any]
) -> None:
    lives = {"server-0": [write], "server-1": [write], "server-2": [write]}
    check(tmp_path, lives, when, tier, 1, joint)


def test_servers_that_die_while_they_prove_their_noise_prove_the_same(tmp_path: Path) -> None:
    lives = {"server-0": [10, 0, 1], "server-1": [11, 1]}
    check(tmp_path, lives, "after", "additive", 4, proved=True)


@pytest.mark.nightly
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("write", range(16))
def test_at_every_write_of_servers_that_prove_their_noise(
    tmp_path: Path, write: int, servers: int, when: str
) -> None:
    lives = {f"server-{number}": [write] for number in range(servers)}
    check(tmp_path, lives, when, "prio3", 1, proved=True)


@pytest.mark.nightly
@pytest.mark.parametrize("when", ["before", "after"])
def test_at_one_write_after_the_other(tmp_path: Path, when: str) -> None:
    check(tmp_path, {"server-0": [0, 1, 0, 2, 3], "server-1": [1, 0, 1, 2]}, when, "prio3", 6)
