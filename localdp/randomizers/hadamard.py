"""Hadamard response with one block: one private bit about an item (Bassily and Smith 2015; Acharya, Sun, Zhang 2019).

Let b be the smallest power of two above d, and give item x the row x + 1 of the Hadamard matrix of order b.  A report
is a column y: uniform among the b / 2 columns in which the row is +1 with probability p = T / 2**64, and uniform among
the others otherwise.  Row 0 is +1 everywhere, and is given to nobody.

Claim.  The randomizer is epsilon-local with exp(epsilon) = T / (2**64 - T), for T rounded down; it is tight as soon as
there are two items.  (-1)**<y, x'> has mean 2 p - 1 for the item x' = x and 0 for every other, so that one
Walsh-Hadamard transform of the counts of y decodes all items at once, unbiased, with n Var = C**2 - f whatever the data
are, C = 1 / (2 p - 1) = (exp(eps) + 1) / (exp(eps) - 1).  Within 6.4 % of the best oracle for epsilon <= 0.5; poor
above 2.  Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_hadamard.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Frequencies, Reports, Tally, Values
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.pure_protocol import PureProtocol, Support
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomizers.parts.walsh import parity, walsh_hadamard
from localdp.randomness.source import WORD_RANGE, RandomSource

LARGEST_INPUTS = 1 << 20
_HALF = WORD_RANGE // 2
_BLOCK = 1 << 14  # the temporaries of a block stay in the cache


@dataclass(frozen=True, slots=True)
class HadamardResponse(IntegerReports, PureProtocol):
    """Reports a column of the Hadamard matrix, more often one where the item's row is +1."""

    name: ClassVar[str] = "hadamard"
    draw_cost: ClassVar[DrawCost] = DrawCost(250, 15)
    requested: Epsilon
    inputs: int
    keep: int = field(init=False, repr=False, compare=False)  # T: the row is +1 with probability T / 2**64

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, LARGEST_INPUTS)
        object.__setattr__(self, "keep", keep_threshold(self.requested))
        if self.keep <= _HALF:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(self.keep, WORD_RANGE - self.keep))

    @property
    def outputs(self) -> int:
        """b: the order of the Hadamard matrix, and the number of different reports."""
        return 1 << self.inputs.bit_length()

    def randomize(self, values: Values, source: RandomSource) -> NDArray[np.uint32]:
        """One column for each item: a uniform column, moved to the wanted half by flipping one bit of it."""
        items = checked_inputs(values, self.inputs)
        columns = source.below(self.outputs, len(items))
        kept = source.bernoulli(self.keep, len(items))
        reports = np.empty(len(items), np.uint32)
        for start in range(0, len(items), _BLOCK):
            part = slice(start, start + _BLOCK)
            rows, block = items[part].astype(np.uint32), columns[part].astype(np.uint32)
            rows += np.uint32(1)
            # The lowest one of a row is where a flipped bit changes <y, row>: a bijection between the halves.
            lowest = rows & (~rows + np.uint32(1))
            lowest *= np.equal(parity(block & rows), kept[part]).astype(np.uint32)
            np.bitwise_xor(block, lowest, out=reports[part])
        return reports

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the column."""
        half = WORD_RANGE * self.outputs // 2
        weights = (self.keep, WORD_RANGE - self.keep)
        return {y: Fraction(weights[(y & (value + 1)).bit_count() % 2], half) for y in range(self.outputs)}

    def unpack(self, data: bytes, count: int) -> NDArray[np.uint32]:
        """The columns again."""
        return IntegerReports.unpack(self, data, count).astype(np.uint32)

    def tally(self, reports: Reports) -> Tally:
        """How often each column was reported."""
        return Tally(self, len(reports), np.bincount(reports, minlength=self.outputs).astype(np.int64))

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased frequencies of all items, by one Walsh-Hadamard transform."""
        require_own(tally, self)
        balance = walsh_hadamard(tally.sums)[1 : self.inputs + 1]
        return self.support.estimate((tally.reports + balance) // 2, tally.reports)

    @property
    def support(self) -> Support:
        """A column supports the items whose row is +1 there: half of all others."""
        return Support(Fraction(self.keep, WORD_RANGE), Fraction(1, 2))
