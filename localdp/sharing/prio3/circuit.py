"""Validity circuits and their gadgets (draft-irtf-cfrg-vdaf-20, section 7.3.2 and appendix A).

A circuit says which encoded measurements are valid: those for which all of its checks are zero.  It is affine but for the
calls of one *gadget*, a small polynomial of low degree.  So a circuit here is two affine maps around the gadget:

    encoded measurement, joint randomness  ->  inputs of every gadget call
    encoded measurement, gadget outputs    ->  checks

Both run on the measurement itself and, since they are affine, on an additive share of it; a constant c then enters each of
the m shares as c / m, which is what `one` is for: 1 for a measurement, 1 / m for a share.

**Deviation**: the draft lets a circuit have several gadgets, and call one on the outputs of another.  Its five circuits do
neither, and without it nothing needs to be recorded while a circuit runs.

The encodings and the maps of each circuit are checked in tests/unit/sharing/prio3/test_circuits.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from localdp.sharing.prio3.fields import PrimeField
from localdp.sharing.prio3.polynomials import next_power_of_two

Vector = Sequence[int]
Measurement = TypeVar("Measurement")
Result = TypeVar("Result")


class Gadget(Protocol):
    """A polynomial in `arity` variables, of total degree `degree`."""

    @property
    def arity(self) -> int:
        """The number of inputs."""
        ...

    @property
    def degree(self) -> int:
        """The degree of the gadget polynomial is this times that of its wire polynomials."""
        ...

    def evaluate(self, field: PrimeField, inputs: Vector) -> int:
        """The value at one point."""
        ...


@dataclass(frozen=True, slots=True)
class SumOfProducts:
    """x_0 x_1 + x_2 x_3 + ...: `Mul` of the draft for one product, `ParallelSum` of `Mul` for more."""

    products: int

    @property
    def arity(self) -> int:
        """Two inputs for each product."""
        return 2 * self.products

    @property
    def degree(self) -> int:
        """Products of two."""
        return 2

    def evaluate(self, field: PrimeField, inputs: Vector) -> int:
        return field.dot(inputs[::2], inputs[1::2])


@dataclass(frozen=True, slots=True)
class Univariate:
    """A polynomial in one variable, coefficients lowest first: `PolyEval` of the draft."""

    coefficients: tuple[int, ...]

    @property
    def arity(self) -> int:
        """One input."""
        return 1

    @property
    def degree(self) -> int:
        """That of the polynomial."""
        return len(self.coefficients) - 1

    def evaluate(self, field: PrimeField, inputs: Vector) -> int:
        """The value at one point, by Horner's rule."""
        value = 0
        for coefficient in reversed(self.coefficients):
            value = (value * inputs[0] + coefficient) % field.modulus
        return value


class Circuit(ABC, Generic[Measurement, Result]):
    """What is measured, how it is encoded, when it is valid, and what is summed up."""

    algorithm: int  # The number of the Prio3 variant in every domain-separation tag.
    field: PrimeField

    @property
    @abstractmethod
    def gadget(self) -> Gadget:
        """The only part that is not affine."""

    @property
    @abstractmethod
    def calls(self) -> int:
        """How often the gadget is called."""

    @property
    @abstractmethod
    def encoded_length(self) -> int:
        """Field elements of an encoded measurement."""

    @property
    @abstractmethod
    def output_length(self) -> int:
        """Field elements of what is summed up."""

    @property
    @abstractmethod
    def check_count(self) -> int:
        """How many checks must be zero."""

    @property
    def joint_length(self) -> int:
        """Field elements of randomness that client and servers share."""
        return 0

    @abstractmethod
    def encode(self, measurement: Measurement) -> list[int]:
        """The measurement as field elements; refuses one that is out of range."""

    @abstractmethod
    def gadget_inputs(self, encoded: Vector, joint: Vector, one: int) -> list[list[int]]:
        """The inputs of each gadget call."""

    @abstractmethod
    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        """All zero if and (but for a negligible part of the joint randomness) only if the measurement is valid."""

    @abstractmethod
    def truncate(self, encoded: Vector) -> list[int]:
        """The part, or the linear function, of the encoding that is summed up."""

    @abstractmethod
    def decode(self, total: Vector) -> Result:
        """The result that a sum of truncated encodings stands for."""

    # What follows from the above: the lengths of a proof (section 7.3.2).

    @property
    def wire_length(self) -> int:
        """Values of a wire polynomial: one seed, one for each call, zeros up to a power of two."""
        return next_power_of_two(1 + self.calls)

    @property
    def gadget_length(self) -> int:
        """Values of the gadget polynomial that are sent: one more than its degree."""
        return self.gadget.degree * (self.wire_length - 1) + 1

    @property
    def proof_length(self) -> int:
        """A seed for each wire, then the gadget polynomial."""
        return self.gadget.arity + self.gadget_length

    @property
    def verifier_length(self) -> int:
        """The reduced check, each wire polynomial and the gadget polynomial at the point of the test."""
        return 1 + self.gadget.arity + 1

    @property
    def query_length(self) -> int:
        """The point of the test, preceded by factors for the checks where there are several."""
        return 1 + (self.check_count if self.check_count > 1 else 0)
