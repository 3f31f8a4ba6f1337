"""Bits that one side has fixed and the other cannot see, with a line through each of them.

VOLE in the head (Baum et al., *Publicly Verifiable Zero-Knowledge and Post-Quantum Signatures From VOLE-in-the-Head*,
2023).
The prover expands the 256 leaves of each of 6 trees to a row of bits.  Of one tree, let u be the xor of all rows, and v_b
the xor of the rows whose number has bit b.  Whoever knows all rows but that of number D has

    q_b = v_b ^ D_b u                   the xor of the rows whose number differs from D in bit b: row D is not among them

The prover says by which bits the u of the other trees differs from that of the first, so that it is one u for all, and
by which bits u differs from what it wants to fix (`moved`).  So with x a bit, delta = the 48 bits D_b of all trees, and M
the 48 bits v_b at its place, both as elements of the field of 2^64,

    key K = M + delta x                 the prover knows M and x, the verifier K and, in the end, delta

That the differences are those of one u is checked with a hash that the verifiers choose later: of u, masked by a word that
serves nothing else, and of every v_b.  The prover tells both before it hears anything that u is to be used with: with two u
in half of the trees each, and one of them chosen afterwards, 24 guessed bits would do.

Claims.
- Hiding: whoever sees one delta learns nothing about u.
- Binding: once the hashes are told there is one u.  A prover that fixes another u for some trees passes only if it guesses
  the 8 bits of delta of each of those, or if the hash of two different u is the same, which has probability 2^-64 for two
  trees.  What it guesses it must guess right beside all else: no guess is saved.
Checked in tests/unit/sharing/proved/test_hidden_bits.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from localdp.errors import MalformedReport
from localdp.framing import DIGEST_BYTES, digest
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import fill, keystream
from localdp.sharing.prio3.batch.words import Octets, Words
from localdp.sharing.proved import trees
from localdp.sharing.proved.binary_field import dot

TREES = 6
WORD_BYTES = 8
_CHUNK = 1 << 15  # bytes of each of 256 rows that are expanded at once


class Hidden(NamedTuple):
    """The prover's side: packed bits u, and the planes v of all trees."""

    grown: list[trees.Tree]
    u: Octets
    planes: Octets  # (48, bytes)
    differences: Octets  # (5, bytes)

    @property
    def digest(self) -> bytes:
        """What binds to u and all planes."""
        return digest(*(tree.digest for tree in self.grown), self.differences.tobytes())


def hidden(seed: bytes, salt: bytes, size: int) -> Hidden:
    """So many bytes of u, from a seed that serves nothing else."""
    grown = [trees.grown(_root(seed, number), _salt(salt, number)) for number in range(TREES)]
    sums, planes = zip(*(_folded(tree.leaves, 0, size) for tree in grown), strict=True)
    return Hidden(grown, sums[0], np.concatenate(planes), np.stack(sums[1:]) ^ sums[0])


def opened(made: Hidden, delta: bytes) -> bytes:
    """What lets a verifier make its keys, for one delta and never for a second one."""
    return b"".join(tree.opened(place) for tree, place in zip(made.grown, delta, strict=True))


OPENED_BYTES = TREES * trees.OPENING_BYTES


def keyed(opening: bytes, delta: bytes, salt: bytes, differences: Octets) -> tuple[Octets, bytes]:
    """The verifier's planes q for the u of the first tree, and the digest that the prover must have named."""
    size, planes, digests = differences.shape[1], [], []
    shifts = np.concatenate([np.zeros((1, size), np.uint8), differences])
    for number, place in enumerate(delta):
        part = opening[number * trees.OPENING_BYTES :][: trees.OPENING_BYTES]
        leaves, named = trees.read(part, place, _salt(salt, number))
        digests.append(named)
        _, folded = _folded(leaves, place, size)
        planes.append(moved(folded, bytes([place]), shifts[number]))
    return np.concatenate(planes), digest(*digests, differences.tobytes())


def moved(planes: Octets, delta: bytes, by: Octets) -> Octets:
    """The keys' planes once the prover has changed u by these bits."""
    return planes ^ (by & -_bits_of(delta)[:, None])


def elements(planes: Octets, count: int) -> Words:
    """Bit i of each plane as the bits of element i."""
    bits = np.unpackbits(planes, axis=1, count=count, bitorder="little")
    octets = np.zeros((count, WORD_BYTES), np.uint8)
    octets[:, : len(planes) // 8] = np.packbits(bits, axis=0, bitorder="little").T
    return octets.view("<u8")[:, 0].astype(np.uint64, copy=False)


def element_of(delta: bytes) -> int:
    """Delta as an element of the field."""
    return int.from_bytes(delta, "little")


def hashes(planes: Octets, key: bytes) -> list[int]:
    """Of every plane: words times random elements, and the last word as it is."""
    words = planes.view("<u8").astype(np.uint64, copy=False)
    drawn = np.empty(planes.shape[1] - WORD_BYTES, np.uint8)
    fill(keystream(key), drawn)
    factors = drawn.view("<u8").astype(np.uint64, copy=False)
    return [dot(row[:-1], factors) ^ int(row[-1]) for row in words]


def hashes_named(of_planes: Sequence[int]) -> bytes:
    """The hashes of all planes in one digest."""
    return digest(b"".join(one.to_bytes(WORD_BYTES, "little") for one in of_planes))


def hashes_wanted(of_keys: Sequence[int], delta: bytes, of_u: int) -> bytes:
    """The same, from those of the keys' planes."""
    bits = _bits_of(delta).tolist()
    return hashes_named([one ^ of_u * bit for one, bit in zip(of_keys, bits, strict=True)])


def unpacked(data: bytes, rows: int, size: int) -> Octets:
    """A matrix of bytes, as it was sent."""
    if len(data) != rows * size:
        raise MalformedReport("a proof of noise has another length")
    return np.frombuffer(data, np.uint8).reshape(rows, size)


def _bits_of(delta: bytes) -> Octets:
    return np.unpackbits(np.frombuffer(delta, np.uint8), bitorder="little")


def _root(seed: bytes, number: int) -> bytes:
    return derive_key(seed, b"tree", bytes([number]))[: trees.SEED_BYTES]


def _salt(salt: bytes, number: int) -> bytes:
    return hashlib.sha256(salt + bytes([number])).digest()[: DIGEST_BYTES // 2]


def _folded(leaves: Sequence[bytes | None], place: int, size: int) -> tuple[Octets, Octets]:
    """The xor of all rows, and of those whose number differs from `place` in bit b, for every b."""
    streams = [None if leaf is None else keystream(leaf) for leaf in leaves]
    total, planes = np.empty(size, np.uint8), np.empty((trees.DEPTH, size), np.uint8)
    for start in range(0, size, _CHUNK):
        stop = min(start + _CHUNK, size)
        rows = np.zeros((trees.LEAVES, stop - start), np.uint8)
        for number, stream in enumerate(streams):
            if stream is not None:
                fill(stream, rows[number ^ place])
        for bit in reversed(range(trees.DEPTH)):
            half = 1 << bit
            planes[bit, start:stop] = np.bitwise_xor.reduce(rows[half:], axis=0)
            rows = rows[:half] ^ rows[half:]
        total[start:stop] = rows[0]
    return total, planes
