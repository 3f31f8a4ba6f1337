"""Where the entry of a given rank stands in each row, in the same work whatever the entries and the ranks are.

Definition.  The entries of a row are ordered by falling size |x|, and equal ones from left to right.  The entry of rank 0
comes first.

The bits of a non-negative float are ordered as the float is.  So the bits of the wanted entry are found from the highest
to the lowest: a bit is one if more entries than the rank are at least as large as what is found so far, with that bit.
Each of the 31 steps compares every entry and counts.  A sort would take a time that depends on the entries.

Claim.  The places are those of a stable sort.  Checked in tests/unit/randomizers/parts/test_order_statistics.py; that
the time tells nothing, in tests/unit/randomizers/test_quiet_randomizers.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import Bits, Integers

_BITS_OF_A_SIZE = 31  # of a float of 32 bits, less its sign


def places_of_ranks(rows: NDArray[np.float32], ranks: Integers) -> Integers:
    """For each row, the place of the entry of its rank."""
    # A column for each row: counts add whole rows.
    sizes = np.ascontiguousarray(np.abs(rows).T).view(np.uint32)
    kind = np.uint8 if len(sizes) < 256 else np.uint16  # holds every count
    found, wanted = np.zeros(len(ranks), np.uint32), ranks.astype(kind)
    for bit in reversed(range(_BITS_OF_A_SIZE)):
        tried = found | np.uint32(1 << bit)
        found += (_count(sizes >= tried, kind) > wanted) * np.uint32(1 << bit)
    equal = sizes == found
    earlier = wanted - _count(sizes > found, kind)  # equal entries that come before
    here = (np.cumsum(equal, axis=0, dtype=kind) == earlier + kind(1)) & equal
    places: Integers = np.arange(len(sizes), dtype=np.int64) @ here
    return places


def _count(table: Bits, kind: type[np.uint8 | np.uint16]) -> NDArray[Any]:
    """How many of each column are true."""
    counts: NDArray[Any] = np.add.reduce(table.view(np.uint8), axis=0, dtype=kind)
    return counts
