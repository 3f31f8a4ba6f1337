"""The file of addresses: read back, written by hand, and not taken from parties that still run."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.addresses import State, read_state, require_replaceable, write_state
from parties.coordinator import Peer

AGENT = Peer("north", "127.0.0.1:7301")


def test_a_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    state = State((AGENT,), (Peer("server-0", "127.0.0.1:7001"),), Peer("shuffler", "127.0.0.1:7002"))
    write_state(state, tmp_path / "out" / "parties.json")
    assert read_state(tmp_path / "out" / "parties.json") == state


def test_a_file_by_hand_need_not_speak_of_share_servers(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    path.write_text(json.dumps({"agents": [{"name": AGENT.name, "address": AGENT.address}]}))
    assert read_state(path) == State((AGENT,), ())


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"agents": [{"name": "north"}]}', '{"agents": 3}'])
def test_a_file_that_says_nothing_of_parties_is_refused_with_an_example(tmp_path: Path, text: str) -> None:
    path = tmp_path / "parties.json"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match='"address": "127'):
        read_state(path)


def test_the_addresses_of_parties_that_still_run_are_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    with socket.create_server(("127.0.0.1", 0)) as running:
        port = running.getsockname()[1]
        write_state(State((Peer("north", f"127.0.0.1:{port}"),), ()), path)
        with pytest.raises(InvalidParameter, match="still run"):
            require_replaceable(path)
    require_replaceable(path)


def test_a_file_without_end_is_refused_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    path.write_text("[" * 200_000)
    with pytest.raises(InvalidParameter, match="does not say where parties are"):
        read_state(path)
