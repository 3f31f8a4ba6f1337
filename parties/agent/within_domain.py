"""Numbers, labels and dates of a column, brought into its domain: the same for texts and for cells that have types.

Every function takes values and the verdicts so far, and returns what is stored and the verdicts.  A number beyond a bound
is clipped where its owner said so, and wrong otherwise; a text that is no label is the one for others, or wrong.  Dates
count completed days, months or years.

Checked in tests/unit/parties/agent/test_reading.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from localdp.domains import CategoryDomain, IntegerDomain, RealDomain
from localdp.domains.columns import ColumnArray
from parties.agent.reading import EXCEL, Dates, Reading, folded
from parties.agent.verdicts import Read, Verdict

Verdicts = NDArray[np.uint8]
Days = NDArray[np.datetime64]
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONDAY = np.datetime64("1970-01-05", "D")
_BEFORE_EXCEL = datetime(1899, 12, 30)  # of which day 1 is the next, as from March 1900 on
_SERIAL = re.compile(r"[0-9]{1,7}(?:\.[0-9]*)?")
_DIRECTIVES = {"%Y": r"\d{4}", **dict.fromkeys(("%d", "%m", "%y", "%H", "%I", "%M", "%S"), r"\d{1,2}")}
_LAST_SERIAL = 2_958_465  # the end of the year 9999
_NAMED = {"day": "D", "month": "M", "year": "Y"}


def bounded(
    values: ColumnArray, verdicts: Verdicts, domain: IntegerDomain | RealDomain, reading: Reading
) -> Read:
    """Numbers within their bounds.  Where nothing is said, the value does not matter."""
    said = verdicts == Verdict.SAID
    if isinstance(domain, IntegerDomain) and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            verdicts = np.where(said & (values != np.rint(values)), np.uint8(Verdict.NOT_WHOLE), verdicts)
        said = verdicts == Verdict.SAID
    below, above = said & (values < domain.low), said & (values > domain.high)
    low, high = (Verdict.RAISED, Verdict.LOWERED) if reading.clip else (Verdict.BELOW, Verdict.ABOVE)
    verdicts = np.where(below, np.uint8(low), np.where(above, np.uint8(high), verdicts))
    kept = verdicts <= Verdict.LOWERED
    inside = np.clip(
        np.where(kept & ~(verdicts == Verdict.EMPTY), values, domain.low), domain.low, domain.high
    )
    return Read(domain.check(inside.astype(domain.dtype, copy=False)), verdicts)


def labelled(texts: Sequence[str], verdicts: Verdicts, domain: CategoryDomain, reading: Reading) -> Read:
    """The positions of labels."""
    other = None if reading.other is None else domain.code(reading.other)
    if reading.alike:
        alike = {folded(label): place for place, label in enumerate(domain.labels)}
        places = [alike.get(folded(text)) for text in texts]
    else:
        places = [domain.code(text) for text in texts]
    codes = np.array([-1 if place is None else place for place in places], np.int32)
    return placed(codes, verdicts, other)


def placed(codes: ColumnArray, verdicts: Verdicts, other: int | None) -> Read:
    """The same of positions, of which -1 is none."""
    none = (verdicts == Verdict.SAID) & (codes < 0)
    found = np.uint8(Verdict.NO_LABEL if other is None else Verdict.OTHER)
    filled = np.where(codes < 0, np.int32(0 if other is None else other), codes).astype(np.int32)
    return Read(filled, np.where(none, found, verdicts))


def parsed_days(texts: Sequence[str], verdicts: Verdicts, dates: Dates) -> tuple[Days, Verdicts]:
    """The days that texts are; a time of the day does not count."""
    days = np.full(len(texts), np.datetime64("1970-01-01", "D"))
    verdicts = verdicts.copy()
    for at in np.flatnonzero(verdicts == Verdict.SAID):
        found = _parsed(texts[int(at)].strip(), dates)
        if found is None:
            verdicts[at] = Verdict.NO_DATE
        else:
            days[at] = found
    return days, verdicts


def _parsed(text: str, dates: Dates) -> date | None:
    """The day, by the first of the ways that it can be read in.

    A year of two digits is the last one with them that is not after `until`: people of 1931 were born in '31.
    """
    for way in dates.written or (None,):
        day = day_of(text, way)
        if (
            day is not None
            and way is not None
            and "%y" in way
            and dates.until is not None
            and day > dates.until
        ):
            return _a_century_before(day)
        if day is not None:
            return day
    return None


def _a_century_before(day: date) -> date:
    try:
        return day.replace(year=day.year - 100)
    except ValueError:  # 1900 has no 29 February
        return day.replace(year=day.year - 100, day=28)


def day_of(text: str, written: str | None) -> date | None:
    """The day that a text is, written in one way; None: it is none."""
    found = moment_of(text, written)
    return None if found is None else found.date()


def moment_of(text: str, written: str | None) -> datetime | None:
    """The day and the time of it, as they stand there, whatever zone is said; None: it is none."""
    try:
        if written is None:
            return datetime.fromisoformat(text)
        if written == EXCEL:
            return _BEFORE_EXCEL + timedelta(days=float(text)) if _SERIAL.fullmatch(text) else None
        return datetime.strptime(text, written) if _looks(written).fullmatch(text) else None
    except (ValueError, OverflowError):
        return None


@functools.cache
def _looks(written: str) -> re.Pattern[str]:
    """What texts written so look like: strptime compiles a way anew whenever another one was tried, which is slow."""

    def shown(part: str) -> str:
        if part in _DIRECTIVES or not part.startswith("%"):
            return _DIRECTIVES.get(part, r"\s+" if part.isspace() else re.escape(part))
        return ".*"

    parts = map(shown, re.split(r"(%.|\s+)", written))
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)


def parsed_hours(
    texts: Sequence[str], verdicts: Verdicts, dates: Dates
) -> tuple[NDArray[np.int64], Verdicts]:
    """The hour of the day, from 0 to 23, of texts that are times, with a day or without."""
    hours, verdicts = np.zeros(len(texts), np.int64), verdicts.copy()
    for at in np.flatnonzero(verdicts == Verdict.SAID):
        found = hour_of(texts[int(at)].strip(), dates)
        if found is None:
            verdicts[at] = Verdict.NO_DATE
        else:
            hours[at] = found
    return hours, verdicts


def hour_of(text: str, dates: Dates) -> int | None:
    """The hour of the day, by the first of the ways that it can be read in; a day alone has none."""
    for way in dates.written or (None,):
        if way is None and (found := _time_of(text)) is not None:
            return found
        moment = moment_of(text, way)
        if moment is not None and (way is not None or len(text) > len("2024-12-31")):
            return moment.hour
    return None


def _time_of(text: str) -> int | None:
    try:
        return time.fromisoformat(text).hour
    except ValueError:
        return None


def numbered_days(numbers: ColumnArray, verdicts: Verdicts) -> tuple[Days, Verdicts]:
    """The same of numbers, as spreadsheets number days."""
    with np.errstate(invalid="ignore"):
        good = (numbers >= 1) & (numbers <= _LAST_SERIAL)
    days = np.datetime64(_BEFORE_EXCEL.date(), "D") + np.where(good, numbers, 1).astype(np.int64)
    return days, np.where(good, verdicts, np.uint8(Verdict.NO_DATE))


def counted_days(days: Days, dates: Dates) -> NDArray[np.int64]:
    """Completed days, months or years, since a day or until one."""
    if dates.since is not None:
        return _elapsed(np.datetime64(dates.since, "D"), days, dates.read_as)
    return _elapsed(days, np.datetime64(dates.until, "D"), dates.read_as)


def named_days(days: Days, dates: Dates) -> list[str]:
    """The label that each day is."""
    if dates.read_as == "weekday":
        since_monday = np.asarray(days - _MONDAY).astype(np.int64)
        return [_WEEKDAYS[int(at)] for at in since_monday % 7]
    return [str(day) for day in days.astype(f"M8[{_NAMED[dates.read_as]}]")]


def _elapsed(first: Days | np.datetime64, last: Days | np.datetime64, unit: str) -> NDArray[np.int64]:
    if unit == "days":
        return np.asarray(last - first).astype(np.int64)
    months = np.asarray(last.astype("M8[M]") - first.astype("M8[M]")).astype(np.int64)
    begun = _day_of_month(last) < _day_of_month(first)
    whole: NDArray[np.int64] = months - begun
    return whole // 12 if unit == "years" else whole


def _day_of_month(days: Days | np.datetime64) -> NDArray[np.int64]:
    return np.asarray(days - days.astype("M8[M]").astype("M8[D]")).astype(np.int64)
