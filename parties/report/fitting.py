"""Tables of numbers on narrow terminals: columns that can be spared go one by one, and no number is ever cut.

A number that is cut short is a wrong number.  Where not even the columns that stay fit, lines are longer than the terminal.
Checked in tests/unit/parties/command/test_narrow_terminals.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDEST = 10_000


def print_fitting(console: Console, table: Table, spare: Sequence[str]) -> None:
    """The table, without as many of the columns of these headings, the first of them first, as do not fit."""
    left_out = _leave_out(console, table, spare)
    table.width = _width(console, table)
    console.print(table, crop=False)
    if left_out:
        told = f"Not shown in {console.width} columns: {', '.join(left_out)}"
        console.print(Text(told, style="dim"))


def _leave_out(console: Console, table: Table, spare: Sequence[str]) -> list[str]:
    left_out: list[str] = []
    for heading in spare:
        if _width(console, table) <= console.width:
            break
        if any(column.header == heading for column in table.columns):
            table.columns = [column for column in table.columns if column.header != heading]
            left_out.append(heading)
            for place, column in enumerate(table.columns):
                column._index = place  # by which rich knows the first and the last
    return left_out


def _width(console: Console, table: Table) -> int:
    """Of the whole table, with nothing cut."""
    return console.measure(table, options=console.options.update(width=_WIDEST)).maximum
