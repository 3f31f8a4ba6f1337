"""A command's options are written once: in its signature, or in the dataclass that one of its arguments is."""

from __future__ import annotations

import inspect
import json as json_text
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from localdp.errors import QueryRefused
from parties.command.arguments import JsonOption
from parties.command.declaring import command
from parties.command.main import app


@dataclass(frozen=True, slots=True)
class Whom:
    """Options of several commands."""

    people: Annotated[int, typer.Option(min=1)]
    model: str = "local"


@command
def told(
    query: str, whom: Whom, loud: Annotated[bool, typer.Option("--loud")] = False, json: JsonOption = False
) -> None:
    """Say what was typed."""
    if query == "nonsense":
        raise QueryRefused("no")
    typer.echo(f"{query} {whom} {loud} {json}")


@pytest.fixture
def runs() -> typer.Typer:
    made = typer.Typer()
    made.command()(told)
    return made


def test_the_fields_of_a_dataclass_are_options_and_arrive_as_one_object(runs: typer.Typer) -> None:
    result = CliRunner().invoke(runs, ["smoker", "--people", "3", "--model", "shared", "--loud"])
    assert result.stdout == "smoker Whom(people=3, model='shared') True False\n"
    assert CliRunner().invoke(runs, ["smoker", "--people", "0"]).exit_code == 2
    assert CliRunner().invoke(runs, ["smoker"]).exit_code == 2, "what has no default is required"


def test_a_command_that_is_called_takes_the_defaults_of_what_is_not_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told(query="smoker", people=2)
    assert capsys.readouterr().out == "smoker Whom(people=2, model='local') False False\n"


def test_what_fails_is_told_in_the_way_that_was_asked_for(runs: typer.Typer) -> None:
    words = CliRunner().invoke(runs, ["nonsense", "--people", "3"])
    assert words.exit_code == 2 and words.stderr.startswith("error query_refused: no")
    envelope = json_text.loads(CliRunner().invoke(runs, ["nonsense", "--people", "3", "--json"]).stdout)
    assert envelope["error_code"] == "query_refused"


def test_the_signature_shows_every_option_once_with_required_ones_first() -> None:
    shown = inspect.signature(told).parameters
    assert list(shown) == ["query", "people", "model", "loud", "json"]


def test_every_command_is_declared_in_this_way_and_takes_json() -> None:
    def check(one: object) -> int:
        inner = getattr(one, "commands", None)
        if inner is not None:
            return sum(check(each) for each in inner.values())
        called = inspect.unwrap(one.callback)  # type: ignore[attr-defined]
        assert (
            called.__module__.startswith("parties.command.") and called.__module__ != "parties.command.main"
        )
        assert any(option.name == "json" for option in one.params)  # type: ignore[attr-defined]
        return 1

    assert check(get_command(app)) > 30
