"""Fingerprints of whole numbers: of their decimal texts, for many numbers at a time and the same work for each.

`universal_hash.fingerprints` hashes one text after the other; the length of a text, and a loop over the distinct ones,
would show in its time.  Here the texts are written with arithmetic on arrays, and one block of BLAKE2b (RFC 7693,
section 3.2) is computed for all of them: a number of at most 16 digits and a sign always fits into one block of 128 bytes.

Claim.  `decimal_fingerprints(numbers)` are the fingerprints of `str(number)`, for |number| < 10**16, and the work depends
on how many there are alone.
Checked against hashlib in tests/unit/randomizers/parts/test_decimal_fingerprints.py, and for time in
tests/unit/queries/test_silence.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import Words

MOST_DIGITS = 16
_AT_A_TIME = 1 << 13  # numbers whose state stays in the cache
_DIGEST_BYTES = 8
_ROUNDS = 12
_INITIAL = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_PARAMETERS = np.uint64(0x01010000 | _DIGEST_BYTES)  # no key, one leaf
_COLUMNS_AND_DIAGONALS = [
    [(row + turn * step) % 4 + 4 * step for step in range(4)] for turn in (0, 1) for row in range(4)
]
_SIGMA = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]


def decimal_fingerprints(numbers: NDArray[np.int64]) -> Words:
    """The 64-bit fingerprint of the decimal text of each number."""
    found = np.empty(len(numbers), np.uint64)
    for start in range(0, len(numbers), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        found[part] = _hashed(*_texts(numbers[part]))
    return found


def _texts(numbers: NDArray[np.int64]) -> tuple[Words, Words]:
    """The decimal texts as the first three words of a block, little-endian, and their lengths in bytes."""
    negative = (numbers < 0).astype(np.uint64)
    rest = np.abs(numbers)
    digits = np.ones(len(numbers), np.int64)
    for power in range(1, MOST_DIGITS):
        digits += rest >= 10**power
    for power in range(MOST_DIGITS - 1, 0, -1):  # until the first digit stands in the first of all places
        rest = rest * (1 + 9 * (digits <= power))
    words = np.zeros((3, len(numbers)), np.uint64)
    for place in range(MOST_DIGITS - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        letter = ((ord("0") + digit) * (place < digits)).astype(np.uint64)
        words[place // 8] |= letter << np.uint64(8 * (place % 8))
    return _signed(words, negative), digits.astype(np.uint64) + negative


def _signed(words: Words, negative: Words) -> Words:
    """The texts, those of negative numbers moved by a byte behind a minus sign."""
    moved = words << np.uint64(8)
    moved[1:] |= words[:-1] >> np.uint64(56)
    moved[0] |= np.uint64(ord("-"))
    chosen: Words = moved * negative + words * (np.uint64(1) - negative)
    return chosen


def _hashed(words: Words, lengths: Words) -> Words:
    """The first word of BLAKE2b of a last block that begins with these words; the others are zero."""
    start = np.concatenate([_INITIAL, _INITIAL])
    start[0] ^= _PARAMETERS
    start[14] = ~start[14]  # the last block
    state = np.repeat(start[:, None], len(lengths), axis=1)
    state[12] ^= lengths
    for number in range(_ROUNDS):
        sigma = _SIGMA[number % len(_SIGMA)]
        for step, places in enumerate(_COLUMNS_AND_DIAGONALS):
            _mix(
                [state[place] for place in places],
                [words[one : one + 1] for one in sigma[2 * step : 2 * step + 2]],
            )
    first: Words = start[0] ^ state[0] ^ state[8]
    return first


def _mix(four: list[Words], messages: list[Words]) -> None:
    """The function G, in place; a message is one word of each text, or nothing beyond the words that are not zero."""
    a, b, c, d = four
    for message, right, left in zip(messages, (32, 16), (24, 63), strict=True):
        a += b
        for word in message:
            a += word
        d ^= a
        _rotate(d, right)
        c += d
        b ^= c
        _rotate(b, left)


def _rotate(words: Words, places: int) -> None:
    low = words << np.uint64(64 - places)
    words >>= np.uint64(places)
    words |= low
