"""How a column of the schema is read from a table: what its owner declared about the cells, beside what they mean.

| key | what it says | without it |
|---|---|---|
| column | the name of the column in the table; several entries may read one column | that of the entry |
| missing | what an empty cell, or a null, is read as: a value of the domain | an empty cell is refused |
| empty | further texts that say nothing, such as "-" | the empty cell alone; of numbers and truths also NA and the like |
| unit | a unit before or after numbers; or several, { "kg" = 1, "lb" = 0.4536 }, with what each counts | numbers alone |
| decimal, thousands | the marks of numbers; decimal = ".," has either | "." and none |
| true, false | the words of a bit | true and false, yes and no, 1 and 0 |
| alike | true: texts that differ by case, or by spaces around, are one label | they are two |
| recode | from a text to the one that it stands for | every text stands for itself |
| other | the label for texts that are none of the labels | they are refused |
| outside | "clip": a number beyond a bound counts as the bound | "refuse" |
| date | how dates are written, such as "%d/%m/%Y", or several ways; "excel": as spreadsheets number days | as 2024-12-31 |
| as | what a date is read as: days, months, years, hour (of a day); of a category day, month, year, weekday | refused |
| since, until | the day that days, months and years are counted from, or up to | |
| formula | what it is in terms of other columns, in the query language, in the place of `column` | it is in the table |
| per_person | any, all, count, sum, mean, max, min, first or last of a person's rows (`together`) | all their values |

All of it is declared by the owner, before anybody is asked, and stays with the agent: nobody else is told.

Checked in tests/unit/parties/agent/test_reading.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.errors import InvalidParameter
from localdp.queries.scalars import HOWS, How

Value = bool | int | float | str
Key = tuple[str, ...]
# The refusal of a key, in the words of whoever holds the file.
Wrong = Callable[[Key, str], InvalidParameter]

EITHER = ".,"  # the decimal mark is one of these, in each number
EXCEL = "excel"  # days are numbered from 1900 on
COUNTED = ("days", "months", "years")
HOUR = "hour"  # of the day; dates alone have none
NAMED = ("day", "month", "year", "weekday")
_NUMBERS = (IntegerDomain, RealDomain)
_PER_PERSON: dict[
    str, tuple[type[Domain], ...]
] = {  # which domains a way goes with; all, if it is not here
    "any": (BitDomain,),
    "all": (BitDomain,),
    "count": (IntegerDomain,),
    "sum": _NUMBERS,
    "mean": (RealDomain,),
    "max": (BitDomain, *_NUMBERS),
    "min": (BitDomain, *_NUMBERS),
}
_FOR: dict[str, tuple[type[Domain], ...]] = {  # which domains a key goes with; all, if it is not here
    "unit": _NUMBERS,
    "decimal": _NUMBERS,
    "thousands": _NUMBERS,
    "outside": _NUMBERS,
    "since": _NUMBERS,
    "until": _NUMBERS,
    "true": (BitDomain,),
    "false": (BitDomain,),
    "alike": (CategoryDomain,),
    "other": (CategoryDomain,),
    "as": (CategoryDomain, *_NUMBERS),
    "date": (CategoryDomain, *_NUMBERS),
}


@dataclass(frozen=True, slots=True)
class Dates:
    """What a date is read as."""

    read_as: str
    written: tuple[str, ...] = ()  # in the words of strptime, or EXCEL; nothing: as 2024-12-31
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One of several units of a column, and what a number with it counts: times `factor`, plus `offset`."""

    text: str
    factor: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column of the schema is read from a table."""

    column: str  # its name in the table; "" where it is in none
    missing: Value | None = None  # what an empty cell is read as; None: it is refused
    empty: tuple[str, ...] = ()
    unit: str = ""
    units: tuple[Unit, ...] = ()  # in the place of one
    decimal: str = "."
    thousands: str = ""
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    recode: tuple[tuple[str, str], ...] = ()
    alike: bool = False
    other: str | None = None
    clip: bool = False
    dates: Dates | None = None
    per_person: How | None = None  # what a person's rows are brought down to; None: nothing
    formula: str = ""  # what it is in terms of other columns; "": it is in the table

    @property
    def counts_rows(self) -> bool:
        """Whether it looks at no column: how many rows somebody has."""
        return self.per_person == "count" and not self.column and not self.formula


# What may be declared for all columns at once, under [data].
SHARED = ("empty", "decimal", "thousands", "true", "false", "alike")
KEYS = (
    *("column", "missing", "empty", "unit", "decimal", "thousands", "true", "false"),
    *("recode", "alike", "other", "outside", "date", "as", "since", "until", "per_person", "formula"),
)
_BESIDE_FORMULA = ("formula", "outside", "per_person")


def reading_of(
    name: str, entry: Mapping[str, object], domain: Domain, shared: Mapping[str, object], wrong: Wrong
) -> Reading:
    """The reading that an entry declares, with what is declared for all columns where it says nothing itself."""
    way = entry.get("per_person")
    if way is not None and (
        way not in HOWS or not isinstance(domain, _PER_PERSON.get(str(way), (Domain,)))
    ):
        told = [one for one in HOWS if isinstance(domain, _PER_PERSON.get(one, (Domain,)))]
        raise wrong(("schema", name, "per_person"), f"of kind = {domain.kind!r}, one of {', '.join(told)}")
    domain = cell_domain(domain, way)
    for key, domains in _FOR.items():
        if key in entry and not isinstance(domain, domains):
            raise wrong(("schema", name, key), f"does not go with kind = {domain.kind!r}")
    own = {key: value for key, value in shared.items() if isinstance(domain, _FOR.get(key, (Domain,)))}
    if "formula" in entry:
        stray = [key for key in KEYS if key in entry and key not in _BESIDE_FORMULA]
        if stray:
            raise wrong(("schema", name, stray[0]), "goes without `formula`, which reads no cells")
        own = {}
    return _Reader(name, {**own, **entry}, domain, wrong).reading()


def cell_domain(domain: Domain, per_person: object) -> Domain:
    """What stands in a cell: rows are counted by truths."""
    return BitDomain() if per_person == "count" else domain


class _Reader:
    """Reads the keys of one entry."""

    def __init__(self, name: str, entry: Mapping[str, object], domain: Domain, wrong: Wrong) -> None:
        self._name, self._entry, self._domain, self._wrong = name, entry, domain, wrong

    def reading(self) -> Reading:
        return Reading(
            column=self._column(),
            missing=self._missing(),
            empty=self._texts("empty"),
            unit=str(self._entry.get("unit", "")) if not self._units() else "",
            units=self._units(),
            decimal=self._mark("decimal", "."),
            thousands=self._thousands(),
            true=self._texts("true"),
            false=self._texts("false"),
            recode=self._recode(),
            alike=self._alike(),
            other=self._other(),
            clip=self._outside(),
            dates=self._dates(),
            per_person=self._per_person(),
            formula=self._text("formula", 'in the query language, such as formula = "left - came"') or "",
        )

    def _refused(self, key: str, told: str) -> InvalidParameter:
        return self._wrong(("schema", self._name, key), told)

    def _column(self) -> str:
        column = self._entry.get("column", self._name)
        if "column" not in self._entry and ("formula" in self._entry or self._per_person() == "count"):
            return ""  # of other columns, or of all rows
        if not isinstance(column, str) or not column:
            raise self._refused("column", 'the name of a column of the table, such as "Length of stay"')
        return column

    def _missing(self) -> Value | None:
        if "missing" not in self._entry:
            return None
        value, domain = self._entry["missing"], self._domain
        if not isinstance(value, Value) or not is_value(value, domain):
            shown = f"{value!r:.60}"
            raise self._refused(
                "missing",
                f"an empty cell is read as a value of the column: {shown} is not in the domain ({domain}){_wider(domain)}",
            )
        if isinstance(domain, CategoryDomain) and value != "" and domain.holds(""):
            raise self._refused("missing", "an empty cell is the label '' already")
        return value

    def _per_person(self) -> How | None:
        return next((one for one in HOWS if one == self._entry.get("per_person")), None)

    def _texts(self, key: str) -> tuple[str, ...]:
        return texts_of(self._entry.get(key, []), lambda told: self._refused(key, told))

    def _text(self, key: str, such: str) -> str | None:
        value = self._entry.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self._refused(key, such)
        return value

    def _mark(self, key: str, usual: str) -> str:
        value = self._entry.get(key, usual)
        return (
            EITHER
            if key == "decimal" and value == EITHER
            else mark_of(value, lambda told: self._refused(key, told))
        )

    def _thousands(self) -> str:
        mark = self._mark("thousands", "")
        if mark and mark in self._mark("decimal", "."):
            raise self._refused("thousands", "another mark than the decimal one")
        return mark

    def _units(self) -> tuple[Unit, ...]:
        told = self._entry.get("unit", {})
        if not isinstance(told, Mapping):
            self._text("unit", 'a unit, such as "kg", or several: { "kg" = 1, "lb" = 0.4536 }')
            return ()
        return tuple(self._unit(str(text).strip(), worth) for text, worth in told.items())

    def _unit(self, text: str, worth: object) -> Unit:
        values = worth if isinstance(worth, list) else [worth]
        numbers = [
            float(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)
        ]
        good = len(numbers) == len(values) in (1, 2) and all(map(math.isfinite, numbers)) and numbers[0]
        if not good:
            raise self._refused(
                "unit",
                'what one of it counts, as in { "kg" = 1, "lb" = 0.4536 } or { "°F" = [0.5556, -17.78] }',
            )
        return Unit(text, *numbers)

    def _alike(self) -> bool:
        alike, domain = self._entry.get("alike", False), self._domain
        if not isinstance(alike, bool):
            raise self._refused("alike", "true or false")
        if (
            alike
            and isinstance(domain, CategoryDomain)
            and len(set(map(folded, domain.labels))) < len(domain.labels)
        ):
            raise self._refused("alike", "two of the labels differ by case or spaces alone")
        return alike

    def _recode(self) -> tuple[tuple[str, str], ...]:
        table = self._entry.get("recode", {})
        if not isinstance(table, Mapping) or not all(isinstance(text, str) for text in table.values()):
            raise self._refused("recode", 'from texts to texts, such as { "M" = "male", "F" = "female" }')
        return tuple((str(text).strip(), meant) for text, meant in table.items())

    def _other(self) -> str | None:
        label = self._text("other", 'a label, such as "other"')
        if label is not None and not self._domain.holds(label):
            raise self._refused("other", "is none of the labels; add it to them")
        return label

    def _outside(self) -> bool:
        told = self._entry.get("outside", "refuse")
        if told not in ("clip", "refuse"):
            raise self._refused(
                "outside", '"clip" (a number beyond a bound counts as the bound) or "refuse"'
            )
        return told == "clip"

    def _dates(self) -> Dates | None:
        written, read_as = self._texts("date"), self._entry.get("as")
        if read_as is None:
            stray = [key for key in ("date", "since", "until") if key in self._entry]
            if stray:
                raise self._refused(stray[0], f"goes with `as`, such as as = {self._readable()[0]!r}")
            return None
        if read_as not in self._readable():
            raise self._refused("as", f"one of {', '.join(self._readable())}")
        dates = Dates(str(read_as), written, self._day("since"), self._day("until"))
        if read_as == HOUR:
            if dates.since is not None or dates.until is not None:
                raise self._refused(
                    "as", "an hour of the day is counted from no day: leave since and until out"
                )
            timed = [one for one in written if one == EXCEL or "%H" in one or "%I" in one]
            if len(timed) < len(written):
                raise self._refused("date", 'an hour needs a time, such as date = "%d/%m/%Y %H:%M"')
            return dates
        if not isinstance(self._domain, CategoryDomain) and (dates.since is None) is (dates.until is None):
            raise self._refused(
                "as", f"{read_as} since a day or until one: since = 2024-01-01, or until = 2024-12-31"
            )
        return dates

    def _readable(self) -> tuple[str, ...]:
        return NAMED if isinstance(self._domain, CategoryDomain) else (*COUNTED, HOUR)

    def _day(self, key: str) -> date | None:
        value = self._entry.get(key)
        try:
            return date.fromisoformat(str(value)[:10]) if value is not None else None
        except ValueError:
            raise self._refused(key, "a day, such as 2024-01-01") from None


def texts_of(value: object, refused: Callable[[str], InvalidParameter]) -> tuple[str, ...]:
    """A text, or a list of them, without spaces around."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise refused('a text or a list of texts, such as ["-", "unknown"]')
    return tuple(one.strip() for one in values)


def mark_of(value: object, refused: Callable[[str], InvalidParameter]) -> str:
    """A mark within numbers."""
    if not isinstance(value, str) or len(value) > 1 or value.isalnum() or value in tuple("+-"):
        raise refused('one mark, such as "," or "."')
    return value


def shared_reading(table: Mapping[str, object], wrong: Wrong) -> dict[str, object]:
    """What [data] says of all columns; checked once more with each column, under its name."""
    shared = {key: table[key] for key in SHARED if key in table}
    for key, value in shared.items():
        refused = _telling(wrong, key)
        if key == "decimal" and value == EITHER:
            continue
        if key in ("decimal", "thousands"):
            mark_of(value, refused)
        elif key != "alike":
            texts_of(value, refused)
    if shared.get("thousands", "") == shared.get("decimal", ".") != "":
        raise wrong(("data", "thousands"), "another mark than the decimal one")
    return shared


def _telling(wrong: Wrong, key: str) -> Callable[[str], InvalidParameter]:
    return lambda told: wrong(("data", key), told)


def folded(text: str) -> str:
    """A text without what `alike` leaves out of account."""
    return " ".join(text.split()).casefold()


def is_value(value: object, domain: Domain) -> bool:
    """Whether the domain holds it, of a category as a label: what stands in a file is never a label's position."""
    return domain.holds(value) and (isinstance(value, str) or not isinstance(domain, CategoryDomain))


def _wider(domain: Domain) -> str:
    match domain:
        case CategoryDomain():
            return "; add a label for it, such as unknown"
        case IntegerDomain() | RealDomain():
            return "; choose one that is, or move a bound"
    return ""
