"""Uniform random subsets for many people at once, in fixed work, and their two forms: sorted items and bitmaps.

A set of w of d items that contains x if it is told to, and is otherwise uniform, is drawn in a frame where the last
column stands for x and the one before it for a uniformly chosen other item a:

    1. a is uniform on the d - 1 other items;
    2. w - 1 of the remaining d - 2 items, by Floyd's algorithm (Bentley and Floyd 1987): for j = m - w + 1 .. m - 1,
       with m = d - 2, take a uniform item of 0 .. j, or j itself if that one was taken before;
    3. the last item is x if the truth is kept, and a otherwise;
    4. exchanging two columns twice, first of a and then of x, leaves the frame.

From a stream of bytes, which need not be read in fixed work, the same law is drawn four times faster.  In a frame of d - 1
columns, every item is taken with a probability somewhat below w / d, again from the start by whoever has more than w
items (w - 1 if x is kept); those who have fewer take uniform items, with repetition, as many as they lack and then one at
a time, until they lack none.  Whether to start again and how many to take depends on the size of the set alone, and all
items are treated alike, so that a set of the wanted size is uniform.

Claim.  Given that x is kept (or not), the other items are a uniform subset of the other inputs: all of them are treated
alike, and a is independent of which are kept.  Everybody draws the same number of coins, in the same places, except from a
stream.  Checked exactly through every coin in tests/unit/randomizers/test_subset_selection.py, and from a stream as a
sample in tests/unit/randomizers/test_subsets_from_a_stream.py.
"""

from collections.abc import Iterator
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomizers.packing import Unsigned, bits_below, unsigned_type
from localdp.randomness.source import WORD_RANGE, Bits, Integers, RandomSource
from localdp.randomness.stream import StreamSource

_BLOCK_CELLS = 1 << 21  # people are served in blocks whose marks stay in cache
_ROUNDS_OF_MANY = 2
_FEWEST_INPUTS_FOR_FILLING = 192  # below, the fixed work is less
_LARGEST_DRAW = 1 << 32  # several small draws come from one, as long as repeating it stays improbable

Picks = NDArray[np.uint16]


def transposed_subsets(
    truth: NDArray[Any], kept: Bits, inputs: int, size: int, source: RandomSource
) -> Unsigned:
    """For each person a sorted set of `size` items, with the truth in it exactly for those who keep it."""
    if isinstance(source, StreamSource) and inputs >= _FEWEST_INPUTS_FOR_FILLING:
        return _filled_subsets(truth, kept, inputs, size, source)
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
        chosen[part] = _marked(marks, size, chosen.dtype)
    return chosen


def _filled_subsets(
    truth: NDArray[Any], kept: Bits, inputs: int, size: int, source: StreamSource
) -> Unsigned:
    """The same, from a stream."""
    chosen = np.empty((len(truth), size), unsigned_type(bits_below(inputs)))
    step = max(1, _BLOCK_CELLS // inputs)
    for start in range(0, len(truth), step):
        part = slice(start, start + step)
        marks = _filled(size - kept[part].astype(np.int64), inputs, size, source)
        marks[:, -1] = kept[part]
        _exchange(marks, truth[part], inputs - 1)
        chosen[part] = _marked(marks, size, chosen.dtype)
    return chosen


def _filled(wanted: Integers, inputs: int, size: int, source: StreamSource) -> Bits:
    """Marks of a uniform subset of all columns but the last, of the size that each person wants."""
    fewer = isqrt(2 * size * (inputs - size) // inputs)  # so that about one in twelve starts again
    threshold = max(0, size - 1 - fewer) * WORD_RANGE // inputs
    marks = _independent(threshold, len(wanted), inputs, source)
    lacking = wanted - _sizes(marks)
    while (again := np.flatnonzero(lacking < 0)).size:
        marks[again] = fresh = _independent(threshold, again.size, inputs, source)
        lacking[again] = wanted[again] - _sizes(fresh)
    _fill_up(marks, wanted, lacking, source)
    return marks


def _independent(threshold: int, people: int, inputs: int, source: StreamSource) -> Bits:
    """Marks that are independent, in all columns but the last."""
    packed = source.bernoulli_bytes(threshold, people * -(-inputs // 8)).reshape(people, -1)
    marks: Bits = np.unpackbits(packed, axis=1, count=inputs).view(np.bool_)
    marks[:, -1] = False
    return marks


def _fill_up(marks: Bits, wanted: Integers, lacking: Integers, source: StreamSource) -> None:
    """Mark uniform columns but the last, until no row lacks any."""
    people, inputs = marks.shape
    flat, first = marks.reshape(-1), np.arange(people) * inputs
    for _ in range(_ROUNDS_OF_MANY):  # as many as each row lacks; some are marked already, or twice
        places = source.below(inputs - 1, int(lacking.sum())).view(np.int64)
        places += np.repeat(first, lacking)
        flat[places] = True
        lacking = wanted - _sizes(marks)
    while (more := lacking > 0).any():  # then one at a time, which needs no counting
        first, lacking = first[more], lacking[more]
        places = source.below(inputs - 1, len(first)).view(np.int64) + first
        lacking -= ~flat[places]
        flat[places] = True


def _sizes(marks: Bits) -> Integers:
    """How many columns of each row are marked."""
    whole = marks.shape[1] // 8 * 8
    # Eight columns at a time, a byte for each: 255 words at most add up without a carry.
    words = np.ascontiguousarray(marks[:, :whole]).view(np.uint64)
    sizes: Integers = np.count_nonzero(marks[:, whole:], axis=1).astype(np.int64)
    for start in range(0, words.shape[1], 255):
        lanes = np.add.reduce(words[:, start : start + 255], axis=1)
        sizes += lanes.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)
    return sizes


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


def _marked(marks: Bits, size: int, kind: np.dtype[Any]) -> Unsigned:
    """The marked columns of each row, in increasing order; every row has `size` of them."""
    # A type that holds every column may forget the higher bits of the places in the whole: they cancel.
    items: Unsigned = np.flatnonzero(marks).reshape(len(marks), size).astype(kind)
    items -= (np.arange(len(marks)) * marks.shape[1]).astype(kind)[:, None]
    return items


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
        items[start : start + step] = _marked(marks, size, kind)
    return items
