"""How an answer becomes whole numbers that can be added up: what parties, curators and share servers agree on.

An answer is `length` entries, each in 0 .. bound.  Replacing one person's record moves the sum of the entries of all
people by at most `sensitivity` in the sum of absolute values, so independent discrete Laplace noise with
Pr[k] proportional to exp(-epsilon |k| / sensitivity) on every entry makes the sums epsilon-private (Theorem 3.6).

| kind | entries | sensitivity, replace-one |
|---|---|---|
| count | one bit | 1 |
| sum | one number in 0 .. bound | bound |
| histogram | one-hot | 2 |
| multihot | bits, at most `weight` of them 1 | min(2 weight, length) |
| vector | numbers in 0 .. bound | what the query's own norm allows, at most length * bound |

Checked in tests/unit/sharing/test_encoding.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter

EncodingKind: TypeAlias = Literal["count", "sum", "histogram", "multihot", "vector"]
LARGEST_BOUND = 1 << 32
LARGEST_LENGTH = 1 << 20


@dataclass(frozen=True, slots=True)
class Encoding:
    """The shape of an encoded answer, and how far one person can move a sum of them."""

    kind: EncodingKind
    length: int
    bound: int
    sensitivity: int
    weight: int = 0  # of a multihot encoding: the most ones

    def __post_init__(self) -> None:
        if self.kind not in get_args(EncodingKind):
            raise InvalidParameter("an encoding is a count, a sum, a histogram, multihot or a vector")
        if not 1 <= self.length <= LARGEST_LENGTH or not 1 <= self.bound <= LARGEST_BOUND:
            raise InvalidParameter(
                f"an encoding has 1 to {LARGEST_LENGTH} entries, each from 0 to at most {LARGEST_BOUND}"
            )
        if not 1 <= self.sensitivity <= self.length * self.bound:
            raise InvalidParameter("the sensitivity lies between 1 and what all entries together can move")
        if not 0 <= self.weight <= self.length or (self.kind == "multihot") != (self.weight > 0):
            raise InvalidParameter("a multihot encoding, and no other, says how many ones it has at most")
        if (self.length, self.bound, self.sensitivity) != self._shape():
            raise InvalidParameter(f"this is not the shape of an encoding of kind {self.kind}")

    def _shape(self) -> tuple[int, int, int]:
        """What length, bound and sensitivity must be, as far as the kind determines them."""
        match self.kind:
            case "count":
                return 1, 1, 1
            case "sum":
                return 1, self.bound, self.bound
            case "histogram":
                return max(self.length, 2), 1, 2
            case "multihot":
                return self.length, 1, min(2 * self.weight, self.length)
        return self.length, self.bound, self.sensitivity

    @property
    def narrow(self) -> np.dtype[np.unsignedinteger]:
        """The smallest type that holds what an answer is made of: an entry, or the number of the one that is 1."""
        return np.min_scalar_type(self.length - 1 if self.kind == "histogram" else self.bound)

    @property
    def narrow_bytes(self) -> int:
        """Of what an answer is made of."""
        return self.narrow.itemsize * (1 if self.kind == "histogram" else self.length)

    def rows(self, measured: NDArray[np.integer]) -> NDArray[np.int64]:
        """One row of entries for each answer, of what it is made of."""
        if self.kind != "histogram":
            return measured.astype(np.int64)
        # Compared with every value, not written at one: the pages that are touched take time.
        rows: NDArray[np.bool_] = measured == np.arange(self.length, dtype=self.narrow)
        return rows.astype(np.int64)

    @classmethod
    def count(cls) -> Encoding:
        """One bit."""
        return cls("count", 1, 1, 1)

    @classmethod
    def sum(cls, bound: int) -> Encoding:
        """One number in 0 .. bound; a bit if the bound is 1."""
        return cls.count() if bound == 1 else cls("sum", 1, bound, bound)

    @classmethod
    def histogram(cls, values: int) -> Encoding:
        """Which of several values: a one among zeros."""
        return cls("histogram", values, 1, 2)

    @classmethod
    def multihot(cls, length: int, weight: int) -> Encoding:
        """Bits, of which at most `weight` are 1."""
        return cls("multihot", length, 1, min(2 * weight, length), weight)

    @classmethod
    def vector(cls, length: int, bound: int, sensitivity: int) -> Encoding:
        """Numbers in 0 .. bound, of whose vectors no two are further apart than the sensitivity."""
        return cls("vector", length, bound, sensitivity)
