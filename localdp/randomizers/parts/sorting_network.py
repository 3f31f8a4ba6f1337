"""Columns in increasing order by a sorting network (Batcher 1968): the same comparisons whatever the entries are.

The bitonic network, all of whose comparators point the same way: to merge two sorted halves, the first is compared with
the second in reverse, and then each half is halved on.  All columns are sorted at once, a stage at a time: log**2 stages
of three numpy operations.  A sort of numpy's own takes a time that depends on the entries.
Checked against `numpy.sort` in tests/unit/randomizers/parts/test_sorting_network.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sort_columns(table: NDArray[np.number]) -> None:
    """Sort every column of a contiguous table, in place; its height is a power of two."""
    height, columns = table.shape
    width = 2
    while width <= height:
        blocks = table.reshape(height // width, width, columns)
        _compare(blocks[:, : width // 2], blocks[:, : width // 2 - 1 : -1])
        step = width // 4
        while step:
            pairs = table.reshape(height // (2 * step), 2, step, columns)
            _compare(pairs[:, 0], pairs[:, 1])
            step //= 2
        width *= 2


def _compare(low: NDArray[np.number], high: NDArray[np.number]) -> None:
    smaller = np.minimum(low, high)
    np.maximum(low, high, out=high)
    low[...] = smaller
