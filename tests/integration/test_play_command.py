"""`localdp play` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.documents import files
from tests.support.processes import ROOT, envelope, localdp


def test_a_game_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert envelope(localdp(tmp_path, "play", "poker", "--json"))["exit_code"] == 2


def test_a_game_is_shown_under_another_model_where_it_has_one(tmp_path: Path) -> None:
    play = ("play", "two-outcomes", "--trials", "1", "--model", "curator", "--json")
    (panel,) = envelope(localdp(tmp_path, *play))["data"]["panels"]
    assert {point["series"] for point in panel["points"]} == {"curator"}
    assert envelope(localdp(tmp_path, "play", "payments", "--model", "local", "--json"))["exit_code"] == 2
    assert envelope(localdp(tmp_path, "play", "roads", "--model", "nobody", "--json"))["exit_code"] == 2


def test_a_game_prints_one_envelope_and_writes_its_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = envelope(
        localdp(
            tmp_path, "play", "roads", "--trials", "1", "--insecure-seed", "1", "--json", "--out", str(out)
        )
    )
    assert told["exit_code"] == 0, told
    assert {path.name for path in out.iterdir()} == {"roads.json", "roads.svg"}
    assert json.loads((out / "roads.json").read_text()) == told["data"]


def test_an_owner_reads_roads_off_a_billboard_at_home(tmp_path: Path) -> None:
    for name, text in files((ROOT / "docs/games.md").read_text()).items():
        (tmp_path / name).write_text(text)
    told = envelope(
        localdp(tmp_path, "agent", "roads", "agent.toml", "billboard.json", "--out", "own.csv", "--json")
    )
    assert told["data"] == {"people": 3, "of_each_road": {"1": 2, "2": 1}}
    assert (tmp_path / "own.csv").read_text().split() == ["road", "1", "2", "1"]
    (tmp_path / "billboard.json").write_text("{}")
    assert (
        envelope(localdp(tmp_path, "agent", "roads", "agent.toml", "billboard.json", "--json"))["exit_code"]
        != 0
    )
