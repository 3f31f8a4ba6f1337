"""Columns of a result as a data frame or a table of another library, which is imported when it is asked for.

Checked in tests/unit/asking/test_results.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from localdp.errors import InvalidParameter

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Cell: TypeAlias = str | int | float | bool
Columns: TypeAlias = Mapping[str, Sequence[Cell]]
_INSTALL = {
    "pandas": "pip install pandas",
    "polars": "pip install polars",
    "pyarrow": "pip install 'localdp[agent]'",
    "matplotlib": "pip install 'localdp[plots]'",
}


def needed(name: str) -> ModuleType:
    """A library that is not part of a plain installation."""
    library = name.partition(".")[0]
    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidParameter(f"this needs {library}: {_INSTALL[library]}") from error


def pandas_frame(columns: Columns) -> pandas.DataFrame:
    """As pandas has it."""
    return needed("pandas").DataFrame(dict(columns))


def polars_frame(columns: Columns) -> polars.DataFrame:
    """As polars has it."""
    frame: polars.DataFrame = needed("polars").DataFrame(dict(columns))
    return frame


def arrow_table(columns: Columns) -> pyarrow.Table:
    """As Arrow has it."""
    return needed("pyarrow").table(dict(columns))


def html_table(columns: Mapping[str, Sequence[str]], caption: str) -> str:
    """A table for notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
