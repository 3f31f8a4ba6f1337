"""Standard normal vectors from a public 64-bit seed: the same at the party and at the aggregator.

Row r of a seed is made of the AES blocks with plaintext (seed, r B), (seed, r B + 1), .., under a key that is no
secret, where B blocks of four 32-bit words hold a row; pairs of words become pairs of normals (Box and Muller 1958).
Any row is reached without making the others.

Claim.  The normals are standard and independent to within 2**-20, as long as AES is a pseudorandom permutation.  They
serve accuracy only: no privacy claim rests on them, and two machines may differ in their last bits.
Checked in tests/unit/randomizers/test_priv_unit.py.
"""

import math

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.keystream import encrypted, room_for
from localdp.randomness.source import Integers, Words

_PUBLIC_KEY = b"localdp: normals"
_NORMALS_PER_BLOCK = 4

Singles = NDArray[np.float32]


def blocks_per_row(length: int) -> int:
    """How many blocks of the cipher a row of this many normals takes."""
    return -(-length // _NORMALS_PER_BLOCK)


def public_normals(seeds: Words, rows: Integers, length: int) -> Singles:
    """For each seed, its rows of `length` normals: rows has shape (people, k), the result (people, k, length)."""
    blocks = blocks_per_row(length)
    plain = np.empty((*rows.shape, blocks, 2), np.uint64)
    plain[..., 0] = seeds[:, None, None]
    plain[..., 1] = rows[..., None] * blocks + np.arange(blocks)
    text = np.ascontiguousarray(plain, "<u8")
    words = encrypted(_PUBLIC_KEY, text, room_for(text.nbytes)).view(np.uint32)
    return _box_muller(words.reshape(*rows.shape, blocks * _NORMALS_PER_BLOCK))[..., :length]


class PublicScores:
    """The scores of all rows of many seeds, a block of people at a time, in memory that is taken once.

    A row is never put together: its even and its odd normals are multiplied with those entries of the vector apart.
    """

    def __init__(self, people: int, rows: int, length: int) -> None:
        """For blocks of at most so many people, with the first `rows` rows of `length` normals of each seed."""
        self.rows = rows
        blocks = blocks_per_row(length)
        self._plain = np.empty((people, rows * blocks, 2), "<u8")
        self._plain[..., 1] = np.arange(rows * blocks)
        self._encrypted = room_for(self._plain.nbytes)
        self._vectors = np.zeros((people, blocks * _NORMALS_PER_BLOCK), np.float32)
        halves = (people, rows, blocks * _NORMALS_PER_BLOCK // 2)
        self._radius, self._angle, self._normals = (np.empty(halves, np.float32) for _ in range(3))

    def of(self, seeds: Words, vectors: NDArray[np.float64]) -> Singles:
        """The scores of these people, one row for each, equal to those by `public_normals` but for rounding."""
        people = len(seeds)
        plain, entries = self._plain[:people], self._vectors[:people]
        plain[..., 0] = seeds[:, None]
        entries[:, : vectors.shape[1]] = vectors
        words = (
            encrypted(_PUBLIC_KEY, plain, self._encrypted).view(np.uint32).reshape(people, self.rows, -1)
        )
        radius, angle, normals = self._radius[:people], self._angle[:people], self._normals[:people]
        _polar(words, radius, angle)
        np.multiply(np.cos(angle, out=normals), radius, out=normals)
        scores: Singles = np.matmul(normals, entries[:, 0::2, None])
        np.multiply(np.sin(angle, out=normals), radius, out=normals)
        scores += np.matmul(normals, entries[:, 1::2, None])
        return scores[:, :, 0]


def _box_muller(words: NDArray[np.uint32]) -> Singles:
    normals = np.empty(words.shape, np.float32)
    halves = (*words.shape[:-1], words.shape[-1] // 2)
    radius, angle = np.empty(halves, np.float32), np.empty(halves, np.float32)
    _polar(words, radius, angle)
    normals[..., 0::2] = radius * np.cos(angle)
    normals[..., 1::2] = radius * np.sin(angle)
    return normals


def _polar(words: NDArray[np.uint32], radius: Singles, angle: Singles) -> None:
    """The polar coordinates of pairs of normals, from pairs of words."""
    np.copyto(angle, words[..., 1::2])
    angle += np.float32(0.5)
    angle *= np.float32(2 * math.pi * 2.0**-32)
    np.copyto(radius, words[..., 0::2])
    radius += np.float32(0.5)
    radius *= np.float32(2.0**-32)
    np.log(radius, out=radius)
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
