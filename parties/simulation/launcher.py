"""Simulated parties as real processes on loopback: started, checked, and always cleaned up.

`Simulation` is a context manager.  On the way in it starts share servers and agents through the nursery, and a shuffler in
front of the agents if one is wanted, and waits until each answers its health check; on the way out, normally, by an
exception or by Ctrl-C, every process ends and the directory with records and ledgers is removed.  If the launcher itself is
killed, the nursery does the same.

An agent hosts as many people as its records have, each with a budget of its own: 100,000 logical parties are four agents
of 25,000 people, asked in four calls.  One process for each party is the other extreme, for when processes are the point:
500 of them start in seconds (benchmarks/service.py), and take about 9 MB each.  In between, `agent_processes` deals the
agents out to so many processes: each keeps its port, its ledger and its secret, and shares memory with its neighbours.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Records
from localdp.errors import DeadlineMissed, InvalidParameter, Unreachable
from localdp.oracles.shuffler import Promise
from localdp.oracles.simulated import party_name, server_name
from localdp.randomness.keyring import Keyring
from parties.coordinator import MOST_CALLS, Peer, RemoteParties
from parties.durable import Data
from parties.repeating import Begun, Stub
from parties.serving import open_channel
from parties.shares.collector import never
from parties.shuffler.client import RemoteShuffler
from parties.simulation.launched_shares import LaunchedShareServers
from parties.simulation.open_files import PER_DIALLED_AGENT, PER_HOSTED_AGENT, USUAL, allow_open_files
from parties.simulation.roles import (
    HOST,
    AgentRole,
    AgentsRole,
    Role,
    ShareServerRole,
    ShufflerRole,
    names_in,
    role_to_line,
    save_records,
)

START_SECONDS = 60.0
START_SECONDS_EACH = 0.05  # more for everybody who is awaited: thousands take a while
STOP_SECONDS = 15.0
_SETTINGS = {
    "GRPC_VERBOSITY": "NONE",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Messages of a megabyte come and go; to give their memory back each time costs more than to fill it.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


class Simulation:
    """Agents that hold the given records, and share servers, as processes of this machine."""

    def __init__(
        self,
        records: Sequence[Records],
        *,
        budget: Epsilon,
        servers: int = 2,
        keyring: Keyring | None = None,
        largest_request: Epsilon | None = None,
        shuffler: Promise | None = None,
        synced: bool = False,
        agent_processes: int | None = None,
        cheating: Collection[int] = (),
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        """One agent for each element of `records`; every person may spend `budget` in total.

        With a promise there is a shuffler that keeps it: `mixer` talks to it, `shuffler` says where it is.  With
        `synced`, agents and share servers wait for the disk as real ones do.  Agents have a process each, or share
        so many.  Those of the numbers in `cheating` send what suits them.  `told` hears what takes long.
        """
        if agent_processes is not None and not 1 <= agent_processes <= len(records):
            raise InvalidParameter(f"{len(records)} agents are in 1 to {len(records)} processes")
        self._records = records
        self._budget = budget
        self._largest = largest_request or budget
        self._server_count = servers
        self._agent_processes = agent_processes
        self._cheating = cheating
        self._told = told
        self._synced = synced
        self._promise = shuffler
        self._keyring = keyring or Keyring.from_system()
        self._cleanup = contextlib.ExitStack()
        self.agents: list[Peer] = []
        self.ledger_files: list[Path] = []  # of the agents, in order: theirs to write
        self.share_servers: list[Peer] = []
        self.shuffler: Peer | None = None
        self.mixer: RemoteShuffler | None = None
        self.process_ids: list[
            int
        ] = []  # of share servers, agents and shuffler, in order; shared ones repeat

    def __enter__(self) -> Simulation:
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def _start(self, stack: contextlib.ExitStack) -> None:
        hosted = -(-len(self._records) // (self._agent_processes or len(self._records)))
        allow_open_files(USUAL + max(PER_DIALLED_AGENT * len(self._records), PER_HOSTED_AGENT * hosted))
        self._nursery = _Nursery()
        stack.callback(self._nursery.close)
        directory = self._nursery.made_directory()
        roles = [self._server(number, directory) for number in range(self._server_count)]
        self.share_servers = self._peers(roles)
        self.agents = self._peers(self._agents(directory))
        self.parties = RemoteParties(self.agents)
        stack.callback(self.parties.close)
        self.shared = LaunchedShareServers(self.parties, self.share_servers, ends=never, told=self._told)
        stack.callback(self.shared.close)
        if self._promise is not None:
            self.shuffler = self._peers([self._shuffler(self._promise)])[0]
            self.mixer = RemoteShuffler(self.shuffler)
            stack.callback(self.mixer.close)

    def _agents(self, directory: Path) -> Sequence[AgentRole | AgentsRole]:
        agents = [self._agent(number, directory) for number in range(len(self._records))]
        self.ledger_files = [Path(agent.ledger) for agent in agents]
        if self._agent_processes is None:
            return agents
        edges = [len(agents) * place // self._agent_processes for place in range(self._agent_processes + 1)]
        return [
            AgentsRole(f"agents-{place}", tuple(agents[start:stop]))
            for place, (start, stop) in enumerate(pairwise(edges))
        ]

    def _server(self, number: int, directory: Path) -> ShareServerRole:
        name = server_name(number)
        state = str(directory / f"{name}.state")
        return ShareServerRole(name, self._keyring.server(number).hex(), state, self._synced)

    def _agent(self, number: int, directory: Path) -> AgentRole:
        path = directory / f"{party_name(number)}.npz"
        save_records(self._records[number], path)
        return AgentRole(
            name=party_name(number),
            secret=self._keyring.party(number).hex(),
            records=str(path),
            ledger=str(directory / f"{party_name(number)}.ledger"),
            budget_nanonats=self._budget.nanonats,
            largest_request_nanonats=self._largest.nanonats,
            share_servers={peer.name: peer.address for peer in self.share_servers},
            cheats=number in self._cheating,
            synced=self._synced,
        )

    def _shuffler(self, promise: Promise) -> ShufflerRole:
        return ShufflerRole(
            name="shuffler",
            secret=self._keyring.shuffler().hex(),
            agents={peer.name: peer.address for peer in self.agents},
            epsilon_nanonats=promise.epsilon.nanonats,
            delta=str(promise.delta),
            colluding=promise.colluding,
            requests=promise.requests,
            minimum_cohort=promise.minimum_cohort,
        )

    def _peers(self, roles: Sequence[Role]) -> list[Peer]:
        started = self._nursery.start(roles)
        names = [name for role in roles for name in names_in(role)]
        self.process_ids += [started[name][1] for name in names]
        peers = [Peer(name, f"{HOST}:{started[name][0]}") for name in names]
        wait_until_healthy(peers)
        return peers


def wait_until_healthy(peers: Sequence[Peer], timeout_seconds: float = START_SECONDS) -> None:
    """Return when every peer says that it serves; many are asked at a time."""
    for start in range(0, len(peers), MOST_CALLS):
        with contextlib.ExitStack() as channels:
            calls = [
                (peer, _health(channels.enter_context(open_channel(peer.address)), timeout_seconds))
                for peer in peers[start : start + MOST_CALLS]
            ]
            for peer, call in calls:
                _require_serving(peer, call)


def _health(channel: grpc.Channel, timeout_seconds: float) -> Begun:
    stub: Stub = health_pb2_grpc.HealthStub(channel)
    return stub.Check.future(health_pb2.HealthCheckRequest(), timeout=timeout_seconds, wait_for_ready=True)


def _require_serving(peer: Peer, call: Begun) -> None:
    try:
        answer = call.result()
    except grpc.RpcError as failure:
        raise Unreachable(f"{peer.name} did not become healthy ({failure.code().name})") from None
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise Unreachable(f"{peer.name} is up but does not serve")


class _Nursery:
    """The forking process, seen from the launcher."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "parties.simulation.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the launcher alone
            env={**os.environ, **_SETTINGS},
        )
        self._unread = b""
        self._directory: Path | None = None

    def made_directory(self) -> Path:
        """The simulation's directory, which the nursery made and will remove."""
        self._directory = Path(self._line(time.monotonic() + START_SECONDS)["directory"])
        return self._directory

    def start(self, roles: Sequence[Role]) -> dict[str, tuple[int, int]]:
        """Start a process for each role; returns port and process id by the name of whoever answers there."""
        waiting = {name for role in roles for name in names_in(role)}
        assert self._process.stdin is not None
        self._process.stdin.write("".join(role_to_line(role) + "\n" for role in roles).encode())
        self._process.stdin.flush()
        started: dict[str, tuple[int, int]] = {}
        deadline = time.monotonic() + START_SECONDS + START_SECONDS_EACH * len(waiting)
        while waiting - started.keys():
            line = self._line(deadline)
            if "failed" in line:
                raise Unreachable(f"{line['name']} could not start ({line['failed']})")
            started[line["name"]] = (line["port"], line["pid"])
        return started

    def _line(self, deadline: float) -> Data:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select(
                [self._process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                raise DeadlineMissed(
                    "the simulated parties did not start in time: is the machine very busy?"
                )
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise Unreachable("the process that starts the simulated parties ended")
            self._unread += more
        first, self._unread = self._unread.split(b"\n", 1)
        result: Data = json.loads(first)
        return result

    def close(self) -> None:
        """End all processes and remove the directory; returns when that is done."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()
            if self._directory is not None:  # still there if the nursery itself was killed
                shutil.rmtree(self._directory, ignore_errors=True)
