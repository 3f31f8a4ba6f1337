"""A command that a warm process forks is the command: it says and does what one from the start says and does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.agents import write_agent
from tests.support.processes import localdp, localdp_afresh

COMMANDS = {
    "help": ("--help",),
    "an answer": ("ask", "smoker", "--people", "60", "--model", "local", "--insecure-seed", "5"),
    "an envelope": ("ask", "smoker", "--people", "60", "--insecure-seed", "5", "--json"),
    "a mistake in what was typed": ("ask", "--model", "guesswork"),
    "a refusal": ("budget", "show", "agent.toml"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_forked_command_says_what_a_fresh_one_says(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_agent(tmp_path)
    forked, fresh = (run(tmp_path, *arguments) for run in (localdp, localdp_afresh))
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        fresh.returncode,
        fresh.stdout,
        fresh.stderr,
    )
    assert forked.stdout or forked.stderr


def test_it_has_its_own_directory_environment_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_agent(tmp_path)
    assert localdp(tmp_path, "agent", "init", config.name).returncode == 0
    assert (tmp_path / "state" / "ledger.sqlite").exists()
    monkeypatch.setenv("COLUMNS", "40")
    narrow = localdp(tmp_path, "budget", "show", config.name).stdout
    monkeypatch.setenv("COLUMNS", "200")
    wide = localdp(tmp_path, "budget", "show", config.name).stdout
    assert max(map(len, narrow.splitlines())) <= 40 < max(map(len, wide.splitlines()))
    with pytest.raises(subprocess.TimeoutExpired):
        localdp(tmp_path, "agent", "run", config.name, seconds=0.5)
