"""Tables that fit: columns that can be spared are left out one by one, and nothing but a long text is ever cut.

Of columns that are too wide together, first the elastic one shrinks, then the gaps, then the one with the largest `spare`
goes.  Checked in tests/unit/parties/view/test_view_rounds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

_NARROWEST = 12  # of an elastic column


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A heading and what stands below it."""

    name: str
    cells: Sequence[Text]
    right: bool = True
    spare: int = 0  # 0: never left out
    elastic: bool = False  # may be cut short

    @property
    def width(self) -> int:
        """Of the widest cell."""
        return max(map(cell_len, (self.name, *(cell.plain for cell in self.cells))))

    def cut_to(self, width: int) -> TableColumn:
        """The same, with cells that are cut short."""
        cells = [cell.copy() for cell in self.cells]
        for cell in cells:
            cell.truncate(width, overflow="ellipsis")
        return replace(self, cells=cells)


def table_of(columns: Sequence[TableColumn], width: int, styles: Sequence[str] = ()) -> Table:
    """The columns, or as many as fit; a style for each row may be given."""
    kept, gap = fitted(columns, width)
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column in kept:
        table.add_column(column.name, no_wrap=True, justify="right" if column.right else "left")
    for number, cells in enumerate(zip(*(column.cells for column in kept), strict=True)):
        table.add_row(*cells, style=styles[number] if styles else None)
    return table


def fitted(columns: Sequence[TableColumn], width: int) -> tuple[list[TableColumn], int]:
    """The columns that fit into a width, and the gap between them."""
    kept = list(columns)
    while True:
        for gap in (2, 1):
            over = sum(column.width for column in kept) + gap * (len(kept) - 1) - width
            shrunk = [_shrunk(column, over) for column in kept]
            if sum(column.width for column in shrunk) + gap * (len(kept) - 1) <= width:
                return shrunk, gap
        spared = max(kept, key=lambda column: column.spare)
        if not spared.spare:
            return shrunk, gap
        kept.remove(spared)


def _shrunk(column: TableColumn, over: int) -> TableColumn:
    if over <= 0 or not column.elastic:
        return column
    return column.cut_to(max(_NARROWEST, column.width - over))
