"""Choosing between values, and looking them up, in a time that does not say which one was chosen.

| numpy | what it tells |
|---|---|
| `r[mask] = v`, `x[mask]`, `np.copyto(where=)` | how many are chosen: up to 11 times the time |
| `np.where` | how many change from one person to the next: a branch for each, up to 5 times the time |
| a large table | which of its lines were read: they come from the cache or from memory |

So a choice is arithmetic on all values, and a table is read in pieces that fit into the first cache, every piece for
everybody.

Claim.  The work is a function of the lengths of the arguments alone.  Checked in tests/unit/queries/test_silence.py,
beside the functions that it is said of: broken twins with one of the above put back are found out.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.bool_, np.float64)
W = TypeVar("W", np.bool_, np.uint64)

PIECE_BYTES = 1 << 14  # of a table: half of the first cache of the processors in use


def selected(mask: NDArray[np.bool_], then: NDArray[T], otherwise: NDArray[T]) -> NDArray[T]:
    """The one value where the mask is true, and the other elsewhere; numbers are finite, and -0.0 becomes 0.0."""
    # A product of truths is their conjunction, and a sum their disjunction.
    result = otherwise * np.logical_not(mask)
    result += then * mask
    return result


def looked_up(table: NDArray[W], places: NDArray[np.integer]) -> NDArray[W]:
    """table[places], for places of the table."""
    bits = (PIECE_BYTES // table.itemsize).bit_length() - 1
    if len(table) <= 1 << bits:
        return np.take(table, places)
    within, piece = places & ((1 << bits) - 1), places >> bits
    result = np.zeros(len(places), table.dtype)
    for number, start in enumerate(range(0, len(table), 1 << bits)):
        entries = table[start : start + (1 << bits)]
        # Whoever belongs to another piece reads some entry of this one; the last piece may be short.
        result |= np.take(entries, np.minimum(within, len(entries) - 1)) * (piece == number)
    return result
