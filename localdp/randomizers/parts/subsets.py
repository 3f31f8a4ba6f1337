"""Uniform random subsets for many people at once, in fixed work, and their two forms: sorted items and bitmaps.

A set of w of d items that contains x if it is told to, and is otherwise uniform, is drawn in a frame where the last
column stands for x and the one before it for a uniformly chosen other item a:

    1. a is uniform on the d - 1 other items;
    2. w - 1 of the remaining d - 2 items, by Floyd's algorithm (Bentley and Floyd 1987): for j = m - w + 1 .. m - 1,
       with m = d - 2, take a uniform item of 0 .. j, or j itself if that one was taken before;
    3. the last item is x if the truth is kept, and a otherwise;
    4. exchanging two columns twice, first of a and then of x, leaves the frame.

Items are named as they are drawn, exchanged by their names, and sorted by a network (`sorting_network.py`).

From a stream of bytes, which need not be read in fixed work, the same law is drawn five times faster.  Every item is taken
with a probability somewhat below w / d, a fraction m / 2**k of so few bits that k random words decide 64 items at once; x
itself counts as taken, so that nobody takes it again.  Whoever then has too many items starts again; those who have too few
take uniform items, with repetition, as many as they lack and then one at a time, until they lack none.  At last x is put in
or out.  Independent items are a uniform subset, given how many they are; whether to start again and how many to take
depends on that number alone; and a uniform item that is not taken yet keeps a uniform subset uniform.

Claim.  Given that x is kept (or not), the other items are a uniform subset of the other inputs: all of them are treated
alike, and a is independent of which are kept.  Everybody draws the same number of coins, in the same places, except from a
stream.  Checked exactly through every coin in tests/unit/randomizers/test_subset_selection.py, and from a stream as a
sample in tests/unit/randomizers/parts/test_subsets_from_a_stream.py.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import isqrt
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from localdp.randomizers.parts.packing import Unsigned, bits_below, unsigned_type
from localdp.randomizers.parts.sorting_network import sort_columns
from localdp.randomness.source import Bits, Integers, RandomSource, Words
from localdp.randomness.stream import StreamSource

_BLOCK_CELLS = 1 << 21  # people are served in blocks whose marks stay in cache
_ROUNDS_OF_MANY = 2
_FEWEST_INPUTS_FOR_FILLING = 192  # below, the fixed work is less
_LARGEST_DRAW = 1 << 32  # several small draws come from one, as long as repeating it stays improbable
_EVEN_BYTES, _FOUR_ONES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)

Picks = NDArray[np.uint16]
Bitmaps = NDArray[np.uint8]


def drawn_items(
    truth: NDArray[np.integer], kept: Bits, inputs: int, size: int, source: RandomSource
) -> Unsigned:
    """For each person a sorted set of `size` items, with the truth in it exactly for those who keep it."""
    chosen = np.empty((len(truth), size), unsigned_type(bits_below(inputs)))
    if _fills(source, inputs):
        for part, marks in _drawn(truth, kept, inputs, size, source):
            chosen[part] = _marked(marks, size, chosen.dtype)
        return chosen
    other, picks = _draw_frame(len(truth), inputs, size, source)
    for part in _parts(len(truth), inputs):
        items = _floyd(picks[:, part], inputs)[1]
        items[size - 1] = inputs - 2 + kept[part]
        _exchange_items(items, other[part].astype(np.uint16), inputs - 2)
        _exchange_items(items, truth[part].astype(np.uint16), inputs - 1)
        items[size:] = inputs  # behind all items
        sort_columns(items)
        chosen[part] = items[:size].T
    return chosen


def drawn_bitmaps(
    truth: NDArray[np.integer], kept: Bits, inputs: int, size: int, source: RandomSource
) -> Bitmaps:
    """The same sets as rows of bits, each padded with zeros to whole bytes."""
    bitmaps = np.empty((len(truth), -(-inputs // 8)), np.uint8)
    for part, marks in _drawn(truth, kept, inputs, size, source):
        bitmaps[part] = _packed(marks)
    return bitmaps


def _drawn(
    truth: NDArray[np.integer], kept: Bits, inputs: int, size: int, source: RandomSource
) -> Iterator[tuple[slice, Bits]]:
    """The marks of the sets, a column for each item, of some people after others."""
    if _fills(source, inputs):
        for part in _parts(len(truth), inputs):
            yield part, _filled(truth[part], kept[part], inputs, size, source)
        return
    other, picks = _draw_frame(len(truth), inputs, size, source)
    for part in _parts(len(truth), inputs):
        marks = _floyd(picks[:, part], inputs)[0]
        marks[:, -2], marks[:, -1] = ~kept[part], kept[part]
        _exchange(marks, other[part].astype(np.int64), inputs - 2)
        _exchange(marks, truth[part], inputs - 1)
        yield part, marks


def _fills(source: RandomSource, inputs: int) -> TypeGuard[StreamSource]:
    return isinstance(source, StreamSource) and inputs >= _FEWEST_INPUTS_FOR_FILLING


def _draw_frame(people: int, inputs: int, size: int, source: RandomSource) -> tuple[Words, Picks]:
    """The other item of each person, and the coins of Floyd's algorithm."""
    return source.below(inputs - 1, people), _draw_picks(inputs - 2, size - 1, people, source)


def _parts(people: int, inputs: int) -> Iterator[slice]:
    step = max(1, _BLOCK_CELLS // inputs)
    return (slice(start, start + step) for start in range(0, people, step))


def _filled(truth: NDArray[np.integer], kept: Bits, inputs: int, size: int, source: StreamSource) -> Bits:
    """Marks of one set for each person, from a stream."""
    wanted = size + 1 - kept.astype(np.int64)  # with x, which is marked until the end
    words, lacking = _unfilled(truth, wanted, _odds(inputs, size), inputs, source)
    marks: Bits = np.unpackbits(words.view(np.uint8), axis=1, count=inputs).view(np.bool_)
    _fill_up(marks, wanted, lacking, source)
    marks[np.arange(len(truth)), truth] = kept
    return marks


def _unfilled(
    truth: NDArray[np.integer], wanted: Integers, odds: tuple[int, int], inputs: int, source: StreamSource
) -> tuple[Words, Integers]:
    """Independent items and the truth, no more than each person wants, and how many are lacking."""
    words = _independent(truth, odds, inputs, source)
    lacking = wanted - _ones(words)
    while (again := np.flatnonzero(lacking < 0)).size:
        words[again] = fresh = _independent(truth[again], odds, inputs, source)
        lacking[again] = wanted[again] - _ones(fresh)
    return words, lacking


@lru_cache(maxsize=64)
def _odds(inputs: int, size: int) -> tuple[int, int]:
    """(m, k), with k as small as it can be, so that m / 2**k of the inputs are one to three deviations below the size."""
    deviation = max(1, isqrt(size * (inputs - size) // inputs))
    most, fewest, bits = max(0, size - 1 - deviation), size - 1 - 3 * deviation, 0
    while (most << bits) // inputs * inputs < fewest << bits:
        bits += 1
    return (most << bits) // inputs, bits


def _independent(
    truth: NDArray[np.integer], odds: tuple[int, int], inputs: int, source: StreamSource
) -> Words:
    """Rows of bits that are one with probability m / 2**k, and one for the truth; clean beyond the inputs."""
    (numerator, bits), width = odds, -(-inputs // 64)
    words: Words = np.zeros((len(truth), width), np.uint64)
    for place in range(
        bits
    ):  # a fair bit and / or one of probability q is one with probability q / 2, (1 + q) / 2
        halved = np.bitwise_or if numerator >> place & 1 else np.bitwise_and
        halved(words, source.raw(np.uint64, words.size).reshape(words.shape), out=words)
    if inputs % 64:
        words &= np.packbits(np.arange(64 * width) < inputs).view(np.uint64)
    own = np.right_shift(np.uint8(0x80), (truth & 7).astype(np.uint8))
    words.view(np.uint8)[np.arange(len(truth)), truth >> 3] |= own
    return words


def _ones(words: Words) -> Integers:
    """How many bits of each row are one."""
    ones: Integers = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return ones


def _fill_up(marks: Bits, wanted: Integers, lacking: Integers, source: StreamSource) -> None:
    """Mark uniform columns, until no row lacks any."""
    people, inputs = marks.shape
    flat, first = marks.reshape(-1), np.arange(people) * inputs
    for _ in range(_ROUNDS_OF_MANY):  # as many as each row lacks; some are marked already, or twice
        places = source.below(inputs, int(lacking.sum())).view(np.int64)
        places += np.repeat(first, lacking)
        flat[places] = True
        lacking = wanted - _sizes(marks)
    while (more := np.flatnonzero(lacking)).size:  # then one at a time, which needs no counting
        first, lacking = first[more], lacking[more]
        places = source.below(inputs, len(first)).view(np.int64) + first
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
        pairs = (lanes & _EVEN_BYTES) + (lanes >> np.uint64(8) & _EVEN_BYTES)
        # The highest pair of the product is the sum.
        sizes += (pairs * _FOUR_ONES >> np.uint64(48)).view(np.int64)
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


def _floyd(picks: Picks, inputs: int) -> tuple[Bits, Picks]:
    """A uniform subset of the first inputs - 2 items, one for each row of picks: its marks, and the items.

    The items come in a table with room for one more at least, whose height is a power of two.
    """
    size, people = picks.shape
    marks = np.zeros((people, inputs), np.bool_)
    items = np.empty((1 << size.bit_length(), people), np.uint16)
    flat, rows = marks.reshape(-1), np.arange(people) * inputs
    for row in range(size):
        last = np.uint16(inputs - 2 - size + row)
        taken = flat[rows + picks[row]]
        items[row] = picks[row] + (last - picks[row]) * taken  # modulo 2**16, which cancels
        flat[rows + items[row]] = True
    return marks, items


def _exchange_items(items: Picks, one: Picks, fixed: int) -> None:
    """Exchange, for each person, the names of one item and a fixed one: modulo 2**16, which cancels."""
    gap = np.uint16(fixed) - one
    moved = (items == one).view(np.int8) - (items == np.uint16(fixed)).view(np.int8)
    items += gap * moved.astype(np.uint16)


def _exchange(marks: Bits, column: NDArray[np.integer], fixed: int) -> None:
    """Exchange, for each person, a column with a fixed one."""
    people = np.arange(len(marks))
    held = marks[people, column]
    marks[people, column] = marks[:, fixed]
    # Where the column is the fixed one nothing must move, and writing back what was held does just that.
    marks[:, fixed] = held


def _marked(marks: Bits, size: int, kind: np.dtype[np.unsignedinteger]) -> Unsigned:
    """The marked columns of each row, in increasing order; every row has `size` of them."""
    # A type that holds every column may forget the higher bits of the places in the whole: they cancel.
    items: Unsigned = np.flatnonzero(marks).reshape(len(marks), size).astype(kind)
    items -= (np.arange(len(marks)) * marks.shape[1]).astype(kind)[:, None]
    return items


def _packed(marks: Bits) -> Bitmaps:
    if marks.shape[1] % 8 == 0:  # whole bytes run on from row to row, which is faster than packing each row
        return np.packbits(marks).reshape(len(marks), -1)
    return np.packbits(marks, axis=1)


def bitmaps_of(reports: NDArray[np.integer], inputs: int) -> Bitmaps:
    """Sets of items as rows of bits, each padded with zeros to whole bytes."""
    bitmaps = np.empty((len(reports), -(-inputs // 8)), np.uint8)
    for part in _parts(len(reports), inputs):
        marks = np.zeros((len(reports[part]), inputs), np.bool_)
        np.put_along_axis(marks, reports[part].astype(np.int64), True, axis=1)
        bitmaps[part] = _packed(marks)
    return bitmaps


def items_of(bitmaps: Bitmaps, inputs: int, size: int) -> Unsigned:
    """Rows of bits as sorted items; every row has `size` bits set."""
    items = np.empty((len(bitmaps), size), unsigned_type(bits_below(inputs)))
    for part in _parts(len(bitmaps), inputs):
        marks = np.unpackbits(bitmaps[part], axis=1, count=inputs).view(np.bool_)
        items[part] = _marked(marks, size, items.dtype)
    return items
