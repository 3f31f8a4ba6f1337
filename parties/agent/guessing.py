"""What the texts of a column look like: a kind, and how it is written, by rules of which all words are ours.

Whatever is said about a column here is one of the words below, or a count: never a text that stands in it.

Checked in tests/unit/parties/agent/test_sketch.py and tests/fault/test_unique_markers.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parties.agent.cells import TRUTHS, is_number, number_writer, says_nothing
from parties.agent.reading import EITHER, EXCEL, Reading
from parties.agent.within_domain import day_of
from parties.agent.words import CURRENCIES, FALSE_WORDS, TOKENS, TRUE_WORDS, UNITS

DATES = (
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

    kind: str  # bit, integer, real, date, category or text
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


def guessed(texts: Sequence[str], weights: Weights) -> Guess:
    """What a column of these texts looks like, each in so many cells; texts that say nothing are left out."""
    said = [
        (text, weight)
        for text, weight in zip(texts, weights.tolist(), strict=True)
        if text.strip() and not says_nothing(text) and not is_token(text)
    ]
    if not said:
        return Guess("text", 0)
    for attempt in (_as_bit, _as_date, _as_number):
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
    first, second = (re.sub("[dmy]", "x", (way or _ISO).lower()) for way in (one, other))
    return first == second


def _as_number(texts: Sequence[str], weights: Sequence[int]) -> Guess | None:
    unit, best, most = _unit_of(texts, weights), None, 0
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


def _unit_of(texts: Sequence[str], weights: Sequence[int]) -> str:
    """The unit of ours that most cells have; "" if there is none."""
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
    unit, most = max(counts.items(), key=lambda one: one[1])
    return unit if most else ""
