"""A party's table as records, checked against the declared schema: every complaint at once, by column and count.

Where tables come from is in `parties.agent.sources`.  How a column of the table is read is declared with the schema
(`parties.agent.declared`).  A refusal names table and columns, how many cells, and where the first one is; never a value.

Checked in tests/unit/parties/agent/test_agent_data.py, tests/unit/parties/agent/test_csv.py and
tests/unit/parties/agent/test_missing_cells.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from localdp.domains import Domain, Ownership, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.domains.spelling import suggestion
from localdp.randomness.keystream import KeystreamSource
from parties.agent.declared import Declared
from parties.agent.first_lines import is_value
from parties.agent.formulas import computed
from parties.agent.nobodys_rows import somebodys
from parties.agent.reading import Reading
from parties.agent.sources import ColumnCells, Source, SourceTable, TableSource
from parties.agent.together import gathered
from parties.agent.typed_cells import ArrowTable, ListedTable
from parties.agent.verdicts import (
    WRONG,
    Complaint,
    Decision,
    Read,
    Verdict,
    counted,
    decisions_of,
    empty_cells,
    refusal,
    wrong_cells,
)

if TYPE_CHECKING:
    import pyarrow

Rows = Literal["one", "sample", "each", "together"]
_MOST_NAMES = 20  # that a refusal lists

Numbering = Callable[[list[str]], NDArray[np.int64]]  # from people's identifiers to their numbers


def by_appearance(identifiers: list[str]) -> NDArray[np.int64]:
    """People numbered as they first appear."""
    return np.arange(len(identifiers))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table as records, whose they are, and what was decided about its cells."""

    records: Records
    ownership: Ownership | None
    decisions: tuple[Decision, ...]
    rows: int  # of the table
    people: int  # that rows are of; of a table without people, its rows


def load_table(
    source: Path | TableSource,
    schema: Schema | Declared,
    person: str | None = None,
    rows: Rows = "one",
    numbering: Numbering = by_appearance,
) -> tuple[Records, Ownership | None]:
    """The records of a table in the order of their people, and whose they are where one person has several."""
    loaded = load(source, schema, person, rows, numbering)
    return loaded.records, loaded.ownership


def load(
    source: Path | TableSource,
    schema: Schema | Declared,
    person: str | None = None,
    rows: Rows = "one",
    numbering: Numbering = by_appearance,
) -> Loaded:
    """The same, and what was decided about the cells; what does not fit is refused, all of it at once."""
    declared = Declared.of(schema)
    place = Source(source) if isinstance(source, Path) else source
    whole = place.table(_wanted(declared, person))
    table = somebodys(whole, person, declared.nobody)
    check = _Check(table, declared, person, rows)
    if person is not None and table.rows < whole.rows:
        told = "that are nobody's, left out"
        check.decisions.append(Decision(person, whole.rows - table.rows, told, "row"))
    columns = check.columns()  # all cells are right before anybody gets a number
    order, owners = _owners(table, person, declared, numbering)
    if order is not None:
        for name in columns:  # one after the other: both orders of all columns would be twice the memory
            columns[name] = columns[name][order]
    people = table.rows if owners is None else int(owners[-1]) + 1
    if rows == "together" and owners is not None:
        return check.gathered(columns, owners, people)
    records = Records.adopted(declared.schema, columns)
    # Also where everybody has one row: nobody is to see a second one come.
    ownership = None if owners is None or rows not in ("sample", "each") else Ownership(owners, rows)
    return Loaded(records, ownership, tuple(check.decisions), table.rows, people)


def records_of_table(table: pyarrow.Table, schema: Schema | Declared, name: str = "the table") -> Records:
    """The records of an Arrow table that is at hand, one person a row; refusals call it by the name."""
    return _records(ArrowTable(name, table), Declared.of(schema))


def records_of_columns(
    columns: Mapping[str, object], schema: Schema | Declared, name: str = "the data"
) -> Records:
    """The records of lists and arrays by name, one person a row; refusals call them by the name."""
    declared = Declared.of(schema)
    return _records(ListedTable(name, columns, _wanted(declared, None)), declared)


def _records(table: SourceTable, declared: Declared) -> Records:
    return Records.from_columns(declared.schema, _Check(table, declared, None, "one").columns())


def _wanted(declared: Declared, person: str | None) -> list[str]:
    """The columns of the table that somebody looks at."""
    columns = [reading.column for reading in declared.readings if reading.column]
    return list(dict.fromkeys(columns if person is None else [*columns, person]))


class _Check:
    """Reads every column, and remembers what does not fit, and what was decided."""

    def __init__(self, table: SourceTable, declared: Declared, person: str | None, rows: str) -> None:
        self._table, self._declared, self._person, self._rows = table, declared, person, rows
        self._complaints: list[Complaint] = []
        self.decisions: list[Decision] = []

    def columns(self) -> dict[str, ColumnArray]:
        """Every column of the schema; or one refusal with all complaints."""
        known = self._known(_wanted(self._declared, self._person))
        if known and self._table.rows == 0:
            self._complaints.append(Complaint(None, 0, "the table has no rows"))
            known = []
        read = {
            name: self._column(name, domain, reading)
            for name, domain, reading in self._declared
            if reading.column in known
        }
        if self._person is not None and self._person in known:
            self._check_people(self._person)
        if not self._complaints and any(reading.formula for reading in self._declared.readings):
            read = self._with_formulas(read)
        if self._complaints:
            raise refusal(self._table.name, self._complaints)
        return read

    def _with_formulas(self, read: dict[str, ColumnArray]) -> dict[str, ColumnArray]:
        """What was read, and what is computed of it, as declared one after the other."""
        found, schema = dict[str, ColumnArray](), self._declared.read_schema
        for name, domain, reading in self._declared:
            if not reading.formula:
                found |= {name: read[name]} if name in read else {}
                continue
            one = computed(read, schema, domain, reading)
            self._tell(name, name, one, domain, reading)
            found[name] = one.values
        return found

    def gathered(self, columns: dict[str, ColumnArray], owners: NDArray[np.int64], people: int) -> Loaded:
        """The rows of each person as one record."""
        found = gathered(columns, owners, self._declared, KeystreamSource.from_system())
        if found.complaints:
            raise refusal(self._table.name, found.complaints)
        records = Records.from_columns(self._declared.schema, found.columns)
        return Loaded(records, None, (*self.decisions, *found.decisions), self._table.rows, people)

    def _known(self, wanted: Sequence[str]) -> list[str]:
        """The wanted columns that are there, once."""
        names = self._table.column_names
        twice = [one for one in wanted if one not in names and f"{one} (1)" in names]
        header = bool(twice) or any(one in names or suggestion(one, names) for one in wanted)
        if not header:
            self._complaints.append(Complaint(None, 0, _no_header(wanted[0], names)))
            return []
        for column in wanted:
            if column in twice:
                told = f"there are two columns {column!r}; the first one is {f'{column} (1)'!r}, and so on"
                self._complaints.append(Complaint(column, 0, told))
            elif column not in names:
                told = f"there is no column {column!r}{self._others(column, names)}"
                self._complaints.append(Complaint(column, 0, told))
        return [column for column in wanted if column in names]

    def _others(self, column: str, names: list[str]) -> str:
        """What columns there are instead; where a record has run into the names, they would tell of it."""
        if any(is_value(one) for one in names):
            return ", and some of the names look like cells of somebody; is its first row the names of the columns?"
        listed = f"; it has {_listed(names)}" if not self._complaints else ""
        return f"{listed}{suggestion(column, names)}"

    def _column(self, name: str, domain: Domain, reading: Reading) -> ColumnArray:
        read = self._table.cells(reading.column).read(domain, reading)
        self._tell(name, reading.column, read, domain, reading)
        return _filled(read, domain, reading)

    def _tell(self, name: str, column: str, read: Read, domain: Domain, reading: Reading) -> None:
        counts = read.counts()
        for verdict in WRONG:
            if counts[verdict]:
                place = self._table.place(read.first(verdict))
                self._complaints.append(wrong_cells(column, verdict, int(counts[verdict]), place, domain))
        if counts[Verdict.EMPTY] and reading.missing is None:
            place = self._table.place(read.first(Verdict.EMPTY))
            self._complaints.append(empty_cells(column, int(counts[Verdict.EMPTY]), place, domain))
        self.decisions += decisions_of(name, reading, counts)

    def _check_people(self, person: str) -> None:
        cells = self._table.cells(person)
        empty = cells.empty()
        if len(empty):
            told = (
                f"column {person!r} is empty in {counted(len(empty), 'row')}, first in"
                f" {self._table.place(int(empty[0]))}; it says whose row it is, so every row needs it"
            )
            self._complaints.append(Complaint(person, len(empty), told))
            return
        identifiers, codes = _people(cells, self._declared)
        twice = len(identifiers) - len({one.strip() for one in identifiers})
        if twice:
            told = (
                f"column {person!r}: {counted(twice, 'identifier')} stand with spaces around and without; they would"
                " be two people with two budgets: say alike = true under [data]"
            )
            self._complaints.append(Complaint(person, twice, told))
        if self._rows == "one":
            several = int(np.count_nonzero(np.bincount(codes, minlength=len(identifiers)) > 1))
            if several:
                told = (
                    f"{counted(several, 'person') if several == 1 else f'{several:,} people'} of column {person!r}"
                    ' have several rows; say rows = "sample" or rows = "each"'
                )
                self._complaints.append(Complaint(person, several, told))


def _filled(read: Read, domain: Domain, reading: Reading) -> ColumnArray:
    """The column, with what its owner declared in the place of empty cells."""
    if reading.missing is None:
        return read.values
    read.values[read.verdicts == Verdict.EMPTY] = domain.check([reading.missing])[0]
    return read.values


def _listed(names: list[str]) -> str:
    further = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{further}"


def _no_header(wanted: str, names: list[str]) -> str:
    """Where no declared column is there, the first row may be somebody's record, and is not shown."""
    found = [mark for mark in ";\t|," if len(names) == 1 and mark in names[0]]
    if found:
        told = (
            f"the first row is one cell; is it separated otherwise? Say separator = {json.dumps(found[0])}"
        )
        return f"there is no column {wanted!r}; {told}"
    return f"there is no column {wanted!r}, and no other one of the schema; is its first row the names of the columns?"


def _people(cells: ColumnCells, declared: Declared) -> tuple[list[str], NDArray[np.int64]]:
    """The different identifiers, in order of appearance, and which of them each row has."""
    identifiers, codes = cells.people()
    if not declared.alike:
        return identifiers, codes
    numbers = {one: place for place, one in enumerate(dict.fromkeys(name.strip() for name in identifiers))}
    return list(numbers), np.array([numbers[name.strip()] for name in identifiers], np.int64)[codes]


def _owners(
    table: SourceTable, person: str | None, declared: Declared, numbering: Numbering
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """An order of the rows in which each person's stand together, and the owners in that order; None as they are."""
    if person is None:
        return None, None
    identifiers, codes = _people(table.cells(person), declared)
    owners = np.asarray(numbering(identifiers), np.int64)[codes]
    order = np.argsort(owners, kind="stable")
    return order, owners[order]
