"""The frequency oracles to choose from, each with its exact error, the bits of a report and the work to decode.

The error is n Var of one frequency by the randomizer's own formula, from its exact integer law: at f = 1 / d it is the
mean over all inputs on uniform data (the sum of variances, over d), at f = 0 that of an item which nobody has.  Nothing is
simulated, and no table of a geometry is built.

Bits.  Some reports are private bits together with public ones: a row or a seed that is drawn without regard to the value.
Public bits need not travel when both ends share coins, so the two are counted apart.

Seconds to decode are estimates, meant to tell milliseconds from minutes: numbers of steps times the constants below, which
were measured on one core of a cloud machine of 2023, and are right within a factor of about three.
Checked in tests/unit/selection/test_candidates.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log2
from typing import Any, TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.definition import FrequencyRandomizer
from localdp.randomizers.local_hashing import OptimalLocalHashing, nearest_buckets
from localdp.randomizers.parts.inputs import require_between
from localdp.randomizers.projective_geometry import LARGEST_INPUTS, ProjectiveGeometryResponse, geometries
from localdp.randomizers.recursive_hadamard import LARGEST_BITS, RecursiveHadamardResponse
from localdp.randomizers.registry import REGISTRY

Randomizer = FrequencyRandomizer | OptimalLocalHashing

# Nanoseconds.
_READ = 6.0  # unpack a number and count it
_ITEM_OF_A_SET = 12.0
_BIT_OF_A_ROW = 0.2
_HASHED_PAIR = 5.0
_WALSH_STEP = 3.0  # of the K log2 K of a Walsh-Hadamard transform
_FOURIER_STEP = 20.0  # of the K log2 K of a correlation
_COEFFICIENT = 20.0  # of the 2**b that a report of recursive Hadamard response has
_DEBIAS = 30.0  # one input
# Recursive Hadamard response counts equal reports first, if they are fewer kinds.
_COUNTED_REPORTS = 1 << 20

Member: TypeAlias = Any  # of a family, which knows what its members have


@dataclass(frozen=True, slots=True)
class Candidate:
    """A randomizer with its costs, or the reason why a family has none."""

    family: str
    randomizer: Randomizer | None
    parameters: str = ""
    variance: float = float("inf")  # n times the variance of one frequency, at the wished target
    private_bits: int = 0
    public_bits: int = 0
    decode_seconds: float = float("inf")
    excluded: str = ""  # why it is not eligible; empty if it is

    @property
    def report_bits(self) -> int:
        """Size of one packed report, public bits included."""
        return self.private_bits + self.public_bits


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of frequency oracle: its members for given inputs, and what one of them costs."""

    name: str  # in the registry
    # Of a member, for these people and inputs, but for debiasing.
    nanoseconds: Callable[[Member, int, int], float]
    several: Callable[[Epsilon, int], Iterable[Member]] | None = None  # None: there is one member
    parameters: Callable[[Member], str] = lambda _: ""
    public_bits: Callable[[Member], int] = lambda _: 0

    def members(self, epsilon: Epsilon, inputs: int) -> Iterable[Member]:
        """Those for so many inputs."""
        if self.several is not None:
            return self.several(epsilon, inputs)
        alone: Member = REGISTRY[self.name].construction
        return [alone(epsilon, inputs)]

    def candidate(self, member: Member, inputs: int, people: int, frequency: float) -> Candidate:
        """The member with its costs."""
        public = self.public_bits(member)
        return Candidate(
            family=self.name,
            randomizer=member,
            parameters=self.parameters(member),
            variance=member.variance(frequency),
            private_bits=member.report_bits - public,
            public_bits=public,
            decode_seconds=1e-9 * (self.nanoseconds(member, people, inputs) + _DEBIAS * inputs),
        )


def _geometry_members(epsilon: Epsilon, inputs: int) -> Iterable[ProjectiveGeometryResponse]:
    require_between("the number of inputs", inputs, 2, LARGEST_INPUTS)
    for shape in geometries(inputs):
        yield ProjectiveGeometryResponse(epsilon, inputs, shape.field_order, shape.dimension)


def _recursive_members(epsilon: Epsilon, inputs: int) -> Iterable[RecursiveHadamardResponse]:
    for bits in range(1, min(LARGEST_BITS, (inputs - 1).bit_length()) + 1):
        yield RecursiveHadamardResponse(epsilon, inputs, bits)


def _hashing_members(epsilon: Epsilon, _: int) -> Iterable[OptimalLocalHashing]:
    """The best number of buckets, and the powers of two below it: for few bits."""
    best = nearest_buckets(epsilon)
    yield OptimalLocalHashing(epsilon, best)
    for power in range(1, best.bit_length()):
        yield OptimalLocalHashing(epsilon, 1 << power)


def _transform(length: int) -> float:
    """The steps of a fast transform."""
    return length * log2(length)


def _recursive_nanoseconds(member: RecursiveHadamardResponse, people: int, _: int) -> float:
    kinds = 1 << member.report_bits
    decoded = kinds if kinds <= min(people, _COUNTED_REPORTS) else people
    rows = 1 << member.row_bits
    return _READ * people + _COEFFICIENT * decoded * member.symbols + _WALSH_STEP * _transform(rows)


def _geometry_nanoseconds(member: ProjectiveGeometryResponse, people: int, _: int) -> float:
    return _READ * people + _FOURIER_STEP * _transform(member.geometry.points)


# In the order of preference between equal errors: the simpler one first.
FAMILIES = (
    Family("k-ary", lambda _, people, __: _READ * people),
    Family(
        "subset-selection",
        lambda member, people, _: _ITEM_OF_A_SET * people * member.size,
        parameters=lambda member: f"w={member.size}",
    ),
    Family(
        "projective-geometry",
        _geometry_nanoseconds,
        _geometry_members,
        lambda member: f"q={member.field_order} K={member.geometry.points}",
    ),
    Family(
        "recursive-hadamard",
        _recursive_nanoseconds,
        _recursive_members,
        lambda member: f"b={member.private_bits}",
        lambda member: int(member.row_bits),
    ),
    Family(
        "hadamard",
        lambda member, people, _: _READ * people + _WALSH_STEP * _transform(member.outputs),
    ),
    Family("optimized-unary", lambda _, people, inputs: _BIT_OF_A_ROW * people * inputs),
    Family(
        "local-hashing",
        lambda _, people, inputs: _HASHED_PAIR * people * inputs,
        _hashing_members,
        lambda member: f"g={member.number}",
        lambda _: 64,
    ),
)
