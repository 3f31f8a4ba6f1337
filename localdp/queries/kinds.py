"""The static types of expressions on a schema: of one value, of one of several values, and of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from localdp.domains import CategoryDomain

Kind: TypeAlias = Literal["bit", "unit"]


@dataclass(frozen=True, slots=True)
class BitType:
    """True or false; 1 or 0 in arithmetic."""

    def __str__(self) -> str:
        return "a bit"


@dataclass(frozen=True, slots=True)
class CategoryType:
    """One of the labels of a domain."""

    domain: CategoryDomain

    def __str__(self) -> str:
        return f"a category of {len(self.domain.labels)} labels"


@dataclass(frozen=True, slots=True)
class LabelType:
    """A label that stands alone: it means something only beside a category."""

    text: str

    def __str__(self) -> str:
        return "a label"


@dataclass(frozen=True, slots=True)
class NumberType:
    """A number from `low` to `high`, both included."""

    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return "a number"


@dataclass(frozen=True, slots=True)
class UnitType:
    """A number clipped to [0, 1]."""

    def __str__(self) -> str:
        return "a clipped number"


Type: TypeAlias = BitType | CategoryType | LabelType | NumberType | UnitType


@dataclass(frozen=True, slots=True)
class CodeType:
    """A whole number from 0 up to, not including, the length."""

    length: int


@dataclass(frozen=True, slots=True)
class CubeType:
    """A vector of so many numbers in [0, 1]."""

    length: int


@dataclass(frozen=True, slots=True)
class BallType:
    """A vector of so many numbers, of Euclidean norm at most 1."""

    length: int


@dataclass(frozen=True, slots=True)
class ParitiesType:
    """The signs of all parities of at most `order` of so many bits, perhaps each times a label's sign."""

    length: int  # how many parities there are
    bits: int
    order: int
    labelled: bool


SeveralType: TypeAlias = CodeType | CubeType | BallType | ParitiesType
