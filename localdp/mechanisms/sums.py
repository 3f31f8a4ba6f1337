"""Counts, sums, means, histograms and vector sums: what addition alone answers (sections 3.3 and 9.3).

Each mechanism encodes a person's value as a row of whole numbers (`sharing/encoding.py`), and has an `Adder` release
the noisy sums.  Neighbours differ in one person's value (replace one), so the number of people is public, a histogram
has sensitivity 2, and a mean is a sum over a known number.  The error does not depend on the number of people.

Claim.  Each is epsilon-private in the words of its `claim`, and `noise` is the exact law of each error.
Checked in tests/unit/mechanisms/test_sums.py, and as a law in tests/statistical/test_mechanisms.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidRecord
from localdp.mechanisms.adder import Adder, Block
from localdp.randomness.source import Integers
from localdp.sharing.encoding import Encoding
from localdp.sharing.summed_noise import SummedNoise

CELLS_PER_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class NoisySums(ABC):
    """Sums of encoded values with noise; subclasses say what is encoded."""

    epsilon: Epsilon  # of one release, per person, in nats, replace-one neighbours
    adder: Adder

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """The shape of a person's row."""

    @property
    def claim(self) -> PrivacyClaim:
        """What one release promises."""
        return self.adder.claim(self.epsilon)

    @property
    def noise(self) -> SummedNoise:
        """The law of the error of each sum."""
        return self.adder.noise(self.encoding.sensitivity, self.epsilon)

    @property
    def standard_error(self) -> float:
        """Of each sum."""
        return sqrt(self.noise.variance())

    def _released(self, values: NDArray[Any]) -> Integers:
        """The noisy sums of values that are rows already, or single numbers."""
        rows = values.reshape(len(values), -1)
        if rows.dtype.kind not in "biu" or rows.shape[1] != self.encoding.length:
            raise InvalidRecord(f"values are whole numbers, {self.encoding.length} for each person")
        if rows.size and not (rows.min() >= 0 and rows.max() <= self.encoding.bound):
            raise InvalidRecord(f"a value is outside of 0 to {self.encoding.bound}")
        return self.adder.noisy_sums(rows.astype(np.int64), self.encoding.sensitivity, self.epsilon)


@dataclass(frozen=True, slots=True)
class NoisyCount(NoisySums):
    """How many people have a bit set."""

    @property
    def encoding(self) -> Encoding:
        """One bit."""
        return Encoding.count()

    def release(self, bits: NDArray[Any]) -> int:
        """The noisy count."""
        return int(self._released(bits)[0])


@dataclass(frozen=True, slots=True)
class NoisySum(NoisySums):
    """The sum of numbers in 0 .. bound."""

    bound: int

    @property
    def encoding(self) -> Encoding:
        """One number."""
        return Encoding.sum(self.bound)

    def release(self, values: NDArray[Any]) -> int:
        """The noisy sum."""
        return int(self._released(values)[0])

    def mean(self, values: NDArray[Any]) -> float:
        """The noisy mean: the noisy sum over the number of people, which is public."""
        return self.release(values) / len(values)


@dataclass(frozen=True, slots=True)
class NoisyHistogram(NoisySums):
    """How many people have each of `values` values."""

    values: int

    @property
    def encoding(self) -> Encoding:
        """A one among zeros."""
        return Encoding.histogram(self.values)

    def release(self, codes: NDArray[Any]) -> Integers:
        """The noisy number of people with each value; each is given by its code."""
        checked_codes(codes, self.values)
        rows = one_hot(codes, self.values)
        return self.adder.noisy_sums(rows, self.encoding.sensitivity, self.epsilon)


@dataclass(frozen=True, slots=True)
class NoisyVectorSum(NoisySums):
    """The sum of vectors of numbers in 0 .. bound, of which no two are further apart than `sensitivity` (L1)."""

    length: int
    bound: int
    sensitivity: int

    @property
    def encoding(self) -> Encoding:
        """A vector."""
        return Encoding.vector(self.length, self.bound, self.sensitivity)

    def release(self, vectors: NDArray[Any]) -> Integers:
        """The noisy sums of the columns.  Who makes the vectors answers for their distances: they are not checked."""
        return self._released(vectors)


def checked_codes(codes: NDArray[Any], values: int) -> None:
    """Refuse what is no list of codes."""
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InvalidRecord("codes are a list of whole numbers, one for each person")
    if codes.size and not (codes.min() >= 0 and codes.max() < values):
        raise InvalidRecord(f"a code is outside of 0 to {values - 1}")


def one_hot(codes: NDArray[Any], values: int) -> Iterator[Block]:
    """Rows with a one at each person's code, a block of people at a time."""
    people = max(1, CELLS_PER_BLOCK // values)
    for start in range(0, max(1, len(codes)), people):
        part = codes[start : start + people]
        rows = np.zeros((len(part), values), np.int64)
        rows[np.arange(len(part)), part] = 1
        yield rows
