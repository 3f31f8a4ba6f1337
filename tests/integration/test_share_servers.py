"""`localdp share-server run --state`: a server that is killed goes on where it stopped, under its own key."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter, PolicyRefused
from localdp.oracles.collecting import combined
from localdp.sharing.collection import Collection
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from tests.fault.test_share_kill_nine import free_port, uploaded
from tests.support.agents import failed, succeeded
from tests.support.processes import COMMAND, PATIENCE_SECONDS, Stage, read_line, stage
from tests.support.shares import bits, blocks_of, collection_of

NOBODY: Any = None  # there are no parties here to be asked
PEOPLE = 40


@contextmanager
def running(made: Stage, name: str, port: int, *more: str) -> Iterator[dict[str, str]]:
    """The command as a process, killed with SIGKILL in the end; what it says of itself."""
    listen = ["--listen", f"127.0.0.1:{port}", "--state", f"{name}.state", "--json", *more]
    command = [str(COMMAND), "share-server", "run", "--name", name, *listen]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    try:
        data: dict[str, str] = json.loads(read_line(process))["data"]
        yield data
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_servers_that_are_killed_between_the_steps_go_on(tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    peers = [Peer(f"server-{number}", f"127.0.0.1:{port}") for number, port in enumerate(ports)]
    # The leader is told where the other one listens, and does not take the collector's word for it.
    more = [("--peer", f"server-1={peers[1].address}"), ()]
    seen: list[Any] = []

    @contextmanager
    def both() -> Iterator[RemoteShareServers]:
        with (
            running(made, "server-0", ports[0], *more[0]) as first,
            running(made, "server-1", ports[1], *more[1]) as second,
            closing(RemoteShareServers(NOBODY, peers, 20)) as shared,
        ):
            binding = shared.bind(bytes(16))
            assert [key.hex() for key in binding.keys] == [first["key"], second["key"]]
            seen.append((binding.witnesses, binding.commitment))
            yield shared

    with stage(tmp_path) as made:
        with both() as shared:
            collection = collection_of(binding=shared.bind(bytes(16)))
            shared.open(collection)
            uploaded(peers, blocks_of(collection, bits(*[1, 0] * (PEOPLE // 2))))
        with both() as shared:
            uploaded(peers, blocks_of(collection, bits(*[1, 0] * (PEOPLE // 2))))  # again: nothing is new
            agreed = shared.agree(collection)
            assert agreed.reports == PEOPLE
            released = shared.release(collection, agreed.accepted, signed(shared, collection))
        with both() as shared:
            assert shared.release(collection, agreed.accepted, signed(shared, collection)) == released
            assert set(shared.holdings(collection)) == {agreed}
    assert len(set(seen)) == 1  # the same keys at every start
    assert abs(combined(collection, released)[0] - PEOPLE // 2) < 40  # but for 1e-8


def signed(shared: RemoteShareServers, collection: Collection) -> list[bytes]:
    return [holding.signature for holding in shared.holdings(collection)]


def test_a_leader_that_knows_its_peers_goes_nowhere_else(tmp_path: Path) -> None:
    port, other = free_port(), free_port()
    peers = [Peer("server-0", f"127.0.0.1:{port}"), Peer("server-1", f"127.0.0.1:{other}")]
    with (
        stage(tmp_path) as made,
        running(made, "server-0", port, "--peer", "server-9=127.0.0.1:1"),
        running(made, "server-1", other),
        closing(RemoteShareServers(NOBODY, peers, 20)) as shared,
    ):
        collection = collection_of(binding=shared.bind(bytes(16)))
        shared.open(collection)
        with pytest.raises(InvalidParameter, match="where the other servers"):
            shared.agree(collection)


def test_a_server_that_is_asked_to_stop_finishes_and_says_so(tmp_path: Path) -> None:
    with stage(tmp_path) as made:
        command = [str(COMMAND), "share-server", "run", "--name", "server-0", "--state", "s", "--json"]
        process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdout is not None
        with process.stdout:
            read_line(process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0


def test_a_state_of_another_server_or_none_at_all_is_refused(tmp_path: Path) -> None:
    with stage(tmp_path) as made, running(made, "server-0", 0):
        pass
    named = ["share-server", "run", "--state", "server-0.state"]
    assert failed(tmp_path, *named, "--name", "server-1")["error_code"] == "invalid_parameter"
    (tmp_path / "noise").write_bytes(b"no database, and long enough to be looked at" * 99)
    garbage = failed(tmp_path, "share-server", "run", "--state", "noise", "--name", "server-0")
    assert garbage["error_code"] == "storage_failed"
    wrong = failed(tmp_path, *named, "--name", "server-0", "--peer", "server-1")
    assert wrong["error_code"] == "invalid_parameter"


def test_a_new_key_comes_when_it_is_asked_for_and_a_state_without_its_secrets_is_not_used(
    tmp_path: Path,
) -> None:
    with stage(tmp_path) as made:
        with running(made, "server-0", 0) as before:
            pass
        told = succeeded(
            tmp_path, "share-server", "rotate", "--name", "server-0", "--state", "server-0.state"
        )
        with running(made, "server-0", 0) as after:
            assert after["key"] == told["key"] != before["key"]
    (tmp_path / "server-0.state.secrets").unlink()
    gone = failed(tmp_path, "share-server", "run", "--state", "server-0.state", "--name", "server-0")
    assert gone["error_code"] == "storage_failed" and "move the state away" in gone["message"]


def test_a_server_without_a_state_has_another_name_in_every_life(tmp_path: Path) -> None:
    command = [str(COMMAND), "share-server", "run", "--name", "server-0", "--json"]
    names = []
    with stage(tmp_path) as made:
        for _ in range(2):
            process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
            assert process.stdout is not None
            with process.stdout:
                names.append(json.loads(read_line(process))["data"]["name"])
                process.kill()
                process.wait()
    assert len(set(names)) == 2 and all(re.fullmatch(r"server-0~[0-9a-f]{8}", name) for name in names)


@pytest.mark.parametrize("allowed", [False, True])
def test_relayed_collections_are_opened_where_the_operator_allows_them(
    tmp_path: Path, allowed: bool
) -> None:
    peer = Peer("server-0", f"127.0.0.1:{free_port()}")
    with (
        stage(tmp_path) as made,
        running(made, "server-0", int(peer.address.rpartition(":")[2]), *["--relayed"] * allowed),
        closing(RemoteShareServers(NOBODY, [peer], 20, relayed=True)) as shared,
    ):
        alone, other = shared.bind(bytes(16)), (bytes(32),)
        binding = replace(alone, keys=alone.keys + other, witnesses=alone.witnesses + other)
        assert not shared.open(collection_of(binding=binding))
        if allowed:
            assert not shared.open(collection_of(binding=binding, relayed=True))
        else:
            with pytest.raises(PolicyRefused, match="relayed"):
                shared.open(collection_of(binding=binding, relayed=True))
