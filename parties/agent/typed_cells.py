"""Cells that have types already: Arrow tables, data frames, lists and arrays.

Text means what it means in a CSV file (`parties.agent.cells`), so a table is the same records however it is stored.  Of
everything else, a null says nothing, and neither does a float that is no number (NaN), or a number that its owner says is
empty, such as -1.

| declared | cells |
|---|---|
| bit | truths, and numbers that are 0 or 1, or one of its owner's words |
| integer | whole numbers, also as floats and decimals: what missing cells make of them in a data frame |
| real | numbers |
| category | of a table, the label that a number or a truth is written as; of a list, the position of a label |

Checked in tests/unit/parties/agent/test_missing_cells.py and tests/unit/parties/agent/test_data_frames.py.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.errors import InvalidRecord
from parties.agent.cells import TextCells, is_number, numbered
from parties.agent.reading import EXCEL, HOUR, Dates, Reading
from parties.agent.verdicts import Read, Verdict
from parties.agent.within_domain import (
    Days,
    bounded,
    counted_days,
    labelled,
    named_days,
    numbered_days,
    parsed_days,
    parsed_hours,
    placed,
)

if TYPE_CHECKING:
    import pyarrow
from localdp.domains.columns import LARGEST_INTEGER, ColumnArray

Content: TypeAlias = ColumnArray | list[Any]

_EXACT = float(1 << 53)  # from here on two whole numbers may be one float
_NULLS = ("NAType", "NaTType")  # what pandas calls them, which is not imported for this


@dataclass(frozen=True, slots=True)
class TypedCells:
    """One column: in which rows something stands, and what."""

    present: NDArray[np.bool_]
    content: Content  # of those rows
    labels: bool  # numbers and truths of a category are labels, and not positions

    def empty(self) -> NDArray[np.int64]:
        """The rows that do not say whose they are."""
        return np.flatnonzero(~self.present)

    def read(self, domain: Domain, reading: Reading) -> Read:
        """The column in the domain's own type, and what each cell was found to be."""
        one = self._understood(domain, reading)
        if len(one.values) == len(self.present):
            return one
        values = np.zeros(len(self.present), one.values.dtype)
        verdicts = np.full(len(self.present), Verdict.EMPTY, np.uint8)
        values[self.present], verdicts[self.present] = one.values, one.verdicts
        return Read(values, verdicts)

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, as text, in order of appearance, and which of them each row has."""
        content = np.asarray(self.content)
        if content.dtype.kind == "f" and (np.abs(content) >= _EXACT).any():
            raise InvalidRecord(
                "the column that says whose row it is has floats so long that two people may be one number: have them"
                " written as text (of a database with a query, CAST(... AS TEXT))"
            )
        try:
            names, first, codes = np.unique(content, return_index=True, return_inverse=True)
        except (TypeError, ValueError):  # lists and the like
            raise InvalidRecord(
                "the column that says whose row it is has neither texts nor numbers in it"
            ) from None
        appearance = np.argsort(first)
        places = np.empty(len(names), np.int64)
        places[appearance] = np.arange(len(names))
        return [str(one) for one in names[appearance]], places[codes]

    def _understood(self, domain: Domain, reading: Reading) -> Read:
        """What is there, without the rows in which nothing stands."""
        said = np.zeros(len(self.content), np.uint8)
        if reading.dates is not None:
            return self._dates(said, domain, reading, reading.dates)
        if isinstance(domain, CategoryDomain):
            return self._labels(said, domain, reading)
        numbers = _numbers(self.content, domain)
        said = np.where(np.isnan(numbers), np.uint8(Verdict.NO_NUMBER), said)
        said = np.where(_among(numbers, reading.empty), np.uint8(Verdict.EMPTY), said)
        if isinstance(domain, IntegerDomain | RealDomain):
            return bounded(numbers, said, domain, reading)
        true, false = _among(numbers, ("1", *reading.true)), _among(numbers, ("0", *reading.false))
        wrong = (said != Verdict.EMPTY) & ~(true | false)
        return Read(true, np.where(wrong, np.uint8(Verdict.NO_TRUTH), said))

    def _dates(self, said: NDArray[np.uint8], domain: Domain, reading: Reading, dates: Dates) -> Read:
        if dates.read_as == HOUR:
            assert isinstance(domain, IntegerDomain | RealDomain)
            return bounded(*_hours(self.content, said, dates), domain, reading)
        days, verdicts = _days(self.content, said, dates)
        if isinstance(domain, CategoryDomain):
            return labelled(named_days(days, dates), verdicts, domain, reading)
        assert isinstance(domain, IntegerDomain | RealDomain)
        return bounded(counted_days(days, dates), verdicts, domain, reading)

    def _labels(self, said: NDArray[np.uint8], domain: CategoryDomain, reading: Reading) -> Read:
        other = None if reading.other is None else domain.code(reading.other)
        content = self.content
        if isinstance(content, list) or content.dtype == object:
            recode = dict(reading.recode)
            known = [recode.get(one, one) if isinstance(one, str) else one for one in content]
            stored = [domain.check([one])[0] if domain.holds(one) else -1 for one in known]
            return placed(np.array(stored, np.int32), said, other)
        if not self.labels:
            return placed(np.where(domain.inside(content), content, -1), said, other)
        return placed(_positions(content, domain, reading), said, other)


class ArrowTable:
    """An Arrow table: its columns have types, and some of them can be read as others."""

    def __init__(self, name: str, table: pyarrow.Table, place: str = "row", first: int = 0) -> None:
        """A refusal calls the first row `place` `first`."""
        self.name = name
        self._table, self._place, self._first = table, place, first
        self._read: dict[str, TextCells | TypedCells] = {}
        self.column_names, self.rows = numbered(table.column_names), int(table.num_rows)

    def place(self, row: int) -> str:
        """What is said where this row is meant."""
        return f"{self._place} {self._first + row}"

    def cells(self, column: str) -> TextCells | TypedCells:
        """The cells of a column."""
        if column not in self._read:
            chunks = self._table.column(self.column_names.index(column))
            self._read[column] = arrow_cells(chunks)
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


def arrow_cells(values: pyarrow.Array | pyarrow.ChunkedArray) -> TextCells | TypedCells:
    """The cells of an Arrow column, or of a part of one; a text that is null is the empty text."""
    import pyarrow
    from pyarrow import compute

    if not _is_text(values.type):
        values = _as_it_was_there(values)
        present = ~compute.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)
        kept = values if present.all() else values.filter(pyarrow.array(present))
        return TypedCells(present, _as_numpy(kept), labels=True)
    texts = values.cast(pyarrow.large_string()).fill_null("")
    whole = texts.combine_chunks() if isinstance(texts, pyarrow.ChunkedArray) else texts
    encoded = whole.dictionary_encode()
    return TextCells(encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64))


def _as_numpy(values: pyarrow.Array | pyarrow.ChunkedArray) -> ColumnArray:
    import pyarrow

    try:
        content: ColumnArray = values.to_numpy(zero_copy_only=False)
    except (pyarrow.ArrowException, ValueError):  # such as nanoseconds: pyarrow quotes the cell
        raise InvalidRecord(
            f"a column has cells of the type {values.type} that cannot be read here; have them written as text"
        ) from None
    return content.astype(np.float64) if content.dtype == np.float16 else content


def _as_it_was_there(values: pyarrow.Array | pyarrow.ChunkedArray) -> pyarrow.Array | pyarrow.ChunkedArray:
    """A moment with a zone as the clocks of that zone had it: a day begins at midnight there, and not in Greenwich."""
    import pyarrow
    from pyarrow import compute

    if not pyarrow.types.is_timestamp(values.type) or values.type.tz is None:
        return values
    try:
        return compute.local_timestamp(values)
    except pyarrow.ArrowException:
        raise InvalidRecord(
            "a column has times of a zone that this machine does not know; install its time zones (tzdata)"
        ) from None


def _numbers(content: Content, domain: Domain) -> ColumnArray:
    """Numbers, and NaN for what is none; a truth is one for bits alone, and whole numbers stay what they are."""
    kind = content.dtype.kind if isinstance(content, np.ndarray) else "O"
    if kind == "O":
        bits = isinstance(domain, BitDomain)
        return np.fromiter((_number(value, bits=bits) for value in content), np.float64, len(content))
    assert isinstance(content, np.ndarray)
    if kind == "u":  # what is beyond a float's whole numbers is beyond every domain
        return np.minimum(content, np.uint64(LARGEST_INTEGER + 1)).astype(np.int64)
    if kind == "i" or (kind == "b" and isinstance(domain, BitDomain)):
        return content.astype(np.int64, copy=False)
    if kind == "f":
        return content.astype(np.float64, copy=False)
    return np.full(
        len(content), np.nan
    )  # dates, which are no numbers, whatever numpy keeps them as; or truths


def _among(numbers: ColumnArray, words: Sequence[str]) -> NDArray[np.bool_]:
    """Where a number is one of those that words are."""
    known = [float(word) for word in words if is_number(word)]
    found = np.zeros(len(numbers), np.bool_)
    for one in known:
        found |= numbers == one
    return found


def _number(value: object, *, bits: bool) -> float:
    if isinstance(value, bool | np.bool_) and not bits:
        return math.nan
    if not isinstance(value, int | float | Decimal | np.number | np.bool_):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (ArithmeticError, ValueError):
        return math.nan
    if isinstance(value, int) and number != value:  # beyond what a float has exactly, and every domain
        return math.copysign(math.inf, number)
    return number


def _days(content: Content, said: NDArray[np.uint8], dates: Dates) -> tuple[Days, NDArray[np.uint8]]:
    if isinstance(content, np.ndarray) and content.dtype.kind == "M":
        return content.astype("M8[D]"), said
    if EXCEL in dates.written and isinstance(content, np.ndarray) and content.dtype.kind in "iuf":
        return numbered_days(content, said)
    texts = [str(value) if isinstance(value, date | str) else "" for value in content]
    return parsed_days(texts, said, replace(dates, written=()) if not _texts_alone(content) else dates)


def _hours(
    content: Content, said: NDArray[np.uint8], dates: Dates
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    if isinstance(content, np.ndarray) and content.dtype.kind == "M":
        hours = (content - content.astype("M8[D]")).astype("m8[h]").astype(np.int64)
        days_alone = np.datetime_data(content.dtype)[0] == "D"
        return hours, np.where(days_alone, np.uint8(Verdict.NO_DATE), said)
    texts = [str(value) if isinstance(value, datetime | time | str) else "" for value in content]
    return parsed_hours(texts, said, dates if _texts_alone(content) else replace(dates, written=()))


def _texts_alone(content: Content) -> bool:
    return any(isinstance(value, str) for value in content)


def _positions(values: ColumnArray, domain: CategoryDomain, reading: Reading) -> NDArray[np.int32]:
    """The positions of the labels that numbers or truths are written as; -1 where there is none."""
    distinct, codes = np.unique(values, return_inverse=True)
    recode = dict(reading.recode)
    labels = [_label(value, domain, recode) for value in distinct]
    places = [domain.code(recode.get(label, label)) for label in labels]
    return np.array([-1 if place is None else place for place in places], np.int32)[codes]


def _label(value: np.generic, domain: CategoryDomain, recode: Mapping[str, str]) -> str:
    """The label that a number or a truth is written as: 7 with missing cells beside it is 7.0 in a data frame."""
    text = str(value)
    if not domain.holds(text) and text not in recode:
        if isinstance(value, np.bool_):
            return text.lower()
        if isinstance(value, np.floating) and float(value).is_integer():
            return str(int(value))
    return text
