"""Exact sampling of an integer law by a lazily drawn uniform real (inverse transform; Devroye 1986, section
II.2).

Definition.  Let F be the cumulative distribution over support points 0, 1, 2, ...  For a uniform real u in
[0, 1), the number of points j with F(j) <= u has the law of F.  F is known by enclosures: integers around
F(j) * 2**bits.

A draw reveals u a few bits at a time, and stops as soon as the outcome is certain:

1. 16 bits index a table of 65,536 cells.  A cell is *decided* if no F(j) can lie inside it, else
   *ambiguous*.
2. An ambiguous draw takes 48 more bits and is searched among the 64-bit enclosures.
3. What is then still undecided (u within 2**-64 of some F(j), or beyond the tabulated tail) goes on in
   Python integers, with more bits, tighter enclosures and more support points, until it is certain.

Claim.  The law is exactly F: nothing is rounded, no tail is cut off.
**Not constant work**: for simulators and servers, not for the report of one person.
Checked over all 65,536 first words, and on forced ties and tails, in
tests/unit/randomness/test_inverse_cdf.py.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import (
    WORD_BITS,
    WORD_RANGE,
    IntegerLaw,
    Integers,
    RandomSource,
    require_count,
)

Enclosures = tuple[list[int], list[int]]
Enclose = Callable[[int, int], Enclosures]
ValueOf = Callable[[Integers], Integers]

_CELLS = 1 << 16
_BLOCK = 1 << 15
_FIRST_SIZE = 64
_NEGLIGIBLE_TAIL = 1 << 24  # Over 2**64: the tail that is left to the Python integers.


def same(index: Integers) -> Integers:
    """The value of a support point that is its own index."""
    return index


def zigzag(index: Integers) -> Integers:
    """0, 1, 2, 3, 4, ... as 0, 1, -1, 2, -2, ...: all integers, by growing size."""
    magnitude = (index + 1) >> 1
    return np.where(index & 1, magnitude, -magnitude)


def scaled(low: int, high: int, shift: int) -> tuple[int, int]:
    """The enclosure with `shift` bits fewer, rounded outward."""
    return low >> shift, -(-high >> shift)


def in_blocks(draw: Callable[[int], Integers], count: int) -> Integers:
    """`count` draws, made a block at a time: the temporaries of a block stay in the cache."""
    drawn = np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = draw(len(block))
    return drawn


class LazyInverseCdf:
    """Draws from the law whose cumulative distribution `enclose(bits, size)` encloses at points 0 .. size -
    1.

    Both lists that `enclose` returns must be non-decreasing.  `support` is the number of points, None if
    infinite; the last point of a finite support must be enclosed as exactly 1.
    """

    def __init__(self, enclose: Enclose, support: int | None = None, value_of: ValueOf = same) -> None:
        self._enclose = enclose
        self._value_of = value_of
        self._size, (lower, upper) = self._tabulated(support)
        # A bound of 2**64 lies above every word, so it never counts; and no word holds it.
        self._lower = np.array([bound for bound in lower if bound < WORD_RANGE], np.uint64)
        self._upper = np.array([bound for bound in upper if bound < WORD_RANGE], np.uint64)
        self._values = value_of(np.arange(self._size + 1))
        self._table, self._ambiguous = self._cells()

    def _tabulated(self, support: int | None) -> tuple[int, Enclosures]:
        size = support or _FIRST_SIZE
        enclosures = self._enclose(WORD_BITS, size)
        while support is None and WORD_RANGE - enclosures[0][-1] > _NEGLIGIBLE_TAIL:
            size *= 2
            enclosures = self._enclose(WORD_BITS, size)
        return size, enclosures

    def _cells(self) -> tuple[NDArray[np.integer], int]:
        first_word = np.arange(_CELLS, dtype=np.uint64) << np.uint64(WORD_BITS - 16)
        last_word = first_word + np.uint64((1 << (WORD_BITS - 16)) - 1)
        surely_passed = np.searchsorted(self._upper, first_word, side="right")
        maybe_passed = np.searchsorted(self._lower, last_word, side="right")
        decided = (surely_passed == maybe_passed) & (surely_passed < self._size)
        values = self._values[surely_passed]
        largest = int(np.abs(values[decided]).max(initial=0))
        # The smallest integer type that holds the values: the table should stay in the cache.
        kind = next(k for k in (np.int8, np.int16, np.int32, np.int64) if largest < np.iinfo(k).max)
        ambiguous = int(np.iinfo(kind).min)
        return np.where(decided, values, ambiguous).astype(kind), ambiguous

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        require_count(count)
        drawn = np.empty(count, np.int64)
        self.fill(source, drawn)
        return drawn

    def fill(self, source: RandomSource, drawn: NDArray[np.integer]) -> None:
        """Fill the array, of any integer type that holds the values, with independent draws."""
        for start in range(0, len(drawn), _BLOCK):
            self._sample_block(source, drawn[start : start + _BLOCK])

    def _sample_block(self, source: RandomSource, drawn: NDArray[np.integer]) -> None:
        heads = source.raw(np.uint16, len(drawn))
        cells = self._table.take(heads)
        drawn[:] = cells
        ambiguous = np.flatnonzero(cells == self._ambiguous)
        if ambiguous.size:
            drawn[ambiguous] = self._refined(source, heads[ambiguous])

    def _refined(self, source: RandomSource, heads: NDArray[np.uint16]) -> Integers:
        tails = source.raw(np.uint64, len(heads)) >> np.uint64(16)
        words = heads.astype(np.uint64) << np.uint64(WORD_BITS - 16) | tails
        surely_passed = np.searchsorted(self._upper, words, side="right")
        maybe_passed = np.searchsorted(self._lower, words, side="right")
        drawn = self._values[surely_passed]
        for position in np.flatnonzero((surely_passed != maybe_passed) | (surely_passed >= self._size)):
            drawn[position] = self._resolved(source, int(words[position]))
        return drawn

    def _resolved(self, source: RandomSource, word: int) -> int:
        bits, size = WORD_BITS, self._size
        while True:
            lower, upper = self._enclose(bits, size)
            surely_passed, maybe_passed = bisect_right(upper, word), bisect_right(lower, word)
            if surely_passed == size:
                size *= 2
            elif surely_passed == maybe_passed:
                return int(self._value_of(np.array([surely_passed]))[0])
            else:
                word = word << WORD_BITS | int(source.raw(np.uint64, 1)[0])
                bits += WORD_BITS

    def decided_cells(self) -> NDArray[np.bool_]:
        """Which of the 65,536 first words settle the draw: what the tests check cell by cell."""
        decided: NDArray[np.bool_] = self._table != self._ambiguous
        return decided


def integer_law_cdf(law: IntegerLaw) -> LazyInverseCdf:
    """The sampler of a finite law with integer weights."""

    def enclose(bits: int, size: int) -> Enclosures:
        scaled_up = [weight << bits for weight in law.cumulative[:size]]
        return [c // law.total for c in scaled_up], [-(-c // law.total) for c in scaled_up]

    return LazyInverseCdf(enclose, support=len(law.weights))


def eight_bits_cdf(threshold: int) -> LazyInverseCdf:
    """The sampler of bytes whose eight bits are independent, each one with probability threshold / 2**64."""
    ones = [byte.bit_count() for byte in range(256)]
    weights = [threshold**count * (WORD_RANGE - threshold) ** (8 - count) for count in ones]
    cumulative = list(accumulate(weights))  # over 2**512

    def enclose(bits: int, size: int) -> Enclosures:
        exact = [mass << bits for mass in cumulative[:size]]
        return [mass >> 512 for mass in exact], [-(-mass >> 512) for mass in exact]

    return LazyInverseCdf(enclose, support=256)
