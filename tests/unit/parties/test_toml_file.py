"""Keys of a TOML file are found on their lines, also around texts of several lines, dotted keys and inline tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.toml_file import LARGEST_FILE_BYTES, TomlFile, lines_of

TEXT = '''# a comment = 1
top = 1

[run]  # a section
epsilon = [
  1,
  2,
]
query = """
trials = 7
[output]
"""
trials = 3
"quoted key" = 4
parameters.bins = 5
[run . options.'shared']
noise_plan = "divided"
'''


def test_every_key_has_its_line() -> None:
    assert lines_of(TEXT) == {
        ("top",): 2,
        ("run",): 4,
        ("run", "epsilon"): 5,
        ("run", "query"): 9,
        ("run", "trials"): 13,
        ("run", "quoted key"): 14,
        ("run", "parameters", "bins"): 15,
        ("run", "options", "shared"): 16,
        ("run", "options", "shared", "noise_plan"): 17,
    }


def file(directory: Path, text: str) -> TomlFile:
    path = directory / "experiment.toml"
    path.write_text(text)
    return TomlFile(path)


def test_what_has_no_line_has_that_of_what_holds_it(tmp_path: Path) -> None:
    found = file(tmp_path, "[schema]\n\nage = { kind = 'integer', low = 0 }\n")
    assert found.line("schema", "age", "low") == 3
    assert found.line("schema", "bmi") == 1
    assert found.line("run", "epsilon") == 1
    assert str(found.wrong(("schema", "age", "low"), "no")) == f"{found.path}:3: schema.age.low: no"


@pytest.mark.parametrize(
    ("text", "line"),
    [("[run]\nepsilon = \n", 2), ("[run]\n\nepsilon = 1\nepsilon = 2\n", 4), ("[run]\nlist = [1,\n2", 3)],
    ids=["a value that is missing", "a key that stands there twice", "a list without an end"],
)
def test_what_is_no_toml_is_refused_at_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InvalidParameter, match=rf"experiment\.toml:{line}: not TOML"):
        file(tmp_path, text)


def test_sections_know_their_keys(tmp_path: Path) -> None:
    found = file(tmp_path, "run = 3\n[data]\nset = 'bits'\nsett = 'bits'\n")
    with pytest.raises(InvalidParameter, match=r":1: run: a section, written as \[run\]"):
        found.section(("run",), ("query",))
    with pytest.raises(InvalidParameter, match=r":4: data.sett: unknown; \[data\] has set, path"):
        found.section(("data",), ("set", "path"))
    with pytest.raises(InvalidParameter, match=r"output: missing"):
        found.section(("output",), ("directory",), required=True)


def test_a_file_that_is_not_there_not_a_file_no_text_or_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="there is no such file"):
        TomlFile(tmp_path / "none.toml")
    with pytest.raises(InvalidParameter, match="not a file"):
        TomlFile(tmp_path)
    odd = tmp_path / "odd.toml"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidParameter, match="UTF-8"):
        TomlFile(odd)
    odd.write_bytes(b"#" * (LARGEST_FILE_BYTES + 1))
    with pytest.raises(InvalidParameter, match="at most"):
        TomlFile(odd)
