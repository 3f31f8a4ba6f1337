"""Columns that stand in no table: computed of others in the query language, of every row, and then of a person's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.data import load
from parties.agent.declared import Declared, Together, declared_schema
from parties.agent.sources import Source
from parties.federated.tables import declared_of

CAME = {"kind": "integer", "low": 0, "high": 400, "as": "days", "since": "2024-01-01"}
READ: dict[str, Any] = {
    "came": CAME,
    "left": CAME,
    "age": {"kind": "integer", "low": 0, "high": 120, "missing": 0},
    "smoker": {"kind": "bit"},
}
TABLE = """patient,came,left,age,smoker
p,2024-01-03,2024-01-10,70,yes
q,2024-02-01,2024-02-01,12,no
p,2024-03-01,2024-03-05,,yes
"""


def loaded(directory: Path, **further: Any) -> Any:
    (directory / "t.csv").write_text(TABLE)
    return load(Source(directory / "t.csv"), declared_of({**READ, **further}), "patient", "sample")


def test_a_formula_is_a_condition_a_number_or_one_of_several_labels(tmp_path: Path) -> None:
    records = loaded(
        tmp_path,
        stay={"kind": "integer", "low": 0, "high": 400, "formula": "left - came"},
        old={"kind": "bit", "formula": "age >= 65 and smoker"},
        share={"kind": "real", "low": 0, "high": 1, "formula": "clip(age/100)"},
        group={
            "kind": "category",
            "labels": ["child", "adult", "old"],
            "formula": "which(age < 18, age < 65)",
        },
    ).records
    assert records.column("stay").tolist() == [7, 4, 0]  # of p, of p, of q
    assert records.column("old").tolist() == [True, False, False]
    assert records.column("share") == pytest.approx([0.7, 0.0, 0.12])  # what says nothing was filled before
    assert records.column("group").tolist() == [2, 0, 0]
    assert records.schema.names == (*READ, "stay", "old", "share", "group")


def test_a_number_beyond_a_bound_is_refused_or_clipped_as_one_that_is_read(tmp_path: Path) -> None:
    stay: dict[str, Any] = {"kind": "integer", "low": 0, "high": 5, "formula": "left - came"}
    with pytest.raises(InvalidRecord, match="column 'stay': 1 cell is above the upper bound"):
        loaded(tmp_path, stay=stay)
    clipped = loaded(tmp_path, stay={**stay, "outside": "clip"})
    assert clipped.records.column("stay").tolist() == [5, 4, 0]
    assert [str(one) for one in clipped.decisions][-1].startswith("stay: 1 cell above the upper bound")
    with pytest.raises(InvalidRecord, match="no whole number"):
        loaded(tmp_path, half={"kind": "integer", "low": 0, "high": 200, "formula": "(left - came)/2"})


def test_a_formula_holds_in_each_row_before_rows_are_brought_down(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    entries = {
        **READ,
        "stays": {"kind": "integer", "low": 0, "high": 800, "formula": "left - came", "per_person": "sum"},
        "long": {
            "kind": "integer",
            "low": 0,
            "high": 3,
            "formula": "left - came > 5",
            "per_person": "count",
        },
        "short": {"kind": "bit", "formula": "left - came < 5"},
    }
    declared = declared_schema(
        entries, lambda key, why: InvalidParameter(f"{key} {why}"), together=Together("visit", 3)
    )
    records = load(Source(tmp_path / "t.csv"), declared, "patient", "together").records
    assert records.column("stays").tolist() == [11, 0] and records.column("long").tolist() == [1, 0]
    assert records.column("short")[:, :2].tolist()[0] == [False, True]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"kind": "bit", "formula": "age"}, "formula"),
        ({"kind": "bit", "formula": "clip(age/100)"}, "is no condition"),
        ({"kind": "integer", "low": 0, "high": 9, "formula": "smoker"}, "is no number"),
        ({"kind": "integer", "low": 0, "high": 9, "formula": "age +"}, "formula"),
        ({"kind": "bit", "formula": "nothing > 3"}, "nothing"),
        (
            {"kind": "category", "labels": ["a", "b"], "formula": "which(age < 3, age < 9)"},
            "one of 3 values",
        ),
        ({"kind": "bit", "formula": "age > 3", "column": "age"}, "goes without `formula`"),
        ({"kind": "bit", "formula": "age > 3", "missing": False}, "goes without `formula`"),
        ({"kind": "bit", "formula": "x > 3"}, "x"),  # of another formula, or of itself
    ],
)
def test_a_formula_that_has_no_value_of_its_kind_is_refused_at_once(
    entry: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidParameter, match=r"schema\.x") as refused:
        declared_of({**READ, "x": entry})
    assert told in str(refused.value)
    with pytest.raises(InvalidParameter, match="no column that is read"):
        declared_of({"x": {"kind": "bit", "formula": "true"}})


def test_what_is_declared_for_all_cells_does_not_concern_formulas() -> None:
    shared = {"empty": ["-"], "true": ["oui"], "alike": True}
    entries = {**READ, "old": {"kind": "bit", "formula": "age > 64"}}
    declared = declared_schema(entries, lambda key, why: InvalidParameter(f"{key} {why}"), shared)
    assert isinstance(declared, Declared) and declared.readings[-1].empty == () and declared.alike
