"""Field64 as compiled code: an element is one word.

Reduction is that of the numpy form, `batch.field64`: with 2**64 = 2**32 - 1 and 2**96 = -1 modulo p.  An accumulator is
three words, the sum of up to 2**31 products not yet reduced.

Checked against Python integers in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

import numpy as np

from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.compiled.toolchain import part
from localdp.sharing.prio3.batch.compiled.words import ZERO, Accumulator, Word, add_carry, multiply_add
from localdp.sharing.prio3.batch.words import Words

_PRIME = np.uint64(PRIME)
_EPSILON = np.uint64((1 << 32) - 1)  # 2**64 modulo the prime.
_HALF = np.uint64(32)


@part
def add(a: Word, b: Word) -> Word:
    """a + b."""
    return subtract(a, _PRIME - b)  # PRIME - 0 is not reduced, but a < PRIME keeps the result right.


@part
def subtract(a: Word, b: Word) -> Word:
    """a - b."""
    return a - b + (_PRIME if a < b else ZERO)


@part
def _reduced(low: Word, high: Word) -> Word:
    """low + 2**64 high."""
    top = high >> _HALF
    middle = (high & _EPSILON) * _EPSILON
    difference = low - top - (_EPSILON if low < top else ZERO)
    total = difference + middle
    if total < middle:
        total += _EPSILON
    return total - (_PRIME if total >= _PRIME else ZERO)


@part
def multiply(factor: Word, element: Word) -> Word:
    """factor * element."""
    low, high = multiply_add(factor, element, ZERO, ZERO)
    return _reduced(low, high)


@part
def lift(element: Word) -> Word:
    """A factor is an element."""
    return element


@part
def nothing(_element: Word) -> Accumulator:
    """An empty accumulator."""
    return ZERO, ZERO, ZERO


@part
def accumulate(sums: Accumulator, factor: Word, element: Word) -> Accumulator:
    """sums + factor * element."""
    low, high = multiply_add(factor, element, sums[0], ZERO)
    high, carry = add_carry(high, sums[1], ZERO)
    return low, high, sums[2] + carry


@part
def accumulate_element(sums: Accumulator, element: Word) -> Accumulator:
    """sums + element."""
    low, carry = add_carry(sums[0], element, ZERO)
    high, carry = add_carry(sums[1], ZERO, carry)
    return low, high, sums[2] + carry


@part
def collapse(sums: Accumulator, _like: Word) -> Word:
    """The element that an accumulator stands for; 2**128 is -2**32."""
    return subtract(_reduced(sums[0], sums[1]), sums[2] << _HALF)


@part
def is_reduced(element: Word) -> np.bool_:
    """Whether a word is an element."""
    return element < _PRIME


@part
def load(words: Words, row: int, place: int, _like: Word) -> Word:
    """Element number `place` of a row."""
    word: Word = words[row, place]
    return word


@part
def store(words: Words, row: int, place: int, element: Word) -> None:
    """Element number `place` of a row."""
    words[row, place] = element
