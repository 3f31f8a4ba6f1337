"""Where a party's table stands, and what reads it.

| ending | what reads it |
|---|---|
| .csv, .tsv, .txt | Python's csv module; pyarrow where it is there and would read the same (`parties.agent.csv_table`) |
| .parquet, .arrow, .feather | pyarrow |
| .xlsx, .xls, .xlsb, .ods | fastexcel, which is the calamine library; every cell as its text |

A table in a database is read by `parties.agent.database_source`.  pyarrow and fastexcel are of the `agent` extra.  Only the
columns that somebody declared are read, where that is possible.

Checked in tests/unit/parties/agent/test_agent_data.py and test_reading.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain
from localdp.errors import InvalidParameter, InvalidRecord, requiring
from parties.agent.cells import TextCells, numbered
from parties.agent.csv_table import CsvFile, CsvFormat, read_columns
from parties.agent.parquet_table import ParquetTable
from parties.agent.reading import Reading
from parties.agent.typed_cells import ArrowTable
from parties.agent.verdicts import Read

if TYPE_CHECKING:
    import pyarrow

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
SHEETS = (".xlsx", ".xls", ".xlsb", ".ods")
SUFFIXES = (*SEPARATORS, ".parquet", ".arrow", ".feather", *SHEETS)


class ColumnCells(Protocol):
    """The cells of one column."""

    def empty(self) -> NDArray[np.int64]:
        """The rows that do not say whose they are."""
        ...

    def read(self, domain: Domain, reading: Reading) -> Read:
        """The column in the domain's own type, and what each cell was found to be."""
        ...

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, in order of appearance, and which of them each row has."""
        ...


class SourceTable(Protocol):
    """Named columns of equal length, whatever they were read from."""

    name: str
    column_names: list[str]
    rows: int

    def place(self, row: int) -> str:
        """Where a row is found; rows are counted from 0."""
        ...

    def cells(self, column: str) -> ColumnCells:
        """The cells of a column."""
        ...


class TableSource(Protocol):
    """Where a table stands, whatever reads it."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def table(self, wanted: Sequence[str] | None = None) -> SourceTable:
        """The table, read; of `wanted` columns alone where that is possible."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read: a file, and what its owner declared about it."""

    path: Path
    separator: str | None = None  # None: what goes with the ending
    quote: str = '"'
    encoding: str = "utf-8"
    sheet: str | None = None  # None: the first one
    header: int = 1  # the line in which the names of columns stand
    comment: str = ""  # what lines begin with that stand before them and are no rows; "": there are none

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    def table(self, wanted: Sequence[str] | None = None) -> SourceTable:
        """The table, read; of `wanted` columns alone where the format allows it."""
        path, ending = _newest(self.path), self.path.suffix.lower()
        if ending not in SUFFIXES:
            raise InvalidParameter(f"{path}: a table is one of {', '.join(SUFFIXES)}")
        if not path.is_file():
            raise InvalidParameter(f"there is no table at {path.absolute()}")
        if ending in SEPARATORS:
            separator = SEPARATORS[ending] if self.separator is None else self.separator
            written = CsvFormat(separator, self.quote, self.encoding, self.header, self.comment)
            return CsvTable(CsvFile(path, written))
        if ending in SHEETS:
            return ArrowTable(str(path), sheet_of(path, self.sheet, self.header), "line", self.header + 1)
        return (path.suffix.lower() == ".parquet" and _in_blocks(path)) or ArrowTable(
            str(path), _arrow(path, wanted)
        )


def _newest(path: Path) -> Path:
    """Of files such as visits-*.csv the last one by name: extracts have their day in it."""
    if "*" not in path.name:
        return path
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise InvalidParameter(f"there is no table at {path.absolute()}")
    return found[-1]


def _in_blocks(path: Path) -> ParquetTable | None:
    """A Parquet file to be read in blocks; None where that is not possible, and a refusal tells why."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            plain = len(set(names)) == len(names) == len(file.schema.names)
            return ParquetTable(path, file) if plain else None
    except ImportError:
        return None
    except (ArrowException, OSError, ValueError):
        return None


def _arrow(path: Path, wanted: Sequence[str] | None) -> pyarrow.Table:
    with requiring(f"{path}: all but CSV needs pyarrow", "agent"):
        from pyarrow import ArrowException, feather, ipc, parquet
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".parquet":
                names = parquet.read_schema(file).names
                file.seek(0)
                return parquet.read_table(file, columns=_here(names, wanted))
            table = feather.read_table(file) if not _is_stream(file) else ipc.open_stream(file).read_all()
        table.validate(
            full=True
        )  # a file that was harmed would otherwise have places outside of it looked at
        return table
    except (ArrowException, ValueError) as error:
        # The type only: pyarrow quotes the cell that it could not read.
        raise InvalidRecord(
            f"{path}: not a readable {path.suffix[1:]} table ({type(error).__name__})"
        ) from None


def _is_stream(file: BufferedReader) -> bool:
    """Whether it is the form of Arrow without an index."""
    return not file.peek(6).startswith((b"ARROW1", b"FEA1"))


def _here(names: list[str], wanted: Sequence[str] | None) -> list[str] | None:
    """The wanted columns; all, where one of them is missing, or twice, so that a refusal can tell what there is."""
    if wanted is None or any(names.count(one) != 1 for one in wanted):
        return None
    return list(wanted)


def sheet_of(path: Path, sheet: str | None, header: int | None, rows: int | None = None) -> pyarrow.Table:
    """The rows of a sheet below the line that has the names; without one, its first rows as they are."""
    try:
        import fastexcel
        import pyarrow
    except ImportError as error:
        raise InvalidParameter(
            f"{path}: a spreadsheet needs fastexcel: pip install 'localdp[agent]'"
        ) from error
    try:
        book = fastexcel.read_excel(path)
        if sheet is not None and sheet not in book.sheet_names:
            raise InvalidParameter(f"{path}: there is no sheet {sheet!r}")
        found = book.load_sheet(
            0 if sheet is None else sheet,
            header_row=None if header is None else header - 1,
            n_rows=rows,
            dtypes="string",
        )
        return pyarrow.table(found.to_arrow())
    except fastexcel.FastExcelError as error:
        raise InvalidRecord(f"{path}: not a readable spreadsheet ({type(error).__name__})") from None


class CsvTable:
    """A CSV file: its cells are text, and mean what the schema says."""

    def __init__(self, file: CsvFile) -> None:
        self.name, self._file = str(file.path), file
        self._columns = read_columns(file)
        self._read: dict[str, TextCells] = {}
        self.column_names, self.rows = numbered(file.names), self._columns.rows

    def place(self, row: int) -> str:
        """The line of the file."""
        return f"line {self._file.line_of(row)}"

    def cells(self, column: str) -> TextCells:
        """The cells of a column."""
        if column not in self._read:
            self._read[column] = self._columns.cells(self.column_names.index(column))
        return self._read[column]
