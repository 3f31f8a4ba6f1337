"""Fields of a few bits apart, many at a time: the fast way back from a run of bits to integers of 8, 16 or 32 bits.

Eight values of b bits fill b bytes.  As many of them as there are lanes of their integer type in 64 bits (eight, four
or two) are read as one word, and spread over its lanes in a few steps: each halves the lanes, and moves the upper half of
the fields of a lane down and the lower half up.  The first value ends in the lowest lane, so the words are the values.

It works where a word holds all bits of its values, wherever in a byte they begin: for every width below 32 but 31.
Checked, for all of them, in tests/unit/randomizers/parts/test_packing.py.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import Words

_GROUP = 8  # values that fill whole bytes
_WORD_BITS = 64
_WORD_BYTES = 8
_BLOCK = 1 << 15  # groups at a time: the temporaries of a block stay in the cache

Step = tuple[np.dtype[np.unsignedinteger], np.unsignedinteger, np.unsignedinteger, np.unsignedinteger]


def can_spread(bits: int) -> bool:
    """Whether the values of this width can be read a word at a time."""
    return (
        1 < bits < 32
        and bits not in (8, 16)
        and all(s + _taken(bits) <= _WORD_BITS for _, s in _starts(bits))
    )


def spread_fields(data: NDArray[np.uint8], count: int, bits: int) -> NDArray[np.unsignedinteger]:
    """The values of a run of bits; bits after them are ignored."""
    groups = -(-count // _GROUP)
    words = np.empty((groups, _GROUP // _lanes(bits)), "<u8")
    # The words of later groups might reach beyond the run.
    whole = max(0, (len(data) - 2 * _WORD_BYTES) // bits)
    for start in range(0, whole, _BLOCK):
        _spread_groups(data, start * bits, words[start : min(start + _BLOCK, whole)], bits)
    rest = np.zeros((groups - whole + 1) * bits + _WORD_BYTES, np.uint8)
    rest[: len(data) - whole * bits] = data[whole * bits :]
    _spread_groups(rest, 0, words[whole:], bits)
    values = words.reshape(-1).view(f"<u{_WORD_BYTES // _lanes(bits)}")[:count]
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _spread_groups(data: NDArray[np.uint8], first: int, words: Words, bits: int) -> None:
    """The words of the groups that begin at a byte."""
    for place, (byte, skipped) in enumerate(_starts(bits)):
        read: Words = np.ndarray((len(words),), ">u8", data, first + byte, (bits,))
        words[:, place] = _spread(read.astype(np.uint64), skipped, bits)


def _lanes(bits: int) -> int:
    """How many values become one word."""
    return 8 if bits < 8 else 4 if bits < 16 else 2


def _taken(bits: int) -> int:
    """How many bits these values take in the run."""
    return bits * _lanes(bits)


def _starts(bits: int) -> Iterator[tuple[int, int]]:
    """The byte of its group at which each word begins, and how many bits of that byte belong to the word before."""
    for first in range(0, _GROUP, _lanes(bits)):
        yield divmod(first * bits, 8)


def _spread(words: Words, skipped: int, bits: int) -> Words:
    """Each word with its fields in lanes of their own, instead of side by side after `skipped` foreign bits."""
    np.left_shift(words, np.uint64(skipped), out=words)
    np.right_shift(words, np.uint64(_WORD_BITS - _taken(bits)), out=words)
    lower = np.empty_like(words)
    for lane, low, up, down in _steps(bits):
        fields, below = words.view(lane), lower.view(lane)  # above its fields a lane has zeros
        np.bitwise_and(fields, low, out=below)
        np.left_shift(below, up, out=below)
        np.right_shift(fields, down, out=fields)
        np.bitwise_or(fields, below, out=fields)
    return words


@lru_cache(maxsize=32)
def _steps(bits: int) -> list[Step]:
    """For each step: the lanes that are halved, a mask of their lower fields, and how far fields move up and down."""
    steps, lane, fields = list[Step](), _WORD_BITS, _lanes(bits)
    while fields > 1:
        half = fields // 2 * bits
        kind = np.dtype(f"u{lane // 8}")
        steps.append((kind, kind.type((1 << half) - 1), kind.type(lane // 2), kind.type(half)))
        lane, fields = lane // 2, fields // 2
    return steps
