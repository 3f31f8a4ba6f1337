"""TurboSHAKE128 on Python integers (RFC 9861): the sponge over Keccak-p[1600, 12], for one message at a time.

The state is 25 lanes of 64 bits, lane x + 5 y at column x and row y.  Keccak-p[1600, r] is the last r of the 24 rounds
of Keccak-f (FIPS 202, section 3.4), and TurboSHAKE uses r = 12.  The rate is 168 bytes; the message is followed by one
domain byte, zeros, and a final bit in the last byte of the block.

Python integers give no constant-time guarantee: whoever measures a client's time may learn about its seeds.

Why not a library: the permutation is half of the 24 ms of a histogram of 256 and four fifths of the half millisecond of a
count.  PyCryptodome's is compiled and saves that, but takes 30 ms to load, once in a process: a phone makes one report.

Checked in tests/unit/sharing/prio3/test_keccak.py: with 24 rounds the same sponge is SHAKE128 of the standard library,
with 12 it gives the values of RFC 9861.
"""

from collections.abc import Sequence

LANES = 25
RATE = 168
ROUNDS = 12
_ALL_ROUNDS = 24
_MASK = (1 << 64) - 1


def _round_constants() -> tuple[int, ...]:
    """From the shift register of FIPS 202, section 3.2.5: its bit number j + 7 i is bit 2**j - 1 of constant i."""
    constants, register = [], 1
    for _ in range(_ALL_ROUNDS):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << ((1 << j) - 1)
            register <<= 1
            if register & 0x100:
                register ^= 0x171
        constants.append(constant)
    return tuple(constants)


def _moves() -> tuple[tuple[int, int, int], ...]:
    """Steps rho and pi together: (lane, lane that it moves to, rotation)."""
    moves = [(0, 0, 0)]
    x, y = 1, 0
    for t in range(_ALL_ROUNDS):
        target = y + 5 * ((2 * x + 3 * y) % 5)
        moves.append((x + 5 * y, target, (t + 1) * (t + 2) // 2 % 64))
        x, y = y, (2 * x + 3 * y) % 5
    return tuple(moves)


ROUND_CONSTANTS = _round_constants()
MOVES = _moves()
# For step chi: the lanes one and two to the right, in the same row.
NEXT = tuple(i // 5 * 5 + (i + 1) % 5 for i in range(LANES))
SECOND_NEXT = tuple(i // 5 * 5 + (i + 2) % 5 for i in range(LANES))


def permute(lanes: Sequence[int], rounds: int = ROUNDS) -> list[int]:
    """Keccak-p[1600, rounds]."""
    a = list(lanes)
    for constant in ROUND_CONSTANTS[_ALL_ROUNDS - rounds :]:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        turned = [(lane << 1 & _MASK) | lane >> 63 for lane in c]
        d = [c[x - 1] ^ turned[x - 4] for x in range(5)]
        b = [0] * LANES
        for source, target, shift in MOVES:
            lane = a[source] ^ d[source % 5]
            b[target] = (lane << shift & _MASK) | lane >> (64 - shift)
        a = [lane ^ (~b[i] & b[j]) for lane, i, j in zip(b, NEXT, SECOND_NEXT, strict=True)]
        a[0] ^= constant
    return a


def padded(message: bytes, domain: int) -> bytes:
    """The message, its domain byte and the end of the last block; a whole number of blocks."""
    data = bytearray(message)
    data.append(domain)
    data.extend(bytes(-len(data) % RATE))
    data[-1] ^= 0x80
    return bytes(data)


class TurboShake128:
    """The output of TurboSHAKE128 on a message, read piece by piece."""

    def __init__(self, message: bytes, domain: int, rounds: int = ROUNDS) -> None:
        self._rounds = rounds
        self._state = [0] * LANES
        self._ready = b""
        data = padded(message, domain)
        for start in range(0, len(data), RATE):
            self._absorb(data[start : start + RATE])

    def _absorb(self, block: bytes) -> None:
        for i in range(RATE // 8):
            self._state[i] ^= int.from_bytes(block[8 * i : 8 * i + 8], "little")
        self._state = permute(self._state, self._rounds)
        self._ready = self._rate_bytes()

    def _rate_bytes(self) -> bytes:
        return b"".join(lane.to_bytes(8, "little") for lane in self._state[: RATE // 8])

    def read(self, size: int) -> bytes:
        pieces = [self._ready]
        held = len(self._ready)
        while held < size:
            self._state = permute(self._state, self._rounds)
            pieces.append(self._rate_bytes())
            held += RATE
        stream = b"".join(pieces)
        self._ready = stream[size:]
        return stream[:size]
