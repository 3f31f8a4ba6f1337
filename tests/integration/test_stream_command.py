"""`localdp stream`: begun, gone on with by one process after the other, and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import localdp as ldp
from parties.command.main import app
from tests.support.federations import people


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Agents and share servers, in processes of their own."""
    with ldp.launch(people(80), parties=2, budget=5, processes=1) as federation:
        path = tmp_path_factory.mktemp("running") / "parties.json"
        federation.write_addresses(path)
        yield path


def typed(*words: object) -> Any:
    return CliRunner().invoke(app, ["stream", *map(str, words)])


def told(*words: object) -> Any:
    result = typed(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def test_a_stream_is_begun_gone_on_with_and_shown(running: Path, tmp_path: Path) -> None:
    weeks, terms = (
        tmp_path / "weeks",
        ("--steps", 4, "--layout", "tree", "--model", "shared", "--epsilon", 1),
    )
    begun = told("begin", weeks, "smoker", *terms, "--noise-plan", "divided", "--connect", running)
    assert (begun["epsilon_promised"], begun["counts"]) == (0.0, [])
    first = told("next", weeks, "--connect", running, "--came", 10)
    assert [one["people"] for one in first["counts"]] == [10]
    rest = told("next", weeks, "--connect", running, "--take", 3)
    shown = told("show", weeks)
    assert shown["counts"] == first["counts"] + rest["counts"]
    assert shown["epsilon_promised"] == pytest.approx(1, abs=1e-6)
    assert "4 steps, tree, shared; each person pays at most epsilon 1." in typed("show", weeks).output
    assert (shown["delta"], shown["delta_promised"]) == (0, 0)
    over = typed("next", weeks, "--connect", running)
    assert over.exit_code and "they are over" in over.output


def test_a_delta_is_told_before_anybody_is_asked_and_after(tmp_path: Path) -> None:
    weeks = tmp_path / "weeks"
    with ldp.simulate(people(240), parties=2, budget=30) as clinics:
        stream = clinics.stream(weeks, "smoker", steps=2, layout="tree", epsilon=8, model="shuffled")
        assert (told("show", weeks)["delta"], told("show", weeks)["delta_promised"]) == (2e-6, 0)
        stream.next()
    assert told("show", weeks)["delta_promised"] == 1e-6
    shown = " ".join(typed("show", weeks).output.split())
    assert "each person pays at most epsilon 8, except with a probability of 2e-06." in shown


def test_what_cannot_be_is_said_in_one_line(running: Path, tmp_path: Path) -> None:
    alone = typed("begin", tmp_path / "weeks", "smoker")
    assert alone.exit_code and "localdp parties up" in alone.output
    nothing = typed("next", tmp_path / "nothing", "--connect", running)
    assert nothing.exit_code and "no such journal" in nothing.output
    assert typed("show", tmp_path / "nothing").exit_code
