"""Data as people have them - records, data frames, Arrow tables, files - as records of a schema.

| given | schema |
|---|---|
| `Records` | their own |
| a pandas or polars data frame, an Arrow table, a mapping from names to columns | given; further columns are ignored |
| the path of a .csv, .parquet, .arrow or .feather file | given |

A schema is a `Schema`, a mapping such as {"age": {"kind": "integer", "low": 0, "high": 120}}, or the path of a TOML file
with a [schema] section, such as an agent's configuration; `column` and `missing` say how a column is read from the data
(`parties.agent.declared`).  Bounds are always told and never read off the data: what they are would leak.

Checked in tests/unit/parties/federated/test_federated_tables.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, InvalidRecord, requiring
from parties.agent.data import load_table, records_of_columns, records_of_table
from parties.agent.declared import Declared, declared_schema
from parties.toml_file import TomlFile

if TYPE_CHECKING:
    import pyarrow

SchemaLike = Schema | Mapping[str, object] | str | Path


def records_of(data: object, schema: SchemaLike | None = None) -> Records:
    """The data as records, every value checked."""
    if isinstance(data, Records):
        if schema is not None and schema_of(schema) != data.schema:
            raise InvalidParameter("the records have another schema than the one given")
        return data
    if schema is None:
        raise InvalidParameter(
            'say what the columns are: schema={"age": {"kind": "integer", "low": 0, "high": 120}, ...}'
        )
    known = declared_of(schema)
    if isinstance(data, str | Path):
        return load_table(Path(data), known)[0]
    if isinstance(data, Mapping):
        return records_of_columns(data, known)
    return records_of_table(_arrow(data), known, "the data frame")


def schema_of(schema: SchemaLike) -> Schema:
    """The schema that somebody means."""
    return declared_of(schema).schema


def declared_of(schema: SchemaLike) -> Declared:
    """The schema that somebody means, and how its columns are read."""
    if isinstance(schema, Schema):
        return Declared.of(schema)
    if isinstance(schema, str | Path):
        return _declared_in_file(Path(schema))
    return declared_schema(schema, lambda key, why: InvalidParameter(f"{'.'.join(key)}: {why}"))


def _declared_in_file(path: Path) -> Declared:
    file = TomlFile(path)
    columns = file.table.get("schema")
    if not isinstance(columns, dict):
        raise InvalidParameter(f"{path}: there is no [schema] section")
    return declared_schema(columns, file.wrong)


def _arrow(data: object) -> pyarrow.Table:
    """A pandas or polars data frame as an Arrow table; an Arrow table as it is."""
    with requiring("data frames need pyarrow", "agent"):
        import pyarrow
    if isinstance(data, pyarrow.Table):
        return data
    if hasattr(data, "to_arrow"):  # polars
        return data.to_arrow()
    if hasattr(data, "iloc"):  # pandas
        return _from_pandas(data)
    raise InvalidParameter("data are records, a data frame, an Arrow table, a mapping of columns or a path")


def _from_pandas(data: object) -> pyarrow.Table:
    import pyarrow

    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except pyarrow.ArrowException as error:
        # The type only: pyarrow quotes the cell that it could not convert.
        raise InvalidRecord(f"a column of the data frame mixes types ({type(error).__name__})") from None
