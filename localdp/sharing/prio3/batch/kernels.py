"""The seam between Prio3 on numpy arrays and the arithmetic it runs on: one `Kernel` per field, chosen by `kernel_for`.

Elements of many reports stand in an array of uint64 of shape (limbs, ..., reports), least limb first.  Reports come last so
that one step of a computation, done for all reports, runs over contiguous memory.

A kernel may keep *factors* in another form than elements (Montgomery's, in Field128): `lift` turns elements into factors,
`multiply` takes a factor and gives back the form of its other operand.  So sums of products need no conversion: the
shares stay elements and everything that multiplies them is lifted once.

Compiled code does not come through here: it fuses whole steps instead of speeding up each operation (see `engine`).
Checked against Python integers, for every kernel, in tests/unit/sharing/prio3/test_kernels.py.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch.field64 import NumpyField64
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.words import Mask, Octets, Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


class Kernel(Protocol):
    """Arithmetic of one field on arrays of elements."""

    @property
    def field(self) -> PrimeField:
        """The field."""
        ...

    @property
    def limbs(self) -> int:
        """Words of 64 bits per element."""
        ...

    def add(self, left: Words, right: Words) -> Words:
        """left + right."""
        ...

    def subtract(self, left: Words, right: Words) -> Words:
        """left - right."""
        ...

    def multiply(self, factors: Words, other: Words) -> Words:
        """factors * other, in the form of `other`: elements stay elements, factors stay factors."""
        ...

    def lift(self, elements: Words) -> Words:
        """Elements as factors."""
        ...

    def unreduced(self, words: Words) -> Mask:
        """Where words are not an element, being of the modulus or above."""
        ...


def kernel_for(field: PrimeField) -> Kernel:
    """The numpy kernel of a field."""
    if field == FIELD64:
        return NumpyField64()
    if field == FIELD128:
        return NumpyField128()
    raise InvalidParameter("blocks of reports are verified over Field64 and Field128 only")


def elements(kernel: Kernel, values: Sequence[int]) -> Words:
    """Constants as elements, of shape (limbs, values, 1)."""
    data = np.frombuffer(kernel.field.pack(values), "<u8").astype(np.uint64)
    return np.ascontiguousarray(data.reshape(len(values), kernel.limbs, 1).swapaxes(0, 1))


def factors(kernel: Kernel, values: Sequence[int]) -> Words:
    """Constants as factors, of shape (limbs, values, 1)."""
    return kernel.lift(elements(kernel, values))


def unpack(kernel: Kernel, rows: Octets) -> Words:
    """Words from one row of bytes per report: (limbs, elements, reports).  They may be unreduced."""
    shape = len(rows), rows.shape[1] // kernel.field.encoded_bytes, kernel.limbs
    words = np.ascontiguousarray(rows).view("<u8").reshape(shape)
    # Always a copy, which the caller may change.
    return np.array(words.transpose(2, 1, 0), np.uint64, order="C")


def pack(words: Words) -> Octets:
    """One row of bytes per report."""
    rows = np.ascontiguousarray(words.transpose(2, 1, 0)).astype("<u8", copy=False)
    return rows.view(np.uint8).reshape(len(rows), 8 * words.shape[0] * words.shape[1])


def total(kernel: Kernel, words: Words) -> Words:
    """The sum over axis 1, by halving; an empty sum is zero."""
    if not words.shape[1]:
        return np.zeros((kernel.limbs, *words.shape[2:]), np.uint64)
    while words.shape[1] > 1:
        half = words.shape[1] // 2
        folded = kernel.add(words[:, :half], words[:, half : 2 * half])
        words = folded if words.shape[1] % 2 == 0 else np.concatenate([folded, words[:, -1:]], axis=1)
    return words[:, 0]


def sums_over_reports(kernel: Kernel, words: Words) -> list[int]:
    """The sum of all reports, for each element, as an integer below the modulus."""
    # Halves of words, so that up to 2**32 of them add up without wrapping.
    low = (words & _LOW).sum(axis=-1, dtype=np.uint64)
    high = (words >> _HALF).sum(axis=-1, dtype=np.uint64)
    sums = [0] * words.shape[1]
    for limb in range(kernel.limbs):
        parts = zip(low[limb].tolist(), high[limb].tolist(), strict=True)
        sums = [s + ((a + (b << 32)) << (64 * limb)) for s, (a, b) in zip(sums, parts, strict=True)]
    return [s % kernel.field.modulus for s in sums]
