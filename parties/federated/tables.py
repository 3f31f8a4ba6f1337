"""Data as people have them - records, data frames, Arrow tables, files - as records of a schema.

| given | schema |
|---|---|
| `Records` | their own |
| a pandas or polars data frame, an Arrow table, a mapping from names to columns | given; further columns are ignored |
| the path of a .csv, .parquet, .arrow or .feather file | given |

A schema is a `Schema`, a mapping such as {"age": {"kind": "integer", "low": 0, "high": 120}}, or the path of a TOML file
with a [schema] section, such as an agent's configuration.  Bounds are always told and never read off the data: what they
are would leak.  Checked in tests/unit/parties/test_federated_tables.py.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.data import load_table, records_of_table

SchemaLike = Schema | Mapping[str, Any] | str | Path


def records_of(data: Any, schema: SchemaLike | None = None) -> Records:
    """The data as records, every value checked."""
    if isinstance(data, Records):
        if schema is not None and schema_of(schema) != data.schema:
            raise InvalidParameter("the records have another schema than the one given")
        return data
    if schema is None:
        raise InvalidParameter(
            'say what the columns are: schema={"age": {"kind": "integer", "low": 0, "high": 120}, ...}'
        )
    known = schema_of(schema)
    if isinstance(data, str | Path):
        return load_table(Path(data), known)[0]
    if isinstance(data, Mapping):
        return _of_mapping(data, known)
    return records_of_table(_arrow(data), known, "the data frame")


def schema_of(schema: SchemaLike) -> Schema:
    """The schema that somebody means."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | Path):
        return _schema_of_file(Path(schema))
    for name, domain in schema.items():
        if not isinstance(domain, Mapping):
            raise InvalidParameter(f'column {name!s:.60}: write a kind, such as {{"kind": "bit"}}')
    return Schema.from_data({"columns": [{"name": name, **domain} for name, domain in schema.items()]})


def _schema_of_file(path: Path) -> Schema:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"{path}: not a TOML file: {error}") from error
    except FileNotFoundError:
        raise InvalidParameter(f"{path}: there is no such file") from None
    columns = table.get("schema")
    if not isinstance(columns, dict):
        raise InvalidParameter(f"{path}: there is no [schema] section")
    return schema_of(columns)


def _of_mapping(data: Mapping[str, Any], schema: Schema) -> Records:
    missing = [name for name in schema.names if name not in data]
    if missing:
        raise InvalidRecord(
            f"the data have no column {missing[0]!r}; they have {', '.join(list(data)[:20])}"
        )
    return Records.from_columns(schema, {name: data[name] for name in schema.names})


def _arrow(data: Any) -> Any:
    """A pandas or polars data frame as an Arrow table; an Arrow table as it is."""
    try:
        import pyarrow
    except ImportError as error:
        raise InvalidParameter("data frames need pyarrow: pip install 'localdp[agent]'") from error
    if isinstance(data, pyarrow.Table):
        return data
    if hasattr(data, "to_arrow"):  # polars
        return data.to_arrow()
    if hasattr(data, "iloc"):  # pandas
        return _from_pandas(pyarrow, data)
    raise InvalidParameter("data are records, a data frame, an Arrow table, a mapping of columns or a path")


def _from_pandas(pyarrow: Any, data: Any) -> Any:
    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except pyarrow.ArrowException as error:
        # The type only: pyarrow quotes the cell that it could not convert.
        raise InvalidRecord(f"a column of the data frame mixes types ({type(error).__name__})") from None
