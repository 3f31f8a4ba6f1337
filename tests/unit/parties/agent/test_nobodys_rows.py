"""Rows that are nobody's are left out, before anything of them is looked at; and one person is one, however spaced."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent.config import load_config
from parties.agent.data import Loaded
from parties.agent.sketch import as_toml, sketched
from parties.agent.sources import Source
from parties.agent.table import loaded_table

CONFIG = """
name = "n"
[data]
path = "{path}"
person = "patient"
rows = "sample"
{data}
[schema]
cost = {{ kind = "integer", low = 0, high = 100 }}
[budget]
total = 1
"""


def read(directory: Path, path: str, data: str) -> Loaded:
    config = directory / "n.toml"
    config.write_text(CONFIG.format(path=path, data=data))
    return loaded_table(load_config(config))


def test_a_line_of_totals_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("patient,cost\np,10\nq,20\np,30\n TOTAL ,60000\n")
    with pytest.raises(InvalidRecord, match="1 cell is above the upper bound"):
        read(tmp_path, "t.csv", "")
    loaded = read(tmp_path, "t.csv", 'nobody = ["Total"]')
    assert (loaded.people, loaded.rows) == (2, 3)
    assert loaded.records.column("cost").tolist() == [10, 30, 20]
    assert str(loaded.decisions[0]) == "patient: 1 row that are nobody's, left out"


def test_a_header_that_occurs_again_and_rows_without_a_name_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("patient,cost\np,10\n,999\npatient,cost\nq,20\nr,101\n")
    with pytest.raises(InvalidRecord, match=r"above the upper bound.*first in line 6"):
        read(tmp_path, "t.csv", 'nobody = ["patient", ""]')
    (tmp_path / "t.csv").write_text("patient,cost\np,10\n,999\npatient,cost\nq,20\n")
    assert read(tmp_path, "t.csv", 'nobody = ["patient", ""]').people == 2


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.int64()])
def test_the_same_of_cells_that_have_types(kind: pyarrow.DataType, tmp_path: Path) -> None:
    people = ["1", "2", None, "1"] if kind == pyarrow.string() else [1, 2, None, 1]
    table = {"patient": pyarrow.array(people, kind), "cost": pyarrow.array([1, 2, 500, 3])}
    parquet.write_table(pyarrow.table(table), tmp_path / "t.parquet")
    loaded = read(tmp_path, "t.parquet", 'nobody = ""')
    assert loaded.people == 2 and loaded.records.column("cost").tolist() == [1, 3, 2]


def test_a_table_of_nobody_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("patient,cost\ntotal,10\n")
    with pytest.raises(InvalidRecord, match="no rows"):
        read(tmp_path, "t.csv", 'nobody = ["total"]')


def test_it_goes_with_a_column_of_people(tmp_path: Path) -> None:
    config = tmp_path / "n.toml"
    text = CONFIG.format(path="t.csv", data='nobody = "x"').replace(
        'person = "patient"\nrows = "sample"', ""
    )
    config.write_text(text)
    with pytest.raises(InvalidParameter, match=r"data\.nobody: goes with data\.person"):
        load_config(config)


def test_one_person_is_not_two_because_of_a_space(tmp_path: Path) -> None:
    """Whoever stood there twice would have two budgets."""
    (tmp_path / "t.csv").write_text("patient,cost\n p,10\nq,20\np,30\n")
    with pytest.raises(InvalidRecord, match="1 identifier stand with spaces around and without") as refused:
        read(tmp_path, "t.csv", "")
    assert "alike = true under [data]" in str(refused.value)
    loaded = read(tmp_path, "t.csv", "alike = true")
    assert loaded.people == 2 and loaded.records.column("cost").tolist() == [10, 30, 20]


def test_a_draft_finds_totals_and_spaces(tmp_path: Path) -> None:
    rows = "".join(f"{'p' if at % 2 else ' p'}{at // 2},{at}\n" for at in range(60))
    (tmp_path / "t.csv").write_text(f"patient,cost\n{rows}Summe,99999\n,\n")
    draft = as_toml(sketched(Source(tmp_path / "t.csv")), "t", tmp_path)
    assert 'nobody = ["summe", ""]' in draft and "alike = true" in draft and "99999" not in draft
    assert "60 cells\n" in draft  # of the column, without the two rows
