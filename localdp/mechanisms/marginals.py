"""All k-way marginals of d bits by their cells: a contingency table for every k of the attributes.

Each person is in one cell of each of the C(d, k) tables, so that replacing a record moves 2 C(d, k) cells by one: the
L1 sensitivity.  Every cell gets discrete Laplace noise with parameter epsilon / (2 C(d, k)); its error does not
depend on the number of people, unlike that of the local protocol (`randomizers/marginals.py`).

Claim.  Epsilon-private for all tables together; the standard error of a cell is exact.
Checked in tests/unit/mechanisms/test_marginals.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.domains.columns import ColumnArray
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms.adder import CELLS_PER_BLOCK, Adder, Block
from localdp.randomness.source import Bits, Integers
from localdp.sharing.encoding import LARGEST_LENGTH
from localdp.sharing.summed_noise import SummedNoise


@dataclass(frozen=True, slots=True)
class DirectMarginals:
    """The cells of every table over `ways` of `attributes` bits."""

    attributes: int
    ways: int
    epsilon: Epsilon  # of all tables together, per person, in nats, replace-one neighbours
    adder: Adder

    def __post_init__(self) -> None:
        if (
            not 1 <= self.ways <= self.attributes
            or comb(self.attributes, self.ways) << self.ways > LARGEST_LENGTH
        ):
            raise InvalidParameter(
                f"marginals are over 1 to all attributes, with at most {LARGEST_LENGTH} cells in all"
            )

    @property
    def tables(self) -> list[tuple[int, ...]]:
        """Which attributes each table is over."""
        return list(combinations(range(self.attributes), self.ways))

    @property
    def sensitivity(self) -> int:
        """One cell left and one entered, in each table."""
        return 2 * comb(self.attributes, self.ways)

    @property
    def claim(self) -> PrivacyClaim:
        """What one release promises."""
        return self.adder.claim(self.epsilon)

    @property
    def noise(self) -> SummedNoise:
        """The law of the error of each cell."""
        return self.adder.noise(self.sensitivity, self.epsilon)

    @property
    def standard_error(self) -> float:
        """Of each cell, in people."""
        return sqrt(self.noise.variance())

    def release(self, bits: ColumnArray) -> Integers:
        """Tables by cells; attribute i of a table is bit i of the number of the cell."""
        if bits.ndim != 2 or bits.shape[1] != self.attributes or bits.dtype.kind != "b":
            raise InvalidRecord(f"records are {self.attributes} bits for each person")
        sums = self.adder.noisy_sums(self._rows(bits), self.sensitivity, self.epsilon)
        return sums.reshape(-1, 1 << self.ways)

    def _rows(self, bits: Bits) -> Iterator[Block]:
        tables = np.array(self.tables)
        people = max(1, CELLS_PER_BLOCK // (len(tables) << self.ways))
        for start in range(0, max(1, len(bits)), people):
            part = bits[start : start + people]
            cells = part[:, tables] @ (1 << np.arange(self.ways)) + (np.arange(len(tables)) << self.ways)
            rows = np.zeros((len(part), len(tables) << self.ways), np.int64)
            np.put_along_axis(rows, cells, 1, axis=1)
            yield rows
