"""Tables as they are: columns of any name, empty cells, and the same records from every kind of table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import csv, feather, parquet

from localdp.domains import IntegerDomain, Records, Schema
from localdp.errors import InvalidRecord
from parties.agent.config import load_config
from parties.agent.data import load_table
from parties.agent.declared import Declared
from parties.federated.tables import declared_of, records_of
from parties.federation import Federation
from tests.support.documents import files
from tests.support.processes import ROOT

COLUMNS: dict[str, list[Any]] = {
    "Patient": ["p1", "p2", "p3", "p4"],
    "Length of stay": [3, None, 60, 0],
    "Systolic pressure, mmHg": [120.5, 130.0, None, 99.5],
    "Ward (code)": ["A", None, "07", "A"],
    "Smoker?": [True, False, None, True],
    "Readmitted": ["yes", "no", "", None],
}
SCHEMA: dict[str, Any] = {
    "stay": {"kind": "integer", "low": 0, "high": 61, "column": "Length of stay", "missing": 61},
    "stayed": {"kind": "integer", "low": -1, "high": 60, "column": "Length of stay", "missing": -1},
    "pressure": {
        "kind": "real",
        "low": 0,
        "high": 300,
        "column": "Systolic pressure, mmHg",
        "missing": 0,
    },
    "ward": {
        "kind": "category",
        "labels": ["A", "07", "unknown"],
        "column": "Ward (code)",
        "missing": "unknown",
    },
    "smoker": {"kind": "bit", "column": "Smoker?", "missing": False},
    "readmitted": {"kind": "bit", "column": "Readmitted", "missing": True},
}
EXPECTED = Records(
    declared_of(SCHEMA).schema,
    {
        "stay": [3, 61, 60, 0],
        "stayed": [3, -1, 60, 0],
        "pressure": [120.5, 130.0, 0.0, 99.5],
        "ward": ["A", "unknown", "07", "A"],
        "smoker": [True, False, False, True],
        "readmitted": [True, False, True, True],
    },
)


def in_file(write: Callable[[Any, Path], Any], ending: str, directory: Path) -> Path:
    path = directory / f"t.{ending}"
    write(pyarrow.table(COLUMNS), path)
    return path


def csv_of_pandas(directory: Path) -> Path:
    path = directory / "t.csv"
    pandas.DataFrame(COLUMNS).to_csv(path, index=False)
    return path


TABLES: dict[str, Callable[[Path], Any]] = {
    "csv": partial(in_file, csv.write_csv, "csv"),
    "csv of pandas": csv_of_pandas,
    "parquet": partial(in_file, parquet.write_table, "parquet"),
    "arrow": partial(in_file, feather.write_feather, "arrow"),
    "feather": partial(in_file, feather.write_feather, "feather"),
    "an Arrow table": lambda _: pyarrow.table(COLUMNS),
    "pandas": lambda _: pandas.DataFrame(COLUMNS),
    "pandas, nullable": lambda _: pandas.DataFrame(COLUMNS).convert_dtypes(),
    "pandas, through a file": lambda directory: pandas.read_csv(csv_of_pandas(directory)),
    "pandas, categories": lambda _: pandas.DataFrame(COLUMNS).astype({"Ward (code)": "category"}),
    "polars": lambda _: polars.DataFrame(COLUMNS),
    "polars, not numbers": lambda _: polars.DataFrame(COLUMNS).with_columns(
        polars.col("Systolic pressure, mmHg").fill_null(float("nan"))
    ),
    "lists": lambda _: COLUMNS,
    "arrays": lambda _: {name: np.array(values) for name, values in COLUMNS.items()},
    "arrays of floats": lambda _: {
        **COLUMNS,
        "Length of stay": np.array([3, np.nan, 60, 0]),
        "Smoker?": np.array([1, 0, np.nan, 1]),
    },
    "arrays with masks": lambda _: {
        **COLUMNS,
        "Length of stay": np.ma.array([3, 999, 60, 0], mask=[False, True, False, False]),
    },
    "series": lambda _: dict(pandas.DataFrame(COLUMNS).convert_dtypes().items()),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_same_records_whatever_it_is_kept_in(name: str, tmp_path: Path) -> None:
    assert records_of(TABLES[name](tmp_path), SCHEMA).fingerprint() == EXPECTED.fingerprint()


def test_the_truths_that_a_frame_made_floats_of_are_read_back_from_its_file(tmp_path: Path) -> None:
    path, entry = tmp_path / "t.csv", {"kind": "bit", "missing": False}
    frame = pandas.DataFrame({"ill": [1, None, 0, 1]})
    frame.to_csv(path, index=False)
    assert "1.0" in path.read_text()
    for table in (path, frame):
        assert records_of(table, {"ill": entry}).column("ill").tolist() == [True, False, False, True]


def test_the_standard_library_reads_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = csv_of_pandas(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert load_table(path, declared_of(SCHEMA))[0].fingerprint() == EXPECTED.fingerprint()


WARD = {"kind": "category", "labels": ["1", "7", "true", "unknown"], "missing": "unknown"}


@pytest.mark.parametrize(
    ("values", "codes"),
    [([1, None, 7], [0, 3, 1]), ([1.0, None, 7.0], [0, 3, 1]), ([True, None, True], [2, 3, 2])],
    ids=["whole numbers", "floats", "truths"],
)
def test_labels_that_look_like_numbers_survive_the_floats_of_missing_cells(
    values: list[Any], codes: list[int]
) -> None:
    for frame in (pandas.DataFrame({"ward": values}), polars.DataFrame({"ward": values})):
        assert records_of(frame, {"ward": WARD}).column("ward").tolist() == codes


NOTHING: dict[str, Any] = {
    "None": {"x": [None, None]},
    "not numbers": {"x": [float("nan"), None]},
    "an array": {"x": np.array([np.nan, np.nan])},
    "empty texts": {"x": ["", None]},
    "pandas": pandas.DataFrame({"x": [None, None]}),
    "pandas, nullable": pandas.DataFrame({"x": pandas.array([None, None], dtype="Int64")}),
    "polars": polars.DataFrame({"x": [None, None]}),
    "nulls of no type": pyarrow.table({"x": pyarrow.nulls(2)}),
    "decimals": pyarrow.table({"x": pyarrow.nulls(2, pyarrow.decimal128(5, 1))}),
    "texts in several ways": pyarrow.table({"x": pyarrow.nulls(2, pyarrow.string_view())}),
}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("entry", ["stay", "pressure", "ward", "smoker"])
def test_a_column_in_which_nothing_stands_is_what_its_owner_says(name: str, entry: str) -> None:
    records = records_of(NOTHING[name], {"x": SCHEMA[entry] | {"column": "x"}})
    stand_in = records.schema["x"].check([SCHEMA[entry]["missing"]])
    assert records.column("x").tolist() == stand_in.tolist() * 2


@pytest.mark.parametrize("unit", ["date32", "timestamp[ns]", "duration"])
def test_a_date_is_no_number_and_a_label_where_it_is_one(unit: str) -> None:
    kinds = {"date32": pyarrow.date32(), "timestamp[ns]": pyarrow.timestamp("ns")}
    kind = kinds.get(unit, pyarrow.duration("s"))
    table = pyarrow.table(
        {"x": pyarrow.array([3, None], pyarrow.int64() if unit != "date32" else pyarrow.int32())}
    )
    table = table.set_column(0, "x", table["x"].cast(kind))
    for entry in ("stay", "pressure", "smoker"):
        with pytest.raises(InvalidRecord, match=r"column 'x': 1 cell is n.*, first in row 0; "):
            records_of(table, {"x": SCHEMA[entry] | {"column": "x"}})
    if unit == "date32":
        days = {"kind": "category", "labels": ["1970-01-04", "?"], "missing": "?"}
        assert records_of(table, {"x": days}).column("x").tolist() == [0, 1]


def test_decimals_are_the_numbers_that_they_are() -> None:
    table = pyarrow.table({"x": [Decimal("3.0"), None, Decimal("60.0")]})
    assert records_of(table, {"x": SCHEMA["stay"] | {"column": "x"}}).column("x").tolist() == [3, 61, 60]
    assert records_of(table, {"x": SCHEMA["pressure"] | {"column": "x"}}).column("x").tolist() == [3, 0, 60]


def without(name: str, **changes: Any) -> dict[str, Any]:
    """One entry alone, without `missing`."""
    return {name: {key: value for key, value in SCHEMA[name].items() if key != "missing"} | changes}


REFUSED = {
    "stay": "column 'Length of stay' is empty in 1 row, first in {one}; every person needs a value: say in the schema"
    " what an empty cell is read as, such as missing = 61 ",
    "pressure": "column 'Systolic pressure, mmHg' is empty in 1 row, first in {two}; every person needs a value: say"
    " in the schema what an empty cell is read as, such as missing = 300.0 ",
    "ward": "column 'Ward (code)' is empty in 1 row, first in {one}; every person needs a value: say in the schema"
    ' what an empty cell is read as, such as missing = "unknown", which must be a label ',
    "smoker": "column 'Smoker?' is empty in 1 row, first in {two}; every person needs a value: say in the schema what"
    " an empty cell is read as, such as missing = false ",
    "readmitted": "column 'Readmitted' is empty in 2 rows, first in {two}; every person needs a value: say in the"
    " schema what an empty cell is read as, such as missing = false ",
}


@pytest.mark.parametrize("table", ["csv", "parquet", "pandas", "polars", "lists"])
@pytest.mark.parametrize("name", REFUSED)
def test_an_empty_cell_is_refused_with_its_place_and_the_way_out(
    name: str, table: str, tmp_path: Path
) -> None:
    places = {"one": "line 3", "two": "line 4"} if table == "csv" else {"one": "row 1", "two": "row 2"}
    with pytest.raises(InvalidRecord) as refused:
        records_of(TABLES[table](tmp_path), without(name))
    assert REFUSED[name].format(**places) in str(refused.value)


@pytest.mark.parametrize("table", ["csv", "parquet", "pandas", "polars", "lists"])
def test_a_column_that_is_not_there_is_named_as_the_table_would_have_it(table: str, tmp_path: Path) -> None:
    schema = without("stay", column="Length of sty")
    with pytest.raises(InvalidRecord) as refused:
        records_of(TABLES[table](tmp_path), schema)
    assert "there is no column 'Length of sty'; it has Patient, Length of stay, " in str(refused.value)
    assert str(refused.value).endswith("; did you mean 'Length of stay'?")


@pytest.mark.parametrize("table", ["csv", "parquet", "pandas", "polars", "lists"])
def test_a_value_outside_is_told_by_its_own_row_also_behind_an_empty_cell(
    table: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRecord) as refused:
        records_of(TABLES[table](tmp_path), {"stay": SCHEMA["stay"] | {"high": 59, "missing": 59}})
    place = "line 4" if table == "csv" else "row 2"
    told = "column 'Length of stay': 1 cell is above the upper bound (integer from 0 to 59), first in"
    assert f"{told} {place}; move the bound" in str(refused.value)
    assert "60" not in str(refused.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("who", [["a", None, "b"], [1.0, None, 2.0], ["a", "", "b"]])
def test_a_row_is_somebodys_whatever_the_schema_says_of_its_column(
    suffix: str, who: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / f"t.{suffix}"
    table = pyarrow.table({"who": who, "ill": [True, False, True]})
    csv.write_csv(table, path) if suffix == "csv" else parquet.write_table(table, path)
    labels = ["a", "b", "1", "2", "?"]
    entry = {"kind": "category", "labels": labels, "column": "who", "missing": "?"}
    place = "line 3" if suffix == "csv" else "row 1"
    with pytest.raises(
        InvalidRecord, match=f"column 'who' is empty in 1 row, first in {place}; it says whose"
    ):
        load_table(path, declared_of({"x": entry, "ill": {"kind": "bit"}}), "who", "sample")
    assert load_table(path, declared_of({"x": entry}))[0].column("x").tolist()[1] == 4


def test_empty_cells_move_with_the_rows_of_their_people(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Who is it?,Length of stay\nx,1\ny,\nx,\nz,4\n")
    records, ownership = load_table(path, declared_of({"stay": SCHEMA["stay"]}), "Who is it?", "sample")
    assert ownership is not None and ownership.owners.tolist() == [0, 0, 1, 2]
    assert records.column("stay").tolist() == [1, 61, 61, 4]


def test_two_columns_of_one_name_are_refused_where_an_entry_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Length of stay,Length of stay\n1,2\n")
    with pytest.raises(InvalidRecord, match="there are two columns 'Length of stay'"):
        load_table(path, declared_of(without("stay")))


def test_parties_whose_columns_have_other_names_have_one_schema(tmp_path: Path) -> None:
    here, there = declared_of(SCHEMA), declared_of({**SCHEMA, **without("stay", column="Stay in days")})
    assert here.schema == there.schema and here != there
    assert Declared.of(here.schema).schema == there.schema


def test_a_federation_is_launched_on_a_table_as_it_is(tmp_path: Path) -> None:
    frame = pandas.concat([pandas.DataFrame(COLUMNS)] * 50)
    with Federation.launch(frame, SCHEMA, parties=2, budget=1, processes=False) as federation:
        known, unknown = federation.oracle("exact").answer(["stay <= 60", "stay == 61"])
        assert (known.count, unknown.count) == (150, 50)
        assert federation.schema == EXPECTED.schema


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an array of two dimensions": ({"x": np.zeros((2, 2))}, "column 'x': expected one dimension, got 2"),
    "a text for a column": ({"x": "abc"}, "column 'x': expected one value per person"),
    "a number for a column": ({"x": 7}, "column 'x': expected one value per person"),
    "a column that ends too soon": ({"x": [1, 2], "y": [1]}, "has 1 rows"),
    "no rows": ({"x": [], "y": []}, "the data: the table has no rows"),
    "a truth for a number": ({"x": [True, 3]}, "column 'x': 1 cell is no number .*, first in row 0"),
    "half a number": ({"x": np.array([1.0, 1.5])}, "column 'x': 1 cell is .*, first in row 1"),
    "half a number in a list": ({"x": [1.0, None, 1.5]}, "column 'x': 1 cell is .*, first in row 2"),
    "more than any number": ({"x": np.array([1.0, np.inf])}, "column 'x': 1 cell is .*, first in row 1"),
    "lists in a list": ({"x": [[1], [2]]}, "column 'x': 2 cells are .*, first in row 0"),
    "words": ({"x": ["1", "two"]}, "column 'x': 1 cell is .*, first in row 1"),
}


@pytest.mark.parametrize(("columns", "told"), WRONG.values(), ids=WRONG)
def test_lists_and_arrays_are_refused_by_their_row(columns: dict[str, Any], told: str) -> None:
    whole = {"kind": "integer", "low": 0, "high": 9, "missing": 0}
    with pytest.raises(InvalidRecord, match=told):
        records_of({"y": [1] * 2, **columns}, {"x": whole, "y": whole})


def test_columns_that_nobody_declared_are_not_looked_at() -> None:
    table = {"x": [1, 2], "picture": np.zeros((2, 2)), 3: None}
    assert records_of(table, {"x": {"kind": "integer", "low": 0, "high": 9}}).people == 2


def test_the_hospital_of_the_how_to_is_read_as_it_is(tmp_path: Path) -> None:
    for name, content in files((ROOT / "docs/howto-own-data.md").read_text()).items():
        (tmp_path / name).write_text(content)
    config = load_config(tmp_path / "agent.toml")
    records, ownership = load_table(config.source, config.declared, config.person, config.rows)
    assert ownership is not None and ownership.owners.tolist() == [0, 0, 1, 2]
    assert {name: records.column(name).tolist() for name in records.schema.names} == {
        "stay": [3, 5, 61, 60],
        "pressure": [120.5, 118.0, 131.0, 0.0],
        "ward": [0, 2, 2, 1],
        "smoker": [True, True, False, False],
        "smoking": [0, 0, 1, 2],
        "day": [2, 69, 59, 365],
        "month": [0, 2, 1, 3],
        "cost": [1200.5, 88.1, 300.0, 50_000.0],
    }


@pytest.mark.parametrize(
    ("cells", "person"),
    [
        (pyarrow.array([4242424242, 2], pyarrow.time64("ns")), None),
        (pyarrow.array([4242424242, 2], pyarrow.time64("ns")), "x"),
        (pyarrow.array([{"a": 4242424242}, {"a": 2}]), "x"),
        (pyarrow.array([[4242424242, 1], [1, 1]], pyarrow.list_(pyarrow.int64(), 2)), "x"),
    ],
)
def test_cells_of_a_strange_type_are_refused_and_not_quoted(
    cells: pyarrow.Array, person: str | None, tmp_path: Path
) -> None:
    """pyarrow says "Value 4242424242 has non-zero nanoseconds"."""
    columns = {"x": cells, "y": pyarrow.array([1, 0])}
    schema = Schema({"x" if person is None else "y": IntegerDomain(0, 1)})
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InvalidRecord) as refused:
        load_table(tmp_path / "t.parquet", schema, person, "each")
    assert "4242" not in str(refused.value) and refused.value.__cause__ is None
