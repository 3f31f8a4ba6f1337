"""A party's table from a file: CSV, Parquet or Arrow, checked against the declared schema.

pyarrow reads all of these, fast and with one meaning of every type; it comes with the `agent` extra.  A refusal names the
file, the column and the row, never a value.

Checked in tests/unit/parties/test_agent_data.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localdp.domains import (
    BitDomain,
    CategoryDomain,
    Domain,
    IntegerDomain,
    Ownership,
    RealDomain,
    Records,
    Schema,
)
from localdp.errors import InvalidParameter, InvalidRecord

_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


Numbering = Callable[[list[str]], NDArray[np.int64]]  # from people's identifiers to their numbers


def by_appearance(identifiers: list[str]) -> NDArray[np.int64]:
    """People numbered as they first appear."""
    return np.arange(len(identifiers))


def load_table(
    path: Path,
    schema: Schema,
    person: str | None = None,
    rows: Literal["one", "sample", "each"] = "one",
    numbering: Numbering = by_appearance,
) -> tuple[Records, Ownership | None]:
    """The records of a file in the order of their people, and whose they are where one person has several."""
    table = _read(path)
    _require_columns(path, table, [*schema.names, *([person] if person else [])])
    if table.num_rows == 0:
        raise InvalidRecord(f"{path}: the table has no rows")
    order, owners = _owners(table, person, numbering)
    columns = {name: _column(path, table, name, schema[name])[order] for name in schema.names}
    records = Records.from_columns(schema, columns)
    if owners is None or owners[-1] + 1 == len(owners):
        return records, None
    if rows == "one":
        raise InvalidRecord(f'{path}: some people have several rows; say rows = "sample" or rows = "each"')
    return records, Ownership(owners, rows)


def records_of_table(table: Any, schema: Schema, name: str = "the table") -> Records:
    """The records of an Arrow table that is at hand, one person a row; refusals call it by the name."""
    _require_columns(Path(name), table, list(schema.names))
    if table.num_rows == 0:
        raise InvalidRecord(f"{name}: the table has no rows")
    columns = {one: _column(Path(name), table, one, schema[one]) for one in schema.names}
    return Records.from_columns(schema, columns)


def _read(path: Path) -> Any:
    try:
        from pyarrow import ArrowException, csv, feather, parquet
    except ImportError as error:
        raise InvalidParameter("reading tables needs pyarrow: pip install 'localdp[agent]'") from error
    readers = {
        ".csv": lambda: csv.read_csv(path),
        ".parquet": lambda: parquet.read_table(path),
        ".arrow": lambda: feather.read_table(path),
        ".feather": lambda: feather.read_table(path),
    }
    if path.suffix not in readers:
        raise InvalidParameter(f"{path}: a table is one of {', '.join(readers)}")
    if not path.is_file():
        raise InvalidParameter(f"{path}: there is no such table")
    try:
        return readers[path.suffix]()
    except (ArrowException, UnicodeDecodeError) as error:
        # The type only: pyarrow quotes the cell that it could not read.
        raise InvalidRecord(
            f"{path}: not a readable {path.suffix[1:]} table ({type(error).__name__})"
        ) from None


def _require_columns(path: Path, table: Any, names: list[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise InvalidRecord(
                f"{path}: there is no column {name!r}; it has {', '.join(table.column_names[:20])}"
            )
        if table.column_names.count(name) > 1:
            raise InvalidRecord(f"{path}: there are two columns {name!r}")
        nulls = table[name].null_count
        if nulls:
            raise InvalidRecord(
                f"{path}: column {name!r} is empty in {nulls} rows; every person needs a value"
            )


def _owners(
    table: Any, person: str | None, numbering: Numbering
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """An order of the rows in which each person's stand together, and the owners in that order."""
    if person is None:
        return np.arange(table.num_rows), None
    names, first, codes = np.unique(table[person].to_numpy(), return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    numbers = np.empty(len(names), np.int64)
    numbers[appearance] = numbering([str(name) for name in names[appearance]])
    owners = numbers[codes]
    order = np.argsort(owners, kind="stable")
    return order, owners[order]


def _column(path: Path, table: Any, name: str, domain: Domain) -> NDArray[Any]:
    """The column in the domain's own type; what is not in the domain is refused by row."""
    values = table[name].to_numpy()
    try:
        return domain.check(_converted(values, domain), name)
    except InvalidRecord as error:
        raise InvalidRecord(f"{path}: {error}") from None


def _converted(values: NDArray[Any], domain: Domain) -> Any:
    match domain:
        case BitDomain() if values.dtype == object:
            return [_TRUTHS.get(str(value).lower(), value) for value in values]
        case CategoryDomain() if values.dtype != object:
            return [str(value) for value in values]  # labels that look like numbers or truths
        case IntegerDomain() if values.dtype.kind in "fO":
            return [_number(value, int) for value in values.tolist()]
        case RealDomain() if values.dtype == object:
            return [_number(value, float) for value in values.tolist()]
    return values


def _number(value: Any, kind: type[int] | type[float]) -> object:
    """The number that a cell means; one bad cell makes a whole column of a CSV file text."""
    try:
        number = kind(value)
        return number if isinstance(value, str) or number == value else value
    except (ValueError, TypeError, OverflowError):
        return value
