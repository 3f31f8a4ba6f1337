"""The help has four panels, in the order in which people need them, at any width."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from parties.command.main import PANELS, app


def shown(width: int, *arguments: str) -> str:
    environment = {"COLUMNS": str(width), "TERMINAL_WIDTH": str(width), "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*arguments, "--help"], env=environment)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("width", [60, 80, 100])
def test_panels_and_commands_come_in_the_order_that_was_written_down(width: int) -> None:
    help_text = shown(width)
    titles = re.findall(r"^╭─ (.+?) ─", help_text, re.MULTILINE)
    assert titles == ["Options", *PANELS]
    listed = re.findall(r"^│ ([a-z][a-z-]*) ", help_text, re.MULTILINE)
    assert listed == [name for commands in PANELS.values() for name in commands]


def test_the_help_begins_with_what_is_asked_most() -> None:
    assert list(PANELS) == ["Ask", "Run a party", "Keys and budgets", "Experiments and science"]
    assert next(iter(PANELS["Ask"])) == "ask"


@pytest.mark.parametrize("width", [60, 100])
def test_the_options_of_a_question_say_whom_they_are_about(width: int) -> None:
    titles = re.findall(r"^╭─ (.+?) ─", shown(width, "ask"), re.MULTILINE)
    assert titles == ["Arguments", "Options", "Who is asked", "Of the shared model"]
