"""A first draft of an agent's configuration for a table: names, kinds, how cells are written, and what says nothing.

Bounds, labels and what an empty cell is read as are left to the owner.  They are declared from what a column means: read
off the table they would be private, and whoever is told them learns about single people.  The draft has names of columns,
words of ours and counts, and no text that stands in a cell.

Checked in tests/unit/parties/agent/test_sketch.py and tests/fault/test_unique_markers.py.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from localdp.domains.schema import LONGEST_NAME, is_column_name
from parties.agent.cells import TextCells, is_number, says_nothing
from parties.agent.database_source import DatabaseSource, relative
from parties.agent.guessing import Guess, as_serial_days, guessed, tokens_in
from parties.agent.parquet_table import ParquetCells
from parties.agent.sources import SEPARATORS, Source, SourceTable, TableSource
from parties.agent.typed_cells import TypedCells
from parties.agent.verdicts import counted

_SHOWN_BYTES = 1 << 16
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


def sketched(source: TableSource, person: str | None = None) -> Sketch:
    """Look at a table."""
    if isinstance(source, Source):
        source = _as_it_looks(source)
    table = source.table()
    names = _headers(table)
    if person is None:
        found = (name for who in _WHO for name in names if re.search(who, name, re.IGNORECASE))
        person = next(found, None)
    columns = [_column(table, name, taken) for name, taken in zip(names, _names(names), strict=True)]
    several = False
    if person is not None and person in names and not len(table.cells(person).empty()):
        identifiers, codes = table.cells(person).people()
        several = len(identifiers) < len(codes)
    return Sketch(source, table.rows, tuple(columns), person, several)


def _headers(table: SourceTable) -> list[str]:
    """The names that occur once; a first row that has a number in it is somebody's record."""
    names = table.column_names
    if any(is_number(one) for one in names):
        return []
    return [name for name in names if names.count(name) == 1 and name]


def _as_it_looks(source: Source) -> Source:
    """How a text file is written, where its owner does not say so."""
    if source.path.suffix.lower() not in SEPARATORS or not source.path.is_file():
        return source
    data = source.path.read_bytes()
    encoding = source.encoding
    if encoding == "utf-8" and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding == "utf-8":
        try:
            data.decode()
        except UnicodeDecodeError:
            encoding = "cp1252" if _reads(data, "cp1252") else "latin-1"
    if source.separator is None:
        beginning = data[:_SHOWN_BYTES].decode(encoding, errors="replace").removeprefix("\ufeff")
        source = replace(source, separator=_separator(beginning, SEPARATORS[source.path.suffix.lower()]))
    return replace(source, encoding=encoding)


def _reads(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _separator(text: str, usual: str) -> str:
    """The mark that cuts the first row into most names."""
    lines = text.splitlines(keepends=True)

    def names(mark: str) -> int:
        return len(next(iter(csv.reader(lines, delimiter=mark)), []))

    return max((usual, ";", "\t", "|", ","), key=names)


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
    if isinstance(cells, ParquetCells):
        cells = cells.whole()
    if isinstance(cells, TextCells):
        weights = np.bincount(cells.codes, minlength=len(cells.distinct))
        guess, tokens = guessed(cells.distinct, weights), tokens_in(cells.distinct, weights)
        if re.search(_DAYS, column, re.IGNORECASE):
            guess = as_serial_days(cells.distinct, guess)
        nothing = [
            not text.strip() or (says_nothing(text) and text.strip().casefold() not in tokens)
            for text in cells.distinct
        ]
        empty = int(weights[np.array(nothing, np.bool_)].sum()) if nothing else 0
        return ColumnSketch(column, name, guess, empty, tokens, len(cells.distinct), table.rows)
    assert isinstance(cells, TypedCells)
    empty = int(np.count_nonzero(~cells.present))
    guess, different = _typed(cells, table.rows - empty)
    if isinstance(cells.content, np.ndarray) and re.search(_DAYS, column, re.IGNORECASE):
        guess = as_serial_days([str(one) for one in np.unique(cells.content)], guess)
    return ColumnSketch(column, name, guess, empty, {}, different, table.rows)


def _typed(cells: TypedCells, said: int) -> tuple[Guess, int]:
    content = cells.content
    if isinstance(content, list) or content.dtype == object:
        return Guess("date" if said and hasattr(content[0], "toordinal") else "text", said), said
    kinds = {"b": "bit", "i": "integer", "u": "integer", "f": "real", "M": "date"}
    kind = kinds.get(content.dtype.kind, "text")
    if kind == "real" and said and bool(np.all(content == np.rint(content))):
        kind = "integer"
    return Guess(kind, said), len(np.unique(content))


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
    return [*told, *([f"sheet = {json.dumps(source.sheet)}"] if source.sheet else [])]


def _people(sketch: Sketch) -> list[str]:
    if sketch.person is None:
        return [
            "#! person = the column that says whose row it is; without it every row is a person of its own"
        ]
    told = f"person = {json.dumps(sketch.person, ensure_ascii=False)}"
    if not sketch.several:
        return [told]
    return [
        told,
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
    kind = "integer" if guess.kind == "date" else guess.kind
    lines = [f"[schema.{column.name}]  # {', '.join(seen)}", f'kind = "{kind}"']
    if column.column != column.name:
        lines.append(f"column = {json.dumps(column.column, ensure_ascii=False)}")
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in guess.keys.items()]
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
    if nothing:
        lines.append("#! missing = what the cells that say nothing are read as")
    return lines
