"""What can be declared about cells: what each way to write a value is read as, and what is told where it does not fit."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.config import load_config
from parties.agent.data import load, load_table
from parties.agent.sources import Source
from parties.federated.tables import declared_of, records_of

NUMBER = {"kind": "real", "low": 0, "high": 5000}
WHOLE = {"kind": "integer", "low": -1000, "high": 100_000}
WARD = {"kind": "category", "labels": ["A", "B", "rest"]}
BIT = {"kind": "bit"}

READ: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "a unit": (NUMBER | {"unit": "kg"}, ["64.5 kg", "64.5kg", "kg 3", "7"], [64.5, 64.5, 3, 7]),
    "thousands": (NUMBER | {"thousands": ","}, ["2,262.22", "2262.22", "1,000"], [2262.22, 2262.22, 1000]),
    "decimal comma": (NUMBER | {"decimal": ","}, ["64,5", "3"], [64.5, 3]),
    "both": (
        NUMBER | {"decimal": ",", "thousands": "."},
        ["2.262,22", "1.000", "1,5"],
        [2262.22, 1000, 1.5],
    ),
    "either mark": (
        NUMBER | {"decimal": ".,"},
        ["64,5", "64.5", "1.234,5", "1,234.5", "0,125", "7"],
        [64.5, 64.5, 1234.5, 1234.5, 0.125, 7],
    ),
    "apostrophes": (
        NUMBER | {"thousands": "'", "unit": "CHF"},
        ["CHF 1'234.5", "1\u2019234.50"],
        [1234.5, 1234.5],
    ),
    "a sign of mathematics": (WHOLE, ["\u22123", "3"], [-3, 3]),
    "days of a spreadsheet": (
        WHOLE | {"as": "days", "since": "2024-01-01", "date": "excel"},
        ["45292", "45293.5", "45291"],
        [0, 1, -1],
    ),
    "days in two orders": (
        WHOLE | {"as": "days", "since": "2024-01-01", "date": ["%d/%m/%Y", "%Y-%m-%d"]},
        ["02/01/2024", "2024-01-03"],
        [1, 2],
    ),
    "several units": (
        NUMBER | {"unit": {"kg": 1, "lb": 0.5, "": 2}, "decimal": ","},
        ["64,5 kg", "100 lb", "100lb", "3"],
        [64.5, 50, 50, 6],
    ),
    "degrees": (NUMBER | {"unit": {"°C": 1, "°F": [0.5, -16]}}, ["37 °C", "100 °F"], [37, 34]),
    "labels that are alike": (
        WARD | {"alike": True, "recode": {"aa": "A"}, "other": "rest"},
        [" a", "A", "b  ", "REST", "AA", "A A"],
        [0, 0, 1, 2, 0, 2],
    ),
    "labels that are not": (WARD | {"other": "rest"}, ["a", "A", "A "], [2, 0, 2]),
    "hours": (WHOLE | {"as": "hour"}, ["13:05", "2024-03-01T23:59:00+02:00", "00:10:00"], [13, 23, 0]),
    "hours of twelve": (
        WHOLE | {"as": "hour", "date": ["%I:%M %p", "%d/%m/%Y %H:%M"]},
        ["01:05 PM", "12:00 am", "31/12/2024 17:00"],
        [13, 0, 17],
    ),
    "years of two digits": (
        WHOLE | {"as": "years", "until": "2024-12-31", "date": ["%d.%m.%y", "%d.%m.%Y"]},
        ["31.12.45", "01.01.24", "29.02.04", "31.12.1924", "31.12.24", "29.02.28"],
        [79, 0, 20, 100, 0, 96],
    ),
    "narrow spaces": (WHOLE | {"thousands": " "}, ["12\u202f345", "1 000", "7"], [12345, 1000, 7]),
    "other words of truth": (
        BIT | {"true": "oui", "false": ["non", "jamais"]},
        ["Oui", "non", "JAMAIS", "1"],
        [1, 0, 0, 1],
    ),
    "texts that say nothing": (
        NUMBER | {"empty": ["-", "unknown"], "missing": 9},
        ["-", "Unknown", " - ", "", "NA", "4"],
        [9, 9, 9, 9, 9, 4],
    ),
    "a label that says nothing": (WARD | {"empty": "-", "missing": "rest"}, ["-", "A", ""], [2, 0, 2]),
    "others": (WARD | {"other": "rest"}, ["A", "new", "B", "NA"], [0, 2, 1, 2]),
    "other names": (WARD | {"recode": {"1": "A", "two": "B"}}, ["1", "two", "A"], [0, 1, 0]),
    "clipped": (NUMBER | {"outside": "clip"}, ["-3", "5000.5", "1e300", "8"], [0, 5000, 5000, 8]),
    "clipped whole numbers": (
        WHOLE | {"outside": "clip"},
        ["-" + "9" * 30, "9" * 30, "3"],
        [-1000, 100_000, 3],
    ),
    "days": (
        WHOLE | {"as": "days", "since": "2024-01-01"},
        ["2024-01-01", "2024-12-31", "2023-12-31", "2024-03-01 10:30:00"],
        [0, 365, -1, 60],
    ),
    "days in another order": (
        WHOLE | {"as": "days", "since": date(2024, 1, 1), "date": "%d/%m/%Y"},
        ["02/01/2024"],
        [1],
    ),
    "ages": (
        WHOLE | {"as": "years", "until": "2024-02-28"},
        ["2000-02-28", "2000-02-29", "2000-03-01", "2024-02-28"],
        [24, 23, 23, 0],
    ),
    "months": (
        WHOLE | {"as": "months", "since": "2024-01-31"},
        ["2024-02-29", "2024-03-31", "2024-01-31", "2023-12-31"],
        [0, 2, 0, -1],
    ),
    "no day": (
        WHOLE | {"as": "days", "since": "2024-01-01", "missing": -5, "empty": "-"},
        ["-", ""],
        [-5, -5],
    ),
    "the month": (
        {"kind": "category", "labels": ["2024-01", "2024-02"], "as": "month"},
        ["2024-02-29", "2024-01-31"],
        [1, 0],
    ),
    "the weekday": (
        {"kind": "category", "labels": ["monday", "rest"], "as": "weekday", "other": "rest"},
        ["2024-01-01", "2024-01-07", "1969-12-29"],
        [0, 1, 0],
    ),
    "the year of typed days": (
        {"kind": "category", "labels": ["2023", "2024"], "as": "year"},
        [date(2023, 1, 1), date(2024, 5, 5)],
        [0, 1],
    ),
    "typed days": (
        WHOLE | {"as": "days", "since": "2024-01-01", "missing": -9},
        [date(2024, 1, 3), None],
        [2, -9],
    ),
    "typed times": (
        WHOLE | {"as": "years", "until": "2024-12-31"},
        [datetime(1969, 12, 31, 23, 59), datetime(2000, 1, 1)],
        [55, 24],
    ),
    "typed numbers, clipped": (WHOLE | {"outside": "clip"}, [-5000, 2**60, 3], [-1000, 100_000, 3]),
    "typed reals, clipped": (
        NUMBER | {"outside": "clip", "missing": 1},
        [1e300, -0.5, None],
        [5000, 0, 1],
    ),
}


@pytest.mark.parametrize("table", ["csv", "parquet", "lists"])
@pytest.mark.parametrize(("entry", "cells", "expected"), READ.values(), ids=READ)
def test_a_cell_is_read_as_declared(
    entry: dict[str, Any], cells: list[Any], expected: list[Any], table: str, tmp_path: Path
) -> None:
    data: object = {"x": cells}
    if table == "parquet":
        data = tmp_path / "t.parquet"
        parquet.write_table(pyarrow.table({"x": cells}), data)
    if table == "csv":
        data = tmp_path / "t.csv"
        shown = ["" if cell is None else str(cell) for cell in cells]
        data.write_text("x,y\n" + "".join(f'"{cell}",0\n' for cell in shown))
    assert records_of(data, {"x": entry}).column("x").tolist() == expected


def test_labels_that_are_numbers_in_a_table_are_recoded_too() -> None:
    table = pyarrow.table({"x": [1, 2, 1]})
    entry = WARD | {"recode": {"1": "A"}, "other": "rest"}
    assert records_of(table, {"x": entry}).column("x").tolist() == [0, 2, 0]


WRONG: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "a comma that is no decimal one": (NUMBER, ["1,5"], "column 'x': 1 cell is no number"),
    "thousands that are none": (
        NUMBER | {"thousands": ","},
        ["1,5", "12,34", "1,0000"],
        "column 'x': 3 cells are no number",
    ),
    "a number that may be two": (
        NUMBER | {"decimal": ".,"},
        ["1,234", "1.234", "12.5"],
        "2 cells are no number",
    ),
    "no day of a spreadsheet": (
        WHOLE | {"as": "days", "since": "2024-01-01", "date": "excel"},
        ["2024-01-01", "0x7", "9999999"],
        "3 cells are no date as declared",
    ),
    "a point where commas are decimal": (
        NUMBER | {"decimal": ","},
        ["1.5"],
        "column 'x': 1 cell is no number",
    ),
    "another unit": (NUMBER | {"unit": "kg"}, ["3 lb", "4 kg"], "1 cell is no number"),
    "half a number": (WHOLE, ["1.5"], "column 'x': 1 cell is no whole number"),
    "words": (BIT, ["oui", "non", "yes"], "column 'x': 2 cells are neither true nor false"),
    "labels": (WARD, ["A", "new", "newer"], "column 'x': 2 cells are none of the labels"),
    "bounds": (
        NUMBER,
        ["-1", "1", "5001", "6000"],
        "column 'x': 1 cell is below the lower bound .*; .* 2 cells are above",
    ),
    "days": (
        WHOLE | {"as": "days", "since": "2024-01-01"},
        ["31/12/2024", "2024-02-30", "2024-02-29"],
        "2 cells are no date",
    ),
}


@pytest.mark.parametrize(("entry", "cells", "told"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_told_by_column_and_count(
    entry: dict[str, Any], cells: list[str], told: str
) -> None:
    with pytest.raises(InvalidRecord, match=told) as refused:
        records_of({"x": cells}, {"x": entry})
    assert not any(cell in str(refused.value) for cell in cells if len(cell) > 3)


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    schema = {"x": NUMBER, "y": WARD, "z": BIT, "w": WHOLE, "v": BIT}
    table = {"x": ["a", "", "c"], "y": ["C", "A", "D"], "z": ["maybe"] * 3, "w": ["1.5", "1e9", "3"]}
    with pytest.raises(InvalidRecord) as refused:
        records_of(table, schema)
    message = str(refused.value)
    assert "7 things do not fit: (1) there is no column 'v'" in message
    for told in (
        "'x': 2 cells are no number",
        "'x' is empty in 1 row",
        "'y': 2 cells are none",
        "'z': 3 cells are neither",
    ):
        assert told in message
    assert "'w': 1 cell is no whole number" in message and "'w': 1 cell is above" in message


def test_what_was_decided_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,A\n9000,new\n,B\n-2,newer\n")
    declared = declared_of({"x": NUMBER | {"outside": "clip", "missing": 7}, "y": WARD | {"other": "rest"}})
    assert [str(one) for one in load(path, declared).decisions] == [
        "x: 1 cell empty, read as 7",
        "x: 1 cell below the lower bound, counted as the bound",
        "x: 1 cell above the upper bound, counted as the bound",
        "y: 2 cells none of the labels, read as 'rest'",
    ]


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ({"separator": ";"}, "x;y\n1;é\n"),
        ({"separator": "|", "encoding": "latin-1"}, "x|y\n1|é\n"),
        ({"encoding": "utf-16"}, "x,y\n1,é\n"),
        ({"quote": "'"}, "x,y\n'1','é'\n"),
    ],
)
def test_a_text_file_is_read_as_it_is_written(source: dict[str, Any], content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, encoding=source.get("encoding", "utf-8"))
    records, _ = load_table(
        Source(path, **source),
        declared_of({"x": WHOLE, "y": {"kind": "category", "labels": ["é"]}}),
    )
    assert records.column("x").tolist() == [1] and records.column("y").tolist() == [0]


def test_a_sheet_is_read_as_texts(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.create_sheet("Visits")
    for row in (["x", "day", "w"], [3, datetime(2024, 1, 2), "64,5"], [None, datetime(2024, 1, 1), "-"]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    declared = declared_of(
        {
            "x": WHOLE | {"missing": -1},
            "day": WHOLE | {"as": "days", "since": "2024-01-01"},
            "w": NUMBER | {"decimal": ",", "empty": "-", "missing": 0},
        }
    )
    records, _ = load_table(Source(tmp_path / "t.xlsx", sheet="Visits"), declared)
    assert [records.column(name).tolist() for name in ("x", "day", "w")] == [[3, -1], [1, 0], [64.5, 0]]
    with pytest.raises(InvalidParameter, match="there is no sheet 'Visit'"):
        load_table(Source(tmp_path / "t.xlsx", sheet="Visit"), declared)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a unit of a bit": (BIT | {"unit": "kg"}, "schema.x.unit: does not go with kind = 'bit'"),
    "a label that is none": (WARD | {"other": "others"}, "schema.x.other: is none of the labels"),
    "two marks": (NUMBER | {"thousands": ".."}, "schema.x.thousands: one mark"),
    "one mark for two": (
        NUMBER | {"thousands": "."},
        "schema.x.thousands: another mark than the decimal one",
    ),
    "a mark that is a digit": (NUMBER | {"decimal": "1"}, "schema.x.decimal: one mark"),
    "neither": (NUMBER | {"outside": "drop"}, 'schema.x.outside: "clip"'),
    "a date that is not read": (WHOLE | {"date": "%Y"}, "schema.x.date: goes with `as`"),
    "days since no day": (WHOLE | {"as": "days"}, "schema.x.as: days since a day or until one"),
    "days since and until": (
        WHOLE | {"as": "days", "since": "2024-01-01", "until": "2024-01-01"},
        "schema.x.as",
    ),
    "no day": (WHOLE | {"as": "days", "since": "yesterday"}, "schema.x.since: a day, such as 2024-01-01"),
    "hours": (WHOLE | {"as": "hours", "since": "2024-01-01"}, "schema.x.as: one of days, months, years"),
    "texts that are none": (NUMBER | {"empty": [1]}, "schema.x.empty: a text or a list of texts"),
    "a recoding that is none": (WARD | {"recode": ["A"]}, "schema.x.recode: from texts to texts"),
}


@pytest.mark.parametrize(("entry", "told"), BAD.values(), ids=BAD)
def test_a_declaration_that_means_nothing_is_refused(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        declared_of({"x": entry})
    assert told in str(refused.value)


def test_every_mistake_in_a_schema_is_told_at_once() -> None:
    with pytest.raises(InvalidParameter) as refused:
        declared_of({"x": {"kind": "integer"}, "y": {"kind": "real", "low": 0}, "z": BIT})
    assert "schema.x: must have" in str(refused.value) and "schema.y: must have" in str(refused.value)


def test_what_holds_for_all_columns_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x;y;z\n1,5;oui;-\n?;non;A\n")
    (tmp_path / "agent.toml").write_text(
        'name = "a"\n[data]\npath = "t.csv"\nseparator = ";"\ndecimal = ","\nempty = ["?", "-"]\ntrue = ["oui"]\n'
        'false = ["non"]\n[schema]\nx = { kind = "real", low = 0, high = 9, missing = 0 }\ny = { kind = "bit" }\n'
        'z = { kind = "category", labels = ["A", "-"], empty = [] }\n[budget]\ntotal = 1\n'
    )
    config = load_config(tmp_path / "agent.toml")
    records, _ = load_table(config.source, config.declared)
    assert [records.column(name).tolist() for name in ("x", "y", "z")] == [[1.5, 0], [1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('separator = ";;"', "data.separator: one mark"),
        ('quote = ""', "data.quote: one mark"),
        ('encoding = "utf-9"', "data.encoding: a known encoding"),
        ('encoding = "base64"', "data.encoding: a known encoding"),
        ('decimal = "x"', "data.decimal: one mark"),
        ('thousands = "."', "data.thousands: another mark"),
        ("empty = 3", "data.empty: a text or a list of texts"),
    ],
)
def test_what_is_wrong_with_data_is_told_by_its_key(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(
        f'name = "a"\n[data]\npath = "t.csv"\n{line}\n[schema]\ny = {{ kind = "bit" }}\n[budget]\ntotal = 1\n'
    )
    with pytest.raises(InvalidParameter) as refused:
        load_config(path)
    assert told in str(refused.value)


def test_a_day_begins_where_the_clock_stood(tmp_path: Path) -> None:
    """Just after midnight in Berlin it is the day before in Greenwich."""
    moments = pyarrow.array(
        [datetime(2024, 3, 1, 23, 10), datetime(2024, 6, 30, 23, 30)], pyarrow.timestamp("us")
    )
    zoned = moments.cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.timestamp("us", "+01:00"))
    parquet.write_table(
        pyarrow.table({"at": zoned, "day": moments.cast(pyarrow.date32(), safe=False)}),
        tmp_path / "t.parquet",
    )
    days = WHOLE | {"as": "days", "since": "2024-01-01"}
    entries = {"at": days, "hour": WHOLE | {"as": "hour", "column": "at"}, "day": days}
    records, _ = load_table(tmp_path / "t.parquet", declared_of(entries))
    assert records.column("at").tolist() == [61, 182] and records.column("hour").tolist() == [0, 0]
    assert records.column("day").tolist() == [60, 181]
    with pytest.raises(InvalidRecord, match="no date as declared"):  # a day alone has no hour
        load_table(tmp_path / "t.parquet", declared_of({"day": WHOLE | {"as": "hour"}}))


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (NUMBER | {"unit": {"kg": 0}}, "what one of it counts"),
        (NUMBER | {"unit": {"kg": "1"}}, "what one of it counts"),
        (NUMBER | {"unit": {"kg": [1, 2, 3]}}, "what one of it counts"),
        (WARD | {"alike": 1}, "true or false"),
        (WARD | {"labels": ["a", "A "], "alike": True}, "differ by case or spaces alone"),
        (NUMBER | {"alike": True}, "does not go with"),
        (WHOLE | {"as": "hour", "since": "2024-01-01"}, "counted from no day"),
        (WHOLE | {"as": "hour", "date": "%d/%m/%Y"}, "an hour needs a time"),
    ],
)
def test_declarations_that_say_nothing_are_refused(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidParameter, match=r"schema\.x\.") as refused:
        declared_of({"x": entry})
    assert told in str(refused.value)
