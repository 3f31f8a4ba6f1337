"""Cells that have types already: Arrow tables, data frames, lists and arrays.

Text means what it means in a CSV file (`parties.agent.cells`), so a table is the same records however it is stored.  Of
everything else, a null says nothing, and neither does a float that is no number (NaN).

| declared | cells |
|---|---|
| bit | truths, and numbers that are 0 or 1 |
| integer | whole numbers, also as floats and decimals: what missing cells make of them in a data frame |
| real | numbers |
| category | of a table, the label that a number or a truth is written as; of a list, the position of a label |

Checked in tests/unit/parties/agent/test_missing_cells.py and tests/unit/parties/agent/test_data_frames.py.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.errors import InvalidRecord
from parties.agent.cells import TextCells

if TYPE_CHECKING:
    import pyarrow
from localdp.domains.columns import ColumnArray

Content: TypeAlias = ColumnArray | list[Any]

_NULLS = ("NAType", "NaTType")  # what pandas calls them, which is not imported for this


@dataclass(frozen=True, slots=True)
class TypedCells:
    """One column: in which rows something stands, and what."""

    present: NDArray[np.bool_]
    content: Content  # of those rows
    labels: bool  # numbers and truths of a category are labels, and not positions

    def empty(self, domain: Domain | None) -> NDArray[np.int64]:
        """The rows that say nothing."""
        return np.flatnonzero(~self.present)

    def outside(self, domain: Domain) -> NDArray[np.int64]:
        return np.flatnonzero(self.present)[~_inside(self._meant(domain), domain)]

    def values(self, domain: Domain, missing: object = None) -> ColumnArray:
        """The column in the domain's own type; every cell is in the domain, or empty, and then what `missing` says."""
        meant = self._meant(domain)
        if _are_floats(meant) and not isinstance(domain, RealDomain):
            meant = np.asarray(meant).astype(np.int64)
        if self.present.all():
            return domain.check(meant)
        whole: ColumnArray = np.repeat(domain.check([missing]), len(self.present))
        whole[self.present] = domain.check(meant)
        return whole

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, as text, in order of appearance, and which of them each row has."""
        names, first, codes = np.unique(np.asarray(self.content), return_index=True, return_inverse=True)
        appearance = np.argsort(first)
        places = np.empty(len(names), np.int64)
        places[appearance] = np.arange(len(names))
        return [str(one) for one in names[appearance]], places[codes]

    def _meant(self, domain: Domain) -> Content:
        objects = isinstance(self.content, list) or self.content.dtype == object
        if isinstance(domain, CategoryDomain):
            if objects or not self.labels:
                return self.content
            return _positions(np.asarray(self.content), domain)
        if not objects:
            return self.content
        kind = float if isinstance(domain, RealDomain) else int
        return [_number(value, kind) for value in self.content]


class ArrowTable:
    """An Arrow table: its columns have types, and some of them can be read as others."""

    def __init__(self, name: str, table: pyarrow.Table) -> None:
        self.name = name
        self._table = table
        self._read: dict[str, TextCells | TypedCells] = {}
        self.column_names, self.rows = list(table.column_names), int(table.num_rows)

    def place(self, row: int) -> str:
        """Rows are counted from 0."""
        return f"row {row}"

    def cells(self, column: str) -> TextCells | TypedCells:
        """The cells of a column."""
        if column not in self._read:
            chunks = self._table[column]
            self._read[column] = _arrow_texts(chunks) if _is_text(chunks.type) else _arrow_cells(chunks)
        return self._read[column]


class ListedTable:
    """Lists and arrays by name; only the wanted ones are looked at."""

    def __init__(self, name: str, columns: Mapping[str, object], wanted: Iterable[str]) -> None:
        self.name = name
        self.column_names = [str(one) for one in columns]
        self._columns = {one: _values(one, columns[one]) for one in wanted if one in columns}
        self.rows = max((len(values) for values in self._columns.values()), default=0)

    def place(self, row: int) -> str:
        """Rows are counted from 0."""
        return f"row {row}"

    def cells(self, column: str) -> TextCells | TypedCells:
        """The cells of a column."""
        values = self._columns[column]
        if isinstance(values, np.ndarray):
            present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), np.bool_)
            return TypedCells(present, values[present], labels=False)
        null = [_is_null(value) for value in values]
        if all(none or isinstance(value, str) for value, none in zip(values, null, strict=True)):
            return _texts("" if none else value for value, none in zip(values, null, strict=True))
        content = [value for value, none in zip(values, null, strict=True) if not none]
        return TypedCells(~np.array(null, np.bool_), content, labels=False)


def _values(name: str, values: object) -> Content:
    """An array of numbers or truths as it is; everything else, also an array with a mask, as a list."""
    if type(values) is np.ndarray and values.ndim != 1:
        raise InvalidRecord(f"column {name!r}: expected one dimension, got {values.ndim}")
    if type(values) is np.ndarray and values.dtype.kind in "biuf":
        return values
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidRecord(f"column {name!r}: expected one value per person")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_null(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or value is np.ma.masked or type(value).__name__ in _NULLS


def _texts(texts: Iterable[str]) -> TextCells:
    numbers = defaultdict[str, int](count().__next__)
    codes = np.array([numbers[text] for text in texts], np.int64)
    return TextCells(list(numbers), codes)


def _is_text(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _arrow_cells(chunks: pyarrow.ChunkedArray) -> TypedCells:
    from pyarrow import compute

    present = ~compute.is_null(chunks, nan_is_null=True).to_numpy()
    return TypedCells(present, chunks.filter(present).to_numpy(), labels=True)


def _arrow_texts(chunks: pyarrow.ChunkedArray) -> TextCells:
    """The texts of an Arrow column; a null is the empty text."""
    import pyarrow

    encoded = chunks.cast(pyarrow.large_string()).fill_null("").combine_chunks().dictionary_encode()
    return TextCells(encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64))


def _inside(values: Content, domain: Domain) -> NDArray[np.bool_]:
    if isinstance(values, np.ndarray):
        if values.dtype.kind in domain.array_kinds:
            return domain.inside(values)
        if values.dtype.kind in "mM":  # dates, which are no numbers, whatever numpy keeps them as
            return np.zeros(len(values), np.bool_)
        if _are_floats(values) and isinstance(domain, BitDomain | IntegerDomain):
            whole: NDArray[np.bool_] = values == np.rint(values)
            return domain.inside(values) & whole
        values = values.tolist()
    return np.fromiter((domain.holds(value) for value in values), np.bool_, len(values))


def _are_floats(values: Content) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f"


def _positions(values: ColumnArray, domain: CategoryDomain) -> NDArray[np.int64]:
    """The positions of the labels that numbers or truths are written as; -1 where there is none."""
    distinct, codes = np.unique(values, return_inverse=True)
    places = [domain.code(_label(value, domain)) for value in distinct]
    return np.array([-1 if place is None else place for place in places], np.int64)[codes]


def _label(value: np.generic, domain: CategoryDomain) -> str:
    """The label that a number or a truth is written as: 7 with missing cells beside it is 7.0 in a data frame."""
    text = str(value)
    if not domain.holds(text):
        if isinstance(value, np.bool_):
            return text.lower()
        if isinstance(value, np.floating) and float(value).is_integer():
            return str(int(value))
    return text


def _number(value: Decimal | float | str, kind: type[int] | type[float]) -> object:
    """The number that a decimal or a float means."""
    if isinstance(value, str | bool):
        return value
    try:
        number = kind(value)
        return number if number == value else value
    except (ValueError, TypeError, OverflowError):
        return value
