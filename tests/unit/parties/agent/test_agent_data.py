"""Tables from files: three formats, one meaning, and refusals without values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.data import load_table

SCHEMA = Schema(
    {
        "ill": BitDomain(),
        "age": IntegerDomain(0, 120),
        "ward": CategoryDomain(("A", "B", "7")),
        "weight": RealDomain(0.0, 300.0),
    }
)
COLUMNS: dict[str, list[Any]] = {
    "patient": ["x", "y", "x", "z"],
    "ill": [True, False, True, False],
    "age": [30, 40, 30, 120],
    "ward": ["A", "B", "7", "A"],
    "weight": [70.5, 80.0, 70.25, 60.0],
}
CANARY = 987654321
WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "csv": csv.write_csv,
    "parquet": parquet.write_table,
    "arrow": feather.write_feather,
}


def write(path: Path, **changes: list[Any]) -> Path:
    WRITERS[path.suffix[1:]](pa.table(COLUMNS | changes), path)
    return path


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_every_format_gives_the_same_records(tmp_path: Path, suffix: str) -> None:
    records, ownership = load_table(write(tmp_path / f"t.{suffix}"), SCHEMA)
    assert ownership is None
    assert records.column("ill").tolist() == [True, False, True, False]
    assert records.column("age").tolist() == [30, 40, 30, 120]
    assert records.column("ward").tolist() == [0, 1, 2, 0]
    assert records.column("weight").tolist() == [70.5, 80.0, 70.25, 60.0]


def test_the_rows_of_one_person_are_brought_together_in_order_of_appearance(tmp_path: Path) -> None:
    records, ownership = load_table(write(tmp_path / "t.csv"), SCHEMA, "patient", "sample")
    assert ownership is not None
    assert ownership.owners.tolist() == [0, 0, 1, 2]
    assert records.column("weight").tolist() == [70.5, 70.25, 80.0, 60.0]


def test_several_rows_of_a_person_must_be_declared(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="several rows"):
        load_table(write(tmp_path / "t.csv"), SCHEMA, "patient", "one")


def test_people_with_one_row_each_need_no_ownership(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", patient=["a", "b", "c", "d"])
    assert load_table(path, SCHEMA, "patient", "one")[1] is None


@pytest.mark.parametrize(
    "truths", [[1, 0, 1, 0], ["yes", "no", "Yes", "no"], ["true", "false", "TRUE", "false"]]
)
def test_truths_are_written_in_many_ways(tmp_path: Path, truths: list[Any]) -> None:
    records, _ = load_table(write(tmp_path / "t.csv", ill=truths), SCHEMA)
    assert records.column("ill").tolist() == [True, False, True, False]


def test_whole_numbers_may_come_as_floats_and_labels_as_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", age=[30.0, 40.0, 30.0, 120.0], ward=[7, 7, 7, 7])
    records, _ = load_table(path, SCHEMA)
    assert records.column("age").tolist() == [30, 40, 30, 120]
    assert records.column("ward").tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": [30, 40, CANARY, 1]},
        {"age": [30, 40, CANARY + 0.5, 1]},
        {"age": ["1", "2", str(CANARY) + "x", "4"]},
        {"weight": [1.0, 2.0, float(CANARY), 4.0]},
        {"ward": ["A", "A", str(CANARY), "A"]},
        {"ill": [1, 0, CANARY, 0]},
        {"ill": ["yes", "no", str(CANARY), "no"]},
    ],
)
@pytest.mark.parametrize(("suffix", "place"), [("csv", "line 4"), ("parquet", "row 2")])
def test_a_value_outside_its_domain_is_refused_by_its_place_and_never_shown(
    tmp_path: Path, wrong: dict[str, list[Any]], suffix: str, place: str
) -> None:
    with pytest.raises(InvalidRecord, match=f"1 cell is .*, first in {place}; ") as refusal:
        load_table(write(tmp_path / f"t.{suffix}", **wrong), SCHEMA)
    assert str(CANARY) not in str(refusal.value)


def test_an_empty_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="empty in 1 row"):
        load_table(write(tmp_path / "t.parquet", age=[30, None, 30, 120]), SCHEMA)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    csv.write_csv(pa.table({"ill": [True]}), path)
    with pytest.raises(InvalidRecord, match="no column 'age'"):
        load_table(path, SCHEMA)


def test_garbage_is_refused_without_being_quoted(tmp_path: Path) -> None:
    for suffix in WRITERS:
        path = tmp_path / f"garbage.{suffix}"
        path.write_bytes(b"\xff\xfe" + str(CANARY).encode() * 100)
        with pytest.raises(InvalidRecord) as refusal:
            load_table(path, SCHEMA)
        assert str(CANARY) not in str(refusal.value).replace(str(tmp_path), "")


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(COLUMNS).slice(0, 0), path)
    with pytest.raises(InvalidRecord, match="no rows"):
        load_table(path, SCHEMA)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"\.csv"):
        load_table(tmp_path / "t.doc", SCHEMA)
