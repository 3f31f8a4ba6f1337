"""`localdp shared explain`: a table of 80 columns, an envelope, and numbers that are never rounded down."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from parties.command.main import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        app, ["shared", "explain", *arguments], env={"COLUMNS": "80", "NO_COLOR": "1"}
    )


def data_of(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--servers", "16", "--plan", "divided(10)", "--sensitivity", "1048576", "--length", "256"),
        ("--servers", "16", "--epsilon", "0.000000001", "--plan", "each-server"),
        ("--servers", "16", "--epsilon", "30", "--plan", "divided", "--sensitivity", "2", "--length", "2"),
    ],
)
def test_the_table_has_80_columns(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert max(len(line.rstrip()) for line in result.stdout.splitlines()) <= 80
    assert "…" not in result.stdout, "a cell was cut off"


def test_every_plan_is_explained() -> None:
    printed = run("--servers", "3").stdout
    for text in (
        "each-server",
        "divided",
        "divided(1)",
        "1.500",
        "0.8509",
        "1.38949",
        "2.08264",
        "1.67514",
        "no privacy",
    ):
        assert text in printed
    assert "any 2 of the 3 servers" in printed and "joint and proved noise 2.6e-19, else 0" in printed
    assert [plan["plan"] for plan in data_of("--servers", "4")["plans"]] == [
        "each-server",
        "divided",
        "divided(1)",
        "divided(2)",
        "proved",
    ]


def test_the_envelope_has_the_exact_numbers() -> None:
    data = data_of("--epsilon", "0.1", "--plan", "divided(1)", "--sensitivity", "2", "--length", "1e3")
    (plan,) = data["plans"]
    assert (data["epsilon"], data["servers"], data["sensitivity"], data["length"]) == (0.1, 3, 2, 1000)
    assert [row["epsilon"] for row in plan["coalitions"]] == [0.1, 0.1, 1.000329331, None]
    assert [row["honest_shape"] for row in plan["coalitions"]] == [1.5, 1.0, 0.5, 0.0]
    assert (plan["variance_factor"], plan["delta"], plan["withstands"]) == (1.5, 0, 1)
    assert plan["strength"] == "computational"
    assert plan["mean_absolute_error"] == pytest.approx(25.46, abs=0.01)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--plan", "whole"),
        ("--plan", "divided(3)"),
        ("--epsilon", "0"),
        ("--epsilon", "many"),
        ("--sensitivity", "0"),
        ("--length", "0"),
        ("--length", "1e9"),
        ("--servers", "1"),
    ],
)
def test_what_cannot_be_explained_is_refused(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
    assert run(*arguments, "--json").exit_code == 2
