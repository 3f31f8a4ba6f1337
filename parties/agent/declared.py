"""A schema as people write it: what each column is, where it is read from, and what an empty cell of it is read as.

```toml
stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }
```

| key | what it says | without it |
|---|---|---|
| kind, low, high, labels | the domain | |
| column | the name of the column in the table, whatever it is; several entries may read one column | that of the entry |
| missing | what an empty cell, or a null, is read as: a value of the domain | an empty cell is refused |

The first line of this is the `Schema`: public, compared between parties, sent over the wire.  The others are instructions
to whoever reads the table, and stay there.  Agents, experiments and federations all read schemas here.

Checked in tests/unit/parties/agent/test_declared.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from localdp.domains import CategoryDomain, Domain, IntegerDomain, RealDomain, Schema
from localdp.domains.schema import LONGEST_NAME, NAME_RULE, is_column_name
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter

_KEYS = ("kind", "low", "high", "labels", "column", "missing")
_LONGEST_SHOWN = 60
_EXAMPLE = 'smoker = { kind = "bit" }'

Key = tuple[str, ...]
# The refusal of a key, in the words of whoever holds the file.
Wrong = Callable[[Key, str], InvalidParameter]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column of the schema is read from a table."""

    column: str  # its name in the table
    missing: bool | int | float | str | None = None  # what an empty cell is read as; None: it is refused


@dataclass(frozen=True, slots=True)
class Declared:
    """A schema, and how each of its columns is read, in order."""

    schema: Schema
    readings: tuple[Reading, ...]

    @classmethod
    def of(cls, schema: Schema | Declared) -> Declared:
        """A schema alone: every column is read from the one of its name, and no cell is empty."""
        if isinstance(schema, Declared):
            return schema
        return cls(schema, tuple(Reading(name) for name in schema.names))

    def __iter__(self) -> Iterator[tuple[str, Domain, Reading]]:
        """Every column: its name, its domain and how it is read."""
        for name, reading in zip(self.schema.names, self.readings, strict=True):
            yield name, self.schema[name], reading

    def filled_from(self, column: str) -> str | None:
        """The first column of the schema that fills empty cells of this column of the table."""
        filled = (name for name, _, one in self if one.column == column and one.missing is not None)
        return next(filled, None)


def declared_schema(entries: object, wrong: Wrong) -> Declared:
    """The entries of a [schema] section; what is wrong is told by `wrong`, with its key."""
    if not isinstance(entries, Mapping) or not entries:
        raise wrong(("schema",), f"missing; write [schema] and a line such as {_EXAMPLE}")
    read = {str(name): _entry(str(name), entry, wrong) for name, entry in entries.items()}
    try:
        schema = Schema({name: domain for name, (domain, _) in read.items()})
    except InvalidParameter as error:
        raise wrong(("schema",), str(error)) from None
    return Declared(schema, tuple(reading for _, reading in read.values()))


def _entry(name: str, entry: object, wrong: Wrong) -> tuple[Domain, Reading]:
    if not isinstance(entry, Mapping):
        raise wrong(("schema", name), 'a table such as { kind = "bit" }')
    for key in entry:
        if key not in _KEYS:
            told = f"unknown{suggestion(str(key), _KEYS)}; a column has {', '.join(_KEYS)}"
            raise wrong(("schema", name, f"{key!s:.{_LONGEST_SHOWN}}"), told)
    if not is_column_name(name):
        raise wrong(("schema", f"{name:.{_LONGEST_SHOWN}}"), _way_out(name))
    domain = _domain(name, entry, wrong)
    return domain, Reading(_column(name, entry, wrong), _missing(name, entry, domain, wrong))


def _domain(name: str, entry: Mapping[str, object], wrong: Wrong) -> Domain:
    told = {key: value for key, value in entry.items() if key not in ("column", "missing")}
    try:
        return Schema.from_data({"columns": [{"name": name, **told}]})[name]
    except InvalidParameter as error:
        reason = str(error).removeprefix("column 0 of a schema").lstrip(": ")
        raise wrong(("schema", name), reason) from None


def _column(name: str, entry: Mapping[str, object], wrong: Wrong) -> str:
    column = entry.get("column", name)
    if not isinstance(column, str) or not column:
        raise wrong(
            ("schema", name, "column"), 'the name of a column of the table, such as "Length of stay"'
        )
    return column


def _missing(
    name: str, entry: Mapping[str, object], domain: Domain, wrong: Wrong
) -> bool | int | float | str | None:
    if "missing" not in entry:
        return None
    value = entry["missing"]
    if not isinstance(value, bool | int | float | str) or not _is_value(value, domain):
        shown = f"{value!r:.{_LONGEST_SHOWN}}"
        raise wrong(
            ("schema", name, "missing"),
            f"an empty cell is read as a value of the column: {shown} is not in the domain ({domain}){_wider(domain)}",
        )
    if isinstance(domain, CategoryDomain) and value != "" and domain.holds(""):
        raise wrong(("schema", name, "missing"), "an empty cell is the label '' already")
    return value


def _is_value(value: object, domain: Domain) -> bool:
    """Whether the domain holds it, of a category as a label: what stands in a file is never a label's position."""
    return domain.holds(value) and (isinstance(value, str) or not isinstance(domain, CategoryDomain))


def _wider(domain: Domain) -> str:
    match domain:
        case CategoryDomain():
            return "; add a label for it, such as unknown"
        case IntegerDomain() | RealDomain():
            return "; choose one that is, or move a bound"
    return ""


def _way_out(name: str) -> str:
    """The rule of names, and how to keep a column whose name breaks it."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()[: LONGEST_NAME - 1] or "x"
    short = next(one for one in (words, f"_{words}", "x") if is_column_name(one))
    column = json.dumps(name, ensure_ascii=False) if len(name) <= _LONGEST_SHOWN else '"..."'
    return f"{NAME_RULE}; write {short} = {{ ..., column = {column} }}"


def example_of(domain: Domain) -> str:
    """What a `missing` of this domain may look like."""
    match domain:
        case CategoryDomain():
            return 'missing = "unknown", which must be a label'
        case IntegerDomain() | RealDomain():
            return f"missing = {domain.high}"
    return "missing = false"
