"""How an audit makes a randomizer draw: one input many times, through the wire form, and with public seeds held fixed.

Some randomizers draw a 64-bit seed without regard to the input, and send it along.  Such a seed cannot be enumerated, and
need not be: P[(s, w) | x] = P[s] P[w | s, x], so the largest ratio is the largest over all seeds of the ratio given the
seed.  Whether a word *is* public is tested, not believed: it must stand in the packed report.

How many paths of coins there are is counted without following them.  It is exact for a randomizer whose draws do not
depend on the outcomes of earlier ones, as is required of every randomizer; for another it is an estimate.
Checked in tests/unit/auditing/test_drawing.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import LocalRandomizer, Reports, Values
from localdp.randomizers.input_kinds import Input
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

MOST_INPUTS = 64  # so many inputs are tried in full
PUBLIC_SEEDS = (0, 1, 2, 3)
_MARKER = 0x1D2C3B4A59687786  # a word that a report does not hold by chance
_LARGEST_LAW_BITS = 18

Law = dict[Hashable, Fraction]


class CountingSource:
    """Gives the first possible outcome of every draw, and counts the paths that all outcomes would make."""

    def __init__(self) -> None:
        self.paths = 1
        self.words = False  # whether wide words were drawn, which are not counted

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """Bytes are counted; of wider words, the marker is given."""
        kind = np.dtype(dtype)
        if kind == np.uint8:
            self.paths *= 256**count
            return np.zeros(count, np.uint8)
        self.words = True
        return np.full(count, _MARKER % (1 << 8 * kind.itemsize), kind)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        """Two outcomes, unless one of them is impossible."""
        if isinstance(threshold, int):
            self.paths <<= count if 0 < threshold < WORD_RANGE else 0
            return np.full(count, threshold == WORD_RANGE, np.bool_)
        self.paths <<= int(np.count_nonzero(threshold))
        return np.zeros(count, np.bool_)

    def below(self, bound: int, count: int) -> Words:
        """As many outcomes as the bound."""
        self.paths *= bound**count
        return np.zeros(count, np.uint64)

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        """As many outcomes as positive weights."""
        self.paths *= sum(weight > 0 for weight in law.weights) ** count
        first = next(place for place, weight in enumerate(law.weights) if weight)
        return np.full(count, first, np.int64)


class FixedSeedSource:
    """Another source, whose 64-bit words are all the same public seed."""

    def __init__(self, source: RandomSource, seed: int) -> None:
        self._source, self._seed = source, seed
        self.bernoulli, self.below, self.categorical = source.bernoulli, source.below, source.categorical

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        """The seed for wide words; narrow ones are drawn."""
        if np.dtype(dtype) == np.uint64:
            return np.full(count, self._seed, dtype)
        return self._source.raw(dtype, count)


def values_of(randomizer: LocalRandomizer, value: Input, count: int = 1) -> Values:
    """One input, for so many people; the number of a vector becomes the vector, if the randomizer numbers them."""
    entry = randomizer.vector(value) if isinstance(value, int) and hasattr(randomizer, "vector") else value
    return np.repeat(np.array([entry], np.int64), count, axis=0)


def packed_report(
    randomizer: LocalRandomizer, value: Input, source: RandomSource, seed: int | None = None
) -> bytes:
    """One report about the input, as it would travel."""
    drawn_from = source if seed is None else FixedSeedSource(source, seed)
    packed: bytes = randomizer.pack(randomizer.randomize(values_of(randomizer, value), drawn_from))
    return packed


def received_reports(
    randomizer: LocalRandomizer, value: Input, count: int, source: RandomSource, seed: int | None = None
) -> Reports:
    """So many independent reports about the input, as the aggregator has them after unpacking."""
    drawn_from = source if seed is None else FixedSeedSource(source, seed)
    sent = randomizer.randomize(values_of(randomizer, value, count), drawn_from)
    received: Reports = randomizer.unpack(randomizer.pack(sent), count)
    return received


def counted_paths(randomizer: LocalRandomizer, value: Input) -> tuple[int, bool]:
    """How many paths one report about the input has, and whether it carries a public seed (held fixed if so)."""
    source = CountingSource()
    packed = packed_report(randomizer, value, source)
    if source.words and _MARKER.to_bytes(8, "big") not in packed:
        raise InvalidParameter("words that are not in the report cannot be enumerated")
    return source.paths, source.words


def report_key(report: Reports | np.generic) -> Hashable:
    """One report as the laws name it: an integer, or a tuple of integers."""
    if isinstance(report, np.void):
        parts = [np.ravel(report[name]) for name in report.dtype.names or ()]
        return tuple(int(part) for part in np.concatenate(parts))
    array = np.asarray(report)
    return int(array) if array.ndim == 0 else tuple(int(part) for part in array.ravel())


def stated_law(randomizer: LocalRandomizer, value: Input, seed: int | None) -> Law | None:
    """The law that the randomizer states for the report, given the seed if there is one; None if it states none."""
    public_bits = 0 if seed is None else 64
    if randomizer.report_bits - public_bits > _LARGEST_LAW_BITS:
        return None
    try:
        law = _law(randomizer, value, seed)
    except InvalidParameter:
        return None
    if law is None:
        return None
    return {key if seed is None else (seed, key): mass for key, mass in law.items() if mass}


def _law(randomizer: Any, value: Input, seed: int | None) -> Law | None:
    law: Law | None = None
    if seed is None:
        law = randomizer.law(value) if isinstance(value, int) else None
    elif hasattr(randomizer, "law_given_seed"):
        law = randomizer.law_given_seed(values_of(randomizer, value)[0], seed)
    elif isinstance(value, int):
        law = randomizer.law(value, seed)
    return law


def ends(randomizer: LocalRandomizer) -> tuple[Input, ...]:
    """A few inputs of many: the first two and the last."""
    return tuple(dict.fromkeys((0, 1, randomizer.inputs - 1)))
