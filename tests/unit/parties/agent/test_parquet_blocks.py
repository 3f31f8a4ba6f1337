"""A Parquet file in blocks: the same records as in one piece, wherever a block ends, and the same refusals."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow
import pytest
from pyarrow import feather, parquet

from localdp.errors import InvalidRecord
from parties.agent import parquet_table
from parties.agent.data import load
from parties.agent.sources import Source
from parties.federated.tables import declared_of

SCHEMA = declared_of(
    {
        "age": {"kind": "integer", "low": 0, "high": 120, "missing": 0},
        "weight": {"kind": "real", "low": 0, "high": 300, "missing": 0, "outside": "clip"},
        "ward": {"kind": "category", "labels": ["A", "B", "other"], "other": "other", "missing": "other"},
        "ill": {"kind": "bit", "true": ["7"], "missing": False},
        "day": {
            "kind": "integer",
            "low": 0,
            "high": 366,
            "as": "days",
            "since": "2024-01-01",
            "missing": 366,
        },
    }
)
ROWS = 50
COLUMNS = {
    "patient": [f"p{(7 * row) % 20}" for row in range(ROWS)],
    "age": [None if row % 9 == 0 else row for row in range(ROWS)],
    "weight": [None if row % 11 == 3 else row * 10.5 for row in range(ROWS)],
    "ward": [None if row % 8 == 1 else ("A", "B", "C")[row % 3] for row in range(ROWS)],
    "ill": [(None, 7, 0, 1)[row % 4] for row in range(ROWS)],
    "day": [None if row % 7 == 2 else date(2024, 1, 1 + row % 30) for row in range(ROWS)],
}


@pytest.mark.parametrize("at_once", [1, 7, 50, 1 << 18])
@pytest.mark.parametrize("person", [None, "patient"])
def test_blocks_are_read_as_one_piece_is(
    at_once: int, person: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "AT_ONCE", at_once)
    for ending, write in (("parquet", parquet.write_table), ("feather", feather.write_feather)):
        write(pyarrow.table(COLUMNS), tmp_path / f"t.{ending}")
    blocks, whole = (
        load(Source(tmp_path / f"t.{ending}"), SCHEMA, person, "one" if person is None else "each")
        for ending in ("parquet", "feather")
    )
    for name in SCHEMA.schema.names:
        assert blocks.records.column(name).tolist() == whole.records.column(name).tolist()
    assert list(map(str, blocks.decisions)) == list(map(str, whole.decisions))
    assert (blocks.people, blocks.rows) == (whole.people, whole.rows)


def test_what_does_not_fit_is_told_in_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "AT_ONCE", 3)
    path = tmp_path / "t.parquet"
    parquet.write_table(
        pyarrow.table({"patient": ["a", None, "c", "d", None], "age": [1, 500, 2, 3, None]}), path
    )
    with pytest.raises(InvalidRecord) as refused:
        load(Source(path), declared_of({"age": {"kind": "integer", "low": 0, "high": 9}}), "patient")
    told = str(refused.value)
    assert "'age': 1 cell is above" in told and "first in row 1" in told
    assert (
        "'age' is empty in 1 row, first in row 4" in told
        and "'patient' is empty in 2 rows, first in row 1" in told
    )
