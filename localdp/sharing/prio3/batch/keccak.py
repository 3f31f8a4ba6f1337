"""TurboSHAKE128 of many messages of one length at once (RFC 9861), on numpy lanes.

The state is an array of 25 rows, one for each lane, and a column for each message: every step of the permutation is then
one operation on whole rows.  Steps and constants are those of the reference, `localdp.sharing.prio3.keccak`.

Checked against the reference in tests/unit/sharing/prio3/test_keccak.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.prio3.keccak import (
    LANES,
    MOVES,
    NEXT,
    RATE,
    ROUND_CONSTANTS,
    ROUNDS,
    SECOND_NEXT,
    padded,
)

MESSAGES_AT_ONCE = 512  # Three states of so many columns stay in a second-level cache.
_RATE_LANES = RATE // 8
_TO_TARGET = sorted(MOVES, key=lambda move: move[1])
_SOURCE = np.array([source for source, _, _ in _TO_TARGET])
_LEFT = np.array([[shift] for _, _, shift in _TO_TARGET], np.uint64)
# Where nothing turns this shifts by 64, which numpy defines to leave nothing.
_RIGHT = np.uint64(64) - _LEFT
_NEXT, _SECOND_NEXT = np.array(NEXT), np.array(SECOND_NEXT)
_BEFORE, _AFTER = np.array([4, 0, 1, 2, 3]), np.array([1, 2, 3, 4, 0])
_CONSTANTS = [np.uint64(constant) for constant in ROUND_CONSTANTS[-ROUNDS:]]


def permute(state: Words) -> None:
    """Keccak-p[1600, 12] of every column, in place."""
    moved, spare = np.empty_like(state), np.empty_like(state)
    for constant in _CONSTANTS:
        _theta(state)
        np.take(state, _SOURCE, axis=0, out=moved, mode="clip")
        np.right_shift(moved, _RIGHT, out=spare)
        np.left_shift(moved, _LEFT, out=moved)
        moved |= spare
        np.take(moved, _NEXT, axis=0, out=spare, mode="clip")
        np.invert(spare, out=spare)
        np.take(moved, _SECOND_NEXT, axis=0, out=state, mode="clip")
        state &= spare
        state ^= moved
        state[0] ^= constant


def _theta(state: Words) -> None:
    rows = state.reshape(5, 5, -1)
    parity = np.bitwise_xor.reduce(rows, axis=0)
    turned = (parity << np.uint64(1)) | (parity >> np.uint64(63))
    rows ^= parity[_BEFORE] ^ turned[_AFTER]


def turboshake128(messages: Octets, domain: int, size: int) -> Octets:
    """The first `size` bytes of the output for each row of `messages`."""
    count, length = messages.shape
    ending = np.frombuffer(padded(bytes(length), domain)[length:], np.uint8)
    out = np.empty((count, -(-size // RATE) * RATE), np.uint8)
    for start in range(0, count, MESSAGES_AT_ONCE):
        part = messages[start : start + MESSAGES_AT_ONCE]
        data = np.empty((len(part), length + len(ending)), np.uint8)
        data[:, :length], data[:, length:] = part, ending
        _sponge(data, out[start : start + MESSAGES_AT_ONCE])
    return out[:, :size]


def _sponge(data: Octets, out: Octets) -> None:
    lanes = np.ascontiguousarray(data.view("<u8").T.astype(np.uint64, copy=False))
    state = np.zeros((LANES, len(data)), np.uint64)
    for start in range(0, len(lanes), _RATE_LANES):
        state[:_RATE_LANES] ^= lanes[start : start + _RATE_LANES]
        permute(state)
    for start in range(0, out.shape[1], RATE):
        if start:
            permute(state)
        rate = np.ascontiguousarray(state[:_RATE_LANES].T).astype("<u8", copy=False)
        out[:, start : start + RATE] = rate.view(np.uint8)
