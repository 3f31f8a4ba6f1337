"""A schema as people write it: what each column is, where it is read from, and what an empty cell of it is read as.

```toml
stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }
```

`kind`, `low`, `high` and `labels` are the domain.  They make the `Schema`: public, compared between parties, sent over the
wire.  All other keys (`parties.agent.reading`) are instructions to whoever reads the table, and stay there.  Agents,
experiments and federations all read schemas here.

Checked in tests/unit/parties/agent/test_declared.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from localdp.domains import Domain, IntegerDomain, RealDomain, RowsDomain, Schema
from localdp.domains.schema import LONGEST_NAME, NAME_RULE, is_column_name
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, QueryRefused
from parties.agent.formulas import check_formula
from parties.agent.reading import KEYS, Reading, Wrong, cell_domain, reading_of

_DOMAIN_KEYS = ("kind", "low", "high", "labels")
_KEYS = (*_DOMAIN_KEYS, *KEYS)
_LONGEST_SHOWN = 60
_NOTHING: Mapping[str, object] = {}
_EXAMPLE = 'smoker = { kind = "bit" }'


@dataclass(frozen=True, slots=True)
class Together:
    """A person's rows stay together: what they are called in queries, how many count at most, and in which order."""

    name: str
    most: int
    order: str | None = None  # a column of the schema; None: as the table has them


@dataclass(frozen=True, slots=True)
class Declared:
    """A schema, and how each of its columns is read, in order."""

    schema: Schema  # of what people are asked about
    readings: tuple[Reading, ...]
    together: Together | None = None  # the rows of a person, where they stay together
    nobody: tuple[str, ...] = ()  # what stands in the column of people where a row is nobody's
    alike: bool = False  # identifiers that differ by spaces around are one person's

    @classmethod
    def of(cls, schema: Schema | Declared) -> Declared:
        """A schema alone: every column is read from the one of its name, and no cell is empty."""
        if isinstance(schema, Declared):
            return schema
        return cls(schema, tuple(Reading(name) for name in schema.names))

    def __iter__(self) -> Iterator[tuple[str, Domain, Reading]]:
        """Every column that is read: its name, the domain of its cells and how they are read."""
        domains = ((name, one) for name, one in self.schema.columns.items() if not _is_rows_themselves(one))
        for (name, domain), reading in zip(domains, self.readings, strict=True):
            of_cells = domain.each if isinstance(domain, RowsDomain) else domain
            yield name, cell_domain(of_cells, reading.per_person), reading

    @property
    def read_schema(self) -> Schema:
        """Of what is read of a row, without what is computed of it."""
        return Schema({name: domain for name, domain, reading in self if reading.column})

    def filled_from(self, column: str) -> str | None:
        """The first column of the schema that fills empty cells of this column of the table."""
        filled = (name for name, _, one in self if one.column == column and one.missing is not None)
        return next(filled, None)


def declared_schema(
    entries: object,
    wrong: Wrong,
    shared: Mapping[str, object] = _NOTHING,
    together: Together | None = None,
) -> Declared:
    """The entries of a [schema] section; what is wrong is told by `wrong`, with its key.

    `shared` is what is declared for all columns: an entry may say otherwise.  With rows `together`, an entry says what a
    person's rows are brought down to, or is a column with a value in each of them.
    """
    if not isinstance(entries, Mapping) or not entries:
        raise wrong(("schema",), f"missing; write [schema] and a line such as {_EXAMPLE}")
    read, refused = dict[str, tuple[Domain, Reading]](), list[InvalidParameter]()
    for name, entry in entries.items():
        try:
            read[str(name)] = _entry(str(name), entry, shared, wrong)
        except InvalidParameter as error:
            refused.append(error)
    if refused:  # all at once: whoever repairs a schema wants to know the next one, too
        raise refused[0] if len(refused) == 1 else InvalidParameter("; ".join(map(str, refused)))
    if together is not None:
        _check_together(read, together, wrong)
    for name, (_, reading) in read.items():
        if together is None and reading.per_person is not None:
            raise wrong(("schema", name, "per_person"), 'goes with rows = "together" under [data]')
    try:
        schema = Schema(_public(read, together))
    except InvalidParameter as error:
        raise wrong(("schema",), str(error)) from None
    declared = Declared(schema, tuple(reading for _, reading in read.values()), together)
    _check_formulas(declared, wrong)
    return replace(declared, alike=shared.get("alike") is True)


def _check_formulas(declared: Declared, wrong: Wrong) -> None:
    for name, domain, reading in declared:
        if not reading.formula:
            continue
        if not any(other.column for other in declared.readings):
            raise wrong(("schema", name, "formula"), "there is no column that is read")
        try:
            check_formula(reading.formula, declared.read_schema, domain)
        except QueryRefused as error:
            raise wrong(("schema", name, "formula"), str(error)) from None


def _public(read: Mapping[str, tuple[Domain, Reading]], together: Together | None) -> dict[str, Domain]:
    """What people are asked about: with rows together, where a column has a value in each row, the rows as well."""
    if together is None or all(reading.per_person for _, reading in read.values()):
        return {name: domain for name, (domain, _) in read.items()}
    several = {
        name: domain if reading.per_person else RowsDomain(together.most, domain)
        for name, (domain, reading) in read.items()
    }
    return {together.name: RowsDomain(together.most), **several}


def _check_together(read: Mapping[str, tuple[Domain, Reading]], together: Together, wrong: Wrong) -> None:
    if together.name in read:
        raise wrong(
            ("data", "row"),
            f"{together.name!r} is a column of the schema; the rows need a name of their own",
        )
    if together.order is not None:
        domain, reading = read.get(together.order, (None, None))
        if (
            not isinstance(domain, IntegerDomain | RealDomain)
            or reading is None
            or reading.per_person == "count"
        ):
            raise wrong(
                ("data", "order"), "a column of the schema with numbers, such as the day of a visit"
            )
    for name, (domain, reading) in read.items():
        if reading.per_person != "count" or not isinstance(domain, IntegerDomain):
            continue
        if not domain.low <= 0 < together.most <= domain.high:
            told = f"a count is from 0 to data.most_rows: say low = 0, high = {together.most}"
            raise wrong(("schema", name), told)


def _is_rows_themselves(domain: Domain) -> bool:
    return isinstance(domain, RowsDomain) and domain.of is None


def _entry(name: str, entry: object, shared: Mapping[str, object], wrong: Wrong) -> tuple[Domain, Reading]:
    if not isinstance(entry, Mapping):
        raise wrong(("schema", name), 'a table such as { kind = "bit" }')
    for key in entry:
        if key not in _KEYS:
            told = f"unknown{suggestion(str(key), _KEYS)}; a column has {', '.join(_KEYS)}"
            raise wrong(("schema", name, f"{key!s:.{_LONGEST_SHOWN}}"), told)
    if not is_column_name(name):
        raise wrong(("schema", f"{name:.{_LONGEST_SHOWN}}"), _way_out(name))
    domain = _domain(name, entry, wrong)
    return domain, reading_of(name, entry, domain, shared, wrong)


def _domain(name: str, entry: Mapping[str, object], wrong: Wrong) -> Domain:
    told = {key: value for key, value in entry.items() if key in _DOMAIN_KEYS}
    try:
        return Schema.from_data({"columns": [{"name": name, **told}]})[name]
    except InvalidParameter as error:
        reason = str(error).removeprefix("column 0 of a schema").lstrip(": ")
        raise wrong(("schema", name), reason) from None


def _way_out(name: str) -> str:
    """The rule of names, and how to keep a column whose name breaks it."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()[: LONGEST_NAME - 1] or "x"
    short = next(one for one in (words, f"_{words}", "x") if is_column_name(one))
    column = json.dumps(name, ensure_ascii=False) if len(name) <= _LONGEST_SHOWN else '"..."'
    return f"{NAME_RULE}; write {short} = {{ ..., column = {column} }}"
