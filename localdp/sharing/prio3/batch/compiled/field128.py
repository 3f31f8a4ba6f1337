"""Field128 as compiled code: an element is a pair of words, low word first.

With B = 2**64 the prime is p = B**2 - 28 B + 1.  Products are Montgomery's, a b / B**2 modulo p, and a factor is an element
times B**2, as in the numpy form, `batch.field128`.  Taking t p away from a number whose lowest word is t clears that
word and multiplies by nothing but 28; two such steps divide by B**2, and leave a number above -p.

An accumulator is five words, the sum of up to 2**32 products not yet reduced: so a dot product is reduced once.

Checked against Python integers in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.compiled.toolchain import part
from localdp.sharing.prio3.batch.compiled.words import (
    ONE,
    ZERO,
    Accumulator,
    Pair,
    Word,
    add_carry,
    multiply_add,
    subtract_borrow,
)
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import PRIME128

_STEP = np.uint64(28)
_TOP = np.uint64((1 << 64) - 28)  # The upper word of the prime; the lower one is 1.
_SQUARE = pow(2, 256, PRIME128)
_SQUARE_LOW, _SQUARE_HIGH = np.uint64(_SQUARE % (1 << 64)), np.uint64(_SQUARE >> 64)


@part
def add(a: Pair, b: Pair) -> Pair:
    """a + b."""
    low, carry = add_carry(a[0], b[0], ZERO)
    high, over = add_carry(a[1], b[1], carry)
    return _below_prime(low, high, over)


@part
def _below_prime(low: Word, high: Word, over: Word) -> Pair:
    """A number below 2 p, given by two words and a carry, reduced."""
    less, borrow = subtract_borrow(low, ONE, ZERO)
    rest, under = subtract_borrow(high, _TOP, borrow)
    keep = under > over
    return (low if keep else less), (high if keep else rest)


@part
def subtract(a: Pair, b: Pair) -> Pair:
    """a - b."""
    low, borrow = subtract_borrow(a[0], b[0], ZERO)
    high, under = subtract_borrow(a[1], b[1], borrow)
    return _plus_prime_if(low, high, under)


@part
def _plus_prime_if(low: Word, high: Word, under: Word) -> Pair:
    """The prime is added where `under` is one."""
    low, carry = add_carry(low, under, ZERO)
    return low, high + carry + ((ZERO - under) & _TOP)


@part
def _product(a: Pair, b: Pair) -> tuple[Word, Word, Word, Word]:
    """The four words of a product."""
    t0, t1 = multiply_add(a[0], b[0], ZERO, ZERO)
    t1, t2 = multiply_add(a[0], b[1], t1, ZERO)
    t1, carry = multiply_add(a[1], b[0], t1, ZERO)
    t2, t3 = multiply_add(a[1], b[1], t2, carry)
    return t0, t1, t2, t3


@part
def _divided(t0: Word, t1: Word, t2: Word, t3: Word) -> tuple[Word, Word, Word, Word]:
    """(t0 + t1 B + t2 B**2 + t3 B**3) / B**2 modulo p: two words, a carry and a borrow to be added up."""
    t1, carry = multiply_add(_STEP, t0, t1, ZERO)
    t2, over = add_carry(t2, carry, ZERO)
    t2, under = subtract_borrow(t2, t0, ZERO)
    low, carry = multiply_add(_STEP, t1, t2, ZERO)
    high, over = add_carry(t3, carry, over)
    high, under = subtract_borrow(high, t1, under)
    return low, high, over, under


@part
def multiply(factor: Pair, element: Pair) -> Pair:
    """factor * element / B**2."""
    t0, t1, t2, t3 = _product(factor, element)
    low, high, over, under = _divided(t0, t1, t2, t3)
    # Between -p and p, since the product is below p B**2: the carry never stands alone.
    return _plus_prime_if(low, high, under - over)


@part
def lift(element: Pair) -> Pair:
    """An element times B**2."""
    return multiply((_SQUARE_LOW, _SQUARE_HIGH), element)


@part
def nothing(_element: Pair) -> Accumulator:
    """An empty accumulator."""
    return ZERO, ZERO, ZERO, ZERO, ZERO


@part
def accumulate(sums: Accumulator, factor: Pair, element: Pair) -> Accumulator:
    """sums + factor * element."""
    t0, t1, t2, t3 = _product(factor, element)
    s0, carry = add_carry(sums[0], t0, ZERO)
    s1, carry = add_carry(sums[1], t1, carry)
    s2, carry = add_carry(sums[2], t2, carry)
    s3, carry = add_carry(sums[3], t3, carry)
    return s0, s1, s2, s3, sums[4] + carry


@part
def accumulate_element(sums: Accumulator, element: Pair) -> Accumulator:
    """sums + element * B**2, so that dividing by B**2 leaves the element."""
    s2, carry = add_carry(sums[2], element[0], ZERO)
    s3, carry = add_carry(sums[3], element[1], carry)
    return sums[0], sums[1], s2, s3, sums[4] + carry


@part
def collapse(sums: Accumulator, _like: Pair) -> Pair:
    """The element that an accumulator stands for."""
    low, high, over, under = _divided(sums[0], sums[1], sums[2], sums[3])
    top = sums[4] + over - under
    negative = top >> np.uint64(63)
    low, carry = add_carry(low, negative, ZERO)
    high, carry = add_carry(high, (ZERO - negative) & _TOP, carry)
    top += carry
    # B**2 is 28 B - 1.  The first round leaves a carry of at most one, the second none.
    low, high, top = _folded(low, high, top)
    low, high, top = _folded(low, high, top)
    return _below_prime(low, high, ZERO)


@part
def _folded(low: Word, high: Word, top: Word) -> tuple[Word, Word, Word]:
    """low + high B + top (28 B - 1)."""
    low, borrow = subtract_borrow(low, top, ZERO)
    high, carry = add_carry(high, _STEP * top, ZERO)
    high, under = subtract_borrow(high, borrow, ZERO)
    return low, high, carry - under


@part
def is_reduced(element: Pair) -> np.bool_:
    """Whether a pair of words is an element."""
    return element[1] < _TOP or (element[1] == _TOP and element[0] < ONE)


@part
def load(words: Words, row: int, place: int, _like: Pair) -> Pair:
    """Element number `place` of a row."""
    return words[row, 2 * place], words[row, 2 * place + 1]


@part
def store(words: Words, row: int, place: int, element: Pair) -> None:
    """Element number `place` of a row."""
    words[row, 2 * place] = element[0]
    words[row, 2 * place + 1] = element[1]
