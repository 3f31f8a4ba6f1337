"""Arrays of words and bytes, and the product of words that every field is made of."""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Octets = NDArray[np.uint8]
Mask = NDArray[np.bool_]

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


def wide_product(left: Words, right: Words) -> tuple[Words, Words]:
    """The 128 bits of a product of two words, low word first."""
    a0, a1 = left & _LOW, left >> _HALF
    b0, b1 = right & _LOW, right >> _HALF
    middle = a0 * b0
    middle >>= _HALF
    middle += a1 * b0
    other = middle & _LOW
    other += a0 * b1  # Below 2**64, like `middle`: (2**32 - 1)**2 + 2**32 - 1.
    middle >>= _HALF
    other >>= _HALF
    middle += other
    middle += a1 * b1
    return left * right, middle
