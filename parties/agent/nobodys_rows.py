"""Rows that are nobody's: a line of totals, or a header that occurs again, as their owner declared (`data.nobody`).

What stands in the column of people says so, whatever its case and the spaces around it; "" is a cell in which nothing
stands.  These rows are left out before anything else of them is looked at.

Checked in tests/unit/parties/agent/test_nobodys_rows.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain
from parties.agent.cells import TextCells
from parties.agent.parquet_table import ParquetCells
from parties.agent.reading import Reading, folded
from parties.agent.typed_cells import TypedCells
from parties.agent.verdicts import Read

if TYPE_CHECKING:
    from parties.agent.sources import ColumnCells, SourceTable


@dataclass(frozen=True, slots=True)
class SomeCells:
    """The cells of a column in some of the rows."""

    cells: ColumnCells
    kept: NDArray[np.int64]
    rows: int  # of the whole table

    def empty(self) -> NDArray[np.int64]:
        """The rows that do not say whose they are, among these."""
        return np.flatnonzero(np.isin(self.kept, self.cells.empty()))

    def read(self, domain: Domain, reading: Reading) -> Read:
        """The column in the domain's own type, and what each cell was found to be."""
        one = self.cells.read(domain, reading)
        return Read(one.values[self.kept], one.verdicts[self.kept])

    def whole(self) -> TypedCells:
        """All of it at once: numbers, days and other cells that have types."""
        cells = self.cells.whole() if isinstance(self.cells, ParquetCells) else self.cells
        assert isinstance(cells, TypedCells)
        present = cells.present[self.kept]
        places = np.cumsum(cells.present) - 1
        content = np.asarray(cells.content)[places[self.kept[present]]]
        return TypedCells(present, content, cells.labels)

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, in order of appearance, and which of them each row has."""
        names, codes = self.cells.people()
        if len(codes) < self.rows:  # of numbers, which say nothing in the rows that are left out
            said = np.setdiff1d(np.arange(self.rows), self.cells.empty())
            codes, told = np.full(self.rows, -1), codes
            codes[said] = told
        kept, numbers = np.unique(codes[self.kept], return_inverse=True)  # they are numbered as they appear
        return [names[int(one)] for one in kept], numbers.astype(np.int64)


class SomeRows:
    """A table without the others."""

    def __init__(self, table: SourceTable, kept: NDArray[np.int64]) -> None:
        self._table, self._kept = table, kept
        self.name, self.column_names, self.rows = table.name, table.column_names, len(kept)

    def place(self, row: int) -> str:
        """Where a row is found in the whole table."""
        return self._table.place(int(self._kept[row]))

    def cells(self, column: str) -> SomeCells | TextCells:
        """The cells of a column."""
        cells = self._table.cells(column)
        if isinstance(cells, TextCells):
            found, again = np.unique(cells.codes[self._kept], return_inverse=True)
            return TextCells([cells.distinct[int(one)] for one in found], again.astype(np.int64))
        return SomeCells(cells, self._kept, self._table.rows)


def somebodys(table: SourceTable, person: str | None, nobody: Sequence[str]) -> SourceTable:
    """The table without rows that are nobody's."""
    if person is None or not nobody or person not in table.column_names:
        return table
    cells, words = table.cells(person), {folded(one) for one in nobody}
    others = np.zeros(table.rows, np.bool_)
    if "" in words:
        others[cells.empty()] = True
    names, codes = cells.people()
    if len(codes) == table.rows:  # numbers with empty cells among them are no words
        others |= np.array([folded(one) in words for one in names], np.bool_)[codes]
    return SomeRows(table, np.flatnonzero(~others)) if others.any() else table
