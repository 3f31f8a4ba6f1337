"""Addresses, keys, paths and commands are printed to be copied: in one piece, however narrow the terminal is."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from parties.command.main import app
from parties.command.output import print_prose, print_whole, stderr_console, stdout_console

ROOT = Path(__file__).resolve().parents[4]
COPIED = {"address", "canonical", "directory", "key", "made", "out", "path", "paths", "state", "written"}


def wrapped(source: str) -> Iterator[ast.Call]:
    """The calls of `console.print` that show one of these in an f-string, and may wrap it."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "print"
        ):
            whole = any(keyword.arg == "soft_wrap" for keyword in node.keywords)
            if not whole and COPIED & {name for argument in node.args for name in shown(argument)}:
                yield node


def shown(argument: ast.expr) -> Iterator[str]:
    for part in ast.walk(argument):
        if isinstance(part, ast.FormattedValue):
            for node in ast.walk(part.value):
                if isinstance(node, ast.Name | ast.Attribute):
                    yield node.id if isinstance(node, ast.Name) else node.attr


@pytest.mark.parametrize(
    "path", sorted((ROOT / "parties/command").glob("*.py")), ids=lambda path: path.name
)
def test_no_command_wraps_what_is_to_be_copied(path: Path) -> None:
    assert not [call.lineno for call in wrapped(path.read_text())]


@pytest.mark.parametrize(
    "line",
    [
        'console.print(f"{name} serves at {address}#{key}; Ctrl-C ends it")',
        'console.print(f"Written: {options.out}", highlight=False)',
        "console.print(f\"Written: {', '.join(str(path) for path in paths)}\")",
    ],
)
def test_a_line_that_may_wrap_is_noticed(line: str) -> None:
    assert list(wrapped(line))


def test_a_whole_line_is_neither_wrapped_nor_read_as_markup() -> None:
    told = io.StringIO()
    line = f"server-0 serves at 127.0.0.1:7001#{'0f' * 32}; [red]Ctrl-C[/red] ends it, :smile: and [1] too"
    print_whole(Console(file=told, width=40), line)
    assert told.getvalue() == line + "\n"


HOSTILE = "[red]a[/red] [/x] :smile: \x1b[2J\x1b]0;owned\x07 \u202e\x9b"


def test_what_came_from_elsewhere_is_text_in_whatever_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(HOSTILE, title=HOSTILE, caption=HOSTILE)
    table.add_row(HOSTILE)
    for console in (stdout_console(), stderr_console()):
        console.width = 200
        print_whole(console, HOSTILE)
        print_prose(console, HOSTILE)
        console.print(HOSTILE)
        console.print(Text(HOSTILE, style="bold"))
        console.print(table)
    for told in capsys.readouterr():
        assert told.count("[red]a[/red] [/x] :smile:") == 8
        assert all(character.isprintable() or character == "\n" for character in told)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "parties/command").glob("*.py")), ids=lambda path: path.name
)
def test_every_command_has_a_console_to_which_a_text_is_text(path: Path) -> None:
    assert "output.py" in str(path) or not re.search(r"\bConsole\(", path.read_text())


def test_the_path_of_new_keys_is_in_one_piece(tmp_path: Path) -> None:
    directory = tmp_path / ("[a]" + "long" * 30)
    made = CliRunner(env={"COLUMNS": "40"}).invoke(app, ["keys", "init", str(directory)])
    assert made.stdout.splitlines() == [f"Made an authority and 1 identities in {directory}"]
    issued = CliRunner(env={"COLUMNS": "40"}).invoke(app, ["keys", "issue", str(directory), "north"])
    assert issued.stdout.splitlines() == [f"Made an identity in {directory / 'north'}"]
