"""What a randomizer takes: the kinds of input, each with its size.

A randomizer says its kind (`LocalRandomizer.takes`), and nobody needs to know more to ask with it: a party makes such
inputs of its records (`party/question.py`), an audit makes records of such inputs (`auditing/inputs_as_records.py`).
Checked in tests/unit/auditing/test_inputs_as_records.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GridInput:
    """A number j of 0 .. resolution, which stands for j / resolution in [0, 1]; the estimate is a mean."""

    resolution: int


@dataclass(frozen=True, slots=True)
class CategoryInput:
    """A number of 0 .. values - 1."""

    values: int


@dataclass(frozen=True, slots=True)
class FingerprintInput:
    """64 bits that stand for a value of an open domain."""


@dataclass(frozen=True, slots=True)
class BitsInput:
    """The number whose bits are the attributes, the first one lowest; the estimates are parities of at most `order`."""

    bits: int
    order: int
    labelled: bool  # whether the highest bit is a label, which takes part in every parity
    parities: int  # how many there are


@dataclass(frozen=True, slots=True)
class CubeInput:
    """A vector of numbers on the grid."""

    dimension: int
    resolution: int


@dataclass(frozen=True, slots=True)
class BallInput:
    """A vector whose entries v stand for v / resolution, of norm at most 1."""

    dimension: int
    resolution: int


Input = int | tuple[int, ...]  # one input: its number, or the vector itself
InputKind = GridInput | CategoryInput | FingerprintInput | BitsInput | CubeInput | BallInput
