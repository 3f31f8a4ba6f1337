"""Who adds up: all that a mechanism of this package needs from a curator, trusted or shared (sections 3.3 and 9.3).

An `Adder` is given rows of whole numbers, one for each person, and releases their sums with noise.  It knows two
noises:

- discrete Laplace with parameter epsilon / sensitivity on each sum: epsilon-private when replacing one row moves the
  sums by at most `sensitivity` in the sum of absolute values (Theorem 3.6);
- rounded Gaussian of a given variance on each sum: as private as the continuous Gaussian mechanism, because the sums
  are whole numbers (`rounded_gaussian.py`, `accounting/gaussian.py`).

`TrustedCurator` sees the rows.  `SharesInProcess` splits them into additive shares, adds each server's shares and
noise apart from the others', and combines what they release: the same laws, up to the noise plan's factor, from
nobody who sees a row.

Checked in tests/unit/mechanisms/test_adder.py and tests/statistical/test_shared_noise.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.rounded_gaussian import RoundedGaussian
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing import additive, field
from localdp.sharing.coalitions import promise
from localdp.sharing.field import PRIME
from localdp.sharing.noise_plans import NoisePlan, ServerNoise, central_law
from localdp.sharing.summed_noise import SummedNoise

Block: TypeAlias = NDArray[np.int64]  # people by entries
Rows: TypeAlias = Block | Iterable[Block]  # all at once, or block by block

CELLS_PER_BLOCK = 1 << 22
LARGEST_SUM = 1 << 61  # of absolute values in one column; the field holds four times as much
_NO_DELTA = Fraction(0)


class Adder(Protocol):
    """Adds up rows, and releases the sums with noise."""

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        """The sums of the columns, each with discrete Laplace noise."""
        ...

    def gaussian_sums(self, rows: Rows, variance: int) -> Integers:
        """The sums of the columns, each with rounded Gaussian noise."""
        ...

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        """The law of what `noisy_sums` adds to each sum."""
        ...

    def gaussian_noise(self, variance: int) -> float:
        """The variance of what `gaussian_sums` adds to each sum."""
        ...

    def claim(self, epsilon: Epsilon, delta: Fraction = _NO_DELTA) -> PrivacyClaim:
        """What an (epsilon, delta) means with this adder."""
        ...


@dataclass(frozen=True, slots=True)
class TrustedCurator:
    """Sees every row, and is trusted with them."""

    source: RandomSource

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        return self.released(_sums(rows), sensitivity, epsilon)

    def released(self, sums: Integers, sensitivity: int, epsilon: Epsilon) -> Integers:
        """Sums that were added up already, each with discrete Laplace noise."""
        return sums + central_law(epsilon, sensitivity).sample(self.source, len(sums))

    def gaussian_sums(self, rows: Rows, variance: int) -> Integers:
        sums = _sums(rows)
        return sums + RoundedGaussian(variance).sample(self.source, len(sums))

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        """Discrete Laplace."""
        return SummedNoise(epsilon.exact / sensitivity, Fraction(1))

    def gaussian_noise(self, variance: int) -> float:
        """That of the Gaussian, and a twelfth for rounding it."""
        return variance + 1 / 12

    def claim(self, epsilon: Epsilon, delta: Fraction = _NO_DELTA) -> PrivacyClaim:
        """Pure, but the curator sees everything."""
        return PrivacyClaim.of_curator(epsilon, delta)


@dataclass(frozen=True, slots=True)
class SharesInProcess:
    """The shared curator in a few lines: people split their rows, servers add, a collector combines."""

    source: RandomSource  # of everybody, one after the other
    servers: int = 2
    plan: NoisePlan = NoisePlan.EACH_SERVER

    def noisy_sums(self, rows: Rows, sensitivity: int, epsilon: Epsilon) -> Integers:
        """The sums of the columns, each with the noises of all servers."""
        noise = ServerNoise(self.plan, epsilon, sensitivity, self.servers)
        held = self._held(rows)
        return _combined(held, [noise.draw(self.source, len(held[0])) for _ in held])

    def gaussian_sums(self, rows: Rows, variance: int) -> Integers:
        """The sums of the columns, each with a full rounded Gaussian from every server."""
        law, held = self._gaussian(variance), self._held(rows)
        return _combined(held, [law.sample(self.source, len(held[0])) for _ in held])

    def noise(self, sensitivity: int, epsilon: Epsilon) -> SummedNoise:
        """The sum of the servers' noises."""
        return ServerNoise(self.plan, epsilon, sensitivity, self.servers).total

    def gaussian_noise(self, variance: int) -> float:
        """That of all servers together."""
        return self.servers * (self._gaussian(variance).variance + 1 / 12)

    def claim(self, epsilon: Epsilon, delta: Fraction = _NO_DELTA) -> PrivacyClaim:
        """Computational, and dependent on the servers as the plan says."""
        against, honest = promise(self.plan, self.servers)
        return PrivacyClaim.of_shares(epsilon, against, honest, delta)

    def _gaussian(self, variance: int) -> RoundedGaussian:
        if self.plan.server_shape(self.servers) != 1:
            # A sum of rounded parts is not a rounded sum, and its delta is not that of the Gaussian.
            raise InvalidParameter("Gaussian noise is not divided: every server adds all of it")
        return RoundedGaussian(variance)

    def _held(self, rows: Rows) -> list[list[int]]:
        """What each server's shares add up to."""
        totals: list[list[int]] = []
        for block in _checked(rows):
            shares = additive.split_signed(block.ravel(), self.servers, self.source)
            new = [field.totals(share.reshape(block.shape)) for share in shares]
            totals = [_added(*pair) for pair in zip(totals, new, strict=True)] if totals else new
        return totals


def _sums(rows: Rows) -> Integers:
    blocks = [block.sum(axis=0, dtype=np.int64) for block in _checked(rows)]
    sums: Integers = np.sum(blocks, axis=0, dtype=np.int64)
    return sums


def _checked(rows: Rows) -> Iterable[Block]:
    """The blocks, if they can be added up: all of one width, and never beyond LARGEST_SUM."""
    seen, width, largest = 0, None, 0
    for block in [rows] if isinstance(rows, np.ndarray) else rows:
        if block.ndim != 2 or block.dtype != np.int64 or block.shape[1] != (width or block.shape[1]):
            raise InvalidParameter("rows are matrices of 64-bit whole numbers, all of one width")
        seen, width = seen + len(block), block.shape[1]
        largest = max(largest, int(block.max(initial=0)), -int(block.min(initial=0)))
        if seen * largest > LARGEST_SUM:
            raise InvalidParameter("the rows may add up to more than a sum can hold")
        yield np.ascontiguousarray(block)
    if width is None:
        raise InvalidParameter("there are no rows to add up")


def _added(left: list[int], right: list[int]) -> list[int]:
    return [(a + b) % PRIME for a, b in zip(left, right, strict=True)]


def _combined(held: list[list[int]], noises: list[Integers]) -> Integers:
    """What the collector reads: the sum of what the servers release."""
    released = [_added(sums, noise.tolist()) for sums, noise in zip(held, noises, strict=True)]
    return np.array(additive.combined(released), np.int64)
