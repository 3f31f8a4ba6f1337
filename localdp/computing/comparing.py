"""Comparisons of shared numbers, lane by lane, in logarithmic depth.

A number is rows of shared words, the most significant bit first: row j has bit j of 64 W numbers.  A comparison is a
pair (first, equal) for each bit; two neighbours (high, low) become first = first_high xor equal_high first_low, equal
= equal_high equal_low.  The least significant node of a level needs no `equal`.

LESS than a public constant t: less_j = t_j (1 xor u_j) and equal_j = u_j xor 1 xor t_j are local.  On the first level
one AND a pair suffices, q = equal_high equal_low: less = less_high xor t_low (equal_high xor q).  So 64 bits take 89
ANDs and 6 rounds.
GREATER of two shared numbers of n bits: one AND a bit, then the same tree: 1 + log2(n) rounds.

Checked for all small numbers in tests/unit/computing/test_comparing.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import conjunction
from localdp.computing.seat import ALL_ONES, Seat, SharedWords, joined
from localdp.sharing.prio3.batch.words import Words


def constant_bits(values: Sequence[int], bits: int) -> Words:
    """Public numbers as masks: (bits, numbers, 1), the most significant bit first."""
    table = [[ALL_ONES if value >> place & 1 else 0 for value in values] for place in reversed(range(bits))]
    return np.array(table, np.uint64)[:, :, None]


def less_than(seat: Seat, numbers: SharedWords, bounds: Sequence[int]) -> Dialogue[SharedWords]:
    """Whether each number is below its public bound: (bits, bounds, W) to (bounds, W); an even number of bits."""
    masks = constant_bits(bounds, numbers.shape[0])
    equal = seat.flipped(numbers, np.broadcast_to(~masks, numbers.shape))
    less = seat.flipped(numbers).where(masks)
    high, low = equal[0::2], equal[1::2]
    both = yield from conjunction(seat, high, low)
    first = less[0::2] ^ (high ^ both).where(masks[1::2])
    return (yield from _decided(seat, first, both))


def greater_than(seat: Seat, x: SharedWords, y: SharedWords) -> Dialogue[SharedWords]:
    """Whether x > y: rows of bits, the most significant first, to one row."""
    first = yield from conjunction(seat, x, seat.flipped(y))
    return (yield from _decided(seat, first, seat.flipped(x ^ y)))


def _decided(seat: Seat, first: SharedWords, equal: SharedWords) -> Dialogue[SharedWords]:
    """The tree over (first, equal); an odd node at the end waits for the next level."""
    while first.shape[0] > 1:
        pairs = first.shape[0] // 2
        high = equal[0 : 2 * pairs : 2]
        kept = pairs - (first.shape[0] == 2 * pairs)  # equalities that are still asked for
        left = joined([high, high[:kept]])
        right = joined([first[1 : 2 * pairs : 2], equal[1 : 2 * kept : 2]])
        made = yield from conjunction(seat, left, right)
        above = first[0 : 2 * pairs : 2] ^ made[:pairs]
        first = joined([above, first[2 * pairs :]])
        equal = joined([made[pairs:], equal[2 * pairs :]])
    return first[0]


def all_zero(seat: Seat, rows: SharedWords) -> Dialogue[SharedWords]:
    """Whether all rows of a lane are zero."""
    return (yield from all_ones(seat, seat.flipped(rows)))


def all_ones(seat: Seat, rows: SharedWords) -> Dialogue[SharedWords]:
    """Whether all rows of a lane are one: as many rounds as the number of rows has doublings."""
    while rows.shape[0] > 1:
        pairs = rows.shape[0] // 2
        made = yield from conjunction(seat, rows[0 : 2 * pairs : 2], rows[1 : 2 * pairs : 2])
        rows = joined([made, rows[2 * pairs :]])
    return rows[0]
