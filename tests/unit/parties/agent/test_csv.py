"""CSV files read in both ways, with pyarrow and with the standard library alone: the same records, the same refusals.

The random files are 1000 of up to four rows, of what CSV is made of, by a fixed seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter, InvalidRecord
from parties.agent import csv_table
from parties.agent.cells import understood
from parties.agent.csv_table import CsvFile, ListedColumns, by_pyarrow
from parties.agent.data import load_table
from parties.agent.reading import Reading
from parties.agent.verdicts import Verdict

SCHEMA = Schema(
    {
        "ill": BitDomain(),
        "age": IntegerDomain(0, 120),
        "ward": CategoryDomain(("A", "07", "x,y", 'a "b"')),
    }
)
HEADER = "ill,age,ward\n"
CANARY = "98765"
LONG = "z" * 100_000


@pytest.fixture(params=["pyarrow", "the standard library"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How CSV is read; without pyarrow, it cannot be imported."""
    if request.param != "pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return str(request.param)


def written(directory: Path, content: str | bytes) -> Path:
    path = directory / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


GOOD: dict[str, str | bytes] = {
    "plain": HEADER + "true,30,A\nfalse,40,07\n",
    "a byte order mark": b"\xef\xbb\xbf" + (HEADER + "true,30,A\nfalse,40,07\n").encode(),
    "CRLF": (HEADER + "true,30,A\nfalse,40,07\n").replace("\n", "\r\n"),
    "CR alone": (HEADER + "true,30,A\nfalse,40,07\n").replace("\n", "\r"),
    "no line break at the end": HEADER + "true,30,A\nfalse,40,07",
    "empty lines": "\n" + HEADER + "\ntrue,30,A\n\n\nfalse,40,07\n\n",
    "everything quoted": '"ill","age","ward"\n"true","30","A"\n"false","40","07"\n',
    "other truths and numbers": HEADER + "YES,30.0,A\n No , +4e1,07\n",
    "further columns": "name,ill,age,ward,\nü,1,30,A,\n,0,40,07,x\n",
    "a further column twice": "note,ill,age,ward,note\na,1,30,A,b\nc,0,40,07,d\n",
    "trailing delimiters": HEADER + "true,30,A,\nfalse,40,07,,\n",
    "trailing delimiters in the header alone": HEADER.strip() + ",,\ntrue,30,A\nfalse,40,07,\n",
    "the line that spreadsheets begin with": "sep=,\n" + HEADER + "true,30,A\nfalse,40,07\n",
    "a further column of 100,000 characters": f"note,ill,age,ward\n{LONG},1,30,A\n,0,40,07\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_the_same_people_are_read_however_the_file_is_written(name: str, way: str, tmp_path: Path) -> None:
    records, ownership = load_table(written(tmp_path, GOOD[name]), SCHEMA)
    assert ownership is None
    assert {column: records.column(column).tolist() for column in SCHEMA.names} == {
        "ill": [True, False],
        "age": [30, 40],
        "ward": [0, 1],
    }


def test_quoted_cells_hold_commas_quotes_and_line_breaks(way: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'note,{HEADER}a,1,1,"x,y"\n"a\nb",0,2,"a ""b"""\n"\r\n,",1,3,A\n')
    records, _ = load_table(path, SCHEMA)
    assert records.column("ward").tolist() == [2, 3, 0]
    assert records.column("age").tolist() == [1, 2, 3]


BAD: dict[str, tuple[str | bytes, str]] = {
    "an empty file": ("", "the file is empty; its first line names the columns"),
    "a header alone": (HEADER, "the table has no rows"),
    "no header": (
        f"true,{CANARY},A\n",
        "there is no column 'ill', and no other one of the schema; is its first row the names of the columns?",
    ),
    "a missing column": ("ill,age\n1,30\n", "there is no column 'ward'; it has ill, age"),
    "a record that ran into the names": (
        "ill,age,wardtrue,30,Zq42\n1,30,A,40,B\n",
        "there is no column 'ward', and some of the names look like cells of somebody",
    ),
    "a misspelt column": (
        "ill,agee,ward\n1,30,A\n",
        "there is no column 'age'; it has ill, agee, ward; did you mean 'agee'?",
    ),
    "other capitals": (
        "ILL,age,ward\n1,30,A\n",
        "there is no column 'ill'; it has ILL, age, ward; did you mean 'ILL'?",
    ),
    "a column twice": ("ill,age,age,ward\n1,30,30,A\n", "there are two columns 'age'"),
    "a wrong type": (
        HEADER + f"1,30,A\n1,{CANARY}x,A\n",
        "column 'age': 1 cell is no number (integer from 0 to 120), first in line 3",
    ),
    "a wrong truth": (
        HEADER + f"{CANARY},30,A\n",
        "column 'ill': 1 cell is neither true nor false (bit), first in line 2",
    ),
    "hexadecimal": (
        HEADER + "1,0x1F,A\n",
        "column 'age': 1 cell is no number (integer from 0 to 120), first in line 2",
    ),
    "other digits": (
        HEADER + "1,١٢,A\n",
        "column 'age': 1 cell is no number (integer from 0 to 120), first in line 2",
    ),
    "digits in groups": (
        HEADER + "1,1_0,A\n",
        "column 'age': 1 cell is no number (integer from 0 to 120), first in line 2",
    ),
    "an endless number": (
        HEADER + f"1,{'9' * 5000},A\n",
        "column 'age': 1 cell is no number (integer from 0 to 120), first in line 2",
    ),
    "a label that is not there": (
        HEADER + "1,30,7\n",
        "column 'ward': 1 cell is none of the labels (category of 4 labels), first in line 2",
    ),
    "behind a cell of two lines": (
        f'note,{HEADER}"l\nm",1,30,A\n\n,1,{CANARY},A\n',
        "column 'age': 1 cell is above the upper bound (integer from 0 to 120), first in line 5",
    ),
    "empty cells": (
        HEADER + "1,,A\n1,30,A\n1,NA,A\n1, nan ,A\n",
        "column 'age' is empty in 3 rows, first in line 2; every person needs a value",
    ),
    "an empty label": (HEADER + "1,30,A\n1,30,\n", "column 'ward' is empty in 1 row, first in line 3"),
    "a cell too few": (HEADER + "1,30,A\n1,30\n", "line 3 has 2 cells, and the header has 3"),
    "a cell too many": (HEADER + "1,30,A,x\n", "line 2 has 4 cells, and the header has 3"),
    "another delimiter": (
        HEADER.replace(",", ";") + "1;30;A\n",
        "there is no column 'ill'; the first row is one cell; is it separated otherwise? Say separator = \";\"",
    ),
    "a quote that is not closed": (
        HEADER + f'1,30,A\n1,30,"A\n1,{CANARY},A\n',
        "a quote in the row that begins in line 3 is never closed",
    ),
    "a quote of the header": (
        'ill,age,"ward\n1,30,A\n',
        "a quote in the row that begins in line 1 is never closed",
    ),
    "a quote that swallows cells": (
        HEADER + '1,"30,A\n1,30,A\n',
        "a quote in the row that begins in line 2 is never closed",
    ),
    "a cell of 100,000 characters": (
        HEADER + f"1,30,A\n1,30,{LONG}\n",
        "column 'ward': 1 cell is none of the labels (category of 4 labels), first in line 3",
    ),
    "a cell without end": (
        HEADER + f"1,30,A\n1,30,{LONG}{LONG}\n",
        "a cell in line 3 has more than 131,072 characters; is a quote not closed?",
    ),
    "a further cell without end": (
        f"note,{HEADER}x,1,30,A\n{LONG}{LONG},1,30,A\n",
        "a cell in line 3 has more than 131,072 characters; is a quote not closed?",
    ),
    "a row without end": (
        f"note,{HEADER}x,1,30,A\n{LONG * 20},1,30,A\n",
        "a cell in line 3 has more than 131,072 characters; is a quote not closed?",
    ),
    "a NUL": (HEADER + "1,30,A\n1,30,A\0\n", "line 3 has a NUL in it; save the table as CSV in UTF-8"),
    "UTF-16": (
        (HEADER + "1,30,A\n").encode("utf-16"),
        "line 1 has a NUL in it; save the table as CSV in UTF-8",
    ),
    "Latin-1": (
        (HEADER + "1,30,A\n1,30,é\n").encode("latin-1"),
        "line 3 is not UTF-8; save the table as CSV in UTF-8",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_the_same_words_by_its_line_and_without_a_value(
    name: str, way: str, tmp_path: Path
) -> None:
    content, told = BAD[name]
    path = written(tmp_path, content)
    with pytest.raises(InvalidRecord) as refused:
        load_table(path, SCHEMA)
    assert str(refused.value).startswith(f"{path}: {told}")
    assert CANARY not in str(refused.value).replace(str(path), "")
    assert len(str(refused.value)) < 1000


def test_people_are_told_apart_by_what_stands_there(way: str, tmp_path: Path) -> None:
    path = written(tmp_path, "who,ill\n007,1\n7,0\n007,0\nx,1\n")
    schema = Schema({"ill": BitDomain()})
    seen: list[list[str]] = []

    def numbering(identifiers: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        seen.append(identifiers)
        return np.arange(len(identifiers))

    records, ownership = load_table(path, schema, "who", "sample", numbering)
    assert seen == [["007", "7", "x"]]
    assert ownership is not None and ownership.owners.tolist() == [0, 0, 1, 2]
    assert records.column("ill").tolist() == [True, False, False, True]
    with pytest.raises(InvalidRecord, match="column 'who' is empty in 1 row, first in line 3"):
        load_table(written(tmp_path, "who,ill\na,1\n,0\n"), schema, "who")


def cut(reader: Callable[[CsvFile], csv_table.Columns | None], path: Path) -> list[list[str]] | str | None:
    """The cells as a reader cuts them, column by column; what it says where it refuses; None if it leaves it."""
    try:
        file = CsvFile(path)
        columns = reader(file)
    except InvalidRecord as error:
        return str(error)
    if columns is None:
        return None
    cells = [columns.cells(place) for place in range(len(file.names))] if columns.rows else []
    return [[one.distinct[code] for code in one.codes] for one in cells]


def random_cell(coins: random.Random) -> str:
    text = "".join(coins.choice('ab0 ,"\n\r') for _ in range(coins.randrange(5)))
    kind = coins.randrange(8)
    if kind == 0:
        return text  # as bad as it gets
    if kind == 1:
        return f'"{text}"'  # with quotes that are not doubled
    return '"' + text.replace('"', '""') + '"' if kind % 2 else coins.choice("ab0") * coins.randrange(3)


def test_pyarrow_cuts_random_files_as_the_standard_library_does_or_leaves_them_to_it(
    tmp_path: Path,
) -> None:
    coins = random.Random(20240)  # noqa: S311 - which files are tried
    both = 0
    for number in range(1000):
        width = 1 + number % 3
        rows = [[random_cell(coins) for _ in range(width)] for _ in range(coins.randrange(5))]
        body = "".join(",".join(row) + coins.choice(["\n", "\r\n", "\r"]) for row in rows)
        path = written(tmp_path, ",".join("xyz"[:width]) + "\n" + body)
        quick, sure = cut(by_pyarrow, path), cut(ListedColumns, path)
        assert quick is None or quick == sure, body
        both += quick is not None
    assert 300 < both < 900  # some are no rectangles


def test_a_file_of_many_blocks_is_cut_in_the_same_way(tmp_path: Path) -> None:
    rows = [f'{number},"{number % 7}\n""{number % 11}",é{number % 5}' for number in range(200_000)]
    path = written(tmp_path, "a,b,c\n" + "\n".join(rows) + "\n")
    quick, sure = by_pyarrow(CsvFile(path)), ListedColumns(CsvFile(path))
    assert quick is not None and quick.rows == sure.rows == 200_000
    for place in range(3):
        one, other = quick.cells(place), sure.cells(place)
        assert one.distinct == other.distinct
        assert np.array_equal(one.codes, other.codes)


def test_pyarrow_is_used_where_it_is_installed(tmp_path: Path) -> None:
    file = CsvFile(written(tmp_path, GOOD["plain"]))
    assert isinstance(csv_table.read_columns(file), csv_table.ArrowColumns)


def test_other_files_say_what_they_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").touch()
    with pytest.raises(
        InvalidParameter, match=r"all but CSV needs pyarrow: pip install 'localdp\[agent\]'"
    ):
        load_table(tmp_path / "t.parquet", SCHEMA)


def found(text: str, domain: RealDomain | IntegerDomain) -> tuple[float, Verdict]:
    one = understood([text], domain, Reading("x"))
    return one.values[0].item(), Verdict(one.verdicts[0])


@pytest.mark.parametrize(
    ("text", "value"), [("70.5", 70.5), ("-1", -1.0), (".5", 0.5), ("7e-3", 0.007), (" 8 ", 8.0)]
)
def test_real_numbers_are_decimal(text: str, value: float) -> None:
    assert found(text, RealDomain(-10, 300)) == (value, Verdict.SAID)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("inf", Verdict.NO_NUMBER), ("1,5", Verdict.NO_NUMBER), ("", Verdict.EMPTY), ("301", Verdict.ABOVE)],
)
def test_what_is_no_number_of_the_domain_is_told_apart(text: str, verdict: Verdict) -> None:
    assert found(text, RealDomain(-10, 300))[1] == verdict


@pytest.mark.parametrize(("text", "value"), [("30.0", 30), ("3e1", 30), ("9007199254740992", 2**53)])
def test_whole_numbers_stay_exact(text: str, value: int) -> None:
    assert found(text, IntegerDomain(0, 2**53)) == (value, Verdict.SAID)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("30.5", Verdict.NOT_WHOLE),
        ("1e300", Verdict.ABOVE),
        ("9007199254740993", Verdict.ABOVE),
        ("9" * 40, Verdict.ABOVE),
        ("-" + "9" * 40, Verdict.BELOW),
    ],
)
def test_what_is_no_whole_number_of_the_domain_is_told_apart(text: str, verdict: Verdict) -> None:
    assert found(text, IntegerDomain(0, 2**53))[1] == verdict
