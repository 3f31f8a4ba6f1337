"""`localdp plan`: the table, the envelope, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from localdp.accounting.epsilon import Epsilon
from localdp.oracles.models import MODELS
from localdp.oracles.sample_size import Study
from parties.command.main import app


def told(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["plan", *arguments, "--json"])
    envelope: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == envelope["exit_code"]
    return envelope


def test_every_trust_model_has_a_row_with_the_numbers_of_the_study() -> None:
    rows = told("--people", "1e4")["data"]["models"]
    assert [row["model"] for row in rows] == list(MODELS)
    for row in rows:
        study = Study(row["model"], 10_000, Epsilon.requested(1))
        assert row["half_width"] == study.half_width()
        assert row["half_width_people"] == pytest.approx(10_000 * study.half_width())
    assert rows[0]["charge"] is None and rows[3]["charge"] > 5


def test_goals_add_what_they_take() -> None:
    options = ("--models", "local,shared", "--half-width", "0.01", "--compare", "0.20,0.22")
    local, shared = told("--people", "10_000", *options)["data"]["models"]
    assert (local["people_needed"], local["epsilon_needed"]) == (35_400, 1.74)
    assert (shared["people_needed"], shared["epsilon_needed"]) == (400, 0.041)
    assert local["power"] < 0.3 and shared["power"] > 0.9
    assert local["people_per_group"] > 6 * shared["people_per_group"]


def test_a_person_reads_a_table() -> None:
    done = CliRunner().invoke(
        app, ["plan", "--people", "1000", "--models", "local,exact", "--half-width", "0.05"]
    )
    assert done.exit_code == 0
    assert "1,000 people, epsilon 1; ± at 95 %, about these people" in done.stdout
    assert "needed: for ± 5 %" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--people", "10", "--models", "secret"],
            "one of exact, curator, local, shuffled, flooded, shared",
        ),
        (["--people", "10", "--compare", "0.2"], "two shares with a comma"),
        (["--people", "10", "--compare", "0.2,0.2"], "differ"),
        (["--people", "10", "--half-width", "0"], "a half-width is positive"),
        (["--people", "ten"], "not a whole number"),
    ],
)
def test_nonsense_is_refused_with_the_fix(arguments: list[str], said: str) -> None:
    envelope = told(*arguments)
    assert envelope["exit_code"] == 2 and said in envelope["message"]
