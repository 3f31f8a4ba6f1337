"""The first collection with proofs on a machine: nobody waits for a compiler, and one is not needed."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from localdp.oracles.collecting import combined
from localdp.sharing.collection import Collection, Contributor
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from tests.fault.test_share_kill_nine import uploaded
from tests.support.processes import COMMAND, Stage, envelope, localdp, read_line, stage
from tests.support.shares import bits, blocks_of, collection_of

NOBODY: Any = None  # there are no parties here to be asked
NAMES = ("server-0", "server-1")
PEOPLE = 40
ANNOUNCED = 1 << 20  # so many that compiling is worth it


@contextmanager
def server(made: Stage, name: str) -> Iterator[tuple[Peer, subprocess.Popen[bytes]]]:
    command = [str(COMMAND), "share-server", "run", "--name", name, "--json"]
    process = made.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None and process.stderr is not None
    try:
        told = json.loads(read_line(process))["data"]
        yield Peer(told["name"], told["address"]), process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def told(process: subprocess.Popen[bytes], wanted: str, seconds: float) -> str:
    """What the process says on standard error until it has said that."""
    assert process.stderr is not None
    said, deadline = "", time.monotonic() + seconds
    while wanted not in said:
        ready, _, _ = select.select([process.stderr], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"waited {seconds} s in vain for {wanted!r}; heard {said!r}"
        said += os.read(process.stderr.fileno(), 65536).decode()
    return said


def announced(shared: RemoteShareServers) -> Collection:
    """A collection of many, at servers that are as they say of themselves."""
    parties, binding = (Contributor("party-0", ANNOUNCED),), shared.bind(bytes(16))
    return collection_of(tier="prio3", parties=parties, servers=shared.servers, binding=binding)


def test_without_a_cache_a_large_collection_is_released_while_the_servers_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    with ExitStack() as stack:
        made = stack.enter_context(stage(tmp_path))
        started = [stack.enter_context(server(made, name)) for name in NAMES]
        peers = [peer for peer, _ in started]
        shared = stack.enter_context(closing(RemoteShareServers(NOBODY, peers, 20)))
        collection = announced(shared)
        shared.open(collection)  # does not wait for the compiler: 20 s would not always suffice
        uploaded(peers, blocks_of(collection, bits(*[1] * PEOPLE)))
        agreed = shared.agree(collection)
        signed = [holding.signature for holding in shared.holdings(collection)]
        noisy = combined(collection, shared.release(collection, agreed.accepted, signed))
        assert agreed.reports == PEOPLE and abs(noisy[0] - PEOPLE) < 60
        for _, process in started:
            assert "compiling the verification of proofs, streams (1 of 4)" in told(process, "of 4)", 30)


@pytest.mark.nightly
def test_the_servers_are_done_with_compiling_within_half_a_minute_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    with ExitStack() as stack:
        made = stack.enter_context(stage(tmp_path))
        started = [stack.enter_context(server(made, name)) for name in NAMES]
        peers = [peer for peer, _ in started]
        shared = stack.enter_context(closing(RemoteShareServers(NOBODY, peers, 20)))
        shared.open(announced(shared))
        for _, process in started:
            told(process, "is compiled", 90)
            assert _cpu_seconds(process.pid) < 30


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_numba_in_any_process_the_command_answers_with_proofs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDP_NO_NUMBA", "1")
    arguments = ["--model", "shared", "--people", "600", "--parties", "2", "--json"]
    data = envelope(localdp(tmp_path, "ask", "smoker", *arguments))["data"]
    assert abs(data["count"] - 180) < 80
    assert "answers come with proofs" in data["privacy"]
    assert data["bytes_moved"] == 600 * 112
