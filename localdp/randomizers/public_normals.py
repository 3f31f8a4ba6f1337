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
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from localdp.randomness.source import Integers, Words

_PUBLIC_KEY = b"localdp: normals"
_BLOCK_BYTES = 16
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
    words = _encrypted(plain).view(np.uint32).reshape(*rows.shape, blocks * _NORMALS_PER_BLOCK)
    return _box_muller(words)[..., :length]


def _encrypted(plain: Words) -> NDArray[np.uint8]:
    # The plaintexts are all different and public, and so is the key: ECB is the permutation itself, which is wanted.
    cipher = Cipher(algorithms.AES(_PUBLIC_KEY), modes.ECB()).encryptor()  # noqa: S305
    text = np.ascontiguousarray(plain, "<u8").view(np.uint8).ravel()
    encrypted = np.empty(
        len(text) + _BLOCK_BYTES - 1, np.uint8
    )  # the library asks for one block more than it fills
    cipher.update_into(text.data, encrypted.data)
    return encrypted[: len(text)]


def _box_muller(words: NDArray[np.uint32]) -> Singles:
    halves = words.astype(np.float32)
    halves += np.float32(0.5)
    radius, angle = halves[..., 0::2], halves[..., 1::2]
    radius = np.sqrt(np.log(radius * np.float32(2.0**-32)) * np.float32(-2))
    angle = angle * np.float32(2 * math.pi * 2.0**-32)
    halves[..., 0::2] = radius * np.cos(angle)
    halves[..., 1::2] = radius * np.sin(angle)
    return halves
