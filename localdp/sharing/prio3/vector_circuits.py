"""SumVec, Histogram and MultihotCountVec: vectors of digits, checked in chunks.

As in draft-irtf-cfrg-vdaf-20, sections 7.4.3 to 7.4.5.  All three encode a measurement as many elements that must be 0 or
1, and check them with one randomised sum of products for each chunk (see `bits`), over Field128 so that the joint
randomness misses an invalid vector with negligible probability only.  A second check of Histogram is that the elements
add up to one; of MultihotCountVec, that they add up to the reported weight, which is itself given in digits and thereby
at most `heaviest`.

A chunk near the square root of the number of digits makes the shortest proof, up to rounding.

Checked in tests/unit/sharing/prio3/test_circuits.py and by the vectors of tests/vectors/test_prio3_vectors.py.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from localdp.errors import InvalidParameter, InvalidRecord
from localdp.sharing.prio3 import bits
from localdp.sharing.prio3.circuit import Circuit, Gadget, Measurement, SumOfProducts, Vector
from localdp.sharing.prio3.fields import FIELD128, PrimeField


class DigitVector(Circuit[Measurement, list[int]]):
    """What the three circuits share: digits in chunks, sums that are lists of integers."""

    length: int
    chunk: int

    @property
    @abstractmethod
    def encoded_length(self) -> int:
        """The digits."""

    @property
    def gadget(self) -> Gadget:
        """One product for each digit of a chunk."""
        return SumOfProducts(self.chunk)

    @property
    def calls(self) -> int:
        """One for each chunk."""
        return bits.chunk_count(self.encoded_length, self.chunk)

    @property
    def output_length(self) -> int:
        """One sum for each entry."""
        return self.length

    @property
    def check_count(self) -> int:
        """That the digits are digits, and one more."""
        return 2

    @property
    def joint_length(self) -> int:
        """One for each chunk."""
        return self.calls

    def gadget_inputs(self, encoded: Vector, joint: Vector, one: int) -> list[list[int]]:
        """The pairs of each chunk."""
        return bits.chunk_inputs(self.field, encoded, joint, one, self.chunk)

    def decode(self, total: Vector) -> list[int]:
        """The sums."""
        return list(total)


@dataclass(frozen=True)
class SumVec(DigitVector[Sequence[int]]):
    """Sums, entry by entry, of vectors of integers in 0 .. largest."""

    length: int
    largest: int
    chunk: int
    field: PrimeField = FIELD128
    algorithm: int = 3

    def __post_init__(self) -> None:
        bits.require_positive(length=self.length, chunk=self.chunk)
        bits.require_range(self.field, self.largest)

    @property
    def encoded_length(self) -> int:
        """The digits of every entry."""
        return self.length * self.largest.bit_length()

    @property
    def check_count(self) -> int:
        """That the digits are digits."""
        return 1

    def encode(self, measurement: Sequence[int]) -> list[int]:
        """The digits of every entry, one entry after the other."""
        if len(measurement) != self.length:
            raise InvalidRecord("a measured vector is of another length than its collection")
        return [digit for value in measurement for digit in bits.encode_in_range(value, self.largest)]

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """All digits are digits."""
        return [sum(gadget_outputs) % self.field.modulus]

    def truncate(self, encoded: Vector) -> list[int]:
        """The integers of the digits."""
        width = self.largest.bit_length()
        entries = (encoded[start : start + width] for start in range(0, len(encoded), width))
        return [bits.decode_in_range(self.field, digits, self.largest) for digits in entries]


@dataclass(frozen=True)
class HistogramCircuit(DigitVector[int]):
    """How many measurements fall into each of `length` buckets; a measurement is the index of its bucket."""

    length: int
    chunk: int
    field: PrimeField = FIELD128
    algorithm: int = 4

    def __post_init__(self) -> None:
        bits.require_positive(length=self.length, chunk=self.chunk)

    @property
    def encoded_length(self) -> int:
        """The buckets."""
        return self.length

    def encode(self, measurement: int) -> list[int]:
        """One in its bucket, zeros elsewhere."""
        if not 0 <= measurement < self.length:
            raise InvalidRecord("a measurement falls into none of the buckets")
        return [int(bucket == measurement) for bucket in range(self.length)]

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """All digits are digits, and they add up to one."""
        p = self.field.modulus
        return [sum(gadget_outputs) % p, (sum(encoded) - one) % p]

    def truncate(self, encoded: Vector) -> list[int]:
        """The buckets."""
        return list(encoded)


@dataclass(frozen=True)
class MultihotCountVec(DigitVector[Sequence[bool]]):
    """How many measurements have each of `length` entries set; a measurement sets at most `heaviest` of them."""

    length: int
    heaviest: int
    chunk: int
    field: PrimeField = FIELD128
    algorithm: int = 5

    def __post_init__(self) -> None:
        bits.require_positive(length=self.length, chunk=self.chunk)
        bits.require_range(self.field, self.length)
        if not 0 < self.heaviest <= self.length:
            raise InvalidParameter("the largest weight lies between 1 and the length")

    @property
    def encoded_length(self) -> int:
        """The entries, then the digits of the weight."""
        return self.length + self.heaviest.bit_length()

    def encode(self, measurement: Sequence[bool]) -> list[int]:
        """The entries, then the digits of their number."""
        if len(measurement) != self.length or any(entry not in (0, 1) for entry in measurement):
            raise InvalidRecord(
                "a measured vector is of another length than its collection, or not of bits"
            )
        entries = [int(entry) for entry in measurement]
        return entries + bits.encode_in_range(sum(entries), self.heaviest)

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """All digits are digits, and the entries add up to the reported weight."""
        reported = bits.decode_in_range(self.field, encoded[self.length :], self.heaviest)
        p = self.field.modulus
        return [sum(gadget_outputs) % p, (sum(encoded[: self.length]) - reported) % p]

    def truncate(self, encoded: Vector) -> list[int]:
        """The entries."""
        return list(encoded[: self.length])
