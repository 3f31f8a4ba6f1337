"""An agent as its owner has it: a configuration, a table and a directory for its state; as a process, a command."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localdp.accounting.ledger import Charge
from localdp.party.party import Party
from parties.agent.config import AgentConfig
from parties.agent.register import entries_of
from parties.agent.secret_file import load_secrets
from parties.agent.state import LEDGER_NAME, AgentState
from tests.support.processes import COMMAND, Stage, localdp, read_line

CONFIG = """
name = "clinic"

[data]
path = "patients.csv"
{data}

[schema]
smoker = {{ kind = "bit" }}
age = {{ kind = "integer", low = 0, high = 120 }}

[budget]
total = 4
{budget}

[policy]
largest_epsilon = 2
{policy}
"""


def write_agent(
    directory: Path,
    *,
    people: int = 40,
    rows_each: int = 1,
    data: str = "",
    budget: str = "",
    policy: str = "",
    more: str = "",
) -> Path:
    """A configuration and its table; returns the configuration's path."""
    with (directory / "patients.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "smoker", "age"])
        for person in range(people):
            for row in range(rows_each):
                table.writerow([f"p{person}", (person + row) % 3 == 0, (37 * person + row) % 100])
    path = directory / "agent.toml"
    path.write_text(CONFIG.format(data=data, budget=budget, policy=policy) + more)
    return path


def succeeded(directory: Path, *arguments: str) -> Any:
    """Run a command with --json that must succeed; returns its data."""
    result = localdp(directory, *arguments, "--json")
    assert result.returncode == 0, result
    return json.loads(result.stdout)["data"]


def failed(directory: Path, *arguments: str) -> dict[str, Any]:
    """Run a command with --json that must fail in an orderly way; returns its envelope."""
    result = localdp(directory, *arguments, "--json")
    told: dict[str, Any] = json.loads(result.stdout)
    assert result.returncode == told["exit_code"] != 0, result
    assert told["error_code"] != "bug" and "Traceback" not in result.stderr, result
    return told


@contextmanager
def running(made: Stage, config: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`localdp agent run` as a process: it and its address."""
    process = made.popen(
        [str(COMMAND), "agent", "run", str(config), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        told = json.loads(read_line(process))
        assert told["status"] == "ok", told
        yield process, told["data"]["address"]
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def charges_of(config: AgentConfig) -> list[Charge]:
    """What an agent's ledger has charged, checked."""
    entries = entries_of(config.storage / LEDGER_NAME, load_secrets(config.storage).chain_key)
    return [entry.content for entry in entries if isinstance(entry.content, Charge)]


_STATES: dict[int, AgentState] = {}


def party_of(config: AgentConfig) -> Party:
    """The party of an agent's state, to be closed by `close_party`."""
    state = AgentState(config)
    _STATES[id(state.party)] = state
    return state.party


def close_party(party: Party) -> None:
    """Let go of the state behind a party."""
    _STATES.pop(id(party)).close()
