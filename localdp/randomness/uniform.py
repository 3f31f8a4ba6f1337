"""Exactly uniform integers below a bound, from uniform words, by rejection.

Two folds of a uniform word x onto 0 .. bound - 1, each exact because the words that would favour some
outcomes are rejected and drawn again:

- 32-bit words (Lemire 2019, Algorithm 5): the outcome is the high half of x * bound, rejected when the low
  half is below 2**32 mod bound.
- 64-bit words: x mod bound, rejected when x is among the last 2**64 mod bound words.

Claim.  Among the accepted words, every outcome has the same number of preimages.
Checked in tests/unit/randomness/test_uniform.py at the ends of every kind of bound, and as a law in
tests/contract/test_random_source.py.
"""

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import WORD_RANGE, Bits, Integers, RandomSource, Words

HALF_WORD_RANGE = 1 << 32


def fold_half_words(
    words: NDArray[np.uint32], bound: int, out: Words | None = None
) -> tuple[Words, Integers]:
    """Outcomes below `bound` <= 2**32, in `out` if it is given, and the positions of the rejected words."""
    product = np.empty(len(words), np.uint64) if out is None else out
    product[:] = words
    product *= np.uint64(bound)
    product >>= np.uint64(32)
    rejected_below = HALF_WORD_RANGE % bound
    if not rejected_below:
        return product, _none()
    # The low half of the product, modulo 2**32.
    return product, np.flatnonzero(words * np.uint32(bound) < rejected_below)


def fold_words(words: Words, bound: int) -> tuple[Words, Integers]:
    """Outcomes below `bound` <= 2**64, and the positions of the rejected words."""
    excess = WORD_RANGE % bound
    if not excess:
        return words & np.uint64(bound - 1), _none()
    rejected = np.flatnonzero(words >= np.uint64(WORD_RANGE - excess))
    if bound > WORD_RANGE // 2:  # a word that is not rejected is below the bound already
        return words, rejected
    divisor = np.uint64(bound)
    return words - words // divisor * divisor, rejected


def below_each(source: RandomSource, bounds: Words) -> Words:
    """One exactly uniform integer below each of the bounds, all of them at least 1 and at most 2**63."""
    drawn = np.empty(len(bounds), np.uint64)
    pending = np.arange(len(bounds))
    while pending.size:
        words, bound = source.raw(np.uint64, pending.size), bounds[pending]
        quotient = words // bound
        # The last, incomplete run of `bound` words starts at or above 2**64 - 2**64 mod bound.
        incomplete: Bits = quotient >= np.uint64(WORD_RANGE - 1) // bound
        complete = ~incomplete | (_excess(bound) == 0)
        drawn[pending[complete]] = (words - quotient * bound)[complete]
        pending = pending[~complete]
    return drawn


def _excess(bound: Words) -> Words:
    """2**64 mod bound, without leaving 64 bits."""
    return (np.uint64(WORD_RANGE - 1) % bound + np.uint64(1)) % bound


def _none() -> Integers:
    return np.empty(0, np.int64)
