"""Sums of shared binary numbers, lane by lane: carry-save in one round, a Sklansky adder in logarithmic depth.

Here the *least* significant bit comes first: row j has the bit of 2**j.

Carry-save: x + y + z = s + 2 c with s = x ^ y ^ z and c = (x ^ z)(y ^ z) ^ z, one AND a bit.
Sklansky (1960): with g = x y and p = x ^ y, level d joins every block of 2**d bits to the last bit of the block below
it: g_i ^= p_i g_k, p_i &= p_k; then bit i of the sum is p_i ^ (carry out of bit i - 1).  1 + log2(n) rounds.

Checked for all small numbers in tests/unit/computing/test_adding.py.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import conjunction
from localdp.computing.seat import Seat, SharedWords, joined


def carry_save(
    seat: Seat, x: SharedWords, y: SharedWords, z: SharedWords
) -> Dialogue[tuple[SharedWords, SharedWords]]:
    """Two numbers whose sum is x + y + z: the second one has one bit more at its low end, which is zero."""
    majority = yield from conjunction(seat, x ^ z, y ^ z)
    carries = majority ^ z
    nothing = SharedWords(np.zeros_like(carries.both[:, :1]))
    return x ^ y ^ z, joined([nothing, carries])


def widened(number: SharedWords, bits: int) -> SharedWords:
    """The same number with zeros above it, or cut to its low bits."""
    missing = bits - number.shape[0]
    if missing <= 0:
        return number[:bits]
    zeros = np.zeros((2, missing, *number.shape[1:]), np.uint64)
    return joined([number, SharedWords(zeros)])


def added(seat: Seat, x: SharedWords, y: SharedWords) -> Dialogue[SharedWords]:
    """x + y, cut to the bits that x and y have."""
    bits, single = x.shape[0], x ^ y
    made = yield from conjunction(seat, x[: bits - 1], y[: bits - 1])  # nobody asks for the last carry
    generate, propagate = made.both.copy(), single[: bits - 1].both.copy()
    for level in range((bits - 2).bit_length() if bits > 1 else 0):
        places = np.array([i for i in range(bits - 1) if i >> level & 1])
        below = (places >> level << level) - 1
        inner = places[below >= 1 << level]  # blocks that do not reach down to bit 0
        ends = (inner >> level << level) - 1
        rows = SharedWords(propagate[:, np.concatenate([places, inner])])
        others = SharedWords(np.concatenate([generate[:, below], propagate[:, ends]], axis=1))
        joint = (yield from conjunction(seat, rows, others)).both
        generate[:, places] ^= joint[:, : len(places)]
        propagate[:, inner] = joint[:, len(places) :]
    return single ^ joined([SharedWords(np.zeros_like(single.both[:, :1])), SharedWords(generate)])
