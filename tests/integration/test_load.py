"""An agent under load: whatever one caller sends, another one is served; unread streams are few; and it ends in time.

The agent and the loading caller are processes of their own, with certificates: callers are told apart by their names.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.one_bit import OneBitRandomizer
from parties.agent.work import WorkLimits
from parties.identity import load_identity, make_authority, make_identity
from parties.serving import open_channel
from parties.wire.v1 import oracle_pb2_grpc
from tests.integration.loading_caller import asked
from tests.support.processes import PATIENCE_SECONDS, Stage, read_line, stage

WAIT_SECONDS = 1.0  # that an honest request takes at most, whatever others send
END_SECONDS = 5.0
UNREAD_BYTES = 100 << 20
ATTACK = ("normals", "nodes", "tables", "messages", "long", "streams")


@dataclass(frozen=True)
class Loaded:
    """An agent, and what is needed to talk to it."""

    made: Stage
    keys: Path
    process: subprocess.Popen[bytes]
    address: str
    people: int

    def resident_bytes(self) -> int:
        """What the agent's process has in memory."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("no such line")

    def end_seconds(self) -> float:
        """Tell it to stop; how long it takes to."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_SECONDS) == 0
        return time.monotonic() - began

    @contextmanager
    def load(self, seconds: float, *kinds: str) -> Iterator[subprocess.Popen[bytes]]:
        """Somebody else loads it meanwhile."""
        told = [str(self.keys), self.address, str(self.people), str(seconds), *kinds]
        with run(self.made, "tests.integration.loading_caller", *told) as caller:
            assert read_line(caller).strip() == "begun"
            yield caller

    def honest_seconds(self, seconds: float, people: int) -> list[float]:
        """How long an honest caller's requests take, one after the other, for a while."""
        taken, until = list[float](), time.monotonic() + seconds
        with open_channel(self.address, load_identity(self.keys / "analyst"), "party-0") as channel:
            stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
            while time.monotonic() < until:
                request = asked("smoker", OneBitRandomizer(Epsilon.requested(1)), people)
                began = time.monotonic()
                try:
                    assert sum(part.reports for part in stub.Randomize(request, timeout=3.0)) == people
                except grpc.RpcError as failure:
                    if failure.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                        raise
                taken.append(time.monotonic() - began)
                time.sleep(0.02)
        return taken


@contextmanager
def run(made: Stage, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A module as a process, which is ended."""
    command = [sys.executable, "-m", module, *arguments]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def loaded(directory: Path, kind: str, people: int) -> Iterator[Loaded]:
    """An agent of some kind, as a process."""
    keys = directory / "keys"
    make_authority(keys / "authority")
    for name in ("party-0", "analyst", "mallory"):
        make_identity(keys / "authority", keys / name, name)
    with ExitStack() as stack:
        made = stack.enter_context(stage(directory))
        agent = stack.enter_context(
            run(made, "tests.integration.loaded_agent", kind, str(people), str(keys))
        )
        yield Loaded(made, keys, agent, f"127.0.0.1:{int(read_line(agent))}", people)


def worst_wait(directory: Path, kind: str, people: int, seconds: float, *attack: str) -> float:
    """The longest that an honest request took while somebody else attacked."""
    with loaded(directory, kind, people) as agent:
        assert max(agent.honest_seconds(0.3, 10)) < WAIT_SECONDS  # it can be served at all
        with agent.load(seconds + 20, *attack):
            return max(agent.honest_seconds(seconds, 10))


def test_an_agent_under_load_serves_others_and_ends_in_time(tmp_path: Path) -> None:
    with loaded(tmp_path, "sound", 60_000) as agent:
        agent.honest_seconds(0.3, 10)
        before = agent.resident_bytes()
        with agent.load(60, "normals", "nodes", "streams"):
            assert max(agent.honest_seconds(1.5, 10)) < WAIT_SECONDS
            assert agent.resident_bytes() - before < UNREAD_BYTES
            assert agent.end_seconds() < END_SECONDS


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "attack"), [("unfair", "nodes"), ("by people", "normals")])
def test_an_unfair_queue_and_long_parts_are_noticed(tmp_path: Path, kind: str, attack: str) -> None:
    assert worst_wait(tmp_path, kind, 1000, 2.0, attack) > WAIT_SECONDS


@pytest.mark.nightly
@pytest.mark.parametrize("attack", [*((one,) for one in ATTACK), ATTACK])
def test_whatever_one_caller_sends_another_waits_less_than_a_second(
    tmp_path: Path, attack: tuple[str, ...]
) -> None:
    assert worst_wait(tmp_path, "sound", 60_000, 15.0, *attack) < WAIT_SECONDS


def unread(directory: Path, kind: str, people: int, seconds: float) -> tuple[int, int]:
    """How many of 1,000 streams nobody reads are answered, and what they take in memory."""
    with loaded(directory, kind, people) as agent:
        agent.honest_seconds(0.3, 10)
        before = agent.resident_bytes()
        with agent.load(seconds, "streams") as caller:
            most = before
            for _ in range(10):
                time.sleep(seconds / 10)
                most = max(most, agent.resident_bytes())
            return int(read_line(caller)), most - before


@pytest.mark.nightly
def test_streams_that_nobody_reads_stay_few(tmp_path: Path) -> None:
    for kind in ("sound", "no places"):
        (tmp_path / kind).mkdir()
    kept, taken = unread(tmp_path / "sound", "sound", 1_000_000, 60.0)
    assert kept <= WorkLimits().answers_of_caller and taken < UNREAD_BYTES
    assert unread(tmp_path / "no places", "no places", 400_000, 5.0)[0] > 500
