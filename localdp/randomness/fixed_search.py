"""Which step of a staircase each uniform integer stands on, in the same work for all of them: for agents.

Definition.  A row is a non-decreasing list of bounds b_0 <= b_1 <= .., and the step of u is the number of bounds that
are at most u: what `numpy.searchsorted(row, u, side="right")` says, in a time that depends on u.

The leading bits of u name a cell, and a guide says how many bounds every integer of the cell has passed.  What is left is
a bisection of as many halvings as the fullest cell of all rows needs: a public number.  A halving is a look-up, a compare
and a product; nothing branches, and everybody looks up equally often.

Claim.  The steps are those of the definition, for every row and every u below the total.
Checked against `numpy.searchsorted` at and around every bound in tests/unit/randomness/test_fixed_search.py; that the
time tells nothing, in tests/unit/randomizers/test_quiet_randomizers.py.
What is left: a table that does not fit the processor's first cache tells a little by the lines that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import WORD_RANGE, IntegerLaw, Integers, Words

_MOST_CELLS = 1 << 16  # of all rows together
_BLOCK = 1 << 13  # draws that are worked on at a time: their temporaries stay in the cache


class FixedSearch:
    """Rows of equally many bounds below a total; see the module's text."""

    def __init__(self, rows: Sequence[Sequence[int]], total: int) -> None:
        self._bounds = len(rows[0])
        most = max(1, _MOST_CELLS // len(rows)).bit_length() - 1
        self._cell_bits = min((2 * self._bounds).bit_length(), most, (total - 1).bit_length())
        self._shift = np.uint64((total - 1).bit_length() - self._cell_bits)
        table = np.array(rows, np.uint64).reshape(len(rows), self._bounds)
        passed, halvings = self._guide(table)
        # Beyond the bounds stands what is passed by the largest word alone; `steps` cuts that off.
        self._width = self._bounds + (1 << halvings)
        padded = np.full((len(rows), self._width), WORD_RANGE - 1, np.uint64)
        padded[:, : self._bounds] = table
        self._table = padded.reshape(-1)
        first = np.arange(len(rows), dtype=np.int64)[:, None] * self._width
        self._guides = (passed + first).reshape(-1)
        self._halves = [1 << place for place in reversed(range(halvings))]

    def _guide(self, table: Words) -> tuple[Integers, int]:
        """How many bounds each cell of each row has passed at its first integer, and the halvings that are left."""
        first = np.arange(1 << self._cell_bits, dtype=np.uint64) << self._shift
        last = first + np.uint64((1 << int(self._shift)) - 1)
        passed = np.stack([np.searchsorted(row, first, side="right") for row in table])
        within = np.stack([np.searchsorted(row, last, side="right") for row in table]) - passed
        return passed.astype(np.int64), int(within.max()).bit_length()

    def steps(self, uniform: Words, rows: Integers | None = None) -> Integers:
        """The step of each integer in its row; without rows, in the first."""
        found = np.empty(len(uniform), np.int64)
        for start in range(0, len(uniform), _BLOCK):
            part = slice(start, start + _BLOCK)
            found[part] = self._block(uniform[part], None if rows is None else rows[part])
        return found

    def _block(self, uniform: Words, rows: Integers | None) -> Integers:
        cells: NDArray[np.int64] = (uniform >> self._shift).view(np.int64)
        if rows is not None:
            cells += rows << self._cell_bits
        places: Integers = self._guides.take(cells, mode="clip")
        for half in self._halves:
            passed = self._table.take(places + (half - 1), mode="clip") <= uniform
            places += passed.view(np.int8) * np.int64(half)
        if rows is not None:
            places -= rows * self._width
        np.minimum(places, self._bounds, out=places)
        return places


@lru_cache(maxsize=256)
def law_search(law: IntegerLaw) -> FixedSearch:
    """The search for the index that each integer below the total of a law stands for."""
    # The last cumulative weight is never reached, and may be 2**64, which no word holds.
    return FixedSearch([law.cumulative[:-1]], law.total)
