"""CSV files (RFC 4180), with the standard library alone; sooner with pyarrow, where it is installed.

The file is UTF-8 unless its owner says otherwise, with or without a mark of it at its beginning, and ends its lines in any
of the three ways.  Its first
row, or the one that its owner names (`header`, `comment`), names the columns; every other row has as many cells; lines
without any are passed over, and so are empty cells at the end of a row that has too many, as after a separator that ends
it, and a first line such as sep=;.  Cells may be quoted, and then hold commas, line breaks and doubled quotes.  What the
cells mean is said in `parties.agent.cells`.

pyarrow only cuts the file into cells, where it makes of it what the standard library would.  What it refuses, or has a
doubt about, is read by the standard library, whose word is the last, and whose refusals have the number of the line.

Checked in tests/unit/parties/agent/test_csv.py, both ways, on hostile files and on random ones.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidRecord
from parties.agent.cells import TextCells

if TYPE_CHECKING:
    from _csv import Reader

    import pyarrow

_FEW = 3  # cells of a first row that may be a title
_AT_ONCE = 256  # rows; what is cut and numbered stays near the processor
# Spreadsheets write it, and read it.
SEPARATOR_LINE = re.compile(r"\Asep=.(?=[\r\n])", re.IGNORECASE)
# Begins a last row of our own: no file has a NUL in it, and a quote that was never closed swallows this row.
_END = "\0"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a file is written."""

    separator: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    header: int = 1  # the line in which the names stand
    comment: str = ""  # what lines before the names begin with, where there are such


_USUAL = CsvFormat()


class CsvFile:
    """The text of a file, and where its lines are."""

    def __init__(self, path: Path, written: CsvFormat = _USUAL) -> None:
        self.path, self.format = path, written
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        if not codecs.lookup(written.encoding).name.startswith(("utf-16", "utf-32")):
            self._require_text(data)
        self.text = _beginning_with_names(SEPARATOR_LINE.sub("", self._decoded(data), count=1), written)
        self.data = self.text.encode()
        self._require_text(self.data)
        self.end = _END
        self.names = self._header()
        self._named = max((at for at, name in enumerate(self.names, 1) if name), default=0)
        self.end = _END + written.separator * (len(self.names) - 1)

    def reader(self) -> Reader:
        """The standard library's reader of the file, with a last row of our own."""
        lines = io.StringIO(f"{self.text}\n{self.end}", newline="")
        return csv.reader(lines, delimiter=self.format.separator, quotechar=self.format.quote)

    def fitted(self, row: list[str]) -> list[str]:
        """The row as wide as the header, where only empty cells or unnamed ones are too many or too few."""
        width = len(self.names)
        if self._named <= len(row) < width:
            return row + [""] * (width - len(row))
        return row if any(row[width:]) else row[:width]

    def _require_text(self, data: bytes) -> None:
        if b"\0" in data:
            line = _line_at(data, data.index(b"\0"))
            raise InvalidRecord(f"{self.path}: line {line} has a NUL in it; save the table as CSV in UTF-8")

    def _decoded(self, data: bytes) -> str:
        encoding = self.format.encoding
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            told = 'save the table as CSV in UTF-8, or say how it is written, such as encoding = "latin-1"'
            line = _line_at(data, error.start)
            raise InvalidRecord(f"{self.path}: line {line} is not {encoding.upper()}; {told}") from None

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row that has cells, the header first and our own last, with the line that it begins in."""
        reader, before = self.reader(), 0
        try:
            for row in reader:
                if row:
                    yield before + 1, row
                before = reader.line_num
        except csv.Error:
            raise InvalidRecord(
                f"{self.path}: a cell in line {before + 1} has more than {csv.field_size_limit():,} characters;"
                " is a quote not closed?"
            ) from None

    def line_of(self, place: int) -> int:
        """The line in which a row begins; rows are counted from 0, without the header."""
        return next(line for at, (line, _) in enumerate(self.rows(), -1) if at == place)

    def require_rectangle(self) -> None:
        """Every row has as many cells as the header, and the last row is our own; else the first line that is wrong."""
        for line, row in self.rows():
            if row[0] == _END:
                return
            row = self.fitted(row)  # noqa: PLW2901
            if _END in row[-1]:
                raise InvalidRecord(
                    f"{self.path}: a quote in the row that begins in line {line} is never closed"
                )
            if len(row) != len(self.names):
                told = f"line {line} has {len(row)} cells, and the header has {len(self.names)}"
                raise InvalidRecord(f"{self.path}: {told}{self._another_separator()}")

    def _another_separator(self) -> str:
        """A way out, where the header looks as if another mark stood between its names."""
        header = "".join(self.names)
        found = [mark for mark in ";\t|" if mark in header and mark != self.format.separator]
        if found:
            return f"; is it separated otherwise? Say separator = {json.dumps(found[0])}"
        narrow = len(self.names) <= _FEW and self.format.header == 1
        return "; do the names of columns stand further down? Say header = and the line" if narrow else ""

    def _header(self) -> list[str]:
        _, row = next(self.rows())
        if row[0] == _END:
            raise InvalidRecord(f"{self.path}: the file is empty; its first line names the columns")
        return row


def _beginning_with_names(text: str, written: CsvFormat) -> str:
    """The same lines, of which those before the names are empty."""
    begin = 0
    for number, line in enumerate(_LINE.finditer(text), 1):
        said = bool(line[0].strip())
        if (
            number >= written.header
            and said
            and not (written.comment and line[0].startswith(written.comment))
        ):
            begin = line.start()
            break
    return re.sub(r"[^\r\n]", "", text[:begin]) + text[begin:]


def _line_at(data: bytes, place: int) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data[:place])) + 1


class Columns(Protocol):
    """A file that was cut into cells."""

    rows: int

    def cells(self, place: int) -> TextCells:
        """The column at a place."""
        ...


class ListedColumns:
    """Cut by the standard library."""

    def __init__(self, file: CsvFile) -> None:
        # Of texts, as they appear.
        self._numbers = [defaultdict[str, int](count().__next__) for _ in file.names]
        try:
            width = len(file.names)
            rows = (row if len(row) == width else file.fitted(row) for row in file.reader() if row)
            self._fill(islice(rows, 1, None))  # without the header
            if self._last() != _END:
                raise csv.Error
        except (csv.Error, ValueError):
            file.require_rectangle()  # says where
            raise
        self.rows = len(self._codes[0]) - 1

    def cells(self, place: int) -> TextCells:
        """The column at a place, without our own row."""
        codes = self._codes[place][:-1]
        return TextCells(list(self._numbers[place])[: codes.max(initial=-1) + 1], codes)

    def _fill(self, rows: Iterator[list[str]]) -> None:
        """A few hundred rows at a time: of a million, only the different texts are kept."""
        parts: list[list[NDArray[np.int64]]] = [[] for _ in self._numbers]
        while some := list(islice(rows, _AT_ONCE)):
            for numbers, part, cells in zip(self._numbers, parts, zip(*some, strict=True), strict=True):
                part.append(np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells)))
        self._codes = [np.concatenate(part) if part else np.empty(0, np.int64) for part in parts]

    def _last(self) -> str:
        """The first cell of the last row."""
        return list(self._numbers[0])[self._codes[0][-1]] if len(self._codes[0]) else ""


class ArrowColumns:
    """Cut by pyarrow."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table
        self.rows = int(table.num_rows)

    def cells(self, place: int) -> TextCells:
        encoded = self._table.column(place).combine_chunks().dictionary_encode()
        return TextCells(encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64))


def by_pyarrow(file: CsvFile) -> ArrowColumns | None:
    """The file as pyarrow cuts it; None where it is not there, or would not cut it, or left something to doubt."""
    try:
        import pyarrow
        from pyarrow import compute
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    try:
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(file.data + f"\n{file.end}".encode()),
            # A command that ends while a thread of pyarrow is about to begin is aborted; and it is as fast without.
            read_options=arrow_csv.ReadOptions(use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                newlines_in_values=True,
                delimiter=file.format.separator,
                quote_char=file.format.quote,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(file.names, pyarrow.string()), strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowException:
        return None
    if table.column_names != file.names or table.num_rows == 0 or table.column(0)[-1].as_py() != _END:
        return None
    longest = max(compute.max(compute.utf8_length(column)).as_py() for column in table.columns)
    if longest > csv.field_size_limit():
        return None
    return ArrowColumns(table.slice(0, table.num_rows - 1))


def read_columns(file: CsvFile) -> Columns:
    """The file cut into cells, in the quickest way that is at hand."""
    return by_pyarrow(file) or ListedColumns(file)
