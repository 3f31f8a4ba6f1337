"""A TOML file whose refusals name the file, the line and the key: configurations, schemas and experiments are read here.

The parser of the standard library keeps no lines, so they are found by a scan: a line `[section]` or `key = ...` outside of
texts of several lines belongs to that key.  A key inside an inline table has the line of the key that holds the table.

Checked in tests/unit/parties/test_toml_file.py.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from localdp.errors import InvalidParameter
from parties.durable import Data

LARGEST_FILE_BYTES = 1 << 20
_SECTION = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")

Key = tuple[str, ...]


def lines_of(text: str) -> dict[Key, int]:
    """The line of every section and key, from 1; the first one where a key is repeated."""
    found: dict[Key, int] = {}
    section: Key = ()
    closing: str | None = None  # the quotes that end a text of several lines
    for number, line in enumerate(text.splitlines(), 1):
        if closing is None:
            if matched := _SECTION.match(line):
                section = _parts(matched[1])
                found.setdefault(section, number)
            elif matched := _KEY.match(line):
                found.setdefault((*section, *_parts(matched[1])), number)
        closing = _still_open(line, closing)
    return found


def _parts(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _still_open(line: str, closing: str | None) -> str | None:
    """The quotes of a text of several lines that is open at the end of this line."""
    for quotes in re.findall(r'"""|\'\'\'', line):
        if closing is None:
            closing = quotes
        elif closing == quotes:
            closing = None
    return closing


class TomlFile:
    """A parsed file, and where everything in it stands."""

    def __init__(self, path: Path) -> None:
        """Read and parse; a file that is no TOML is refused at its line."""
        self.path = path
        self.text = _read(path)
        self._lines = lines_of(self.text)
        try:
            self.table: Data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            matched = _AT_LINE.search(str(error))
            line = matched[1] if matched and matched[1] else len(self.text.splitlines())
            reason = _AT_LINE.sub("", str(error))
            raise InvalidParameter(f"{path}:{line}: not TOML: {reason}") from error

    def line(self, *key: str) -> int:
        """The line of a key, or of the first thing in it, or of what holds it, or the first line of the file."""
        while key:
            inside = [line for one, line in self._lines.items() if one[: len(key)] == key]
            if inside:
                return self._lines.get(key, min(inside))
            key = key[:-1]
        return 1

    def wrong(self, key: Sequence[str], reason: str) -> InvalidParameter:
        """What is wrong with a key, in one line."""
        return InvalidParameter(f"{self.path}:{self.line(*key)}: {'.'.join(key)}: {reason}")

    def section(self, key: Key, known: Sequence[str], required: bool = False) -> Data:
        """A section, of which every key is known; empty where there is none."""
        table: object = self.table
        for part in key:
            table = table.get(part, {}) if isinstance(table, dict) else table
        if not isinstance(table, dict):
            raise self.wrong(key, f"a section, written as [{'.'.join(key)}]")
        if required and not table:
            raise self.wrong(key, f"missing; write [{'.'.join(key)}] with some of {', '.join(known)}")
        for name in table:
            if name not in known:
                raise self.wrong((*key, name), f"unknown; [{'.'.join(key)}] has {', '.join(known)}")
        return table


def _read(path: Path) -> str:
    if not path.exists():
        raise InvalidParameter(f"{path}: there is no such file")
    if not path.is_file():
        raise InvalidParameter(f"{path}: not a file")
    if path.stat().st_size > LARGEST_FILE_BYTES:
        raise InvalidParameter(f"{path}: a TOML file is at most {LARGEST_FILE_BYTES} bytes long")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidParameter(f"{path}: not a text in UTF-8") from error
