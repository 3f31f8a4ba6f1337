"""What the map of the book says can be run is run, row by row; and what a command releases is on the pages by its name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.testing import CliRunner

import localdp as ldp
from localdp.experiments.catalogue import RELEASES, learner_named
from parties.command.main import app
from parties.command.release import release
from tests.support.processes import ROOT
from tests.tidy.book_items import EXPECTED
from tests.tidy.test_book_map import PAGE, citations, rows

SMALL = ("--people", "4000", "--parties", "1")  # what is released is another test's concern
COMMANDS = rows(PAGE, ["book", "command"])
# How the accountant adds up, by itself and in every command that has several rounds: the page says so.
ACCOUNTING = {"Theorem 3.16", "Theorem 3.20", "Corollary 3.21", "Theorem B.1"}


def chosen(item: str) -> bool:
    """An item of the chapters for which there are commands."""
    number = item.split()[1]
    return number.startswith(("7.", "11.", "12.")) or item in (
        "Definition 3.7",
        "Algorithm 8",
        *(f"Definition 5.{number}" for number in (3, 4, 5)),
        *(f"Theorem 5.{number}" for number in (3, 4, 5, 6, 7)),
    )


@pytest.mark.parametrize("row", COMMANDS, ids=[row.head for row in COMMANDS])
def test_a_command_of_the_map_runs(row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    name, *words = shlex.split(row.cells["command"].strip("`"))
    assert name == "localdp"
    monkeypatch.chdir(tmp_path)
    people = SMALL if words[0] in ("release", "ask") else ()
    done = CliRunner().invoke(app, [*words, *people, "--json"])
    assert done.exit_code == 0, done.output


def test_every_item_of_these_chapters_has_a_command() -> None:
    told = {one for row in COMMANDS for one in citations(row.head)}
    wanted = {item for items in EXPECTED.values() for item in items if chosen(item)}
    assert len(wanted) > 40
    assert wanted - told == set()
    assert all(item in PAGE for item in ACCOUNTING)


def test_what_is_released_by_name_is_the_same_everywhere() -> None:
    """By `localdp release`, in an experiment's file, at the front door, and on the pages of both."""
    choices = get_args(get_args(get_type_hints(release, include_extras=True)["name"])[0])
    assert set(choices) == set(RELEASES)
    ours = [name for name, where in RELEASES.items() if not where.startswith("games.")]
    assert {learner_named(name).__name__ for name in ours} <= set(ldp.__all__)
    for page, beginning in (("experiments", "| releases |"), ("command-line", "| `localdp release` |")):
        (row,) = re.findall(
            rf"^{re.escape(beginning)}.*$", (ROOT / f"docs/{page}.md").read_text(), re.MULTILINE
        )
        assert set(RELEASES) - set(re.findall(r"`([a-z-]+)`", row)) == set(), page
