"""Noise that no server knows: discrete Laplace noise, drawn on shares by three servers and added to shared sums.

    u <- shared random bits, `bits` for each coin;  s <- one shared random bit, the sign                   no message
    B, g_0 .. g_{K-1} = LESS(u, thresholds)                                                               rounds 1-6
    w_j = AND(B, g_j)                                                                                           7
    [B], [w_j], [s] = TO_FIELD                                                                                  8-9
    M = [B] + sum 2^j [w_j];   Z = M - 2 MUL([s], M)                                                             10

The random bits come from lasting streams, so that noise is a function of keys and of the computation's name: a second
attempt has the same noise, and there is no state in which another one could be drawn.

Claim.  Z has the law of `digit_coins.LaplaceCoins`; one server's view is independent of it, two servers together know
it.
Checked in tests/unit/computing/test_joint_noise.py, test_views.py there, and tests/statistical/test_joint_noise.py.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.comparing import less_than
from localdp.computing.dialogue import Dialogue
from localdp.computing.gates import conjunction, product, to_field
from localdp.computing.seat import Seat, SharedElements, SharedWords, joined
from localdp.sharing.digit_coins import LaplaceCoins, require_small
from localdp.sharing.prio3.batch.words import Words

NOISE = b"noise"
LANES = 64


def words_for(count: int) -> int:
    """Words with a lane for each of so many."""
    return -(-count // LANES)


def flipped_coins(seat: Seat, thresholds: tuple[int, ...], bits: int, words: int) -> Dialogue[SharedWords]:
    """One coin for each threshold and lane: (thresholds, words)."""
    uniform = SharedWords(seat.lasting(NOISE).words(bits, len(thresholds), words))
    return (yield from less_than(seat, uniform, thresholds))


def joint_noise(seat: Seat, law: LaplaceCoins, count: int) -> Dialogue[SharedElements]:
    """So many independent noises, as shared field elements."""
    words = words_for(count)
    sign = SharedWords(seat.lasting(NOISE).words(1, words))
    coins = yield from flipped_coins(seat, law.thresholds, law.magnitude.bits, words)
    nonzero, digits = coins[:1], coins[1:]
    repeated = SharedWords(np.broadcast_to(nonzero.both, digits.both.shape))
    kept = yield from conjunction(seat, repeated, digits)
    rows = yield from to_field(seat, joined([sign, nonzero, kept]), count)
    signs, magnitudes = _read(seat, rows, count)
    negative = yield from product(seat, signs, magnitudes)
    twice = seat.kernel.add(negative.both.swapaxes(0, 1), negative.both.swapaxes(0, 1))
    return SharedElements(seat.kernel.subtract(magnitudes.both.swapaxes(0, 1), twice).swapaxes(0, 1))


def _read(seat: Seat, rows: SharedElements, count: int) -> tuple[SharedElements, SharedElements]:
    """The sign, and 1 + G where it is not zero: its digits are doubled and added up from the most significant one."""
    kernel = seat.kernel
    table = rows.both.reshape(2, kernel.limbs, -1, count).transpose(
        1, 2, 0, 3
    )  # limbs, rows, components, noises
    total = table[:, -1]
    for row in range(table.shape[1] - 2, 1, -1):
        total = kernel.add(kernel.add(total, total), table[:, row])
    magnitudes = kernel.add(total, table[:, 1])
    return _shared(table[:, 0]), _shared(magnitudes)


def _shared(values: Words) -> SharedElements:
    return SharedElements(np.ascontiguousarray(values.swapaxes(0, 1)))


def noisy_sums(seat: Seat, sums: SharedElements, law: LaplaceCoins) -> Dialogue[SharedElements]:
    """Shares of sums with joint noise."""
    require_small(law.delta(sums.count))
    noises = yield from joint_noise(seat, law, sums.count)
    return _shared(seat.kernel.add(sums.both.swapaxes(0, 1), noises.both.swapaxes(0, 1)))
