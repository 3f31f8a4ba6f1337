"""The Walsh-Hadamard transform, exact in 64-bit integers, and the parity that its matrix is made of.

Definition.  For vectors of k bits, <y, x> is the number of common ones, modulo 2.  The transform of c, of length 2**k,
is W(x) = sum over y of (-1)**<y, x> c(y).  It is its own inverse up to the factor 2**k.

A long row is folded into a matrix and transformed along both sides, so that every butterfly adds long stretches of
memory: k 2**k additions and no product.
Checked against the matrix itself in tests/unit/randomizers/test_hadamard.py.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.source import Bits, Integers

_Number = TypeVar("_Number", np.int64, np.float64)
_BLOCK = 1 << 14  # entries that are worked on at a time: they stay in the cache


def parity(words: NDArray[np.integer]) -> Bits:
    """Whether each (non-negative) word has an odd number of ones."""
    odd: Bits = (np.bitwise_count(words) & np.uint8(1)).view(np.bool_)
    return odd


def walsh_hadamard(values: Integers) -> Integers:
    """The transform of a list whose length is a power of two."""
    length = len(values)
    if values.ndim != 1 or length < 1 or length & (length - 1):
        raise InvalidParameter("a Walsh-Hadamard transform has a power of two as its length")
    rows = values.astype(np.int64).reshape(-1, min(length, _BLOCK))
    for row in rows:
        _transform_block(row)
    transform_columns(rows)
    return rows.reshape(length)


def transform_columns(matrix: NDArray[_Number]) -> None:
    """The transform of every column, in place; the matrix is contiguous and its height a power of two."""
    height, width = matrix.shape
    half = 1
    while half < height:
        pairs = matrix.reshape(height // (2 * half), 2, half * width)
        for start in range(0, half * width, _BLOCK):
            _cross(pairs[:, 0, start : start + _BLOCK], pairs[:, 1, start : start + _BLOCK])
        half *= 2


def _transform_block(row: Integers) -> None:
    folded = row.reshape(1 << (len(row).bit_length() // 2), -1)
    transform_columns(folded)
    turned = np.ascontiguousarray(folded.T)
    transform_columns(turned)
    folded[...] = turned.T


def _cross(low: NDArray[_Number], high: NDArray[_Number]) -> None:
    difference = low - high
    low += high
    high[...] = difference
