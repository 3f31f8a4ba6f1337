"""How many records have to be replaced before a gap between two order statistics grows or shrinks past a bound.

Of n whole numbers in order, `gap` is x[hi] - x[lo]: with lo and hi at the quarters, the interquartile range.

- To grow: whoever is moved beyond the ends takes its place from the middle, so after j moves, a of them downwards,
  the gap is x[hi + j - a] - x[lo - a], beyond the ends as far as values can go.
- To shrink below a width: everybody from rank lo to rank hi has to be in a window of that width, and one that begins
  at a number that is there will do; it needs as many moves as there are too many people below and above it.

Claim.  Both are exact distances, in records replaced, to the set of data on the other side; so one record moves them
by at most 1.  Checked against all data of small size in tests/unit/mechanisms/test_order_distances.py.
"""

from __future__ import annotations

import numpy as np

from localdp.randomness.source import Integers


def moves_to_grow(ordered: Integers, low: int, high: int, width: int, floor: int, ceiling: int) -> int:
    """The least number of replacements after which x[high] - x[low] >= width; n + 1 if there is none.

    Values lie between floor and ceiling.
    """
    people = len(ordered)
    if ceiling - floor < width:
        return people + 1

    def reached(moves: int) -> bool:
        down = np.arange(moves + 1)
        below, above = low - down, high + moves - down
        lower = np.where(below >= 0, ordered[np.maximum(below, 0)], floor)
        upper = np.where(above < people, ordered[np.minimum(above, people - 1)], ceiling)
        return bool((upper - lower).max() >= width)

    none, enough = -1, people
    while enough - none > 1:
        middle = (none + enough) // 2
        if reached(middle):
            enough = middle
        else:
            none = middle
    return enough


def moves_to_shrink(ordered: Integers, low: int, high: int, width: int) -> int:
    """The least number of replacements after which x[high] - x[low] < width; n + 1 if there is none."""
    if width <= 0:
        return len(ordered) + 1
    starts = np.searchsorted(ordered, ordered, side="left")
    ends = np.searchsorted(ordered, ordered + width, side="left")  # the first that is too far
    too_low = np.maximum(0, starts - low)
    too_high = np.maximum(0, (len(ordered) - ends) - (len(ordered) - 1 - high))
    return int((too_low + too_high).min())
