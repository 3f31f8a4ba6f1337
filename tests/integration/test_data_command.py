"""`localdp data`: a draft, an edit, a check; then the same words from `agent init`, and an agent that answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.messy_tables import EDITS, edited, written


def localdp(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "localdp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, timeout=120)


def test_a_messy_table_becomes_an_agent_by_a_draft_an_edit_and_a_check(tmp_path: Path) -> None:
    written(tmp_path, "south")
    drafted = localdp(tmp_path, "data", "sketch", "south.csv", "--name", "south", "--out", "south.toml")
    assert drafted.returncode == 0, drafted.stderr
    config = tmp_path / "south.toml"
    config.write_text(edited(config.read_text(), EDITS["south"]))
    checked = localdp(tmp_path, "data", "check", "south.toml", "--json")
    assert checked.returncode == 0, checked.stderr
    told = json.loads(checked.stdout)["data"]
    assert told["rows"] == 30_000 and {one["column"] for one in told["decisions"]} >= {"cout", "poids"}
    assert localdp(tmp_path, "agent", "init", "south.toml").returncode == 0
    again = localdp(tmp_path, "data", "sketch", "south.csv", "--out", "south.toml")
    assert again.returncode == 2 and "is there already" in again.stderr


def test_what_does_not_fit_is_told_in_the_same_words_by_check_and_init(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n40,maybe\n-,yes\n900,no\n")
    (tmp_path / "agent.toml").write_text(
        'name = "a"\n[data]\npath = "t.csv"\n[schema]\nage = { kind = "integer", low = 0, high = 120 }\n'
        'ill = { kind = "bit" }\n[budget]\ntotal = 1\n'
    )
    told = [localdp(tmp_path, *command, "agent.toml") for command in (("data", "check"), ("agent", "init"))]
    assert told[0].returncode == told[1].returncode == 1
    words = told[0].stderr.splitlines()[-1]
    assert words == told[1].stderr.splitlines()[-1]
    assert "3 things do not fit" in words and "'ill': 1 cell is neither" in words
    assert "900" not in words and "maybe" not in words
    assert not (tmp_path / "state").exists()
