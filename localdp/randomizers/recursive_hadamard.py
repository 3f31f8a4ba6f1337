"""Recursive Hadamard response with b private bits (Chen, Kairouz and Ozgur 2020), over a field.

Items are vectors x of k bits, and also the elements of the field GF(2**k).  The party draws a row a, uniform among all
2**k, and hashes its item to the b bits h_a(x) = (<a, x>, <X a, x>, .., <X**(b-1) a, x>), where X is the generator of the
field.  Then it keeps the b bits with probability p = T / 2**64, and reports one of the 2**b - 1 other symbols otherwise.
A report is (a, symbol): k + b bits, of which only the b are private.

Claim 1.  For g = 2**b the randomizer is epsilon-local with exp(epsilon) = T (g - 1) / (2**64 - T), for T rounded down:
the row is independent of the item, and given the row it is a randomized response among g symbols.
Claim 2.  For x != x', h_a(x) - h_a(x') is exactly uniform on the b bits, because z, Xz, .., X**(b-1) z are linearly
independent for z != 0 and b <= k (the transpose of X has the same irreducible minimal polynomial).  So "symbol = h_a(x')"
is a pure protocol with q = 1 / g: unbiased, its error independent of the data, n Var(f = 0) = (e + g - 1)**2 /
((g - 1) (e - 1)**2), e = exp(epsilon).
Claim 3.  The indicator of "symbol = h_a(x')" has only g Walsh coefficients, at the multiples of a by polynomials of
degree below b.  So n g additions and one transform of length 2**k decode all items.
All checked exactly, by enumerating the coins, in tests/unit/randomizers/test_recursive_hadamard.py.

**Deviation.**  The source cuts the domain into 2**(b-1) fixed blocks and sends (block, sign).  Its error depends on how
many people share the block of an item, and no xor or cyclic shift of the domain changes who shares one; here the row
also chooses the blocks, and every two items share one equally often.  The source then uses the sign alone, half of the
coefficients; all of them have a variance that is smaller by the factor g / (2 (g - 1)).  At b = 1 both are one-bit
Hadamard response.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
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
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource

LARGEST_INPUTS = 1 << 20
LARGEST_BITS = 10  # the aggregator's work doubles with each
_TABLE = 1 << 20  # below this many different reports, they are counted before they are decoded
# The smallest irreducible polynomial of each degree 1 .. 20 over GF(2), without its leading term.
_POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)

Rows = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class RecursiveHadamardResponse(IntegerReports, PureProtocol):
    """Reports a row, and b bits of the item's hash under it by randomized response."""

    name: ClassVar[str] = "recursive-hadamard"
    requested: Epsilon
    inputs: int
    bits: int | None = None  # b; the best one by the exact variance, if none is given
    # T: the hash is kept with probability T / 2**64.
    keep: int = field(init=False, repr=False, compare=False)
    private_bits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, LARGEST_INPUTS)
        most = min(LARGEST_BITS, self.row_bits)
        if self.bits is None:
            object.__setattr__(self, "bits", _best_bits(self.requested, most))
        require_between("the number of private bits", self.bits, 1, most)
        object.__setattr__(self, "private_bits", self.bits)
        object.__setattr__(self, "keep", _keep(self.requested, self.private_bits))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return Epsilon.of_ratio(Fraction(self.keep * (self.symbols - 1), WORD_RANGE - self.keep))

    @property
    def row_bits(self) -> int:
        """k: the bits of an item, and of a row."""
        return (self.inputs - 1).bit_length()

    @property
    def symbols(self) -> int:
        """g = 2**b: the number of different answers under one row."""
        return 1 << self.private_bits

    @property
    def outputs(self) -> int:
        """A row and the private bits."""
        return 1 << (self.row_bits + self.private_bits)

    @property
    def draw_cost(self) -> DrawCost:
        """Some steps for each private bit."""
        return DrawCost(200 + 40 * self.private_bits, 20 + 4 * self.private_bits)

    def randomize(self, values: Values, source: RandomSource) -> Rows:
        """One report a 2**b + symbol for each item; everybody draws the other symbol, used or not."""
        items = checked_inputs(values, self.inputs).astype(np.uint32)
        rows = source.below(1 << self.row_bits, len(items)).astype(np.uint32)
        kept = source.bernoulli(self.keep, len(items))
        offsets = source.below(self.symbols - 1, len(items)).astype(np.uint32) + np.uint32(1)
        symbols = self._hash(rows, items) + offsets * ~kept
        symbols &= np.uint32(self.symbols - 1)
        symbols |= rows << np.uint32(self.private_bits)
        return symbols

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        rows = np.arange(1 << self.row_bits, dtype=np.uint32)
        hashes = self._hash(rows, np.full_like(rows, value))
        own = Fraction(self.keep, WORD_RANGE) / len(rows)
        other = Fraction(WORD_RANGE - self.keep, WORD_RANGE * (self.symbols - 1)) / len(rows)
        return {
            (row << self.private_bits) + symbol: own if symbol == hashed else other
            for row, hashed in enumerate(hashes.tolist())
            for symbol in range(self.symbols)
        }

    def unpack(self, data: bytes, count: int) -> Rows:
        """The reports again."""
        return IntegerReports.unpack(self, data, count).astype(np.uint32)

    def tally(self, reports: Reports) -> Tally:
        """The sum of the Walsh coefficients of what each report supports, times g."""
        distinct, times = self._counted(reports.astype(np.uint32, copy=False))
        rows, symbols = distinct >> np.uint32(self.private_bits), distinct & np.uint32(self.symbols - 1)
        sums = np.zeros(1 << self.row_bits, np.int64)
        for multiplier, multiple in self._multiples(rows):
            negative = parity(symbols & np.uint32(multiplier))
            signed = np.where(negative, -times, times)
            # Sums in float64 are exact here: they stay below the number of reports, far below 2**53.
            sums += np.bincount(multiple, signed, len(sums)).astype(np.int64)
        return Tally(self, len(reports), sums)

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased frequencies of all items, by one Walsh-Hadamard transform."""
        require_own(tally, self)
        supporting = walsh_hadamard(tally.sums)[: self.inputs] >> self.private_bits  # divides exactly
        return self.support.estimate(supporting, tally.reports)

    @property
    def support(self) -> Support:
        """A report supports the items that have its bits under its row."""
        return Support(Fraction(self.keep, WORD_RANGE), Fraction(1, self.symbols))

    def _hash(self, rows: Rows, items: NDArray[np.uint32]) -> NDArray[np.uint32]:
        hashed = np.zeros(len(rows), np.uint32)
        for power in range(self.private_bits):
            hashed |= parity(rows & items).astype(np.uint32) << np.uint32(power)
            rows = self._shifted(rows)
        return hashed

    def _shifted(self, rows: Rows) -> Rows:
        """X a: one step of the shift register of the field."""
        top = rows >> np.uint32(self.row_bits - 1)
        mask = np.uint32((1 << self.row_bits) - 1)
        return ((rows << np.uint32(1)) & mask) ^ (top * np.uint32(_POLYNOMIALS[self.row_bits - 1]))

    def _multiples(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """Every polynomial s of degree below b, with the rows s a."""
        powers = [rows]
        for _ in range(self.private_bits - 1):
            powers.append(self._shifted(powers[-1]))
        multiplier, multiple = 0, np.zeros_like(rows)
        yield multiplier, multiple
        for step in range(1, self.symbols):  # a Gray code: one addition for each polynomial
            changed = (step & -step).bit_length() - 1
            multiplier, multiple = multiplier ^ (1 << changed), multiple ^ powers[changed]
            yield multiplier, multiple

    def _counted(self, reports: Rows) -> tuple[Rows, Integers]:
        """The reports with how often each occurs."""
        different = self.outputs
        if different > min(_TABLE, len(reports)):
            return reports, np.ones(len(reports), np.int64)
        return np.arange(different, dtype=np.uint32), np.bincount(reports, minlength=different)


def _keep(requested: Epsilon, bits: int) -> int:
    return keep_threshold(requested, 1, (1 << bits) - 1)


def _best_bits(requested: Epsilon, most: int) -> int:
    def variance(bits: int) -> float:
        support = Support(Fraction(_keep(requested, bits), WORD_RANGE), Fraction(1, 1 << bits))
        return support.variance(0.0) if support.own > support.other else np.inf

    return min(range(1, most + 1), key=variance)
