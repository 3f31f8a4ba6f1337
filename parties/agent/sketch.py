"""A first draft of an agent's configuration for a table: names, kinds, how cells are written, and what says nothing.

Bounds, labels and what an empty cell is read as are left to the owner.  They are declared from what a column means: read
off the table they would be private, and whoever is told them learns about single people.  The draft has names of columns,
words of ours and counts, and no text that stands in a cell.

Checked in tests/unit/parties/agent/test_sketch.py and tests/fault/test_unique_markers.py.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import time
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localdp.domains.columns import ColumnArray
from localdp.domains.schema import LONGEST_NAME, is_column_name
from localdp.errors import InvalidRecord
from parties.agent.cells import TextCells, says_nothing
from parties.agent.database_source import DatabaseSource, relative
from parties.agent.first_lines import as_it_looks, is_value
from parties.agent.guessing import Guess, as_serial_days, guessed, tokens_in
from parties.agent.nobodys_rows import SomeCells, somebodys
from parties.agent.parquet_table import ParquetCells
from parties.agent.reading import folded
from parties.agent.sources import SEPARATORS, Source, SourceTable, TableSource
from parties.agent.typed_cells import Content, TypedCells
from parties.agent.verdicts import counted
from parties.agent.words import TOTALS

_ENOUGH = (
    0.9  # of numbers that are 0 or 1, for truths to be proposed; the others may say nothing, such as -9
)
# What a column is called that says whose row it is; the first of these that finds one.
_WHO = (
    r"^(patient|person|subject|pa[cz]iente?n?)",
    r"patient|person|subject|paciente|paziente|pati[eë]nt|pat_?id|\bnhs|\bmrn|\bnhc|\bipp\b",
    r"dossier|codice fiscale|fallnr|fallnummer",
    r"^id$",
    r"[ _]id$",
    r"^id[ _]",
)
_DAYS = (
    r"dat[eauo]|fecha|\bday|jour|\btag|né|naissance|geb|birth|dob|born|admi|entr|aufnahme|sortie|nasc|nac"
)


@dataclass(frozen=True, slots=True)
class ColumnSketch:
    """What a column of the table looks like."""

    column: str
    name: str  # what it may be called in queries
    guess: Guess
    empty: int  # cells in which nothing stands
    tokens: dict[str, int]  # texts of ours that usually say nothing, and in how many cells
    different: int  # texts or values
    cells: int

    @property
    def unclear(self) -> int:
        """Cells that say something, and not what the column looks like."""
        return self.cells - self.empty - sum(self.tokens.values()) - self.guess.fitting


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a table looks like."""

    source: TableSource
    rows: int
    columns: tuple[ColumnSketch, ...]
    person: str | None
    several: bool  # whether some people have several rows
    nobody: tuple[str, ...] = ()  # what stands in the column of people where a row is nobody's
    alike: bool = False  # whether identifiers, or labels, differ by spaces or case alone


def sketched(source: TableSource, person: str | None = None) -> Sketch:
    """Look at a table."""
    if isinstance(source, Source):
        source = as_it_looks(source)
    table = source.table()
    names = _headers(table)
    if person is None:
        found = (name for who in _WHO for name in names if re.search(who, name, re.IGNORECASE))
        person = next(found, None)
    nobody = _nobody(table, person) if person in names else ()
    table = somebodys(table, person, nobody)
    columns = [_column(table, name, taken) for name, taken in zip(names, _names(names), strict=True)]
    several = alike = False
    if person is not None and person in names and not len(table.cells(person).empty()):
        identifiers, codes = table.cells(person).people()
        several = len(identifiers) < len(codes)
        alike = len({one.strip() for one in identifiers}) < len(identifiers)
    return Sketch(source, table.rows, tuple(columns), person, several, nobody, alike)


def _headers(table: SourceTable) -> list[str]:
    """The names that occur once; a first row that is somebody's record is not shown."""
    names = table.column_names
    if any(is_value(one) for one in names):
        raise _no_names(table)
    shown = [name for name in names if names.count(name) == 1 and name]
    again = [rows for name in shown if len(rows := _rows_with(name, table))]
    whole = len(again) == len(shown) and all(np.array_equal(rows, again[0]) for rows in again)
    if len(again) > max(1, len(shown) // 4) and not whole:  # where it is whole, the header occurs again
        raise _no_names(table)
    return shown


def _no_names(table: SourceTable) -> InvalidRecord:
    return InvalidRecord(
        f"{table.name}: the first row looks like somebody's, and not like names of columns; write names into it, or say"
        " in which line they stand (--header)"
    )


def _rows_with(name: str, table: SourceTable) -> NDArray[np.int64]:
    """The rows in which a column has its own name: as a label, or where the header occurs again."""
    cells = table.cells(name)
    if not isinstance(cells, TextCells) or name not in cells.distinct:
        return np.empty(0, np.int64)
    return np.flatnonzero(cells.codes == cells.distinct.index(name))


def _nobody(table: SourceTable, person: str) -> tuple[str, ...]:
    """Words for totals that stand where people do, and the name of the column, where its header occurs again."""
    cells = table.cells(person)
    names, _ = cells.people()
    said = {folded(one) for one in names}
    found = [word for word in (*TOTALS, folded(person)) if word in said]
    few = 0 < len(cells.empty()) * 20 < table.rows
    return (*found, "") if found and few else tuple(found)


def _names(columns: Sequence[str]) -> list[str]:
    """Names for queries, all different."""
    taken: list[str] = []
    for column in columns:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", _plain(column)).strip("_").lower()[: LONGEST_NAME - 4]
        short = next(one for one in (plain, f"_{plain}", "x") if is_column_name(one))
        name, number = short, 2
        while name in taken:
            name, number = f"{short}_{number}", number + 1
        taken.append(name)
    return taken


def _plain(text: str) -> str:
    """Letters without accents."""
    import unicodedata

    return unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()


def _column(table: SourceTable, column: str, name: str) -> ColumnSketch:
    cells = table.cells(column)
    if isinstance(cells, SomeCells | ParquetCells):
        cells = cells.whole()
    if isinstance(cells, TextCells):
        weights = np.bincount(cells.codes, minlength=len(cells.distinct))
        of_days = re.search(_DAYS, column, re.IGNORECASE) is not None
        guess = guessed(cells.distinct, weights, of_days=of_days)
        tokens = tokens_in(cells.distinct, weights)
        if of_days:
            guess = as_serial_days(cells.distinct, guess)
        nothing = [
            not text.strip() or (says_nothing(text) and text.strip().casefold() not in tokens)
            for text in cells.distinct
        ]
        empty = int(weights[np.array(nothing, np.bool_)].sum()) if nothing else 0
        different = len(cells.distinct)
        if guess.kind == "category":
            different = len({folded(one) for one in cells.distinct})
            alike: dict[str, object] = {"alike": True} if different < len(cells.distinct) else {}
            guess = replace(guess, keys={**guess.keys, **alike})
        return ColumnSketch(column, name, guess, empty, tokens, different, table.rows)
    assert isinstance(cells, TypedCells)
    empty = int(np.count_nonzero(~cells.present))
    guess, different = _typed(cells, table.rows - empty)
    if isinstance(cells.content, np.ndarray) and re.search(_DAYS, column, re.IGNORECASE):
        guess = as_serial_days([str(one) for one in np.unique(cells.content)], guess)
    return ColumnSketch(column, name, guess, empty, {}, different, table.rows)


def _typed(cells: TypedCells, said: int) -> tuple[Guess, int]:
    content = cells.content
    if isinstance(content, list) or content.dtype == object:
        return _of_objects(content, said), said
    kinds = {"b": "bit", "i": "integer", "u": "integer", "f": "real", "M": "date"}
    kind = kinds.get(content.dtype.kind, "text")
    if kind == "real" and said and bool(np.all(content == np.rint(content))):
        kind = "integer"
    if kind == "integer" and _truths(content) >= _ENOUGH * max(1, said):
        return Guess("bit", _truths(content)), len(np.unique(content))
    return Guess(kind, said), len(np.unique(content))


def _truths(numbers: ColumnArray) -> int:
    """How many are 0 or 1."""
    return int(np.count_nonzero((numbers == 0) | (numbers == 1)))


def _of_objects(content: Content, said: int) -> Guess:
    sample = content[0] if said else None
    if isinstance(sample, Decimal):
        return Guess("real", said)
    if isinstance(sample, time):
        return Guess("hour", said)
    return Guess("date" if hasattr(sample, "toordinal") else "text", said)


def as_toml(sketch: Sketch, name: str, beside: Path) -> str:
    """The draft, for its owner to complete; paths in it are from the directory `beside`."""
    lines = [
        "# A draft: lines that begin with #! are for you to declare.  Bounds and labels come from what a column means.",
        "# Do not read them off the table: the oldest person in it would be found in them.",
        f"name = {json.dumps(name)}",
        "",
        "[data]",
        *_place(sketch.source, counted(sketch.rows, "row"), beside),
        *_people(sketch),
        *_tokens(sketch),
        *(
            ["alike = true  # identifiers with spaces around and without are one person's"]
            if sketch.alike
            else []
        ),
        "",
        "[budget]",
        "total = 4",
        "",
        "[policy]",
        "largest_epsilon = 1",
        "minimum_cohort = 100",
    ]
    for column in sketch.columns:
        if column.column != sketch.person:
            lines += ["", *_entry(column)]
    return "\n".join(lines) + "\n"


def _place(source: TableSource, rows: str, beside: Path) -> list[str]:
    """Where it stands, and how it is written."""
    if isinstance(source, DatabaseSource):
        return _in_database(source, rows, beside)
    assert isinstance(source, Source)
    path = os.path.relpath(source.path, beside)
    return [f"path = {json.dumps(path, ensure_ascii=False)}  # {rows}", *_written(source)]


def _in_database(source: DatabaseSource, rows: str, beside: Path) -> list[str]:
    file = None if source.password_file is None else os.path.relpath(source.password_file, beside)
    keys = {"table": source.relation, "query": source.query, "password_file": file}
    told = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items() if value]
    return [f"database = {json.dumps(relative(source.address, beside))}  # {rows}", *told]


def _written(source: Source) -> list[str]:
    usual = SEPARATORS.get(source.path.suffix.lower())
    told = []
    if usual is not None and source.separator != usual:
        told.append(f"separator = {json.dumps(source.separator)}")
    if source.quote != '"':
        told.append(f"quote = {json.dumps(source.quote)}")
    if source.encoding != "utf-8":
        told.append(f"encoding = {json.dumps(source.encoding)}")
    if source.header != 1:
        told.append(f"header = {source.header}  # the line in which the names stand")
    if source.comment:
        told.append(f"comment = {json.dumps(source.comment)}")
    return [*told, *([f"sheet = {json.dumps(source.sheet)}"] if source.sheet else [])]


def _people(sketch: Sketch) -> list[str]:
    if sketch.person is None:
        return [
            "#! person = the column that says whose row it is; without it every row is a person of its own"
        ]
    told = [f"person = {json.dumps(sketch.person, ensure_ascii=False)}"]
    if sketch.nobody:
        told.append(f"nobody = {json.dumps(sketch.nobody, ensure_ascii=False)}  # rows that are nobody's")
    if not sketch.several:
        return told
    return [
        *told,
        "#! some people have several rows. So that questions are about all rows of a person: "
        'rows = "together", row = "visit", and most_rows = how many of them count',
        'rows = "sample"  # until then a question is about one row of each person, drawn by chance',
    ]


def _tokens(sketch: Sketch) -> list[str]:
    found: dict[str, int] = {}
    for column in sketch.columns:
        for token, count in column.tokens.items():
            found[token] = found.get(token, 0) + count
    if not found:
        return []
    told = ", ".join(f"{count:,}" for count in found.values())
    return [f"empty = {json.dumps(list(found), ensure_ascii=False)}  # in {told} cells"]


def _entry(column: ColumnSketch) -> list[str]:
    guess, nothing = column.guess, column.empty + sum(column.tokens.values())
    seen = [counted(column.cells, "cell")]
    seen += [f"{nothing:,} say nothing"] if nothing else []
    seen += [f"{column.unclear:,} do not fit"] if column.unclear > 0 else []
    if guess.kind == "text":
        return [f"# {json.dumps(column.column, ensure_ascii=False)}: free text or identifiers; left out"]
    kind = "integer" if guess.kind in ("date", "hour") else guess.kind
    lines = [f"[schema.{column.name}]  # {', '.join(seen)}", f'kind = "{kind}"']
    if column.column != column.name:
        lines.append(f"column = {json.dumps(column.column, ensure_ascii=False)}")
    lines += [f"{key} = {_in_toml(value)}" for key, value in guess.keys.items()]
    if guess.kind == "hour":
        return [*lines, 'as = "hour"', "low = 0", "high = 23", *_missing(nothing)]
    if guess.kind == "date":
        lines += ['as = "days"', "#! since = the first day that the table is about, such as 2024-01-01"]
    if guess.kind == "category":
        lines += [
            f"#! labels = [ ... ]  # {counted(column.different, 'different text')}",
            "#! other = one of them",
        ]
    if kind in ("integer", "real"):
        lines += [
            "#! low =",
            "#! high =",
            '#! outside = "clip"  # if numbers beyond a bound count as the bound',
        ]
    return lines + _missing(nothing)


def _missing(nothing: int) -> list[str]:
    return ["#! missing = what the cells that say nothing are read as"] if nothing else []


def _in_toml(value: object) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{json.dumps(key, ensure_ascii=False)} = {one}" for key, one in value.items())
            + " }"
        )
    return json.dumps(value, ensure_ascii=False)
