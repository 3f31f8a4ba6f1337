"""Field elements as binary numbers, so that nobody gains by letting them wrap: a tent on the cycle of the field.

A dishonest server can shift its own share of a score by anything, and nobody can tell.  If scores were read modulo a
power of two it could shift all of them to the edge, where one person's record makes a score jump from the largest
number to zero, and the epsilon of a selection would grow with the number of scores.  So a score s enters as TENT(s +
shift):

    x for 0 <= x < 2**31,    2**32 - 1 - x for 2**31 <= x < 2**32,    0 elsewhere,

which is s + shift for -shift <= s < 2**31 - shift, and moves at most as far as s moves, everywhere on the cycle.

The two holders of a component put its bits there as a sharing by itself, without a message.  Then C = x_0 + x_1 + x_2
< 3p in binary (carry-save, adder of n + 2 bits, n = 64 or 128); b_1 = [C >= p] and b_2 = [C >= 2p]; x = C + (b_1 +
b_2)(2**n - p) modulo 2**n; and (bits 0-30 of x, each xor bit 31) AND [bits from 32 on are zero].  29 rounds in the field
of 64 bits, 34 in that of 128.

Checked at all edges in tests/unit/computing/test_tent.py.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.adding import added, carry_save, widened
from localdp.computing.comparing import all_zero, less_than
from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import conjunction
from localdp.computing.seat import Seat, SharedElements, SharedWords, stacked
from localdp.sharing.prio3.batch.words import Words

BITS = 31  # of what comes out
_WORD = 64


def sliced(elements: Words, lanes: int) -> Words:
    """Words of 64 bits as 64 rows of lanes, the least significant bit first; lanes without an element are zero."""
    padded = np.zeros(max(1, -(-lanes // _WORD)) * _WORD, np.uint64)
    padded[: len(elements)] = elements
    bits = np.unpackbits(padded.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    rows = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
    return rows.view("<u8").astype(np.uint64, copy=False)


def component_bits(seat: Seat, shared: SharedElements, lanes: int, shift: int) -> list[SharedWords]:
    """The three components, each as a shared number of its own; the scores are moved up by the shift."""
    both = shared.both.copy()
    if seat.place_of_zero is not None:
        constant = np.zeros_like(both[0])
        constant[0] = shift
        both[seat.place_of_zero] = seat.kernel.add(both[seat.place_of_zero], constant)
    held = [np.concatenate([sliced(limb, lanes) for limb in component]) for component in both]
    numbers = []
    for number in range(3):
        parts = [
            bits if (seat.server + place) % 3 == number else np.zeros_like(bits)
            for place, bits in enumerate(held)
        ]
        numbers.append(SharedWords(np.stack(parts)))
    return numbers


def tent(seat: Seat, shared: SharedElements, lanes: int, shift: int) -> Dialogue[SharedWords]:
    """Shared scores as 31 rows of bits, the least significant first."""
    bits, prime = _WORD * seat.kernel.limbs, seat.kernel.field.modulus
    x, y, z = component_bits(seat, shared, lanes, shift)
    sums, carries = yield from carry_save(seat, x, y, z)
    total = yield from added(seat, widened(sums, bits + 2), widened(carries, bits + 2))
    once, twice = yield from _wraps(seat, total, bits, prime)
    addend = _times((1 << bits) - prime, bits, once ^ twice) ^ _times(
        2 * ((1 << bits) - prime), bits, twice
    )
    value = yield from added(seat, total[:bits], addend)
    small = yield from all_zero(seat, value[BITS + 1 :])
    folded = SharedWords(value[:BITS].both ^ value[BITS].both[:, None])
    repeated = SharedWords(np.broadcast_to(small.both[:, None], folded.both.shape))
    return (yield from conjunction(seat, folded, repeated))


def _times(constant: int, bits: int, bit: SharedWords) -> SharedWords:
    """A public number where the bit is one, as rows of bits."""
    rows = np.zeros((2, bits, *bit.shape), np.uint64)
    rows[:, [place for place in range(bits) if constant >> place & 1]] = bit.both[:, None]
    return SharedWords(rows)


def _wraps(
    seat: Seat, total: SharedWords, bits: int, prime: int
) -> Dialogue[tuple[SharedWords, SharedWords]]:
    """Whether a number below 3p is at least p, and at least 2p.  Its two highest bits are never both one."""
    low, high, top = total[bits - 1 :: -1], total[bits], total[bits + 1]
    bounds = (prime, 2 * prime - (1 << bits))
    below = yield from less_than(seat, stacked([low, low]).transposed(), bounds)
    left = stacked([seat.flipped(high ^ top), high])
    right = stacked([below[0], seat.flipped(below[1])])
    made = yield from conjunction(seat, left, right)
    return seat.flipped(made[0]), made[1] ^ top
