"""The arithmetic of the proofs of `proof.py`: what costs time, in numpy, and where compiled code takes its place.

Vectors of field elements are (limbs, length), as in the kernels of `sharing/prio3/batch`.

- `rotations`: the coefficients X^-63 .. X^63 of the first level, as integers, by popcounts of rotated words;
- `signs`: sum over lanes l of point^l (-1)^(bit l), of each word, for the four words e, e^a, e^c, e^a^c, one after
  the other, by tables of eight octets; on the right side their Hadamard transform;
- `correlated`: with u and v cut into chunks, the coefficients of X^(l - m), l - m = -(chunks - 1) .. chunks - 1, of
  the sum of <u_l, v_m> X^(l - m);
- `combined`: sum over chunks l of point^l u_l;
- `scaled`: products, element by element.

Claim.  Compiled code (`compiled_proof.py`) computes the same numbers.
Checked against Python integers in tests/unit/computing/test_proof_code.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat
from typing import Protocol

import numpy as np

from localdp.randomness.source import Integers
from localdp.sharing.prio3.batch.kernels import Kernel, elements, factors, sums_over_reports
from localdp.sharing.prio3.batch.words import Words

LANES = 64
_OCTETS, _OCTET = 8, 256
_ALL = (1 << LANES) - 1

Side = tuple[Words, Words, Words]  # the words of all gates that one verifier knows: (e, a, c) or (f, b, d)


class ProofCode(Protocol):
    """The steps of a proof that run over all gates; see the module's text."""

    @property
    def kernel(self) -> Kernel:
        """The field."""
        ...

    def rotations(self, left: Side, right: Side) -> Words:
        """The coefficients X^-63 .. X^63 of the words (e, a, c) and (f, b, d)."""
        ...

    def signs(self, words: Side, point: int, *, transformed: bool) -> Words:
        """The four vectors of (e, a, c), or of (f, b, d) with their transform: (limbs, 4 W)."""
        ...

    def correlated(self, u: Words, v: Words, chunks: int) -> Words:
        """The coefficients X^-(chunks - 1) .. X^(chunks - 1); the length is a multiple of `chunks`."""
        ...

    def combined(self, u: Words, chunks: int, point: int) -> Words:
        """The sum of point^l times chunk l."""
        ...

    def scaled(self, theta: Words, alpha: Words) -> Words:
        """Products, element by element."""
        ...


def constants(kernel: Kernel, values: Sequence[int]) -> Words:
    """Integers below the modulus as elements of shape (limbs, count)."""
    if kernel.limbs == 1:
        return np.array([values], np.uint64)
    return elements(kernel, values)[:, :, 0]


def counted(kernel: Kernel, counts: Integers) -> Words:
    """Signed counts as elements."""
    return constants(kernel, [count % kernel.field.modulus for count in counts.tolist()])


def _turned(words: Words, places: int) -> Words:
    """Words turned to the left."""
    return (words << np.uint64(places)) | (words >> np.uint64(LANES - places)) if places else words


def powers(kernel: Kernel, point: int, count: int) -> list[int]:
    """1, point, point^2, ..."""
    p = kernel.field.modulus
    return list(accumulate(repeat(point, count - 1), lambda power, base: power * base % p, initial=1))


def sign_table(kernel: Kernel, point: int) -> Words:
    """For each octet of a word and each of its values the sum of +-point^l over its lanes: (limbs, 8, 256)."""
    lanes = constants(kernel, powers(kernel, point, LANES)).reshape(kernel.limbs, _OCTETS, LANES // _OCTETS)
    table = np.zeros((kernel.limbs, _OCTETS, 1), np.uint64)
    for lane in range(LANES // _OCTETS):
        power = lanes[:, :, lane : lane + 1]
        table = np.concatenate([kernel.add(table, power), kernel.subtract(table, power)], axis=2)
    return table


class NumpyProofCode:
    """The proof's arithmetic with numpy alone, for any field that has a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def rotations(self, left: Side, right: Side) -> Words:
        coefficients = np.zeros(2 * LANES - 1, np.int64)
        for turn in range(LANES):
            turned = tuple(_turned(words, turn) for words in right)
            upper = _ALL << turn & _ALL
            coefficients[LANES - 1 + turn] = self._agreement(left, turned, upper)
            if turn:
                coefficients[turn - 1] = self._agreement(left, turned, _ALL ^ upper)
        return counted(self.kernel, coefficients)

    def _agreement(self, left: Side, right: tuple[Words, ...], mask: int) -> int:
        """Lanes of the mask in which a gate holds, less those in which it does not."""
        wrong = left[0] ^ right[0] ^ (left[1] & right[1]) ^ (left[2] & right[2])
        ones = int(np.bitwise_count(wrong & np.uint64(mask)).sum(dtype=np.int64))
        return mask.bit_count() * len(left[0]) - 2 * ones

    def signs(self, words: Side, point: int, *, transformed: bool) -> Words:
        e, a, c = words
        table = sign_table(self.kernel, point)
        four = [self._looked_up(table, word) for word in (e, e ^ a, e ^ c, e ^ a ^ c)]
        if transformed:
            add, subtract = self.kernel.add, self.kernel.subtract
            s, t = add(four[0], four[1]), subtract(four[0], four[1])
            x, y = add(four[2], four[3]), subtract(four[2], four[3])
            four = [add(s, x), add(t, y), subtract(s, x), subtract(t, y)]
        return np.concatenate(four, axis=1)

    def _looked_up(self, table: Words, words: Words) -> Words:
        octets = words.astype("<u8", copy=False)[:, None].view(np.uint8)
        total = table[:, 0, octets[:, 0]]
        for place in range(1, _OCTETS):
            total = self.kernel.add(total, table[:, place, octets[:, place]])
        return total

    def correlated(self, u: Words, v: Words, chunks: int) -> Words:
        kernel = self.kernel
        left = kernel.lift(u).reshape(kernel.limbs, chunks, -1)
        right = v.reshape(kernel.limbs, chunks, -1)
        coefficients: list[int] = []
        for shift in range(1 - chunks, chunks):
            low, high = max(0, shift), min(chunks, chunks + shift)
            products = kernel.multiply(left[:, low:high], right[:, low - shift : high - shift])
            coefficients += sums_over_reports(kernel, products.reshape(kernel.limbs, 1, -1))
        return constants(kernel, coefficients)

    def combined(self, u: Words, chunks: int, point: int) -> Words:
        kernel = self.kernel
        parts = u.reshape(kernel.limbs, chunks, -1)
        weights = factors(kernel, powers(kernel, point, chunks))
        total = parts[:, 0]
        for place in range(1, chunks):
            total = kernel.add(total, kernel.multiply(weights[:, place], parts[:, place]))
        return total

    def scaled(self, theta: Words, alpha: Words) -> Words:
        return self.kernel.multiply(self.kernel.lift(theta), alpha)
