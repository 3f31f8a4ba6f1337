"""Field elements as binary numbers, so that nobody gains by letting them wrap: a tent on the cycle of the field.

A dishonest server can shift its own share of a score by anything, and nobody can tell.  If scores were read modulo a
power of two it could shift all of them to the edge, where one person's record makes a score jump from the largest
number to zero, and the epsilon of a selection would grow with the number of scores.  So a score s enters as TENT(s +
2**29):

    x for 0 <= x < 2**31,    2**32 - 1 - x for 2**31 <= x < 2**32,    0 elsewhere,

which is s + 2**29 for -2**29 <= s < 3 * 2**29, and moves at most as far as s moves, everywhere on the cycle.

The two holders of a component put its bits there as a sharing by itself, without a message.  Then C = x_0 + x_1 + x_2
< 3p in binary (carry-save, adder of 66 bits); b_1 = [C >= p] and b_2 = [C >= 2p]; x = C + (b_1 + b_2)(2**32 - 1)
modulo 2**64, since 2**64 - p = 2**32 - 1; and (bits 0-30 of x, each xor bit 31) AND [bits 32-63 are zero].  29
rounds.

Checked at all edges in tests/unit/computing/test_tent.py.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.adding import added, carry_save, widened
from localdp.computing.comparing import all_zero, less_than
from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import conjunction
from localdp.computing.seat import Seat, SharedElements, SharedWords, joined, stacked
from localdp.errors import InvalidParameter
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.words import Words

SHIFT = 1 << 29
BITS = 31  # of what comes out
SMALLEST_SCORE, LARGEST_SCORE = -SHIFT, 3 * SHIFT - 1


def sliced(elements: Words, lanes: int) -> Words:
    """Words of 64 bits as 64 rows of lanes, the least significant bit first; lanes without an element are zero."""
    padded = np.zeros(max(64, lanes), np.uint64)
    padded[: len(elements)] = elements
    bits = np.unpackbits(padded.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    rows = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
    return rows.view("<u8").astype(np.uint64, copy=False)


def component_bits(seat: Seat, shared: SharedElements, lanes: int) -> list[SharedWords]:
    """The three components, each as a shared number of its own; the scores are moved up by 2**29."""
    both = shared.both[:, 0].copy()
    if seat.place_of_zero is not None:
        moved = seat.kernel.add(
            both[seat.place_of_zero][None], np.full((1, both.shape[1]), SHIFT, np.uint64)
        )
        both[seat.place_of_zero] = moved[0]
    held = [sliced(component, lanes) for component in both]
    numbers = []
    for number in range(3):
        parts = [
            bits if (seat.server + place) % 3 == number else np.zeros_like(bits)
            for place, bits in enumerate(held)
        ]
        numbers.append(SharedWords(np.stack(parts)))
    return numbers


def tent(seat: Seat, shared: SharedElements, lanes: int) -> Dialogue[SharedWords]:
    """Shared scores as 31 rows of bits, the least significant first; of Field64 alone."""
    if seat.kernel.field.modulus != PRIME:
        raise InvalidParameter("scores are compared in the field of 64 bits")
    x, y, z = component_bits(seat, shared, lanes)
    sums, carries = yield from carry_save(seat, x, y, z)
    total = yield from added(seat, widened(sums, 66), widened(carries, 66))
    once, twice = yield from _wraps(seat, total)
    addend = joined([(once ^ twice)[None], *[once[None]] * 31, twice[None]])
    value = yield from added(seat, total[:64], widened(addend, 64))
    small = yield from all_zero(seat, value[32:])
    folded = SharedWords(value[:BITS].both ^ value[31].both[:, None])
    repeated = SharedWords(np.broadcast_to(small.both[:, None], folded.both.shape))
    return (yield from conjunction(seat, folded, repeated))


def _wraps(seat: Seat, total: SharedWords) -> Dialogue[tuple[SharedWords, SharedWords]]:
    """Whether a number below 3p is at least p, and at least 2p.  Its bits 64 and 65 are never both one."""
    low, high, top = total[63::-1], total[64], total[65]
    below = yield from less_than(seat, stacked([low, low]).transposed(), (PRIME, 2 * PRIME - (1 << 64)))
    left = stacked([seat.flipped(high ^ top), high])
    right = stacked([below[0], seat.flipped(below[1])])
    made = yield from conjunction(seat, left, right)
    return seat.flipped(made[0]), made[1] ^ top
