"""A first draft of a configuration: what it finds, and what is left to the owner: bounds, labels and stand-ins."""

from __future__ import annotations

import tomllib
from datetime import date, time
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.config import load_config
from parties.agent.data import load
from parties.agent.guessing import guessed
from parties.agent.sketch import as_toml, sketched
from parties.agent.sources import Source
from parties.agent.table import loaded_table
from parties.federated.tables import declared_of
from tests.support.messy_tables import EDITS, edited, hospitals, visits, written


@pytest.mark.parametrize("hospital", EDITS)
def test_a_messy_table_needs_one_draft_one_edit_and_one_check(hospital: str, tmp_path: Path) -> None:
    draft = as_toml(sketched(Source(written(tmp_path, hospital))), hospital, tmp_path)
    config = tmp_path / f"{hospital}.toml"
    config.write_text(edited(draft, EDITS[hospital]))
    loaded = loaded_table(load_config(config))
    known = hospitals()["truth"](visits({"north": 1, "south": 2}[hospital]))
    assert loaded.people == known["people"] and loaded.rows == 30_000
    assert (
        loaded.records.column("died" if hospital == "north" else "decede").mean()
        == known["died in a visit"]
    )
    cost = loaded.records.column("cost_total" if hospital == "north" else "cout")
    costs = sorted(
        min(50_000.0, float(str(row["cost"]))) for row in visits({"north": 1, "south": 2}[hospital])
    )
    assert sorted(cost.tolist()) == costs
    assert "1 cell above the upper bound, counted as the bound" in " ".join(map(str, loaded.decisions))


def test_a_draft_is_refused_until_its_owner_has_declared_what_is_theirs(tmp_path: Path) -> None:
    draft = as_toml(sketched(Source(written(tmp_path, "north"))), "north", tmp_path)
    (tmp_path / "north.toml").write_text(draft)
    with pytest.raises(InvalidParameter) as refused:
        load_config(tmp_path / "north.toml")
    for column in ("ward", "weight", "cost_total"):
        assert f"schema.{column}: must have" in str(refused.value)


LOOKS: dict[str, tuple[list[str], str, dict[str, object]]] = {
    "whole numbers": (["1", "20", "-3"], "integer", {}),
    "reals": (["1.5", "20"], "real", {}),
    "a unit": (["64.5 kg", "3 kg"], "real", {"unit": "kg"}),
    "thousands": (["2,262.22", "3.5"], "real", {"thousands": ","}),
    "decimal commas": (["64,5", "3,25"], "real", {"decimal": ","}),
    "both": (["2.262,22", "1.000,5"], "real", {"decimal": ",", "thousands": "."}),
    "yes and no": (["yes", "no", "no"], "bit", {}),
    "oui and non": (["oui", "non"], "bit", {"true": ["oui"], "false": ["non"]}),
    "days": (["2024-01-03", "2023-12-31"], "date", {}),
    "days of another order": (["31/12/2024", "01/02/2024"], "date", {"date": "%d/%m/%Y"}),
    "days of America": (["12/31/2024", "01/02/2024"], "date", {"date": "%m/%d/%Y"}),
    "days in two orders": (
        ["31/12/2024", "2024-01-02", "13/01/2024", "2024-12-30"],
        "date",
        {"date": ["%Y-%m-%d", "%d/%m/%Y"]},
    ),
    "days and times": (["12/31/2024 14:05", "01/02/2024 08:00"], "date", {"date": "%m/%d/%Y %H:%M"}),
    "apostrophes": (["CHF 1'234.50", "CHF 12.00"], "real", {"unit": "CHF", "thousands": "'"}),
    "typographic ones": (["1\u2019234.50", "12.25"], "real", {"thousands": "'"}),
    "percent": (["12 %", "3 %"], "integer", {"unit": "%"}),
    "a currency before": (["$1,234.50", "$3.25"], "real", {"unit": "$", "thousands": ","}),
    "either mark": (["64,5", "64.5", "1.5"], "real", {"decimal": ".,"}),
    "names with a letter": (["d1", "d2", "d3"], "category", {}),
    "words of Italy": (["vero", "falso"], "bit", {"true": ["vero"], "false": ["falso"]}),
    "words of Poland": (["tak", "nie", "n. d."], "bit", {"true": ["tak"], "false": ["nie"]}),
    "several units": (["64.5 kg", "100 lb", "3 kg"], "real", {"unit": {"kg": 1.0, "lb": 0.45359237}}),
    "in terms of the first": (["64 oz", "100 oz", "3 lb"], "real", {"unit": {"lb": 1.0, "oz": 0.0625}}),
    "times": (["13:05", "00:10"], "hour", {}),
    "times of twelve hours": (["01:05 PM", "12:10 AM"], "hour", {"date": "%I:%M %p"}),
    "days and times of twelve": (["13/01/2024 01:05 PM"] * 2, "date", {"date": "%d/%m/%Y %I:%M %p"}),
    "a zone": (["2024-01-03 10:00:00 +0100", "2024-01-03T10:00:00Z"], "date", {}),
    "years of two digits among others": (
        ["31.12.45", "01.02.1970", "01.02.71"],
        "date",
        {"date": ["%d.%m.%y", "%d.%m.%Y"]},
    ),
    "labels": (["north", "south", "north"], "category", {}),
    "nothing": (["", "NA", "-", "unknown"], "text", {}),
}


@pytest.mark.parametrize(("texts", "kind", "keys"), LOOKS.values(), ids=LOOKS)
def test_a_column_is_what_it_looks_like(texts: list[str], kind: str, keys: dict[str, object]) -> None:
    import numpy as np

    guess = guessed(texts, np.ones(len(texts), np.int64))
    assert (guess.kind, guess.keys) == (kind, keys)


def test_free_text_is_left_out_and_odd_cells_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{number},note {number},{number % 7}\n" for number in range(400)]
    path.write_text("patient,note,visits\n" + "".join(rows[:-1]) + "400,x,seven\n")
    draft = as_toml(sketched(Source(path)), "t", tmp_path)
    assert '# "note": free text or identifiers; left out' in draft
    assert "[schema.visits]  # 400 cells, 1 do not fit" in draft
    assert "seven" not in draft and 'person = "patient"' in draft
    assert tomllib.loads(draft)["data"]["path"] == "t.csv"


def test_columns_that_have_types_are_drafted_by_them(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "day": [date(2024, 1, 1), None, date(2024, 1, 2)],
            "weight": [1.5, 2.5, None],
            "n": [1, 2, 3],
            "ill": [True, False, None],
            "Ward (code)": ["A", "B", "A"],
            "ward_code": ["A", "B", "A"],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    drafted = tomllib.loads(as_toml(sketched(Source(tmp_path / "t.parquet")), "t", tmp_path))["schema"]
    assert drafted == {
        "day": {"kind": "integer", "as": "days"},
        "weight": {"kind": "real"},
        "n": {"kind": "integer"},
        "ill": {"kind": "bit"},
        "ward_code": {"kind": "category", "column": "Ward (code)"},
        "ward_code_2": {"kind": "category", "column": "ward_code"},
    }


@pytest.mark.parametrize(
    ("encoding", "separator"), [("latin-1", ";"), ("utf-16", "\t"), ("utf-8-sig", "|")]
)
def test_how_a_text_file_is_written_is_found(encoding: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"âge{separator}fumeur\n40{separator}oui\n", encoding=encoding)
    sketch = sketched(Source(path))
    assert [column.column for column in sketch.columns] == ["âge", "fumeur"]
    assert [column.name for column in sketch.columns] == ["age", "fumeur"]
    assert isinstance(sketch.source, Source) and sketch.source.separator == separator


def test_numbers_in_a_column_of_days_may_be_those_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("patient,fecha,visits\np1,45292,45292\np2,45657,45657\n")
    draft = tomllib.loads(as_toml(sketched(Source(path)), "t", tmp_path))["schema"]
    assert draft["fecha"]["date"] == "excel" and "date" not in draft["visits"]
    path.write_text("patient,fecha\np1,45292\np2,2024-01-05\np3,45657\n")
    draft = tomllib.loads(as_toml(sketched(Source(path)), "t", tmp_path))["schema"]
    assert draft["fecha"]["date"] == ["%Y-%m-%d", "excel"]


def test_labels_that_differ_by_case_or_spaces_alone_are_drafted_as_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("patient,ward,floor\n" + "a,North,A\nb,NORTH ,B\nc,south,A\n" * 9)
    draft = as_toml(sketched(Source(path)), "t", tmp_path)
    assert tomllib.loads(draft)["schema"]["ward"]["alike"] is True and "2 different texts" in draft
    assert "alike" not in tomllib.loads(draft)["schema"]["floor"]


def test_decimals_and_truths_as_numbers_are_drafted_as_what_they_are(tmp_path: Path) -> None:
    table = {
        "cost": pyarrow.array([Decimal("1.50"), None, Decimal("2.00")]),
        "ill": pyarrow.array([0, 1] * 20 + [-9], pyarrow.int8())[:3],
        "at": pyarrow.array([time(13, 5), time(0, 10), None]),
    }
    parquet.write_table(pyarrow.table(table), tmp_path / "t.parquet")
    draft = as_toml(sketched(Source(tmp_path / "t.parquet")), "t", tmp_path)
    kinds = {name: entry["kind"] for name, entry in tomllib.loads(draft)["schema"].items()}
    assert kinds == {"cost": "real", "ill": "bit", "at": "integer"} and 'as = "hour"' in draft


def test_two_columns_of_one_name_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("patient,cost,cost\np1,1,20\np2,3,40\n")
    draft = tomllib.loads(as_toml(sketched(Source(path)), "t", tmp_path))["schema"]
    assert {name: entry["column"] for name, entry in draft.items()} == {
        "cost_1": "cost (1)",
        "cost_2": "cost (2)",
    }
    whole = {"kind": "integer", "low": 0, "high": 99}
    loaded = load(Source(path), declared_of({"second": {**whole, "column": "cost (2)"}}))
    assert loaded.records.column("second").tolist() == [20, 40]
    with pytest.raises(InvalidRecord, match=r"two columns 'cost'; the first one is 'cost \(1\)'"):
        load(Source(path), declared_of({"cost": whole}))
