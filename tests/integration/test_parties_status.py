"""`localdp parties status`: everybody of a file is accounted for, whoever is up."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from localdp.oracles.shuffler import Promise
from parties.addresses import read_state, write_state
from parties.command.main import app
from parties.coordinator import Peer
from parties.federation import Federation
from tests.support.federations import ONE, people
from tests.support.processes import wait_until


def status(file: Path, *options: str, width: int = 100) -> Result:
    return CliRunner().invoke(app, ["parties", "status", str(file), *options], env={"COLUMNS": str(width)})


@pytest.fixture(scope="module")
def federation() -> Iterator[Federation]:
    promise = Promise(ONE, minimum_cohort=2)
    with Federation.launch(people(90), parties=[40, 50], budget=4, shuffler=promise) as launched:
        yield launched


@pytest.fixture
def file(federation: Federation, tmp_path: Path) -> Path:
    federation.write_addresses(tmp_path / "parties.json")
    return tmp_path / "parties.json"


def test_everybody_who_is_up_says_what_it_is_and_what_is_left(federation: Federation, file: Path) -> None:
    federation.oracle("local", 0.5).answer(["smoker"])
    result = status(file, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["status"]) == (0, "ok")
    peers = {one["name"]: one for one in told["data"]["peers"]}
    assert [one["role"] for one in peers.values()] == ["agent"] * 2 + ["share server"] * 2 + ["shuffler"]
    assert all(one["up"] for one in peers.values())
    assert [peers[name]["people"] for name in ("party-0", "party-1", "shuffler")] == [40, 50, 90]
    assert (peers["party-0"]["epoch"], peers["party-0"]["budget"]) == (1, 4.0)
    assert peers["party-1"]["people_with_at_least"] == {
        "10": 0,
        "3": 50,
        "1": 50,
        "0.3": 50,
        "0.1": 50,
        "0": 50,
    }


@pytest.mark.parametrize("width", [60, 100])
def test_a_table_says_it_in_words(file: Path, width: int) -> None:
    shown = status(file, width=width).stdout
    assert "at least 3" in shown and "5 of 5 are up; agents speak for 90 people" in shown
    assert "…" not in shown


def test_whoever_is_away_is_named_with_the_reason_and_the_exit_code_is_3(file: Path) -> None:
    state = read_state(file)
    gone, wrong = Peer("south", "127.0.0.1:1"), Peer("west", state.agents[0].address)
    write_state(type(state)((*state.agents, gone, wrong), state.share_servers, people={"south": 7}), file)
    result = status(file, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["exit_code"], told["error_code"]) == (3, 3, "unreachable")
    assert told["message"] == "not up: south, west"
    south, west = told["data"]["peers"][2:4]
    assert (south["up"], south["people"], west["up"]) == (False, 7, False)
    assert "south" in south["reason"] and "another name" in west["reason"]
    words = status(file)
    assert words.exit_code == 3 and "4 of 6 are up" in words.stdout


def test_nobody_at_all_is_no_failure_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "parties.json"
    file.write_text(json.dumps({"agents": [{"name": "north", "address": "127.0.0.1:1"}]}))
    result = status(file)
    assert result.exit_code == 3 and "0 of 1 are up" in result.stdout


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert json.loads(status(tmp_path / "no.json", "--json").stdout)["error_code"] == "file_error"


def test_a_party_that_was_killed_is_away(tmp_path: Path) -> None:
    with Federation.launch(people(20), parties=2, budget=1) as launched:
        launched.write_addresses(tmp_path / "parties.json")
        os.kill(launched.process_ids["party-1"], signal.SIGKILL)
        wait_until(lambda: status(tmp_path / "parties.json").exit_code == 3, "the process is gone")
        assert "party-1" in status(tmp_path / "parties.json").stdout
