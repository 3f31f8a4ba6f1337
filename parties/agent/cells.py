"""What cells of text mean, those of a CSV file above all: text, until the declared schema says what it is.

| declared | cells | no cell at all |
|---|---|---|
| bit | true, false, yes, no, 1, 0, 1.0, 0.0, in any case, or its owner's words | the empty cell, NA, N/A, NaN, null ... |
| integer | 30, +30, 30.0, 3e1, with its owner's marks and unit | the same |
| real | 70.5, -1, .5, 7e-3, the same | the same |
| category | the text as it stands, spaces and all: 07 is not 7 | the empty cell, unless it is a label |
| whose row it is | the text as it stands | the empty cell |

What says nothing is refused, unless the schema says what it is read as (`missing`).  All that can be declared is in
`parties.agent.reading`.  A mark of thousands stands before three digits: 1,5 is never 15.

Spaces around a truth or a number do not count.  Nothing is guessed from the other cells of a column: the same text means
the same wherever it stands.  Every different text of a column is understood once: a column of a million cells has few.

Checked in tests/unit/parties/agent/test_csv.py, test_missing_cells.py and test_reading.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localdp.domains import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.domains.columns import ColumnArray
from parties.agent.reading import EITHER, HOUR, Reading, folded
from parties.agent.verdicts import Read, Verdict
from parties.agent.within_domain import (
    bounded,
    counted_days,
    labelled,
    named_days,
    parsed_days,
    parsed_hours,
)

# The last two are what 1 and 0 become in a data frame with missing cells, which makes a column one of floats.
TRUTHS = {
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "1": True,
    "0": False,
    "1.0": True,
    "0.0": False,
}
_MISSING = frozenset(("", "#n/a", "#na", "<na>", "n/a", "na", "nan", "-nan", "null", "none"))
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")
_EXACT = 1 << 53  # from here on not every whole number is a float
_SPACES = "\u00a0\u2009\u202f"  # that a mark of thousands may be
_APOSTROPHES = "\u2019\u02bc"  # the same
_MINUS = "\u2212\u2013"
_DOUBTFUL = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")


@dataclass(frozen=True, slots=True)
class TextCells:
    """One column: its different texts in order of appearance, and which of them stands in each row."""

    distinct: list[str]
    codes: NDArray[np.int64]

    def empty(self) -> NDArray[np.int64]:
        """The rows that do not say whose they are."""
        chosen = np.fromiter((not text.strip() for text in self.distinct), np.bool_, len(self.distinct))
        return np.flatnonzero(chosen[self.codes])

    def read(self, domain: Domain, reading: Reading) -> Read:
        """The column in the domain's own type, and what each cell was found to be."""
        one = understood(self.distinct, domain, reading)
        return Read(one.values[self.codes], one.verdicts[self.codes])

    def people(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different identifiers, as they stand, in order of appearance, and which of them each row has."""
        return self.distinct, self.codes


def understood(texts: list[str], domain: Domain, reading: Reading) -> Read:
    """What texts mean in a column of this domain."""
    meant = _recoded(texts, reading)
    verdicts = _emptiness(meant, domain, reading)
    if reading.dates is not None and reading.dates.read_as == HOUR:
        assert isinstance(domain, IntegerDomain | RealDomain)
        hours, verdicts = parsed_hours(meant, verdicts, reading.dates)
        return bounded(hours, verdicts, domain, reading)
    if reading.dates is not None:
        days, verdicts = parsed_days(meant, verdicts, reading.dates)
        if isinstance(domain, CategoryDomain):
            return labelled(named_days(days, reading.dates), verdicts, domain, reading)
        assert isinstance(domain, IntegerDomain | RealDomain)
        return bounded(counted_days(days, reading.dates), verdicts, domain, reading)
    match domain:
        case BitDomain():
            return _truths(meant, verdicts, reading)
        case IntegerDomain() | RealDomain():
            values = _numbers(meant, domain, reading)
            wrong = (verdicts == Verdict.SAID) & np.isnan(values)
            return bounded(values, np.where(wrong, np.uint8(Verdict.NO_NUMBER), verdicts), domain, reading)
    assert isinstance(domain, CategoryDomain)
    return labelled(meant, verdicts, domain, reading)


def is_number(text: str) -> bool:
    """Whether a text is a number, as a real column has them."""
    return _NUMBER.fullmatch(text.strip()) is not None


def numbered(names: Sequence[str]) -> list[str]:
    """Names of columns, of which none occurs twice: two columns "cost" are "cost (1)" and "cost (2)"."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        twice = names.count(name) > 1 and name and not is_number(name)
        told.append(f"{name} ({seen[name]})" if twice else name)
    return told


def says_nothing(text: str) -> bool:
    """Whether a column of numbers or truths takes a text for no cell at all."""
    return text.strip().lower() in _MISSING


def _recoded(texts: list[str], reading: Reading) -> list[str]:
    if not reading.recode:
        return texts
    if reading.alike:
        alike = {folded(text): meant for text, meant in reading.recode}
        return [alike.get(folded(text), text) for text in texts]
    meant = dict(reading.recode)
    return [meant.get(text.strip(), text) for text in texts]


def _emptiness(texts: list[str], domain: Domain, reading: Reading) -> NDArray[np.uint8]:
    empty = frozenset(text.casefold() for text in reading.empty)
    labels = domain if isinstance(domain, CategoryDomain) and reading.dates is None else None

    def is_empty(text: str) -> bool:
        if labels is not None and labels.holds(text):
            return False
        return text.strip().casefold() in empty or (
            says_nothing(text) if labels is None else not text.strip()
        )

    found = np.fromiter(map(is_empty, texts), np.bool_, len(texts))
    return np.where(found, np.uint8(Verdict.EMPTY), np.uint8(Verdict.SAID))


def _truths(texts: list[str], verdicts: NDArray[np.uint8], reading: Reading) -> Read:
    words = {**TRUTHS, **{word.casefold(): True for word in reading.true}}
    words |= {word.casefold(): False for word in reading.false}
    meant = [words.get(text.strip().casefold()) for text in texts]
    strange = np.fromiter((one is None for one in meant), np.bool_, len(meant))
    wrong = (verdicts == Verdict.SAID) & strange
    values: ColumnArray = np.fromiter((bool(one) for one in meant), np.bool_, len(meant))
    return Read(values, np.where(wrong, np.uint8(Verdict.NO_TRUTH), verdicts))


def _numbers(texts: list[str], domain: Domain, reading: Reading) -> NDArray[np.float64]:
    """The numbers that texts are, and NaN."""
    parse = _whole if isinstance(domain, IntegerDomain) else _real
    if reading.units:
        return _in_units(texts, parse, reading)
    plain = number_writer(reading)
    return np.fromiter((parse(plain(text)) for text in texts), np.float64, len(texts))


def _in_units(texts: list[str], parse: Callable[[str], float], reading: Reading) -> NDArray[np.float64]:
    """The same where each number has one of several units: the first in the list that it can be read with."""
    found = np.full(len(texts), np.nan)
    for unit in reading.units:
        plain = number_writer(replace(reading, unit=unit.text))
        for at in np.flatnonzero(np.isnan(found)):
            text = texts[int(at)].strip()
            if not unit.text or text.startswith(unit.text) or text.endswith(unit.text):
                found[at] = parse(plain(text)) * unit.factor + unit.offset
    return found


def number_writer(reading: Reading) -> Callable[[str], str]:
    """From a number as the table has it to one with a point and without unit or marks; what is no number stays none."""
    decimal, thousands, unit = reading.decimal, reading.thousands, reading.unit.strip()
    grouped = _grouped(thousands)
    alike = {ord(one): "-" for one in _MINUS}
    alike |= (
        {ord(one): "'" for one in _APOSTROPHES} if thousands in _APOSTROPHES or thousands == "'" else {}
    )
    alike |= {ord(one): " " for one in _SPACES} if thousands.strip() != thousands else {}

    def plain(text: str) -> str:
        text = text.strip()
        if unit:
            text = text.removesuffix(unit).removeprefix(unit).strip()
        text = text.translate(alike)
        if decimal == EITHER:
            return _either(text)
        if thousands and (found := grouped.match(text)):
            text = re.sub("[^0-9+-]", "", found[1]) + text[found.end() :]
        if decimal != ".":
            text = "?" if "." in text else text.replace(decimal, ".", 1)
        return text

    return plain


def _grouped(mark: str) -> re.Pattern[str]:
    """Digits with a mark between thousands."""
    plain = "'" if mark in _APOSTROPHES and mark else mark
    return re.compile(rf"([+-]?[0-9]{{1,3}}(?:{re.escape(plain)}[0-9]{{3}})+)(?![0-9])")


def _either(text: str) -> str:
    """A number whose decimal mark is a point or a comma.  1,234 may be either of two numbers, and is none."""
    marks = [one for one in text if one in EITHER]
    if len(set(marks)) == 2:  # the last one is the decimal mark
        whole, _, rest = text.rpartition(marks[-1])
        found = _grouped(marks[0]).fullmatch(whole)
        return f"{found[1].replace(marks[0], '')}.{rest}" if found else "?"
    return "?" if _DOUBTFUL.fullmatch(text) else text.replace(",", ".", 1)


def _real(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def _whole(text: str) -> float:
    """Beyond what a float has exactly, it is beyond every domain, too."""
    if _WHOLE.fullmatch(text):
        whole = int(text)
        return float(whole) if abs(whole) <= _EXACT else math.copysign(math.inf, whole)
    return _real(text)
