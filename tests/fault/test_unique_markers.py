"""No text of a cell is in anything that is said about a table: a draft, a refusal, a decision, whatever harms the file.

Every cell of a random table is a marker that occurs nowhere else; files are then harmed in every way that the reader knows.
By day some hundreds of files, in the nightly test 100,000.  The broken twin quotes one cell of what it refuses.
"""

from __future__ import annotations

import contextlib
import random
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow
import pytest
from pyarrow import feather, parquet

from localdp.errors import LocalDpError
from parties.agent import data
from parties.agent.data import load
from parties.agent.sketch import as_toml, sketched
from parties.agent.sources import Source
from parties.agent.table import quoting_nothing
from parties.agent.verdicts import Complaint
from parties.federated.tables import declared_of

COLUMNS = ("patient", "age", "weight", "ward", "ill", "day")
KINDS: dict[str, list[dict[str, Any]]] = {
    "age": [
        {"kind": "integer", "low": 0, "high": 120},
        {"kind": "integer", "low": 0, "high": 9, "missing": 1},
    ],
    "weight": [
        {"kind": "real", "low": 0, "high": 300, "unit": "kg", "decimal": ","},
        {"kind": "real", "low": 0, "high": 3},
        {"kind": "real", "low": 0, "high": 3, "unit": {"kg": 1, "€": 2}, "outside": "clip"},
    ],
    "ward": [
        {"kind": "category", "labels": ["A", "B"]},
        {"kind": "category", "labels": ["A"], "recode": {"x": "A"}},
        {"kind": "category", "labels": ["A"], "alike": True, "missing": "A"},
    ],
    "ill": [{"kind": "bit"}, {"kind": "bit", "true": ["oui"], "missing": False}],
    "day": [
        {"kind": "integer", "low": 0, "high": 365, "as": "days", "since": "2024-01-01", "date": "%d/%m/%Y"},
        {"kind": "category", "labels": ["2024"], "as": "year"},
        {"kind": "integer", "low": 0, "high": 23, "as": "hour", "date": "%H:%M"},
    ],
}
WRITINGS = (
    "{}",
    "{} kg",
    "{}",
    "",
    "-",
    '"{}"',
    '"{}',
    "{}\n",
    "{};",
    "{},",
    "\0{}",
    "é{}",
    "  {}",
    "{}€",
    "-{}",
    "{}.5",
    "{},5",
)


class Table:
    """A random table in which every text is a marker, and what may not be said."""

    def __init__(self, coins: random.Random) -> None:
        self.coins, self.markers = coins, list[str]()
        self.rows = [[self._cell() for _ in COLUMNS] for _ in range(coins.randrange(1, 6))]

    def _cell(self) -> str:
        marker = self.coins.choice(
            (str(self.coins.randrange(10**14, 10**15)), f"Zq{self.coins.getrandbits(48):012x}x")
        )
        self.markers.append(marker)
        return self.coins.choice(WRITINGS).format(marker)

    def write(self, directory: Path) -> Source:
        separator = self.coins.choice(",,;\t")
        kind = self.coins.choice(("csv", "csv", "csv", "parquet", "arrow", "feather", "xlsx"))
        path = directory / f"t.{kind}"
        if kind == "csv":
            path.write_bytes(self._text(separator))
        elif kind == "xlsx":
            path.write_bytes(self._harmed(b"PK\x03\x04" + "".join(map("".join, self.rows)).encode()))
        else:
            columns = {name: [row[at] for row in self.rows] for at, name in enumerate(COLUMNS)}
            (parquet.write_table if kind == "parquet" else feather.write_feather)(
                pyarrow.table(columns), path
            )
            path.write_bytes(
                self._harmed(path.read_bytes()) if self.coins.random() < 0.5 else path.read_bytes()
            )
        return Source(
            path,
            self.coins.choice((None, separator, ";")),
            self.coins.choice(('"', "'")),
            self.coins.choice(("utf-8", "utf-8", "latin-1", "utf-16", "ascii")),
            header=self.coins.choice((1, 1, 1, 2, 9)),
            comment=self.coins.choice(("", "", "#")),
        )

    def _text(self, separator: str) -> bytes:
        header = list(COLUMNS)
        if self.coins.random() < 0.2:
            header[self.coins.randrange(1, len(header))] = self.coins.choice(("", "age", "years"))
        title = self.coins.choice(([], [], ["# a comment"], ["A title", ""]))
        lines = [*title, separator.join(header), *(separator.join(row) for row in self.rows)]
        if self.coins.random() < 0.1:
            lines = (
                lines[len(title) + 1 :] if any(cell.strip().isdigit() for cell in self.rows[0]) else lines
            )
        text = "\n".join(lines).encode(
            self.coins.choice(("utf-8", "utf-8-sig", "latin-1", "utf-16")), errors="replace"
        )
        return self._harmed(text) if self.coins.random() < 0.3 else text

    def _harmed(self, content: bytes) -> bytes:
        """Cut off, or with a byte changed, or with some put in."""
        at, other = self.coins.randrange(len(content) + 1), bytes([self.coins.randrange(256)])
        return self.coins.choice(
            (
                content[:at],
                content[:at] + other + content[at + 1 :],
                content[:at] + other * 3 + content[at:],
            )
        )


def everything_said(table: Table, directory: Path) -> str:
    """The draft, and what is said when the table is read in a random way."""
    source, coins, said = table.write(directory), table.coins, list[str]()
    schema = {
        name: coins.choice(KINDS[name]) for name in coins.sample(sorted(KINDS), coins.randrange(1, 6))
    }
    if "age" in schema:
        schema["old"] = {"kind": "integer", "low": 0, "high": 5, "formula": "2*age"}
    if coins.random() < 0.4:  # nothing but what is wrong with the person's column
        schema = {
            "ward": {"kind": "category", "labels": ["A"], "other": "A", "missing": "A", "column": "ward"}
        }
    with contextlib.suppress(StopIteration):
        for attempt in ("draft", "load"):
            try:
                with quoting_nothing(source):
                    if attempt == "draft":
                        sketch = sketched(source)
                        if all(column.column in (*COLUMNS, "years") for column in sketch.columns):
                            said.append(as_toml(sketch, "t", directory))
                    else:
                        rows: Literal["one", "sample"] = coins.choice(("one", "sample"))
                        declared = replace(
                            declared_of(schema), alike=coins.random() < 0.5, nobody=("", "age")
                        )
                        loaded = load(source, declared, coins.choice((None, "patient")), rows)
                        said += map(str, loaded.decisions)
            except LocalDpError as error:
                said.append(f"{error!r} {''.join(traceback.format_exception(error))}")
    return "\n".join(said)


def leaks(count: int, seed: int, directory: Path) -> list[str]:
    coins, found = random.Random(seed), list[str]()  # noqa: S311
    for _ in range(count):
        table = Table(coins)
        said = everything_said(table, directory)
        found += [marker for marker in table.markers if marker in said]
    return found


def test_no_text_of_a_cell_is_said(tmp_path: Path) -> None:
    assert leaks(400, 1, tmp_path) == []


@pytest.mark.nightly
def test_nor_of_a_hundred_thousand_files(tmp_path: Path) -> None:
    assert leaks(100_000, 2, tmp_path) == []


def test_a_twin_that_quotes_what_it_refuses_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quoting(column: str, verdict: object, count: int, place: str, domain: object) -> Complaint:
        text = next(iter(tmp_path.glob("t.*"))).read_bytes().decode("latin-1")
        return Complaint(column, count, f"{column}: {text}")

    monkeypatch.setattr(data, "wrong_cells", quoting)
    assert leaks(100, 1, tmp_path)
