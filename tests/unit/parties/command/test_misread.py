"""The caret of a query that was misread stays under its character, on any terminal and over the network."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from localdp.errors import InvalidParameter, LocalDpError, QueryRefused, said_by
from localdp.queries.parser import parse
from parties.command.main import app
from parties.command.misread import INDENT, misread


def refusal(query: str) -> LocalDpError:
    with pytest.raises(QueryRefused) as refused:
        parse(query)
    return refused.value


@pytest.mark.parametrize(
    "query", ["age > ", "smoker and and age > 3", "(" * 25 + "age ! 3", 'region == "nørd" ü']
)
@pytest.mark.parametrize("width", [None, 20, 60, 100])
def test_the_caret_is_under_the_character(query: str, width: int | None) -> None:
    place = misread(said_by("party north", refusal(query)))
    assert place is not None and place.said.startswith("party north: ")
    text, caret = place.lines(width)
    assert caret.count("^") == 1 and caret.strip() == "^"
    pointed = text[len(caret) - 1 :][:1]
    assert pointed == query[place.character - 1 : place.character]
    assert width is None or max(len(text), len(caret)) <= width


def test_wide_characters_take_two_cells() -> None:
    place = misread(QueryRefused('no, at character 3:\n    "東 x\n      ^'))
    assert place is not None
    assert place.lines(None)[1] == " " * (INDENT + 3) + "^"


def test_other_refusals_have_no_place() -> None:
    assert misread(QueryRefused("there is no column 'smokr'")) is None
    assert misread(InvalidParameter("no, at character 3:\n    abc\n      ^")) is None


def test_terminal_codes_in_a_refusal_are_not_shown() -> None:
    place = misread(QueryRefused("no, at character 1:\n    \x1b[31m\n    ^"))
    assert place is not None and "\x1b" not in "".join(place.lines(None))


def test_the_command_shows_the_query_on_one_line_with_the_caret_below() -> None:
    result = CliRunner().invoke(app, ["ask", "age >= 65 and"])
    assert result.exit_code == 2
    said, text, caret, hint = result.stderr.splitlines()
    assert said.startswith("error query_refused: ") and said.endswith(", at character 14")
    assert (text, caret) == ("    age >= 65 and", " " * 17 + "^")
    assert hint.startswith("(hint: correct the query")


def test_scripts_are_told_the_number_of_the_character() -> None:
    told = json.loads(CliRunner().invoke(app, ["ask", "age >= 65 and", "--json"]).stdout)
    assert told["character"] == 14 and told["message"].endswith(", at character 14")
    assert "character" not in json.loads(CliRunner().invoke(app, ["ask", "smokr", "--json"]).stdout)
