"""Count and Sum: circuits over Field64 that need no joint randomness (draft-irtf-cfrg-vdaf-20, sections 7.4.1, 7.4.2).

Count: x is 0 or 1, since x * x - x = 0.  Sum: an integer in 0 .. largest is given by digits that are each 0 or 1
(see `bits`); every digit is one call of the gadget x**2 - x and one check.

Checked in tests/unit/sharing/prio3/test_circuits.py and by the vectors of tests/vectors/test_prio3_vectors.py.
"""

from dataclasses import dataclass

from localdp.errors import InvalidRecord
from localdp.sharing.prio3 import bits
from localdp.sharing.prio3.circuit import Circuit, Gadget, SumOfProducts, Univariate, Vector
from localdp.sharing.prio3.fields import FIELD64, PrimeField


@dataclass(frozen=True)
class Count(Circuit[int, int]):
    """How many measurements are 1; each is 0 or 1."""

    field: PrimeField = FIELD64
    algorithm: int = 1

    @property
    def gadget(self) -> Gadget:
        """One product."""
        return SumOfProducts(1)

    @property
    def calls(self) -> int:
        """x * x."""
        return 1

    @property
    def encoded_length(self) -> int:
        """x."""
        return 1

    @property
    def output_length(self) -> int:
        """x."""
        return 1

    @property
    def check_count(self) -> int:
        """x * x - x."""
        return 1

    def encode(self, measurement: int) -> list[int]:
        """The bit itself."""
        if measurement not in (0, 1):
            raise InvalidRecord("a counted measurement is 0 or 1")
        return [int(measurement)]

    def gadget_inputs(self, encoded: Vector, joint: Vector, one: int) -> list[list[int]]:
        """x twice."""
        return [[encoded[0], encoded[0]]]

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """x * x - x."""
        return [(gadget_outputs[0] - encoded[0]) % self.field.modulus]

    def truncate(self, encoded: Vector) -> list[int]:
        """x."""
        return list(encoded)

    def decode(self, total: Vector) -> int:
        """The number of ones."""
        return total[0]


@dataclass(frozen=True)
class Sum(Circuit[int, int]):
    """The sum of integers in 0 .. largest."""

    largest: int
    field: PrimeField = FIELD64
    algorithm: int = 2

    def __post_init__(self) -> None:
        bits.require_range(self.field, self.largest)

    @property
    def gadget(self) -> Gadget:
        """x**2 - x."""
        return Univariate((0, -1, 1))

    @property
    def calls(self) -> int:
        """One for each digit."""
        return self.encoded_length

    @property
    def encoded_length(self) -> int:
        """The digits."""
        return self.largest.bit_length()

    @property
    def output_length(self) -> int:
        """The integer."""
        return 1

    @property
    def check_count(self) -> int:
        """One for each digit."""
        return self.encoded_length

    def encode(self, measurement: int) -> list[int]:
        """The digits."""
        return bits.encode_in_range(measurement, self.largest)

    def gadget_inputs(self, encoded: Vector, joint: Vector, one: int) -> list[list[int]]:
        """Each digit."""
        return [[digit] for digit in encoded]

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """Each gadget output is zero."""
        return list(gadget_outputs)

    def truncate(self, encoded: Vector) -> list[int]:
        """The integer of the digits."""
        return [bits.decode_in_range(self.field, encoded, self.largest)]

    def decode(self, total: Vector) -> int:
        """The sum."""
        return total[0]
