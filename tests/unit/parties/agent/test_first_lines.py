"""Where the names of columns stand, behind titles and comments, and what a first row is that is somebody's."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from localdp.errors import InvalidRecord
from parties.agent.data import load
from parties.agent.first_lines import as_it_looks, is_value
from parties.agent.sketch import as_toml, sketched
from parties.agent.sources import Source
from parties.federated.tables import declared_of

ROWS = "patient;age;cost\np;40;1,5\nq;50;2,5\nr;60;3,5\n"
SCHEMA = declared_of({"age": {"kind": "integer", "low": 0, "high": 55, "column": "age"}})


def seen(directory: Path, text: str, name: str = "t.csv") -> Source:
    (directory / name).write_text(text)
    return as_it_looks(Source(directory / name))


@pytest.mark.parametrize(
    ("before", "header", "comment"),
    [
        ("", 1, ""),
        ("\n\n", 1, ""),
        ("sep=;\n", 1, ""),
        ("# made by hand\n# today\n", 1, "#"),
        ("A hospital\n\n", 3, ""),
        ("A hospital;;\nfrom 2024;;\n", 3, ""),
        ('"A hospital\nof two lines";;\n', 3, ""),
        ("# made\nA title\n", 3, ""),
    ],
)
def test_what_stands_before_the_names_is_passed_over(
    before: str, header: int, comment: str, tmp_path: Path
) -> None:
    source = seen(tmp_path, before + ROWS)
    assert (source.header, source.comment, source.separator) == (header, comment, ";")
    lines = before.count("\n") + 4  # that of r, whose age is beyond the bound
    with pytest.raises(InvalidRecord, match=rf"1 cell is above the upper bound.*first in line {lines};"):
        load(source, SCHEMA)
    draft = as_toml(sketched(Source(tmp_path / "t.csv")), "t", tmp_path)
    assert 'column = "age"' not in draft and "[schema.age]" in draft and "hospital" not in draft


def test_who_says_no_line_is_told_of_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("A title\n" + ROWS)
    with pytest.raises(InvalidRecord, match="do the names of columns stand further down"):
        load(Source(tmp_path / "t.csv", separator=";"), SCHEMA)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_an_encoding_without_a_mark_of_it_is_found(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(ROWS.encode(encoding))
    assert as_it_looks(Source(tmp_path / "t.csv")).encoding == encoding
    (tmp_path / "t.csv").write_bytes(codecs.BOM_UTF16_LE + ROWS.encode("utf-16-le"))
    assert as_it_looks(Source(tmp_path / "t.csv")).encoding == "utf-16"


def test_decimal_commas_are_no_separators(tmp_path: Path) -> None:
    text = "a;b;c\n" + "1,5;2,5;3,5\n" * 9
    assert seen(tmp_path, text).separator == ";" and seen(tmp_path, "title\n" + text).header == 2


@pytest.mark.parametrize(
    "first",
    ["Zq1,F,A,yes", "Zq1,40,A,no", "Zq1,F,A,03/01/2024", "Zq1,F,64.5 kg,B", "Zq1,F,2024-01-05 10:00,B"],
)
def test_a_first_row_that_is_somebodys_is_shown_nowhere(first: str, tmp_path: Path) -> None:
    """Labels that occur again, numbers, days and units are no names."""
    (tmp_path / "t.csv").write_text(f"{first}\nZq2,M,B,no\nZq3,F,A,yes\n")
    with pytest.raises(InvalidRecord, match="looks like somebody's") as refused:
        sketched(Source(tmp_path / "t.csv"))
    assert "Zq" not in str(refused.value)


def test_not_even_where_all_of_it_occurs_again(tmp_path: Path) -> None:
    """In one row together it is a header that occurs again, as in extracts that were put behind each other."""
    (tmp_path / "t.csv").write_text("Zq1,F,A\nZq1,M,B\nZq2,M,A\nZq2,F,B\n")
    with pytest.raises(InvalidRecord, match="looks like somebody's"):
        sketched(Source(tmp_path / "t.csv"))
    (tmp_path / "t.csv").write_text("patient,sex,ward\nZq1,M,B\npatient,sex,ward\nZq2,M,A\n")
    assert sketched(Source(tmp_path / "t.csv")).nobody == ("patient",)


def test_quotes_may_be_apostrophes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("'patient';'ward'\n'p';'a;b'\n'q';'c'\n")
    sketch = sketched(Source(tmp_path / "t.csv"))
    assert [one.column for one in sketch.columns] == ["patient", "ward"] and sketch.person == "patient"
    assert 'quote = "\'"' in as_toml(sketch, "t", tmp_path)


def test_names_are_no_values() -> None:
    for name in ("age", "Né le", "30-day mortality", "HbA1c", "IL-6", "Cost (1)", "q1", "x2024", "mmHg"):
        assert not is_value(name)
    for value in ("40", "1.5", "64,5 kg", "31.12.2024", "2024-12-31", "12 %", "3/4/2024 10:00"):
        assert is_value(value)


def test_names_in_a_sheet_stand_below_its_title(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["A hospital"], ["2025-01-02"], [], ["patient", "age"], ["p", 40], ["q", 50], ["r", 60]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    source = as_it_looks(Source(tmp_path / "t.xlsx"))
    assert source.header == 4
    with pytest.raises(InvalidRecord, match="first in line 7"):
        load(source, SCHEMA)
