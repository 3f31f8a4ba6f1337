"""What a cell is found to be: the one list of it, for every kind of table, with the words that its owner is told.

A cell says something, or nothing, or it was read in a way that the owner declared (clipped, another label), or it is wrong.
Complaints and decisions are told by column and count; never a value.

Checked in tests/unit/parties/agent/test_reading.py, and over every failure in tests/fault/test_unique_markers.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from localdp.domains import CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidRecord
from parties.agent.reading import Reading


class Verdict(IntEnum):
    """What one cell is."""

    SAID = 0
    EMPTY = 1
    RAISED = 2  # to the lower bound
    LOWERED = 3  # to the upper bound
    OTHER = 4  # none of the labels, and read as the one for others
    NO_TRUTH = 5
    NO_NUMBER = 6
    NOT_WHOLE = 7
    BELOW = 8
    ABOVE = 9
    NO_LABEL = 10
    NO_DATE = 11


WRONG = tuple(one for one in Verdict if one >= Verdict.NO_TRUTH)
_FAULTS = {
    Verdict.NO_TRUTH: ("neither true nor false", 'name the words: true = ["..."], false = ["..."]'),
    Verdict.NO_NUMBER: (
        "no number",
        "name a unit, a decimal mark, a mark of thousands, or what says nothing (unit, decimal, thousands, empty)",
    ),
    Verdict.NOT_WHOLE: ("no whole number", 'use kind = "real"'),
    Verdict.BELOW: ("below the lower bound", 'move the bound, or say outside = "clip"'),
    Verdict.ABOVE: ("above the upper bound", 'move the bound, or say outside = "clip"'),
    Verdict.NO_LABEL: ("none of the labels", "add labels, or name one for all others (other)"),
    Verdict.NO_DATE: ("no date as declared", 'say how dates are written, such as date = "%d/%m/%Y"'),
}
_DECISIONS = {
    Verdict.RAISED: "below the lower bound, counted as the bound",
    Verdict.LOWERED: "above the upper bound, counted as the bound",
    Verdict.OTHER: "none of the labels, read as {other!r}",
}

_AT_ONCE = 1 << 18  # rows


@dataclass(frozen=True, slots=True)
class Read:
    """A column in the type of its domain, and what each cell was found to be; what is wrong or empty has any value."""

    values: ColumnArray
    verdicts: NDArray[np.uint8]

    def counts(self) -> NDArray[np.int64]:
        """How many there are of each; in blocks, since numpy counts whole numbers of eight bytes."""
        found = np.zeros(len(Verdict), np.int64)
        for start in range(0, len(self.verdicts), _AT_ONCE):
            found += np.bincount(self.verdicts[start : start + _AT_ONCE], minlength=len(Verdict))
        return found

    def first(self, verdict: Verdict) -> int:
        """The first row of them."""
        return int(np.argmax(self.verdicts == verdict))


@dataclass(frozen=True, slots=True)
class Complaint:
    """What does not fit, in words that hold no value."""

    column: str | None  # of the table; None: it is about the table
    count: int
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about some cells, as declared."""

    column: str  # of the schema
    count: int
    words: str
    noun: str = "cell"  # of what there are so many

    def __str__(self) -> str:
        return f"{self.column}: {counted(self.count, self.noun)} {self.words}"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    several = "people" if noun == "person" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def wrong_cells(column: str, verdict: Verdict, count: int, place: str, domain: Domain) -> Complaint:
    """The complaint about cells that are wrong in one way."""
    fault, remedy = _FAULTS[verdict]
    is_or_are = "is" if count == 1 else "are"
    told = f"column {column!r}: {counted(count, 'cell')} {is_or_are} {fault} ({domain}), first in {place}; {remedy}"
    return Complaint(column, count, told)


def empty_cells(column: str, count: int, place: str, domain: Domain) -> Complaint:
    """The complaint about cells in which nothing stands, where nothing says what that is read as."""
    told = (
        f"column {column!r} is empty in {counted(count, 'row')}, first in {place}; every person needs a value: say in"
        f" the schema what an empty cell is read as, such as {_example_of(domain)} (docs/howto-own-data.md)"
    )
    return Complaint(column, count, told)


def brought_down(name: str, verdict: Verdict, count: int, domain: Domain) -> Complaint:
    """The complaint about people whose rows together are outside of the bounds."""
    fault, remedy = _FAULTS[verdict]
    have = "has" if count == 1 else "have"
    told = f"schema {name!r}: {counted(count, 'person')} {have} rows that together are {fault} ({domain}); {remedy}"
    return Complaint(name, count, told)


def _example_of(domain: Domain) -> str:
    """What a `missing` of this domain may look like."""
    match domain:
        case CategoryDomain():
            return 'missing = "unknown", which must be a label'
        case IntegerDomain() | RealDomain():
            return f"missing = {domain.high}"
    return "missing = false"


def decisions_of(
    name: str, reading: Reading, counts: NDArray[np.int64], noun: str = "cell"
) -> list[Decision]:
    """What was decided about the cells of a column, of which there are so many of each verdict."""
    words = {**_DECISIONS, Verdict.EMPTY: "empty, read as {missing!r}"}
    return [
        Decision(
            name, int(counts[verdict]), told.format(other=reading.other, missing=reading.missing), noun
        )
        for verdict, told in sorted(words.items())
        if counts[verdict]
    ]


def refusal(table: str, complaints: Sequence[Complaint]) -> InvalidRecord:
    """All complaints about a table, in one error."""
    if len(complaints) == 1:
        return InvalidRecord(f"{table}: {complaints[0]}")
    listed = "; ".join(f"({number}) {one}" for number, one in enumerate(complaints, 1))
    return InvalidRecord(f"{table}: {len(complaints)} things do not fit: {listed}")
