"""Uniform random subsets for many people at once, in fixed work, and their two forms: sorted items and bitmaps.

A set of w of d items that contains x if it is told to, and is otherwise uniform, is drawn in a frame where the last
column stands for x and the one before it for a uniformly chosen other item a:

    1. a is uniform on the d - 1 other items;
    2. w - 1 of the remaining d - 2 items, by Floyd's algorithm (Bentley and Floyd 1987): for j = m - w + 1 .. m - 1,
       with m = d - 2, take a uniform item of 0 .. j, or j itself if that one was taken before;
    3. the last item is x if the truth is kept, and a otherwise;
    4. exchanging two columns twice, first of a and then of x, leaves the frame.

Claim.  Given that x is kept (or not), the other items are a uniform subset of the other inputs: all of them are treated
alike, and a is independent of which are kept.  Everybody draws the same number of coins, in the same places.
Checked exactly through every coin in tests/unit/randomizers/test_subset_selection.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomizers.packing import Unsigned, bits_below, unsigned_type
from localdp.randomness.source import Bits, Integers, RandomSource

_BLOCK_CELLS = 1 << 21  # people are served in blocks whose marks stay in cache
_LARGEST_DRAW = 1 << 32  # several small draws come from one, as long as repeating it stays improbable

Picks = NDArray[np.uint16]


def transposed_subsets(
    truth: NDArray[Any], kept: Bits, inputs: int, size: int, source: RandomSource
) -> Unsigned:
    """For each person a sorted set of `size` items, with the truth in it exactly for those who keep it."""
    other = source.below(inputs - 1, len(truth))
    picks = _draw_picks(inputs - 2, size - 1, len(truth), source)
    chosen = np.empty((len(truth), size), unsigned_type(bits_below(inputs)))
    step = max(1, _BLOCK_CELLS // inputs)
    for start in range(0, len(truth), step):
        part = slice(start, start + step)
        marks = _floyd(picks[:, part], inputs)
        marks[:, -2], marks[:, -1] = ~kept[part], kept[part]
        _exchange(marks, other[part].astype(np.int64), inputs - 2)
        _exchange(marks, truth[part], inputs - 1)
        chosen[part] = _marked(marks, size)
    return chosen


def _draw_picks(items: int, size: int, people: int, source: RandomSource) -> Picks:
    """Uniform integers below items - size + 1, ..., items: a row for each bound, a column for each person."""
    picks = np.empty((size, people), np.uint16)
    for first, bounds in _grouped(range(items - size + 1, items + 1)):
        product = 1
        for bound in bounds:
            product *= bound
        rest = source.below(product, people)
        for row, bound in enumerate(bounds, first):
            quotient = rest // np.uint64(bound)
            picks[row] = rest - quotient * np.uint64(bound)
            rest = quotient
    return picks


def _grouped(bounds: range) -> Iterator[tuple[int, range]]:
    """Runs of bounds whose product is small enough for one draw, with the place of the first."""
    start, product = 0, 1
    for place, bound in enumerate(bounds):
        if product * bound > _LARGEST_DRAW:
            yield start, bounds[start:place]
            start, product = place, 1
        product *= bound
    if len(bounds):
        yield start, bounds[start:]


def _floyd(picks: Picks, inputs: int) -> Bits:
    """Marks of a uniform subset of the first inputs - 2 columns, one item for each row of picks."""
    size, people = picks.shape
    marks = np.zeros((people, inputs), np.bool_)
    flat, rows = marks.reshape(-1), np.arange(people) * inputs
    for row in range(size):
        last = inputs - 2 - size + row
        places = rows + picks[row]
        flat[np.where(flat[places], rows + last, places)] = True
    return marks


def _exchange(marks: Bits, column: NDArray[Any], fixed: int) -> None:
    """Exchange, for each person, a column with a fixed one."""
    people = np.arange(len(marks))
    held = marks[people, column]
    marks[people, column] = marks[:, fixed]
    # Where the column is the fixed one nothing must move, and writing back what was held does just that.
    marks[:, fixed] = held


def _marked(marks: Bits, size: int) -> Integers:
    """The marked columns of each row, in increasing order; every row has `size` of them."""
    places = np.flatnonzero(marks).reshape(len(marks), size)
    places -= np.arange(len(marks))[:, None] * marks.shape[1]
    return places


def bitmaps_of(reports: NDArray[Any], inputs: int) -> NDArray[np.uint8]:
    """Sets of items as rows of bits, each padded with zeros to whole bytes."""
    packed = np.empty((len(reports), -(-inputs // 8)), np.uint8)
    step = max(1, _BLOCK_CELLS // inputs)
    for start in range(0, len(reports), step):
        part = reports[start : start + step]
        marks = np.zeros((len(part), inputs), np.bool_)
        np.put_along_axis(marks, part.astype(np.int64), True, axis=1)
        packed[start : start + step] = np.packbits(marks, axis=1)
    return packed


def items_of(bitmaps: NDArray[np.uint8], inputs: int, size: int, kind: np.dtype[Any]) -> Unsigned:
    """Rows of bits as sorted items; every row has `size` bits set."""
    items = np.empty((len(bitmaps), size), kind)
    step = max(1, _BLOCK_CELLS // inputs)
    for start in range(0, len(bitmaps), step):
        marks = np.unpackbits(bitmaps[start : start + step], axis=1, count=inputs).view(np.bool_)
        items[start : start + step] = _marked(marks, size)
    return items
