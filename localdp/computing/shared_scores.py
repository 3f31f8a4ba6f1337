"""Scores of a selection on shares: what was linear is done (`sharing.selection`), what is not happens on bits.

In come numbers of 31 bits, v = x + shift for the compared numbers x (`tent.py`).  Out come, for every lane, a number and
one more bit to be added to it, so that a minus sign costs no adder of its own: -x = not x + 1.

    largest     v
    furthest    |x|, moved up by nothing: v - 2**30 if its highest bit is one, and else (not v) + 1 of the low 30 bits
    quantile    2**30 + min(-x_j, x_{j+1}, 0) for the sums x_j of the first j entries less the rank: by one comparison

The minimum is taken as such.  (That at most one of -x_j and x_{j+1} is negative would make it cheaper, and is true only of
what honest servers hold: a shifted share could make a small change large.)  So each rule moves a score by no more than the
numbers move, whatever a dishonest server added to its share.

Checked against the definition, and at all edges, in tests/unit/computing/test_shared_scores.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.computing.comparing import greater_than
from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import choice, conjunction
from localdp.computing.seat import Seat, SharedWords, joined
from localdp.computing.tent import BITS
from localdp.sharing.selection import SelectionRule

_TOP = BITS - 1  # the highest bit: whether x is 0 or more, where the shift is 2**30
_WORD = 64


def lanes_at(rows: SharedWords, places: NDArray[np.int64]) -> SharedWords:
    """The lanes at these places, in this order; no message."""
    octets = np.ascontiguousarray(rows.both.astype("<u8", copy=False)).view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., places]
    spare = [(0, 0)] * (bits.ndim - 1) + [(0, -len(places) % _WORD)]
    packed = np.packbits(np.pad(bits, spare), axis=-1, bitorder="little")
    return SharedWords(np.ascontiguousarray(packed).view("<u8").astype(np.uint64, copy=False))


def scored(
    seat: Seat, values: SharedWords, rule: SelectionRule, places: NDArray[np.int64]
) -> Dialogue[tuple[SharedWords, SharedWords]]:
    """The scores of the candidates at these places, and in one row what is to be added to each."""
    numbers = lanes_at(values, places)
    nothing = SharedWords(np.zeros_like(numbers.both[:, :1]))
    if rule == "largest":
        return numbers, nothing
    if rule == "furthest":
        return _distances(seat, numbers)
    return (yield from _between(seat, numbers, lanes_at(values, places + 1)))


def _distances(seat: Seat, numbers: SharedWords) -> tuple[SharedWords, SharedWords]:
    """|x|: local, since turning bits over by a shared bit is."""
    negative = seat.flipped(numbers[_TOP:])
    return SharedWords(numbers[:_TOP].both ^ negative.both), negative


def _between(
    seat: Seat, before: SharedWords, upto: SharedWords
) -> Dialogue[tuple[SharedWords, SharedWords]]:
    """2**30 + min(-x_j, x_{j+1}, 0), from v_j and v_{j+1}: -x_j + 2**30 is (not v_j) + 1."""
    minus = seat.flipped(before)
    beyond = yield from greater_than(seat, upto[::-1], minus[::-1])  # then minus + 1 is at most the other
    lesser = yield from choice(seat, beyond, minus, upto)
    low = joined([lesser[:_TOP], beyond[None]])
    whole = lesser[_TOP:]  # 0 or more
    kept = seat.flipped(SharedWords(np.broadcast_to(whole.both, low.both.shape)))
    made = yield from conjunction(seat, low, kept)
    return joined([made[:_TOP], whole]), made[_TOP:]
