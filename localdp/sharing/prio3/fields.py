"""The two prime fields of Prio3, on Python integers (draft-irtf-cfrg-vdaf-20, section 6.1).

Field64 has order 2**64 - 2**32 + 1, Field128 has order 2**128 - 7 * 2**66 + 1.  In both a power of 7 generates a
subgroup whose order is a power of two; its elements are the points at which the proofs' polynomials are given.
An element is a Python integer in 0 .. modulus - 1; on the wire it is little-endian, of fixed width, and a value
of the modulus or above is refused.

A smaller `PrimeField` serves the exact tests, which enumerate it.
Checked in tests/unit/sharing/prio3/test_fields.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from localdp.errors import InvalidParameter, MalformedReport
from localdp.sharing.field import PRIME


@dataclass(frozen=True, slots=True)
class PrimeField:
    """Integers modulo a prime, with a subgroup of `two_power` = 2**k elements."""

    modulus: int
    encoded_bytes: int
    generator: int  # Of the subgroup; which one is fixed by the draft, since the wire depends on it.
    two_power: int  # The order of that subgroup.

    @property
    def sampling_mask(self) -> int:
        """Keeps as many bits of a sample as the modulus has."""
        return int((1 << (self.modulus - 1).bit_length()) - 1)

    def inverse(self, element: int) -> int:
        """The multiplicative inverse of a non-zero element."""
        return pow(element, -1, self.modulus)

    def roots(self, size: int) -> tuple[int, ...]:
        """The powers w**0 .. w**(size - 1) of the principal root of unity of that order."""
        return _roots(self, size)

    def pack(self, elements: Iterable[int]) -> bytes:
        """Little-endian, of fixed width each."""
        return b"".join(element.to_bytes(self.encoded_bytes, "little") for element in elements)

    def unpack(self, data: bytes) -> list[int]:
        """The elements again; refuses a partial element, and values of the modulus or above."""
        width = self.encoded_bytes
        if len(data) % width:
            raise MalformedReport(f"field elements take {width} bytes each")
        elements = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
        if any(element >= self.modulus for element in elements):
            raise MalformedReport("a share is not a reduced field element")
        return elements

    def subtract(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """left - right, element by element."""
        return [(a - b) % self.modulus for a, b in zip(left, right, strict=True)]

    def total(self, vectors: Iterable[Sequence[int]], length: int) -> list[int]:
        """The sum of the vectors, element by element."""
        sums = [0] * length
        for vector in vectors:
            sums = [a + b for a, b in zip(sums, vector, strict=True)]
        return [element % self.modulus for element in sums]

    def dot(self, left: Iterable[int], right: Iterable[int]) -> int:
        """The inner product of two vectors of one length."""
        return sum(a * b for a, b in zip(left, right, strict=True)) % self.modulus


@cache
def _roots(field: PrimeField, size: int) -> tuple[int, ...]:
    if size < 1 or field.two_power % size:
        raise InvalidParameter(f"the field has no subgroup of {size} elements")
    root = pow(field.generator, field.two_power // size, field.modulus)
    powers = [1]
    while len(powers) < size:
        powers.append(powers[-1] * root % field.modulus)
    return tuple(powers)


PRIME128 = (1 << 128) - 7 * (1 << 66) + 1
FIELD64 = PrimeField(PRIME, 8, pow(7, (1 << 32) - 1, PRIME), 1 << 32)
FIELD128 = PrimeField(PRIME128, 16, pow(7, (PRIME128 - 1) >> 66, PRIME128), 1 << 66)
