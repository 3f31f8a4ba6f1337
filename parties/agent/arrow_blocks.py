"""Blocks of rows as columns of Arrow, each block packed as it comes: of a whole table no row stays a Python object.

A column that is of one type in one block and of another in the next becomes numbers where both are numbers, and text
otherwise: what it means is then what the text means.  A decimal is read as the float next to it.

Checked in tests/unit/parties/agent/test_databases.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from localdp.errors import requiring

if TYPE_CHECKING:
    import pyarrow


class Blocks:
    """Named columns, filled block by block."""

    def __init__(self, names: Sequence[str]) -> None:
        with requiring("a database needs pyarrow", "database"):
            import pyarrow  # noqa: F401
        self._names = names
        self._columns: list[list[pyarrow.Array]] = [[] for _ in names]

    def add(self, rows: Sequence[Iterable[object]]) -> None:
        """Some rows."""
        for chunks, values in zip(self._columns, zip(*rows, strict=True), strict=True):
            chunks.append(_packed(values))

    def table(self) -> pyarrow.Table:
        """All of them."""
        import pyarrow

        columns = [_joined(chunks) for chunks in self._columns]
        return pyarrow.table(columns, names=list(self._names))


def _packed(values: Sequence[object]) -> pyarrow.Array:
    import pyarrow

    sample = next((value for value in values if value is not None), None)
    if isinstance(sample, Decimal):
        values = [float(value) if isinstance(value, Decimal) else value for value in values]
    try:
        packed = pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())
    return (
        packed if _is_plain(packed.type) else _packed([None if one is None else str(one) for one in values])
    )


def _is_plain(kind: pyarrow.DataType) -> bool:
    """Numbers, truths, texts, days and nulls; everything else is read as its text."""
    from pyarrow import types

    return bool(
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_string(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )


def _joined(chunks: Sequence[pyarrow.Array]) -> pyarrow.ChunkedArray:
    import pyarrow
    from pyarrow import types

    kinds = {chunk.type for chunk in chunks if not types.is_null(chunk.type)}
    if len(kinds) <= 1:
        kind = next(iter(kinds), pyarrow.string())
    elif all(types.is_integer(one) or types.is_floating(one) for one in kinds):
        kind = pyarrow.float64()
    else:
        kind = pyarrow.string()
    return pyarrow.chunked_array([chunk.cast(kind, safe=False) for chunk in chunks], kind)
