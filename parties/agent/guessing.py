"""What the texts of a column look like: a kind, and how it is written, by rules of which all words are ours.

Whatever is said about a column here is one of the words below, or a count: never a text that stands in it.

Checked in tests/unit/parties/agent/test_sketch.py and tests/fault/test_unique_markers.py.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parties.agent.cells import TRUTHS, is_number, number_writer, says_nothing
from parties.agent.reading import EITHER, EXCEL, HOUR, Dates, Reading
from parties.agent.within_domain import day_of, hour_of
from parties.agent.words import CURRENCIES, FALSE_WORDS, FAMILIES, TOKENS, TRUE_WORDS, UNITS

_DATES = (
    *(
        None,
        "%d/%m/%Y",
        "%d.%m.%Y",
        "%d-%m-%Y",
        "%m/%d/%Y",
        "%m-%d-%Y",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d/%m/%y",
        "%d.%m.%y",
    ),
    *("%m/%d/%y", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%d-%m-%Y %H:%M", "%Y/%m/%d %H:%M"),
    *(
        "%d/%m/%Y %H:%M:%S",
        "%d.%m.%Y %H:%M:%S",
        "%m/%d/%Y %H:%M:%S",
        "%m/%d/%Y %I:%M %p",
        "%Y/%m/%d %H:%M:%S",
    ),
    *("%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d. %m. %Y"),
)
_ISO = "%Y-%m-%d"
_DAYS = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%Y", "%m-%d-%Y", "%Y/%m/%d", _ISO)
_SHORT_DAYS = ("%d/%m/%y", "%d.%m.%y", "%m/%d/%y")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")
# Ways of writing a day; of those in which a text may be read, the first.
DATES = tuple(
    dict.fromkeys(
        (
            *_DATES,
            *(f"{day} {clock}" for day in (*_DAYS, *_SHORT_DAYS) for clock in _CLOCKS),
        )
    )
)
HOURS = (None, "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%H.%M")
MARKS = (
    *((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'")),
    (EITHER, ""),
)
EXCEL_DAYS = (20_000, 80_000)  # from 1954 to 2119
_FIRST = 32  # texts, of which one has to be a date for all of them to be looked at
_WAYS = 3  # of writing dates in one column
_ENOUGH = 0.9  # of the cells that say something, for a kind to be proposed
_DIGITS = r"[0-9][0-9.,'\u2019 \u00a0\u2009\u202f]*?"
_UNIT = re.compile(
    rf"(?P<before>[^0-9+\-\u2212]{{0,8}}?)(?P<space>\s*)[+\-\u2212]?{_DIGITS}\s*(?P<after>[^\d.,\s].{{0,7}})?"
)

Weights = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column looks like, and how many cells do."""

    kind: str  # bit, integer, real, date, hour, category or text
    fitting: int  # cells that fit
    keys: dict[str, object] = field(default_factory=dict)  # as the schema has them


def tokens_in(texts: Sequence[str], weights: Weights) -> dict[str, int]:
    """Which of the texts that usually say nothing there are, and in how many cells."""
    found: dict[str, int] = {}
    for text, weight in zip(texts, weights.tolist(), strict=True):
        word = text.strip().casefold()
        if is_token(word):
            found[word] = found.get(word, 0) + weight
    return found


def is_token(text: str) -> bool:
    """Whether a text usually says nothing, however it is spaced: k.A. and k. A. are one."""
    word = text.strip().casefold()
    return word.replace(" ", "_") in TOKENS or word.replace(". ", ".") in TOKENS


def guessed(texts: Sequence[str], weights: Weights, *, of_days: bool = False) -> Guess:
    """What a column of these texts looks like, each in so many cells; texts that say nothing are left out."""
    said = [
        (text, weight)
        for text, weight in zip(texts, weights.tolist(), strict=True)
        if text.strip() and not says_nothing(text) and not is_token(text)
    ]
    if not said:
        return Guess("text", 0)
    attempts: list[Callable[[Sequence[str], Sequence[int]], Guess | None]]
    attempts = [_as_bit, _as_date, _as_hour, _as_number, *([_as_days_or_serials] if of_days else [])]
    for attempt in attempts:
        found = attempt([text for text, _ in said], [weight for _, weight in said])
        if found is not None:
            return found
    cells = sum(weight for _, weight in said)
    few = len(said) <= max(12, min(1000, cells // 20))
    return Guess("category" if few else "text", cells)


def _share(texts: Sequence[str], weights: Sequence[int], fits: Callable[[str], bool]) -> tuple[float, int]:
    fitting = sum(weight for text, weight in zip(texts, weights, strict=True) if fits(text))
    return fitting / sum(weights), fitting


def _as_bit(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    words = {text.strip().casefold() for text in texts}
    known = {*TRUTHS, *TRUE_WORDS, *FALSE_WORDS}
    share, fitting = _share(texts, weights, lambda text: text.strip().casefold() in known)
    trues = [word for word in TRUE_WORDS if word in words]
    falses = [word for word in FALSE_WORDS if word in words]
    if share < _ENOUGH or len(words & known) > 8 or words <= {"1"}:
        return None
    keys: dict[str, object] = {
        **({"true": trues} if trues else {}),
        **({"false": falses} if falses else {}),
    }
    return Guess("bit", fitting, keys)


def is_day(text: str) -> bool:
    """Whether a text is a day, as tables have them; a number alone is none."""
    return any(character.isdigit() for character in text) and any(
        day_of(text, way) is not None for way in DATES if way != "%Y%m%d"
    )


def _is_hour(text: str, dates: Dates) -> bool:
    return (":" in text or bool(dates.written)) and hour_of(text.strip(), dates) is not None


def _as_hour(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    """Times of a day alone."""
    for way in HOURS:
        fits = functools.partial(_is_hour, dates=Dates(HOUR, () if way is None else (way,)))
        if any(map(fits, texts[:_FIRST])):
            share, fitting = _share(texts, weights, fits)
            if share >= _ENOUGH:
                return Guess(HOUR, fitting, {} if way is None else {"date": way})
    return None


def _as_days_or_serials(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    """Days, of which some are numbered as spreadsheets number them."""
    low, high = EXCEL_DAYS
    numbers = [place for place, text in enumerate(texts) if is_number(text) and low <= float(text) <= high]
    others = sorted(set(range(len(texts))) - set(numbers))
    found = (
        _as_date([texts[at] for at in others], [weights[at] for at in others])
        if others and numbers
        else None
    )
    if found is None:
        return None
    ways = found.keys.get("date", _ISO)
    several = [*ways] if isinstance(ways, list) else [ways]
    fitting = found.fitting + sum(weights[at] for at in numbers)
    return Guess("date", fitting, {"date": [*several, EXCEL]})


def _as_date(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    """Written in one way, or in up to three that cannot be mistaken for each other."""
    rest, chosen, fitting = list(zip(texts, weights, strict=True)), list[str | None](), 0
    everything = sum(weights)
    while len(chosen) < _WAYS and fitting < everything:
        ways = [way for way in DATES if not any(_mistakable(way, one) for one in chosen)]
        found = {way: _fitting(rest, way) for way in ways}
        best = max(ways, key=lambda way: found[way])
        if found[best] * 20 < everything:
            break
        chosen.append(best)
        fitting += found[best]
        rest = [(text, weight) for text, weight in rest if day_of(text.strip(), best) is None]
    if fitting < _ENOUGH * everything or not _dated(texts):
        return None
    if chosen == [None]:
        return Guess("date", fitting, {})
    written = [way or _ISO for way in chosen]
    return Guess("date", fitting, {"date": written[0] if len(written) == 1 else written})


def _fitting(rest: Sequence[tuple[str, int]], way: str | None) -> int:
    """In how many cells; nothing where the first texts are none."""
    if not any(day_of(text.strip(), way) for text, _ in rest[:_FIRST]):
        return 0
    return sum(weight for text, weight in rest if day_of(text.strip(), way) is not None)


def _dated(texts: Sequence[str]) -> bool:
    """Whether a number of eight digits, which may be a day, is all that speaks for days: then they are of our times."""
    return all(text.strip()[:2] in ("18", "19", "20") for text in texts if text.strip().isdigit())


def _mistakable(one: str | None, other: str | None) -> bool:
    """Whether a day may be read in both ways, as another day."""
    first, second = (re.sub("[dmy]", "x", (way or _ISO).replace("%Y", "yyyy")) for way in (one, other))
    return first == second


def _as_number(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    counts = _units_in(texts, weights)
    several = _units_of(counts)
    if several and (found := _in_units(texts, weights, several)) is not None:
        return found
    return _in_one_unit(
        texts, weights, max(counts, key=lambda one: counts[one]) if any(counts.values()) else ""
    )


def _in_units(texts: Sequence[str], weights: Sequence[int], units: dict[str, float]) -> Guess | None:
    """Numbers with one of several units, and some perhaps with none, which their owner has to explain."""
    ending = sorted(units, key=len, reverse=True)

    def bare(text: str) -> str:
        own = next((unit for unit in ending if text.strip().endswith(unit)), "")
        return text.strip().removesuffix(own)

    found = _in_one_unit([bare(text) for text in texts], weights, "")
    return None if found is None else Guess("real", found.fitting, {"unit": units, **found.keys})


def _units_of(counts: dict[str, int]) -> dict[str, float]:
    """Two or more units of one quantity, and what each counts in terms of the first; which most cells have is not told."""
    for family in FAMILIES:
        found = [unit for unit in family if counts.get(unit)]
        if len(found) > 1:
            return {unit: float(f"{family[unit] / family[found[0]]:.10g}") for unit in found}
    return {}


def _in_one_unit(texts: Sequence[str], weights: Sequence[int], unit: str) -> Guess | None:
    best, most = None, 0
    for decimal, thousands in MARKS:
        plain = number_writer(Reading("", unit=unit, decimal=decimal, thousands=thousands))
        share, fitting = _share(texts, weights, lambda text, plain=plain: is_number(plain(text)))  # type: ignore[misc]
        if share < _ENOUGH or fitting <= most:
            continue
        numbers = [float(plain(text)) for text in texts if is_number(plain(text))]
        whole = all(math.isfinite(number) and number.is_integer() for number in numbers)
        keys: dict[str, object] = {"unit": unit} if unit else {}
        keys |= {"decimal": decimal} if decimal != "." else {}
        keys |= {"thousands": thousands} if thousands else {}
        best, most = Guess("integer" if whole else "real", fitting, keys), fitting
    return best


def as_serial_days(texts: Sequence[str], guess: Guess) -> Guess:
    """Whole numbers that may be a spreadsheet's days, in a column whose name speaks of days."""
    low, high = EXCEL_DAYS
    numbers = [float(text) for text in texts if is_number(text)]
    if (
        guess.kind != "integer"
        or guess.keys
        or not numbers
        or not all(low <= one <= high for one in numbers)
    ):
        return guess
    return Guess("date", guess.fitting, {"date": EXCEL})


def _units_in(texts: Sequence[str], weights: Sequence[int]) -> dict[str, int]:
    """In how many cells each of our units stands."""
    counts = dict.fromkeys(UNITS, 0)
    for text, weight in zip(texts, weights, strict=True):
        found = _UNIT.fullmatch(text.strip())
        if found is None:
            continue
        before, after = found["before"].strip(), (found["after"] or "").strip()
        if before in counts and (before in CURRENCIES or found["space"]):  # d123 is a name
            counts[before] += weight
        if after in counts:
            counts[after] += weight
    return counts
