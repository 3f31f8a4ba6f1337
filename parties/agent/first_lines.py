"""How a file is written, where its owner does not say so: encoding, separator, and the line in which names stand.

What comes before the names, such as a title, the day of an extract or lines of comment, has few cells, where the rows of a
table have many.  The names are the first row of which more than half is filled, as the widest rows of the beginning are.

Checked in tests/unit/parties/agent/test_first_lines.py.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import replace

from parties.agent.cells import is_number
from parties.agent.csv_table import SEPARATOR_LINE
from parties.agent.guessing import is_day
from parties.agent.sources import SEPARATORS, SHEETS, Source, sheet_of

_SHOWN_BYTES = 1 << 16
_LOOKED_AT = 60  # rows
COMMENT = "#"
_NUMBER_WITH_MORE = re.compile(r"[+-]?[0-9][0-9.,]*\s*[^0-9\s]{1,4}")

_APOSTROPHES = re.compile(r"'.*'", re.DOTALL)

Row = tuple[int, Sequence[str]]  # the line that it begins in, and its cells


def as_it_looks(source: Source) -> Source:
    """The same file, with what it looks like."""
    if not source.path.is_file():
        return source
    if source.path.suffix.lower() in SHEETS:
        return _sheet_as_it_looks(source)
    return _text_as_it_looks(source) if source.path.suffix.lower() in SEPARATORS else source


def is_value(text: str) -> bool:
    """Whether a cell of a first row says that it is somebody's: a number, a day, or a number with a unit."""
    text = text.strip()
    return is_number(text) or is_day(text) or _NUMBER_WITH_MORE.fullmatch(text) is not None


def _sheet_as_it_looks(source: Source) -> Source:
    if source.header != 1:
        return source
    table = sheet_of(source.path, source.sheet, None, _LOOKED_AT)
    columns = [column.to_pylist() for column in table.columns]
    rows = [(line, [cell or "" for cell in row]) for line, row in enumerate(zip(*columns, strict=True), 1)]
    names = _names(rows)
    return source if names is None else replace(source, header=names[0])


def _text_as_it_looks(source: Source) -> Source:
    data = source.path.read_bytes()
    encoding = source.encoding
    if encoding == "utf-8":
        encoding = _encoding(data)
    source = replace(source, encoding=encoding)
    text = data[:_SHOWN_BYTES].decode(encoding, errors="replace").removeprefix("\ufeff")
    text = SEPARATOR_LINE.sub("", text, count=1)
    usual = SEPARATORS[source.path.suffix.lower()]
    marks = (source.separator,) if source.separator else tuple(dict.fromkeys((usual, ";", "\t", "|", ",")))
    found = {mark: _rows(text, mark, source.quote) for mark in marks}
    best = max(marks, key=lambda mark: _worth(found[mark]))
    names = _names(found[best])
    if (
        source.quote == '"'
        and names is not None
        and all(_APOSTROPHES.fullmatch(one) for one in names[1] if one)
    ):
        return _text_as_it_looks(replace(source, quote="'", separator=best))
    return _with_names(replace(source, separator=best), text, found[best])


def _encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    some = data[:_SHOWN_BYTES]
    if some[1::2].count(0) * 4 > len(some):  # letters of the West, each with a zero behind it
        return "utf-16-le"
    if some[::2].count(0) * 4 > len(some):
        return "utf-16-be"
    return next(one for one in ("utf-8", "cp1252", "latin-1") if _reads(data, one))


def _reads(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _rows(text: str, mark: str, quote: str) -> list[Row]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=mark, quotechar=quote)
    rows, before = list[Row](), 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((before + 1, row))
            before = reader.line_num
            if len(rows) == _LOOKED_AT:
                break
    except csv.Error:
        pass  # what is wrong with it is told when it is read
    return rows


def _names(rows: Sequence[Row]) -> Row | None:
    """The row that has the names."""
    filled = [sum(bool(cell.strip()) for cell in row) for _, row in rows]
    return next((row for row, count in zip(rows, filled, strict=True) if 2 * count > max(filled)), None)


def _worth(rows: Sequence[Row]) -> int:
    """How many names there are; none where a row further down would be taken for them that looks like somebody's."""
    names = _names(rows)
    if names is None or (names[0] != rows[0][0] and any(map(is_value, names[1]))):
        return 0
    return len(names[1])


def _with_names(source: Source, text: str, rows: Sequence[Row]) -> Source:
    names = _names(rows)
    if names is None or source.header != 1 or source.comment:
        return source
    before = [line for line in text.splitlines()[: names[0] - 1] if line.strip()]
    if before and all(line.startswith(COMMENT) for line in before):
        return replace(source, comment=COMMENT)
    return replace(source, header=names[0]) if before else source
