"""A table of records: one row per person, one validated, read-only numpy column per name of the schema.

Claim.  Two tables have equal fingerprints only when schema (names, domains, order) and values are equal,
up to a collision of SHA-256: each part is hashed behind its length, so no two tables share a byte stream.
Checked in tests/unit/test_domains.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping, Sequence

import numpy as np

from localdp.domains.columns import ColumnArray
from localdp.domains.rows import RowsDomain, each_row
from localdp.domains.schema import Schema
from localdp.errors import InvalidRecord, UnknownIndex

_FINGERPRINT_OF = b"localdp records, version 1"
_CHECKED_AT_ONCE = 1 << 18  # rows


class Records:
    """An immutable table; the columns are copied in, checked against the schema, and frozen."""

    __slots__ = ("_columns", "_fingerprint", "_people", "_schema")

    def __init__(self, schema: Schema, columns: Mapping[str, object]) -> None:
        _same_names(schema, columns)
        checked = {name: domain.check(columns[name], name) for name, domain in schema.columns.items()}
        lengths = {name: len(column) for name, column in checked.items()}
        people = lengths[schema.names[0]]
        for name, length in lengths.items():
            if length != people:
                raise InvalidRecord(f"column {name!r} has {length} rows, {schema.names[0]!r} has {people}")
        self._fill(schema, checked, people)

    @classmethod
    def from_columns(cls, schema: Schema, columns: Mapping[str, object]) -> Records:
        """The table with these columns, each an array or a list with one value per person."""
        return cls(schema, columns)

    @classmethod
    def adopted(cls, schema: Schema, columns: dict[str, ColumnArray]) -> Records:
        """The same of columns that are of the domains' own types already; they become the table's, and are not copied.

        So they must be nobody else's.
        """
        _same_names(schema, columns)
        people = len(columns[schema.names[0]])
        for name, domain in schema.columns.items():
            column = columns[name]
            if column.dtype != domain.dtype or len(column) != people:
                raise InvalidRecord(f"column {name!r}: expected {people} values of type {domain.dtype}")
            for start in range(0, people, _CHECKED_AT_ONCE):
                some = slice(start, start + _CHECKED_AT_ONCE)
                column[some] = domain.check(column[some], name)
        records = object.__new__(cls)
        records._fill(schema, {name: columns[name] for name in schema.names}, people)
        return records

    def _fill(self, schema: Schema, columns: dict[str, ColumnArray], people: int) -> None:
        for column in columns.values():
            column.flags.writeable = False
        self._schema = schema
        self._columns = columns
        self._people = people
        self._fingerprint: bytes | None = None

    def _with(self, columns: dict[str, ColumnArray], people: int) -> Records:
        """A table of rows of this one: they were checked already."""
        records = object.__new__(Records)
        records._fill(self._schema, columns, people)
        return records

    @property
    def schema(self) -> Schema:
        """The schema that every row obeys."""
        return self._schema

    @property
    def people(self) -> int:
        """The number of rows, one per person."""
        return self._people

    def column(self, name: str) -> ColumnArray:
        """One column in its canonical dtype, read-only."""
        if name not in self._columns:
            raise InvalidRecord(f"the records have no column {name!r:.70}")
        return self._columns[name]

    def take(self, indices: object, names: Container[str] | None = None) -> Records:
        """The rows of these people, in this order; negative or unknown indices are refused.

        With `names`, of these columns alone: what nobody looks at need not be copied.
        """
        rows = np.asarray(indices)
        if rows.size == 0:
            rows = rows.astype(np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise UnknownIndex("people are named by a one-dimensional list of integers")
        if rows.size and (int(rows.min()) < 0 or int(rows.max()) >= self._people):
            raise UnknownIndex(f"an index is outside of 0..{self._people - 1}")
        wanted = {name: column for name, column in self._columns.items() if names is None or name in names}
        return self._with({name: column[rows] for name, column in wanted.items()}, len(rows))

    def slice(self, start: int, stop: int) -> Records:
        """The people from `start` up to and not including `stop`; shares memory with this table."""
        if not 0 <= start <= stop <= self._people:
            raise UnknownIndex(f"{start}..{stop} is not a range of people within 0..{self._people}")
        return self._with(
            {name: column[start:stop] for name, column in self._columns.items()}, stop - start
        )

    def rows(self, wanted: Container[str]) -> Records:
        """A record for each place of a row of each person, in the wanted columns; free places are among them."""
        domain = self._schema[self._schema.rows or ""]
        assert isinstance(domain, RowsDomain)
        records = object.__new__(Records)
        columns = each_row(self._columns, domain.most, wanted)
        records._fill(self._schema.of_one_row, columns, self._people * domain.most)
        return records

    def of_ranges(self, ranges: Sequence[range]) -> Records:
        """The people of these ranges, one after the other; of a single range without a copy."""
        if len(ranges) == 1:
            return self.slice(ranges[0].start, ranges[0].stop)
        return self.take(np.concatenate([np.asarray(one, np.int64) for one in ranges]))

    def fingerprint(self) -> bytes:
        """SHA-256 of the schema and of every value, computed once."""
        if self._fingerprint is None:
            self._fingerprint = self._digest()
        return self._fingerprint

    def _digest(self) -> bytes:
        schema = json.dumps(self._schema.to_data(), sort_keys=True, separators=(",", ":")).encode("ascii")
        parts: list[bytes | memoryview] = [_FINGERPRINT_OF, schema]
        for column in self._columns.values():
            little_endian = column.astype(column.dtype.newbyteorder("<"), copy=False)
            parts.append(np.ascontiguousarray(little_endian).view(np.uint8).data)
        digest = hashlib.sha256()
        for part in parts:
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.digest()

    def __len__(self) -> int:
        return self._people

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_fingerprint" and hasattr(self, name):
            raise AttributeError("records are immutable")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[Records], tuple[Schema, dict[str, ColumnArray]]]:
        return (Records, (self._schema, self._columns))

    def __repr__(self) -> str:
        return f"Records(people={self._people}, columns={list(self._schema.names)})"  # and never a value


def _same_names(schema: Schema, columns: Mapping[str, object]) -> None:
    missing = [name for name in schema.names if name not in columns]
    if missing:
        raise InvalidRecord(f"the records lack {len(missing)} columns, the first is {missing[0]!r}")
    if len(columns) != len(schema):
        # The extra names are not repeated: a mistaken header may well be somebody's data.
        raise InvalidRecord(f"the records have {len(columns) - len(schema)} columns too many")
