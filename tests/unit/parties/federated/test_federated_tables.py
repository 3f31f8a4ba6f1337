"""The same people, however they are handed over, are the same records; what is wrong is named without a value.

Frames of polars are in tests/unit/parties/agent/test_data_frames.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import csv, parquet

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter, InvalidRecord
from parties.federated.tables import records_of, schema_of

COLUMNS: dict[str, Any] = {
    "smoker": [True, False, True],
    "age": [30, 40, 50],
    "region": ["north", "south", "north"],
    "bmi": [20.5, 21.0, 22.25],
}
SCHEMA: dict[str, Any] = {
    "smoker": {"kind": "bit"},
    "age": {"kind": "integer", "low": 0, "high": 120},
    "region": {"kind": "category", "labels": ["north", "south"]},
    "bmi": {"kind": "real", "low": 10, "high": 60},
}
RECORDS = Records(schema_of(SCHEMA), COLUMNS)


def written(directory: Path, ending: str) -> Path:
    path = directory / f"people{ending}"
    table = pyarrow.table(COLUMNS)
    csv.write_csv(table, path) if ending == ".csv" else parquet.write_table(table, path)
    return path


@pytest.mark.parametrize(
    "data",
    [
        RECORDS,
        COLUMNS,
        {**COLUMNS, "further": [1, 2, 3]},
        pandas.DataFrame(COLUMNS),
        pandas.DataFrame({**COLUMNS, "region": pandas.Categorical(COLUMNS["region"])}),
        pyarrow.table(COLUMNS),
    ],
    ids=["records", "mapping", "further columns", "pandas", "pandas categories", "arrow"],
)
def test_whatever_people_are_in_they_are_the_same_records(data: object) -> None:
    assert records_of(data, SCHEMA).fingerprint() == RECORDS.fingerprint()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_files_are_the_same_records(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending)
    assert records_of(path, SCHEMA).fingerprint() == RECORDS.fingerprint()
    assert records_of(str(path), schema_of(SCHEMA)).fingerprint() == RECORDS.fingerprint()


def test_a_schema_may_stand_in_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(
        '[schema]\nsmoker = { kind = "bit" }\nage = { kind = "integer", low = 0, high = 120 }\n'
    )
    assert records_of(COLUMNS, path).schema == Schema(
        {name: RECORDS.schema[name] for name in ("smoker", "age")}
    )


def test_records_keep_their_own_schema() -> None:
    assert records_of(RECORDS) is RECORDS
    with pytest.raises(InvalidParameter, match="another schema"):
        records_of(RECORDS, {"smoker": {"kind": "bit"}})


BAD: dict[str, tuple[Any, Any, str]] = {
    "no schema": (COLUMNS, None, "say what the columns are"),
    "a schema that is no table": (COLUMNS, {"smoker": "bit"}, "schema.smoker: a table such as"),
    "a kind that is not there": (COLUMNS, {"smoker": {"kind": "boolean"}}, "kind among"),
    "a schema file that is not there": (COLUMNS, "no-such.toml", "there is no such file"),
    "data that are nothing": (7, SCHEMA, "data are records, a data frame"),
    "a misspelt column": (
        {"smokr": [True]},
        {"smoker": {"kind": "bit"}},
        "no column 'smoker'; it has smokr; did you mean 'smokr'",
    ),
    "a misspelt column of a frame": (
        pandas.DataFrame({"smokr": [True]}),
        {"smoker": {"kind": "bit"}},
        "no column 'smoker'; it has smokr; did you mean 'smokr'",
    ),
    "an empty frame": (pandas.DataFrame({"smoker": []}), {"smoker": {"kind": "bit"}}, "no rows"),
    "an empty cell": (
        pandas.DataFrame({"smoker": [True, None]}),
        {"smoker": {"kind": "bit"}},
        "empty in 1 row",
    ),
    "mixed types": (
        pandas.DataFrame({"smoker": [b"x", 4.5, "a"]}),
        {"smoker": {"kind": "bit"}},
        "mixes types",
    ),
}


@pytest.mark.parametrize(("data", "schema", "told"), BAD.values(), ids=BAD)
def test_what_cannot_be_records_is_refused_with_what_to_do(data: Any, schema: Any, told: str) -> None:
    with pytest.raises((InvalidParameter, InvalidRecord), match=told):
        records_of(data, schema)


def test_a_refusal_names_the_row_and_no_value() -> None:
    with pytest.raises(InvalidRecord) as refused:
        records_of(pandas.DataFrame({"age": [30, 987654]}), {"age": SCHEMA["age"]})
    assert "age" in str(refused.value)
    assert "987654" not in str(refused.value)


def test_numpy_columns_of_a_mapping_are_taken() -> None:
    assert records_of({"age": np.array([1, 2])}, {"age": SCHEMA["age"]}).people == 2
