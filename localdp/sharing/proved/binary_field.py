"""The field of 2^64 elements, on arrays of words: polynomials over {0, 1} modulo x^64 + x^4 + x^3 + x + 1.

Adding is xor.  A word's bit i is the coefficient of x^i.

Checked against Python integers in tests/unit/sharing/proved/test_binary_field.py.
"""

from __future__ import annotations

import numpy as np

from localdp.sharing.prio3.batch.words import Words

WORD = 64
_ALL = (1 << WORD) - 1
_BLOCK = 1 << 12  # words that stay in the first cache
_ONE = np.uint64(1)
_FOURTH = np.uint64(0x1111_1111_1111_1111)
_PLACES = [np.uint64(place) for place in range(4)]
_SWAPS = [
    (np.uint64(4), np.uint64(0x0F0F_0F0F_0F0F_0F0F)),
    (np.uint64(2), np.uint64(0x3333_3333_3333_3333)),
    (np.uint64(1), np.uint64(0x5555_5555_5555_5555)),
]


def multiplied(left: int, right: int) -> int:
    """The product of two elements."""
    low = high = 0
    for place in range(WORD):
        if right >> place & 1:
            low ^= left << place & _ALL
            high ^= left << place >> WORD
    return _reduced(low, high)


def products(left: Words, right: Words) -> Words:
    """Element by element, of two arrays of one length."""
    made = np.empty_like(left)
    for start in range(0, len(left), _BLOCK):
        stop = start + _BLOCK
        low, high = _wide(left[start:stop], right[start:stop])
        made[start:stop] = _reduced_words(low, high)
    return made


def dot(left: Words, right: Words) -> int:
    """The sum of the products."""
    low = high = 0
    for start in range(0, len(left), _BLOCK):
        stop = start + _BLOCK
        wide = _wide(left[start:stop], right[start:stop])
        low ^= int(np.bitwise_xor.reduce(wide[0]))
        high ^= int(np.bitwise_xor.reduce(wide[1]))
    return _reduced(low, high)


def _wide(left: Words, right: Words) -> tuple[Words, Words]:
    """The 128 bits of polynomials' products; the high ones are the low ones of the words turned around."""
    return _low(left, right), _turned(_low(_turned(left), _turned(right))) >> _ONE


def _low(left: Words, right: Words) -> Words:
    """The low word of products, by integer products of every fourth bit.

    At most 16 ones meet in a place, and 16 only in the last four places, so what is carried stays below the next place
    that is read, or leaves the word.
    """
    a = [left & (_FOURTH << place) for place in _PLACES]
    b = [right & (_FOURTH << place) for place in _PLACES]
    made = np.zeros_like(left)
    for place in range(4):
        part = a[0] * b[place]
        for other in range(1, 4):
            part ^= a[other] * b[(place - other) % 4]
        made |= part & (_FOURTH << _PLACES[place])
    return made


def _turned(words: Words) -> Words:
    """The bits of each word in the other order."""
    words = words.byteswap()
    for distance, mask in _SWAPS:
        words = (words >> distance & mask) | (words & mask) << distance
    return words


def _reduced(low: int, high: int) -> int:
    """The element of 128 bits."""
    for _ in range(2):
        folded = high ^ high << 1 ^ high << 3 ^ high << 4
        low, high = low ^ folded & _ALL, folded >> WORD
    return low


def _reduced_words(low: Words, high: Words) -> Words:
    spilt = high ^ (high >> np.uint64(63)) ^ (high >> np.uint64(61)) ^ (high >> np.uint64(60))
    for place in (0, 1, 3, 4):
        low = low ^ (spilt << np.uint64(place))
    return low
