"""The primitives of `RandomSource` over any stream of uniform bytes: what keystreams and scripts share.

A subclass says where bytes come from (`_take`); everything that turns bytes into draws is here, once, so
that a test which forces the bytes tests the code that production runs.

- Bernoulli(T / 2**64) is lazy: one byte is compared with the first byte of T, and only a tie (1 in 256)
  takes the remaining 56 bits, as the high bits of one more word.
- `bernoulli_bytes` draws eight such bits at once, from the law of the byte: 16 bits of stream for eight draws.
- `below` folds 32-bit words, or 64-bit words for bounds above 2**32, and rejects (`uniform.py`).
- `categorical` looks up a lazy table (`inverse_cdf.py`); short draws and long laws fold and search instead.

Claim.  Every primitive has exactly the law of its contract if the bytes are uniform and independent.
**Not constant work**: a tie costs time.  That is for simulators and servers; an agent uses `lanes.py`.
Checked in tests/contract/test_random_source.py, and byte by byte in tests/unit/randomness/test_stream.py and
test_bernoulli_bytes.py.
"""

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.inverse_cdf import LazyInverseCdf, eight_bits_cdf, integer_law_cdf
from localdp.randomness.source import (
    WORD_RANGE,
    Bits,
    IntegerLaw,
    Integers,
    RawWord,
    Width,
    Words,
    require_bound,
    require_count,
)
from localdp.randomness.uniform import HALF_WORD_RANGE, fold_half_words, fold_words

_BLOCK = 1 << 16
_WIDE_BLOCK = 1 << 15  # for words: what is freed and asked for again must stay too small to be mapped anew
_FEWEST_DRAWS_FOR_A_TABLE = 1 << 12
_LONGEST_LAW_FOR_A_TABLE = 1 << 12
_RAW_TYPES = frozenset(np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64"))


def raw_dtype(dtype: Width[RawWord]) -> np.dtype[RawWord]:
    """The dtype itself, if it is one that `raw` may be asked for."""
    kind = np.dtype(dtype)
    if kind not in _RAW_TYPES:
        raise InvalidParameter(f"raw words are unsigned, of 8, 16, 32 or 64 bits, not {kind}")
    return kind


def checked_thresholds(threshold: int | Words, count: int) -> int | Words:
    """The threshold as a Python integer, or the thresholds as 64-bit words, one for each draw."""
    if isinstance(threshold, np.ndarray) and threshold.ndim:
        if threshold.dtype != np.uint64 or threshold.shape != (count,):
            raise InvalidParameter("thresholds are 64-bit unsigned words, one for each draw")
        return threshold
    scalar = int(threshold)
    if scalar != threshold or not 0 <= scalar < WORD_RANGE:
        raise InvalidParameter("a threshold is an integer between 0 and 2**64 - 1")
    return scalar


def search_law(law: IntegerLaw, uniform: Words) -> Integers:
    """The index that each uniform integer below law.total stands for."""
    # The last cumulative weight is never reached, and may be 2**64, which no word holds.
    return np.searchsorted(np.array(law.cumulative[:-1], np.uint64), uniform, side="right")


@lru_cache(maxsize=256)
def _table_of(law: IntegerLaw) -> LazyInverseCdf:
    return integer_law_cdf(law)


@lru_cache(maxsize=64)
def _table_of_bytes(threshold: int) -> LazyInverseCdf:
    return eight_bits_cdf(threshold)


class StreamSource(ABC):
    """A `RandomSource` over a stream of uniform bytes."""

    @abstractmethod
    def _take(self, size: int) -> NDArray[np.uint8]:
        """The next `size` bytes of the stream, in an array that nobody else holds."""

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        kind = raw_dtype(dtype)
        require_count(count)
        return self._take(count * kind.itemsize).view(kind)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        require_count(count)
        checked = checked_thresholds(threshold, count)
        drawn = np.empty(count, np.bool_)
        step = _BLOCK if isinstance(checked, int) else _WIDE_BLOCK
        for start in range(0, count, step):
            block = drawn[start : start + step]
            if isinstance(checked, int):
                self._bernoulli_block(checked, block)
            else:
                np.less(self.raw(np.uint64, len(block)), checked[start : start + step], out=block)
        return drawn

    def _bernoulli_block(self, threshold: int, drawn: Bits) -> None:
        first, rest = threshold >> 56, threshold & ((1 << 56) - 1)
        heads = self._take(len(drawn))
        np.less(heads, np.uint8(first), out=drawn)
        if rest:
            ties = np.flatnonzero(heads == np.uint8(first))
            drawn[ties] = (self.raw(np.uint64, len(ties)) >> np.uint64(8)) < np.uint64(rest)

    def bernoulli_bytes(self, threshold: int, count: int) -> NDArray[np.uint8]:
        """Bytes of eight independent bits, each one with probability exactly threshold / 2**64."""
        if count < _FEWEST_DRAWS_FOR_A_TABLE:
            return np.packbits(self.bernoulli(threshold, 8 * count))
        checked_thresholds(threshold, count)
        drawn = np.empty(count, np.uint8)
        _table_of_bytes(int(threshold)).fill(self, drawn)
        return drawn

    def below(self, bound: int, count: int) -> Words:
        require_bound(bound)
        require_count(count)
        drawn = np.empty(count, np.uint64)
        for start in range(0, count, _WIDE_BLOCK):
            self._below_block(bound, drawn[start : start + _WIDE_BLOCK])
        return drawn

    def _below_block(self, bound: int, drawn: Words) -> None:
        rejected = self._fold(bound, drawn)
        while rejected.size:
            redrawn = np.empty(rejected.size, np.uint64)
            again = self._fold(bound, redrawn)
            drawn[rejected] = redrawn
            rejected = rejected[again]

    def _fold(self, bound: int, drawn: Words) -> Integers:
        """Fill the array, and return the positions that are to be drawn again."""
        if bound <= HALF_WORD_RANGE:
            return fold_half_words(self.raw(np.uint32, len(drawn)), bound, drawn)[1]
        drawn[:], rejected = fold_words(self.raw(np.uint64, len(drawn)), bound)
        return rejected

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        if count < _FEWEST_DRAWS_FOR_A_TABLE or len(law.weights) > _LONGEST_LAW_FOR_A_TABLE:
            return search_law(law, self.below(law.total, count))
        return _table_of(law).sample(self, count)
