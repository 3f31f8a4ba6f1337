"""The schema of a record: the names of its columns, in order, and the domain of each.

A schema is public.  Two schemas are equal when names, domains and order are equal; `from_data` undoes
`to_data`, and the data are plain enough for JSON.  Checked in tests/unit/test_domains.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import cast

from localdp.domains.columns import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.domains.rows import RowsDomain, rows_named
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter

MOST_COLUMNS = 1024
LONGEST_NAME = 64
# The words of the query language: kept here because a column of such a name could never be asked about.
RESERVED_WORDS = frozenset(
    {"and", "or", "not", "in", "true", "false", "clip", "vector", "if", "then", "else"}
)
NAME_RULE = (
    f"a name is a letter or _, then at most {LONGEST_NAME - 1} letters, digits or _, and no word of queries"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FIELDS: dict[str, tuple[str, ...]] = {
    "bit": (),
    "category": ("labels",),
    "integer": ("low", "high"),
    "real": ("low", "high"),
    "rows": ("most", "of"),
}


def is_column_name(name: object) -> bool:
    """Whether a column may be called so: an ASCII identifier that is no word of the query language."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in RESERVED_WORDS


@dataclass(frozen=True, eq=False)
class Schema:
    """An ordered mapping from column names to domains, immutable and hashable."""

    columns: Mapping[str, Domain]
    rows: str | None = field(
        init=False, compare=False
    )  # what the rows that people have are called, if they have any
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = dict(self.columns)
        if not 1 <= len(columns) <= MOST_COLUMNS:
            raise InvalidParameter(f"a schema has 1 to {MOST_COLUMNS} columns; got {len(columns)}")
        for position, (name, domain) in enumerate(columns.items()):
            if not is_column_name(name):
                raise InvalidParameter(
                    f"column {position}: {name!r:.70} cannot be the name of a column; {NAME_RULE}"
                )
            if not isinstance(domain, Domain):
                raise InvalidParameter(f"column {name!r}: {type(domain).__name__} is not a domain")
        object.__setattr__(self, "columns", MappingProxyType(columns))
        object.__setattr__(self, "rows", rows_named(columns))
        object.__setattr__(self, "_hash", hash(tuple(columns.items())))

    @cached_property
    def of_one_row(self) -> Schema:
        """What is known of one row: its own values, and those of its person."""
        return Schema(
            {name: one.each if isinstance(one, RowsDomain) else one for name, one in self.columns.items()}
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> Domain:
        if name not in self.columns:
            raise InvalidParameter(f"the schema has no column {name!r:.70}{suggestion(name, self.columns)}")
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        if self is other:
            return True
        return self._hash == other._hash and tuple(self.columns.items()) == tuple(other.columns.items())

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Schema], tuple[dict[str, Domain]]]:
        return (Schema, (dict(self.columns),))  # a mapping proxy cannot be copied into a worker process

    def difference(self, other: Schema) -> str:
        """The first thing in which another schema differs from this one, in words; "" if nothing does."""
        further = [name for name in other.names if name not in self]
        for name, domain in self.columns.items():
            if name not in other:
                return f"column {name!r} is missing{suggestion(name, further)}"
            if other[name] != domain:
                if str(other[name]) == str(domain):
                    return f"column {name!r} has other labels"
                return f"column {name!r} is {other[name]} instead of {domain}"
        if further:
            return f"column {further[0]!r} is one too many"
        return "" if self.names == other.names else "the columns have another order"

    def to_data(self) -> dict[str, object]:
        """Plain data: a list of columns, each with its name, kind and bounds."""
        return {"columns": [{"name": name, **domain.to_data()} for name, domain in self.columns.items()]}

    @classmethod
    def from_data(cls, data: object) -> Schema:
        """The schema that `to_data` described; anything missing, unknown or repeated is refused."""
        columns = _fields(data, ("columns",), "a schema")["columns"]
        if not isinstance(columns, list) or len(columns) > MOST_COLUMNS:
            raise InvalidParameter(f"the columns of a schema must be a list of at most {MOST_COLUMNS}")
        pairs = [_column(column, position) for position, column in enumerate(columns)]
        if len({name for name, _ in pairs}) != len(pairs):
            raise InvalidParameter("the columns of a schema must differ in name")
        return cls(dict(pairs))


def _column(data: object, position: int) -> tuple[str, Domain]:
    where = f"column {position} of a schema"
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise InvalidParameter(f"{where} must have a kind among {', '.join(_FIELDS)}")
    fields = _fields(data, ("name", "kind", *_FIELDS[kind]), where)
    if not is_column_name(fields["name"]):
        raise InvalidParameter(
            f"{where}: {fields['name']!r:.70} cannot be the name of a column; {NAME_RULE}"
        )
    return cast(str, fields["name"]), _domain(kind, fields, where)


def _domain(kind: str, fields: Mapping[str, object], where: str) -> Domain:
    if kind == "bit":
        return BitDomain()
    if kind == "category":
        labels = fields["labels"]
        if not isinstance(labels, list):
            raise InvalidParameter(f"{where}: labels must be a list")
        return CategoryDomain(tuple(labels))
    # The constructors themselves refuse bounds that are no numbers.
    if kind == "integer":
        return IntegerDomain(cast(int, fields["low"]), cast(int, fields["high"]))
    if kind == "rows":
        return RowsDomain(cast(int, fields["most"]), _of_row(fields["of"]))
    return RealDomain(cast(float, fields["low"]), cast(float, fields["high"]))


def _of_row(data: object) -> Domain | None:
    told = data if isinstance(data, Mapping) else {}
    return None if data is None else _column({"name": "row", **told}, 0)[1]


def _fields(data: object, expected: tuple[str, ...], where: str) -> Mapping[str, object]:
    if not isinstance(data, Mapping):
        raise InvalidParameter(f"{where} must be a mapping with {', '.join(expected)}")
    problems = [f"{key!s:.40} is unknown" for key in data if key not in expected]
    problems += [f"{key} is missing" for key in expected if key not in data]
    if problems:
        raise InvalidParameter(f"{where} must have {', '.join(expected)}: {'; '.join(problems[:5])}")
    return data
