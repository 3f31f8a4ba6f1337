"""A Parquet file, read column by column and each in blocks: what is in memory at once is the records, and one block.

Every block of a column becomes what its domain stores before the next one is read, so ten million rows take about the
memory of their records.  Only the column that says whose rows they are is held whole.

Checked in tests/unit/parties/agent/test_parquet_blocks.py, and the memory in tests/integration/test_memory_of_tables.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain
from localdp.errors import InvalidRecord
from parties.agent.cells import TextCells
from parties.agent.reading import Reading
from parties.agent.typed_cells import TypedCells, arrow_cells
from parties.agent.verdicts import Read

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

AT_ONCE = 1 << 18  # rows


class ParquetCells:
    """One column, read whenever it is asked for."""

    def __init__(self, rows: int, blocks: Callable[[], Iterator[pyarrow.Array]]) -> None:
        self._rows, self._blocks = rows, blocks

    def empty(self) -> NDArray[np.int64]:
        """The rows that do not say whose they are."""
        found, begin = [np.empty(0, np.int64)], 0
        for block in self._blocks():
            found.append(begin + arrow_cells(block).empty())
            begin += len(block)
        return np.concatenate(found)

    def read(self, domain: Domain, reading: Reading) -> Read:
        """The column in the domain's own type, and what each cell was found to be."""
        verdicts, begin = np.zeros(self._rows, np.uint8), 0
        values = np.zeros(self._rows, domain.dtype)
        for block in self._blocks():
            one = arrow_cells(block).read(domain, reading)
            end = begin + len(block)
            values[begin:end], verdicts[begin:end] = one.values, one.verdicts
            begin = end
        return Read(values, verdicts)

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, as text, in order of appearance, and which of them each row has."""
        return self.whole().people()

    def whole(self) -> TextCells | TypedCells:
        """All of it at once."""
        import pyarrow

        return arrow_cells(pyarrow.chunked_array(list(self._blocks())))


class ParquetTable:
    """A Parquet file without two columns of one name."""

    def __init__(self, path: Path, file: ParquetFile) -> None:
        self.name, self._path = str(path), path
        self.column_names, self.rows = list(file.schema_arrow.names), int(file.metadata.num_rows)

    def place(self, row: int) -> str:
        """Rows are counted from 0."""
        return f"row {row}"

    def cells(self, column: str) -> ParquetCells:
        """The cells of a column."""
        return ParquetCells(self.rows, lambda: self._blocks(column))

    def _blocks(self, column: str) -> Iterator[pyarrow.Array]:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            with ParquetFile(self._path) as file:
                for batch in file.iter_batches(AT_ONCE, columns=[column], use_threads=False):
                    block = batch.column(0)
                    block.validate(full=True)
                    yield block
        except (ArrowException, OSError, ValueError, IndexError) as error:
            # The type only: pyarrow quotes the cell that it could not read.
            raise InvalidRecord(
                f"{self._path}: not a readable parquet table ({type(error).__name__})"
            ) from None
