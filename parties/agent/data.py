"""A party's table from a file: CSV, Parquet or Arrow, checked against the declared schema.

CSV is read with the standard library alone (`parties.agent.csv_table`); pyarrow, of the `agent` extra, reads the others,
and makes CSV quicker.  Which column of the table is which, and what an empty cell is read as, is declared with the schema
(`parties.agent.declared`).  A refusal names the file, the column and the line or row, never a value.

Checked in tests/unit/parties/agent/test_agent_data.py, tests/unit/parties/agent/test_csv.py and
tests/unit/parties/agent/test_missing_cells.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain, Ownership, Records, Schema
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.cells import TextCells, is_number
from parties.agent.csv_table import CsvFile, read_columns
from parties.agent.declared import Declared, Reading, example_of
from parties.agent.typed_cells import ArrowTable, ListedTable

if TYPE_CHECKING:
    import pyarrow
from localdp.domains.columns import ColumnArray

SUFFIXES = (".csv", ".parquet", ".arrow", ".feather")
_MOST_NAMES = 20  # that a refusal lists

Numbering = Callable[[list[str]], NDArray[np.int64]]  # from people's identifiers to their numbers


class ColumnCells(Protocol):
    """The cells of one column."""

    def empty(self, domain: Domain | None) -> NDArray[np.int64]:
        """The rows that say nothing; None is the domain of people's identifiers."""
        ...

    def outside(self, domain: Domain) -> NDArray[np.int64]:
        """The rows that say something, and something else than the domain allows."""
        ...

    def values(self, domain: Domain, missing: object = None) -> ColumnArray:
        """The column in the domain's own type, with a value for its empty cells."""
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


def by_appearance(identifiers: list[str]) -> NDArray[np.int64]:
    """People numbered as they first appear."""
    return np.arange(len(identifiers))


def load_table(
    path: Path,
    schema: Schema | Declared,
    person: str | None = None,
    rows: Literal["one", "sample", "each"] = "one",
    numbering: Numbering = by_appearance,
) -> tuple[Records, Ownership | None]:
    """The records of a file in the order of their people, and whose they are where one person has several."""
    table, declared = _read(path), Declared.of(schema)
    _require_columns(table, declared, person)
    columns = _columns(table, declared)  # all cells are right before anybody gets a number
    order, owners = _owners(table, person, rows, numbering)
    records = Records.from_columns(
        declared.schema, {name: values[order] for name, values in columns.items()}
    )
    if owners is None or rows == "one":
        return records, None
    # Also where everybody has one row: nobody is to see a second one come.
    return records, Ownership(owners, rows)


def records_of_table(table: pyarrow.Table, schema: Schema | Declared, name: str = "the table") -> Records:
    """The records of an Arrow table that is at hand, one person a row; refusals call it by the name."""
    return _records(ArrowTable(name, table), Declared.of(schema))


def records_of_columns(
    columns: Mapping[str, object], schema: Schema | Declared, name: str = "the data"
) -> Records:
    """The records of lists and arrays by name, one person a row; refusals call them by the name."""
    declared = Declared.of(schema)
    wanted = [reading.column for reading in declared.readings]
    return _records(ListedTable(name, columns, wanted), declared)


def _records(table: SourceTable, declared: Declared) -> Records:
    _require_columns(table, declared, None)
    return Records.from_columns(declared.schema, _columns(table, declared))


def _columns(table: SourceTable, declared: Declared) -> dict[str, ColumnArray]:
    return {name: _column(table, domain, reading) for name, domain, reading in declared}


def _column(table: SourceTable, domain: Domain, reading: Reading) -> ColumnArray:
    """A column in the domain's own type; what is not in the domain is refused."""
    cells = table.cells(reading.column)
    outside = cells.outside(domain)
    if len(outside):
        place = table.place(int(outside[0]))
        raise InvalidRecord(
            f"{table.name}: column {reading.column!r}, {place}: not in the domain ({domain})"
        )
    return cells.values(domain, reading.missing)


def _read(path: Path) -> SourceTable:
    if path.suffix not in SUFFIXES:
        raise InvalidParameter(f"{path}: a table is one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise InvalidParameter(f"there is no table at {path.absolute()}")
    return CsvTable(path) if path.suffix == ".csv" else ArrowTable(str(path), _arrow(path))


def _arrow(path: Path) -> pyarrow.Table:
    try:
        from pyarrow import ArrowException, feather, parquet
    except ImportError as error:
        raise InvalidParameter(
            f"{path}: all but CSV needs pyarrow: pip install 'localdp[agent]'"
        ) from error
    try:
        with path.open("rb") as file:
            return parquet.read_table(file) if path.suffix == ".parquet" else feather.read_table(file)
    except ArrowException as error:
        # The type only: pyarrow quotes the cell that it could not read.
        raise InvalidRecord(
            f"{path}: not a readable {path.suffix[1:]} table ({type(error).__name__})"
        ) from None


def _require_columns(table: SourceTable, declared: Declared, person: str | None) -> None:
    """Every column is there, once, and says something wherever nothing says what an empty cell is read as."""
    for column in (
        *(reading.column for reading in declared.readings),
        *(() if person is None else (person,)),
    ):
        if column not in table.column_names:
            raise InvalidRecord(f"{table.name}: there is no column {column!r}; {_listed(table, column)}")
        if table.column_names.count(column) > 1:
            raise InvalidRecord(f"{table.name}: there are two columns {column!r}")
    if table.rows == 0:
        raise InvalidRecord(f"{table.name}: the table has no rows")
    for _, domain, reading in declared:
        if reading.missing is None and (where := _where_empty(table, reading.column, domain)):
            raise InvalidRecord(
                f"{table.name}: column {reading.column!r} is empty in {where}; every person needs a value: say in"
                f" the schema what an empty cell is read as, such as {example_of(domain)} (docs/howto-own-data.md)"
            )
    if person is not None and (where := _where_empty(table, person, None)):
        raise InvalidRecord(
            f"{table.name}: column {person!r} is empty in {where}; it says whose row it is, so every row needs it"
        )


def _where_empty(table: SourceTable, column: str, domain: Domain | None) -> str:
    rows = table.cells(column).empty(domain)
    return f"{len(rows)} rows, first in {table.place(int(rows[0]))}" if len(rows) else ""


def _listed(table: SourceTable, name: str) -> str:
    """What the table has; a first row that is no header is somebody's record, and is not shown."""
    names = table.column_names
    if any(is_number(one) for one in names):
        return "is its first row the names of the columns?"
    return f"it has {', '.join(names[:_MOST_NAMES])}{suggestion(name, names)}"


def _owners(
    table: SourceTable, person: str | None, rows: str, numbering: Numbering
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """An order of the rows in which each person's stand together, and the owners in that order."""
    if person is None:
        return np.arange(table.rows), None
    identifiers, codes = table.cells(person).people()
    if rows == "one" and len(identifiers) < len(codes):
        raise InvalidRecord(
            f'{table.name}: some people have several rows; say rows = "sample" or rows = "each"'
        )
    owners = np.asarray(numbering(identifiers), np.int64)[codes]
    order = np.argsort(owners, kind="stable")
    return order, owners[order]


class CsvTable:
    """A CSV file: its cells are text, and mean what the schema says."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._file = CsvFile(path)
        self._columns = read_columns(self._file)
        self._read: dict[str, TextCells] = {}
        self.column_names, self.rows = self._file.names, self._columns.rows

    def place(self, row: int) -> str:
        """The line of the file."""
        return f"line {self._file.line_of(row)}"

    def cells(self, column: str) -> TextCells:
        """The cells of a column."""
        if column not in self._read:
            self._read[column] = self._columns.cells(self.column_names.index(column))
        return self._read[column]
