"""`localdp budget export` and `collect`: what parties hand out, checked and put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from parties.command.main import app
from tests.unit.parties.agent.test_uses import KEYS, OLD, SMOKERS, written


def typed(*words: object) -> Any:
    return CliRunner().invoke(app, ["budget", *map(str, words)])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Registers of two parties, and their keys."""
    for name, purposes in (("north", (SMOKERS, OLD)), ("south", (SMOKERS,))):
        (tmp_path / f"{name}.json").write_text(json.dumps(written(tmp_path, name, *purposes)))
    (tmp_path / "keys.toml").write_text("".join(f'{name} = "{key.hex()}"\n' for name, key in KEYS.items()))
    return tmp_path


def test_registers_are_put_together_by_purpose(files: Path) -> None:
    words = ("collect", files / "north.json", files / "south.json", "--keys", files / "keys.toml")
    data = json.loads(typed(*words, "--json").stdout)["data"]
    assert (data["parties"], data["faults"]) == (["north", "south"], {})
    assert {one["question"]: one["parties"] for one in data["purposes"]} == {"smoker": 2, "age >= 65": 1}
    shown = typed(*words)
    assert shown.exit_code == 0
    assert "age >= 65" in shown.output


def test_a_forged_register_is_named_and_the_command_fails(files: Path) -> None:
    forged = json.loads((files / "south.json").read_text())
    forged["uses"][0]["epsilon_nanonats"] = 1
    (files / "forged.json").write_text(json.dumps(forged))
    shown = typed("collect", files / "north.json", files / "forged.json", "--keys", files / "keys.toml")
    assert shown.exit_code == 1
    assert "south does not count" in shown.output


def test_one_that_was_put_back_is_named_where_the_earlier_one_was_kept(files: Path) -> None:
    (files / "kept.json").write_text((files / "north.json").read_text())
    (files / "again").mkdir()
    (files / "north.json").write_text(json.dumps(written(files / "again", "north", SMOKERS)))
    kept = ("--keys", files / "keys.toml", "--earlier", files / "kept.json")
    shown = typed("collect", files / "north.json", files / "south.json", *kept)
    assert shown.exit_code == 1
    assert "north does not count" in shown.output


def test_a_purpose_is_text_and_drives_no_terminal(files: Path) -> None:
    purposes = ("one-bit of [/x] city", "one-bit of [red]way \x1b]0;owned\x07\x1b[2J :smile:")
    (files / "north.json").write_text(json.dumps(written(files, "north", *purposes)))
    shown = typed("collect", files / "north.json", files / "south.json", "--keys", files / "keys.toml")
    assert shown.exit_code == 0
    assert "[/x] city" in shown.output
    assert "[red]way ]0;owned[2J :smile:" in shown.output
    assert not {"\x1b", "\x07"} & set(shown.output)


def test_an_earlier_one_that_is_a_list_is_told_and_is_no_bug(files: Path) -> None:
    (files / "list.json").write_text("[1]")
    words = (
        "collect",
        files / "north.json",
        "--keys",
        files / "keys.toml",
        "--earlier",
        files / "list.json",
    )
    shown = typed(*words)
    assert shown.exit_code == 1
    assert "not a register" in shown.output


@pytest.mark.parametrize("broken", ["north.json", "keys.toml"])
def test_files_that_cannot_be_read_are_said_in_one_line(files: Path, broken: str) -> None:
    (files / broken).write_text("{")
    shown = typed("collect", files / "north.json", "--keys", files / "keys.toml")
    assert shown.exit_code
    assert broken in shown.output.replace("\n", "")
