"""Data frames in and out: polars, pandas and pyarrow hand over the same people, and read the same results.

In: whatever a frame keeps its columns in, the records are those of plain lists.  Out: `results.parquet` is a table to each
of the three, with the trials that `results.json` has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest
from pyarrow import parquet

from localdp.domains import Records
from localdp.errors import InvalidRecord
from parties.federated.tables import records_of, schema_of
from parties.federation import Federation
from tests.support.reports import run_of

SCHEMA: dict[str, Any] = {
    "smoker": {"kind": "bit"},
    "age": {"kind": "integer", "low": 0, "high": 120},
    "region": {"kind": "category", "labels": ["north", "south"]},
    "bmi": {"kind": "real", "low": 10, "high": 60},
}
COLUMNS: dict[str, Any] = {
    "smoker": [True, False, True],
    "age": [30, 40, 50],
    "region": ["north", "south", "north"],
    "bmi": [20.5, 21.0, 22.25],
}
RECORDS = Records(schema_of(SCHEMA), COLUMNS)
FRAME = polars.DataFrame(COLUMNS)
LABELS = polars.Enum(["south", "north", "elsewhere"])

FRAMES: dict[str, Callable[[], Any]] = {
    "as it is": lambda: FRAME,
    "with further columns": lambda: FRAME.with_columns(born=date(1980, 1, 1), note=polars.lit(None)),
    "in small types": lambda: FRAME.cast({"age": polars.UInt8, "bmi": polars.Float32}),
    "with labels as categories": lambda: FRAME.cast({"region": polars.Categorical}),
    "with labels as an enumeration": lambda: FRAME.cast({"region": LABELS}),
    "with truths as numbers": lambda: FRAME.cast({"smoker": polars.Int8}),
    "with whole numbers as floats": lambda: FRAME.cast({"age": polars.Float64}),
    "with numbers as decimals": lambda: FRAME.cast({"bmi": polars.Decimal(10, 3)}),
    "of several pieces": lambda: polars.concat([FRAME[:1], FRAME[1:]], rechunk=False),
    "a part of another": lambda: polars.concat([FRAME, FRAME]).slice(3),
    "collected from a plan": lambda: FRAME.lazy().filter(polars.col("age") > 0).collect(),
    "through pandas": FRAME.to_pandas,
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_of_polars_is_the_same_records(name: str) -> None:
    assert records_of(FRAMES[name](), SCHEMA).fingerprint() == RECORDS.fingerprint()


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a misspelt column": (
        lambda: FRAME.rename({"age": "agee"}),
        "no column 'age'; it has smoker, agee, region, bmi; did you mean 'agee'",
    ),
    "an empty cell": (
        lambda: FRAME.with_columns(age=polars.Series([30, None, 50])),
        "column 'age' is empty in 1 row",
    ),
    "a cell that is no number": (
        lambda: FRAME.with_columns(bmi=polars.Series([20.5, float("nan"), 22.0])),
        "column 'bmi' is empty in 1 row, first in row 1",
    ),
    "a wrong type": (
        lambda: FRAME.with_columns(age=date(1980, 1, 1)),
        "column 'age': 3 cells are no number .*, first in row 0",
    ),
    "lists": (
        lambda: FRAME.with_columns(age=polars.lit([1, 2])),
        "column 'age': 3 cells are no number .*, first in row 0",
    ),
    "a label that is not there": (
        lambda: FRAME.with_columns(region=polars.lit("elsewhere", LABELS)),
        "column 'region': 3 cells are none of the labels .*, first in row 0",
    ),
    "no rows": (FRAME.clear, "the table has no rows"),
}


@pytest.mark.parametrize(("frame", "said"), BAD.values(), ids=BAD)
def test_a_frame_of_polars_that_is_wrong_is_refused_by_its_place(
    frame: Callable[[], Any], said: str
) -> None:
    with pytest.raises(InvalidRecord, match=said):
        records_of(frame(), SCHEMA)


def test_a_federation_asks_people_who_came_in_a_frame() -> None:
    frame = polars.concat([FRAME] * 50)
    smokers = frame.filter(polars.col("smoker"), polars.col("age") >= 40).height
    with Federation.launch(frame, SCHEMA, parties=2, budget=1, processes=False) as federation:
        assert federation.people == 150
        assert federation.oracle("exact").answer(["smoker and age >= 40"])[0].count == smokers == 50


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(tmp_path_factory.mktemp("run"))[0]


READERS: dict[str, Callable[[Path], dict[str, list[Any]]]] = {
    "polars": lambda path: polars.read_parquet(path).to_dict(as_series=False),
    "polars, as a plan": lambda path: polars.scan_parquet(path).collect().to_dict(as_series=False),
    "pandas": lambda path: pandas.read_parquet(path).astype(object).to_dict("list"),
    "pyarrow": lambda path: parquet.read_table(path).to_pydict(),
}


@pytest.mark.parametrize("reader", READERS)
def test_results_are_read_as_they_were_written(reader: str, written: Path) -> None:
    trials = json.loads((written / "results.json").read_text())["trials"]
    read = READERS[reader](written / "results.parquet")
    assert list(read) == list(trials)
    for name, expected in trials.items():
        assert len(read[name]) == len(expected) > 0
        assert all(map(same, read[name], expected)), name


def same(value: Any, expected: Any) -> bool:
    """Equal, or missing in both: pandas has several ways to say so."""
    return bool(pandas.isna(value)) if expected is None else bool(value == expected)
