"""Field64 on numpy arrays: arithmetic modulo p = 2**64 - 2**32 + 1.

With 2**64 = 2**32 - 1 and 2**96 = -1 modulo p, a product low + 2**64 (middle + 2**32 high) is
low - high + (2**32 - 1) middle: two corrections instead of a division.  A factor is an element.

Checked against Python integers in tests/unit/sharing/prio3/test_kernels.py.
"""

from dataclasses import dataclass

import numpy as np

from localdp.sharing.field import PRIME, subtract
from localdp.sharing.prio3.batch.words import Mask, Words, wide_product
from localdp.sharing.prio3.fields import FIELD64, PrimeField

_PRIME = np.uint64(PRIME)
_EPSILON = np.uint64((1 << 32) - 1)  # 2**64 modulo the prime.
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class NumpyField64:
    """The numpy kernel of Field64."""

    field: PrimeField = FIELD64
    limbs: int = 1

    def add(self, left: Words, right: Words) -> Words:
        # PRIME - 0 is not reduced, but left < PRIME keeps the result right.
        return subtract(left, _PRIME - right)

    def subtract(self, left: Words, right: Words) -> Words:
        return subtract(left, right)

    def multiply(self, factors: Words, other: Words) -> Words:
        """factors * other."""
        low, high = wide_product(factors, other)
        top = high >> _HALF
        high &= _EPSILON
        borrowed = low < top
        low -= top
        low -= borrowed * _EPSILON
        high *= _EPSILON
        low += high
        low += (low < high) * _EPSILON
        low -= (low >= _PRIME) * _PRIME
        return low

    def lift(self, elements: Words) -> Words:
        """A factor is an element."""
        return elements

    def unreduced(self, words: Words) -> Mask:
        """Where words are of the prime or above."""
        return np.asarray(words[0] >= _PRIME)
