"""`agent init` under kill -9, at every line of it: made again it is completed, and until then the agent does not run."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.config import load_config
from parties.agent.mark import mark_path
from parties.agent.secret_file import FILE_NAME, load_secrets
from parties.agent.state import LEDGER_NAME, init_storage
from parties.agent.unfinished import MARK, making
from tests.support.agents import party_of, write_agent
from tests.support.processes import stage

STAGES = {"", MARK, f"{MARK} {FILE_NAME}"}


def found_after_deaths(directory: Path, data: str, step: int) -> dict[str, int]:
    """Kill the making of a state at one line in `step`; what was found in its directory, and how often."""
    config = write_agent(directory, people=3, data=data)
    with stage(directory) as made:
        command = [sys.executable, "-m", "tests.fault.init_process", str(config), str(step)]
        process = made.popen(command, stdout=subprocess.PIPE)
        said, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    found: dict[str, int] = json.loads(said)
    assert set(found) >= STAGES
    assert any(MARK in names and LEDGER_NAME in names for names in found)
    return found


def test_making_an_agents_state_may_be_killed_and_done_again(tmp_path: Path) -> None:
    found_after_deaths(tmp_path, 'person = "patient"', 5)


@pytest.mark.nightly
@pytest.mark.parametrize("data", ["", 'person = "patient"'], ids=["places", "people"])
def test_making_an_agents_state_may_be_killed_at_any_line_and_done_again(tmp_path: Path, data: str) -> None:
    assert sum(found_after_deaths(tmp_path, data, 1).values()) > 100


def test_keys_that_were_made_before_the_cut_are_kept(tmp_path: Path) -> None:
    config = load_config(write_agent(tmp_path, people=3))
    init_storage(config)
    kept = load_secrets(config.storage)
    (config.storage / MARK).touch()
    (config.storage / LEDGER_NAME).unlink()
    mark_path(config.storage / LEDGER_NAME).unlink()
    with pytest.raises(InvalidParameter, match="run `localdp agent init` again"):
        party_of(config)
    init_storage(config)
    assert load_secrets(config.storage) == kept
    assert not (config.storage / MARK).exists()


def test_two_processes_do_not_make_one_state(tmp_path: Path) -> None:
    config = load_config(write_agent(tmp_path, people=3))
    begun, over = threading.Event(), threading.Event()

    def hold() -> None:
        with making(config.storage):
            begun.set()
            over.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(30)
    with pytest.raises(InvalidParameter, match="another process is making"):
        init_storage(config)
    over.set()
    holder.join(30)
