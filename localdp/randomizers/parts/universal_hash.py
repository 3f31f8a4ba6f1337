"""Hash functions of open domains: from a 64-bit seed and the 64-bit fingerprint of an item to a bucket.

Definition.  A seed becomes three words (a, b, c) by the output function of SplitMix64 (Steele, Lea and Flood 2014).  The
hash of an item with halves (high, low) is h = ((a + low) (b + high) + c mod 2**64) >> 32, and its bucket among g is
(h g) >> 32.

What holds, and what does not.
- If a, b and c were independent and uniform, h would be exactly uniform on 32 bits and independent for every two items
  (pair-multiply-shift is strongly universal: Thorup 2015, section 3).  Each of the three words is a bijection of the seed,
  hence uniform; that the three *together* behave as independent is an assumption about the mixing, checked by chi-square
  for sequential items in tests/unit/randomizers/test_local_hashing.py.
- A bucket has probability 1 / g up to 2**-32, exactly 1 / g when g is a power of two.  An oracle with supports p and
  1 / g is therefore biased by at most 2**-32 / (p - 1 / g).
- Privacy never depends on any of this: it holds for every seed, whatever the hash function.
- A fingerprint is the first 8 bytes of BLAKE2b: two of a million items collide with probability 3e-8.  Items that people
  choose in order to collide with others are not defended against.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Values
from localdp.randomness.source import WORD_RANGE, Words

HASH_RANGE = 1 << 32
_GOLDEN = 0x9E3779B97F4A7C15
_LOW = np.uint64(HASH_RANGE - 1)
_HALF = np.uint64(32)


def fingerprints(items: Iterable[str | bytes]) -> Words:
    """The 64-bit fingerprint of each string."""
    encoded = (item.encode() if isinstance(item, str) else item for item in items)
    digests = b"".join(hashlib.blake2b(item, digest_size=8).digest() for item in encoded)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def checked_fingerprints(values: Values) -> Words:
    """The values as 64-bit words, if they are a list of non-negative integers."""
    if values.ndim != 1 or values.dtype.kind not in "ui" or (values.size and int(values.min()) < 0):
        raise InvalidParameter("the inputs of an open domain are a list of 64-bit fingerprints")
    return values.astype(np.uint64, copy=False)


def mixed(words: Words) -> Words:
    """The output function of SplitMix64: a bijection of the 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def hash_words(seeds: Words) -> tuple[Words, Words, Words]:
    """The words a, b and c of each seed."""
    first, second, third = (mixed(seeds + np.uint64(step * _GOLDEN % WORD_RANGE)) for step in range(1, 4))
    return first, second, third


def family_seeds(public_seed: int, size: int) -> Words:
    """The seeds of a fixed public family of hash functions."""
    start = mixed(np.array([public_seed], np.uint64))
    return mixed(start + np.arange(size, dtype=np.uint64) * np.uint64(_GOLDEN))


def bucket_of(seeds: Words, items: Words, number: int) -> Words:
    """The bucket of each item under the seed beside it (the two broadcast), among `number` <= 2**32."""
    a, b, c = hash_words(seeds)
    hashed = (a + (items & _LOW)) * (b + (items >> _HALF)) + c
    return ((hashed >> _HALF) * np.uint64(number)) >> _HALF
