"""Field128 on numpy arrays: arithmetic modulo p = 2**128 - 28 * 2**64 + 1, in two words.

Products are Montgomery's, a b / 2**128 modulo p.  Since p is 1 modulo B = 2**64, the lowest word t of a number is cleared
by adding m p with m = -t, and m p / B = m B - 28 m plus a carry: a reduction multiplies by nothing but 28.  A factor
is an element times 2**128, so that factor times element is an element again.

Checked against Python integers in tests/unit/sharing/prio3/test_kernels.py.
"""

from dataclasses import dataclass

import numpy as np

from localdp.sharing.prio3.batch.words import Mask, Words, wide_product
from localdp.sharing.prio3.fields import FIELD128, PrimeField

_LOW, _HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)
_STEP = np.uint64(28)
_TOP = np.uint64((1 << 64) - 28)  # The upper word of the prime; the lower one is 1.
_ONE = np.uint64(1)
_SQUARE = pow(2, 256, FIELD128.modulus)
_SQUARE_WORDS = np.array([_SQUARE % (1 << 64), _SQUARE >> 64], np.uint64)


@dataclass(frozen=True, slots=True)
class NumpyField128:
    """The numpy kernel of Field128."""

    field: PrimeField = FIELD128
    limbs: int = 2

    def add(self, left: Words, right: Words) -> Words:
        low = left[0] + right[0]
        high, over = _add_carry(left[1], right[1], low < left[0])
        return _below_prime(low, high, over)

    def subtract(self, left: Words, right: Words) -> Words:
        low = left[0] - right[0]
        borrowed = left[0] < right[0]
        high = left[1] - right[1]
        under = (left[1] < right[1]) | ((high == 0) & borrowed)
        high -= borrowed
        low += under
        high += under * _TOP
        high += under & (low == 0)
        return np.stack([low, high])

    def multiply(self, factors: Words, other: Words) -> Words:
        """factors * other / 2**128."""
        t0, t1, t2, t3 = _four_words(factors, other)
        t1, t2, carry = _cleared(t0, t1, t2)
        t3 += carry
        low, high, over = _cleared(t1, t2, t3)
        return _below_prime(low, high, over)

    def lift(self, elements: Words) -> Words:
        """Elements times 2**128."""
        square = _SQUARE_WORDS.reshape(2, *([1] * (elements.ndim - 1)))
        return self.multiply(square, elements)

    def unreduced(self, words: Words) -> Mask:
        """Where words are of the prime or above."""
        return np.asarray((words[1] > _TOP) | ((words[1] == _TOP) & (words[0] >= _ONE)))


def _add_carry(left: Words, right: Words, carry: Mask) -> tuple[Words, Mask]:
    """left + right + carry, and the carry out."""
    partial = left + right
    over = partial < left
    partial += carry
    over |= carry & (partial == 0)
    return partial, over


def _four_words(a: Words, b: Words) -> tuple[Words, Words, Words, Words]:
    """The 256 bits of a product."""
    t0, t1 = wide_product(a[0], b[0])
    x1, x2 = wide_product(a[0], b[1])
    y1, y2 = wide_product(a[1], b[0])
    z2, z3 = wide_product(a[1], b[1])
    t1 += x1
    carry = (t1 < x1).astype(np.uint64)
    t1 += y1
    carry += t1 < y1
    x2 += carry  # Does not wrap: b[1] is at most 2**64 - 28, and x2 is below that.
    x2 += y2
    z3 += x2 < y2
    z2 += x2
    z3 += z2 < x2
    return t0, t1, z2, z3


def _cleared(t0: Words, t1: Words, t2: Words) -> tuple[Words, Words, Mask]:
    """(t0 + B t1 + B**2 t2 + m p) / B with m = -t0: two words and a carry."""
    m = np.negative(t0)
    by_28 = m * _STEP
    by_28_high = ((m >> _HALF) * _STEP + (((m & _LOW) * _STEP) >> _HALF)) >> _HALF
    m -= by_28_high
    m -= by_28 != 0
    low = np.negative(by_28)
    low += t0 != 0  # No carry: 28 m is even, so `low` is not 2**64 - 1.
    low += t1
    high, over = _add_carry(m, t2, low < t1)
    return low, high, over


def _below_prime(low: Words, high: Words, over: Mask) -> Words:
    """A number below 2 p, given by two words and a carry, reduced."""
    too_large = over | (high > _TOP) | ((high == _TOP) & (low >= _ONE))
    high -= too_large * _TOP
    high -= too_large & (low == 0)
    low -= too_large
    return np.stack([low, high])
