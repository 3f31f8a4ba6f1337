"""Every coin of several answers at once: coins of one place in one keystream are one draw, all others are independent.

`LanedSource` (lanes.py) turns a key, the number of a call and a place in that call's keystream into a word.  Here the word
is not computed but followed through all its values, and looked up again wherever the same place is drawn from again.  So
the joint law of several answers of one party is exact, with the keys that the party really derived: answers that share a
key are correlated as they are in production, and answers that share none are independent.

- A word is known as an interval.  A Bernoulli draw or a draw from a law cuts it, and a later draw from the same place, with
  another threshold, cuts what is left: correlated draws are followed exactly, whatever the thresholds.
- `below` is uniform on what is accepted.  A place that is drawn from in two ways that cannot be followed together (two
  bounds, or words of two widths) is refused, not guessed at.
- A 64-bit word that is asked for as such has two values, `WORDS`, each of probability 1/2.  That is exact for the choice
  of one row of two (`Ownership.sampled`), and for a public seed it is the law given that the seed is one of the two
  (drawing.py says why that is enough).

Checked in tests/unit/auditing/test_coin_table.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.party import epoch, party
from localdp.randomizers import memoised
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.source import (
    WORD_RANGE,
    Bits,
    IntegerLaw,
    Integers,
    RandomSource,
    RawWord,
    Width,
    Words,
)
from localdp.randomness.stream import checked_thresholds

MOST_PATHS = 1 << 12
WORDS = (0, 1 << 63)
_DRAWING = (party, epoch, memoised)  # the modules that make a party's sources
_WORD_BYTES = 8

Coin = tuple[bytes, int, int]  # the key, the number of the call, the place in its keystream
Lanes = range | Integers
Cuts = range | tuple[int, ...]
T = TypeVar("T")


@lru_cache(maxsize=1 << 12)
def _cut(cuts: Cuts, size: int, low: int, high: int) -> tuple[IntegerLaw, int]:
    """The law of the cell that a coin falls into, uniform on low .. high - 1, and how many cells it may fall into."""
    weights = tuple(max(0, min(high, b) - max(low, a)) for a, b in pairwise((0, *cuts, size)))
    return IntegerLaw(weights), sum(weight > 0 for weight in weights)


class CoinTable:
    """What is known of each coin on one path: which of how many values it still may have.

    It is called as `LanedSource` is, and stands in for it.
    """

    def __init__(self, source: RandomSource, touched: set[Coin]) -> None:
        self._source, self._touched = source, touched
        self._known: dict[Coin, tuple[int, int, int]] = {}
        self._widths: dict[tuple[bytes, int], int] = {}
        self.paths = 1  # as many as all cells of this path's draws make

    def __call__(self, key: bytes, lanes: Lanes) -> TabledSource:
        """A source of these lanes."""
        return TabledSource(self, key, lanes)

    def of_choices(self, key: bytes, owners: Lanes, choices: Integers, number: int) -> TabledSource:
        """A source of the lanes owner * number + choice."""
        return TabledSource(self, key, np.asarray(owners, np.int64) * number + choices * (number > 1))

    def width(self, key: bytes, call: int, size: int) -> None:
        """Note how wide the words of a call are; two widths would overlap in ways that are not followed."""
        if self._widths.setdefault((key, call), size) != size:
            raise InvalidParameter("one keystream is read in words of two widths")

    def cell(self, coin: Coin, size: int, cuts: Cuts) -> int:
        """Into which cell, cut at these places, a coin falls that is uniform on 0 .. size - 1."""
        self._touched.add(coin)
        before, low, high = self._known.get(coin, (size, 0, size))
        if before != size:
            raise InvalidParameter("one coin is drawn in two ways that cannot be followed together")
        law, cells = _cut(cuts, size, low, high)
        self.paths *= cells
        if self.paths > MOST_PATHS:
            raise InvalidParameter(f"there are more than {MOST_PATHS} paths of coins to follow")
        chosen = int(self._source.categorical(law, 1)[0]) if cells > 1 else law.weights.index(high - low)
        start = 0 if chosen == 0 else cuts[chosen - 1]
        end = size if chosen == len(cuts) else cuts[chosen]
        self._known[coin] = size, max(low, start), min(high, end)
        return chosen


class TabledSource:
    """A `RandomSource` with the places of `LanedSource`, whose coins stand in a table."""

    def __init__(self, table: CoinTable, key: bytes, lanes: Lanes) -> None:
        self._table, self._key, self._lanes, self._calls = table, key, lanes, 0

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """Bytes, or one of `WORDS`; words of other widths are refused."""
        kind = np.dtype(dtype)
        if kind == np.uint8:
            return np.array(self._cells(count, 256, range(1, 256), 1), np.uint8)
        if kind != np.uint64:
            raise InvalidParameter("only bytes and whole words are followed")
        cells = self._cells(count, len(WORDS), range(1, len(WORDS)))
        return np.array([WORDS[cell] for cell in cells], np.uint64)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        checked = checked_thresholds(threshold, count)
        cuts = [checked] * count if isinstance(checked, int) else [int(one) for one in checked]
        places = self._places(count, _WORD_BYTES)
        drawn = [
            self._table.cell(coin, WORD_RANGE, (cut,)) == 0 for coin, cut in zip(places, cuts, strict=True)
        ]
        return np.array(drawn, np.bool_)

    def below(self, bound: int, count: int) -> Words:
        if bound > MOST_PATHS:
            raise InvalidParameter(f"more than {MOST_PATHS} outcomes cannot be followed")
        return np.array(self._cells(count, bound, range(1, bound)), np.uint64)

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        return np.array(self._cells(count, law.total, law.cumulative[:-1]), np.int64)

    def _cells(self, count: int, size: int, cuts: Cuts, width: int = _WORD_BYTES) -> list[int]:
        return [self._table.cell(coin, size, cuts) for coin in self._places(count, width)]

    def _places(self, count: int, width: int) -> Iterator[Coin]:
        """The places that the next call draws from, lane by lane."""
        call, each = self._calls, count // max(1, len(self._lanes))
        if each * len(self._lanes) != count:
            raise InvalidParameter("the number of draws must be a multiple of the number of lanes")
        self._calls += 1
        self._table.width(self._key, call, width)
        for lane in self._lanes:
            yield from ((self._key, call, int(lane) * each + place) for place in range(each))


@contextmanager
def coins_from(table: CoinTable) -> Iterator[None]:
    """Parties draw from this table meanwhile: for audits, in a process that answers nobody."""
    real = [(vars(module), vars(module)["LanedSource"]) for module in _DRAWING]
    try:
        for names, _ in real:
            names["LanedSource"] = table
        yield
    finally:
        for names, made in real:
            names["LanedSource"] = made


def joint_law(answers: Sequence[Callable[[], T]]) -> tuple[dict[tuple[T, ...], Fraction], frozenset[Coin]]:
    """The exact law of these answers together, and all coins that any path of them touches."""
    touched: set[Coin] = set()

    def draw(source: RandomSource) -> tuple[T, ...]:
        with coins_from(CoinTable(source, touched)):
            return tuple(answer() for answer in answers)

    return enumerate_law(draw), frozenset(touched)
