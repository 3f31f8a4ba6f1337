"""Subset selection (Wang et al. 2016; Ye and Barg 2018): the report is a set of w of the d inputs.

The set contains the input x with probability p = T / 2**64, and is otherwise uniform: the other w - 1 or w items are
a uniform subset of the d - 1 other inputs.

Claim.  The randomizer is epsilon-local with exp(epsilon) = T (d - w) / ((2**64 - T) w); T is rounded down.  It is a
pure protocol with q = (w - p) / (d - 1).  With e = exp(epsilon), the variances of all inputs on uniform data add up to

    (d - 1)**2 (e w + d - w)**2 / (n d w (d - w) (e - 1)**2)    for the population target,

and to (1 - 1 / d) / n less for the empirical one.  With w the better neighbour of d / (e + 1) this is the smallest of
any epsilon-local randomizer.  A report is a bitmap of d bits, in whole bytes, or the sorted items if they are shorter, in
memory as on the wire; neither carries an order.

Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_subset_selection.py, and as sampled in
tests/statistical/test_frequency_randomizers.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb, log2
from typing import ClassVar

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import DrawCost, Reports, Tally, Values
from localdp.randomizers.parts.inputs import checked_inputs, require_between
from localdp.randomizers.parts.packing import Unsigned, bits_below, pack_integers, unpack_integers
from localdp.randomizers.parts.pure_protocol import CountedSupport, Support
from localdp.randomizers.parts.subsets import bitmaps_of, drawn_bitmaps, drawn_items, items_of
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomizers.unary import column_sums
from localdp.randomness.source import WORD_RANGE, RandomSource

MOST_INPUTS = 4096
LARGEST_LAW = 1 << 16
_ROWS = 1 << 8


def support_of(requested: Epsilon, inputs: int, size: int) -> Support:
    """p and q of sets of this size."""
    own = Fraction(keep_threshold(requested, size, inputs - size), WORD_RANGE)
    return Support(own, (size - own) / (inputs - 1))


def best_size(requested: Epsilon, inputs: int) -> int:
    """The better of the two integers around d / (e + 1), by the exact total variance on uniform data."""
    near = inputs * (WORD_RANGE - keep_threshold(requested)) // WORD_RANGE
    sizes = {min(max(1, size), inputs - 1) for size in (near, near + 1)}
    return min(sorted(sizes), key=lambda size: _total_variance(support_of(requested, inputs, size), inputs))


def _total_variance(support: Support, inputs: int) -> Fraction:
    gap = support.own - support.other
    if gap <= 0:
        raise InvalidParameter("this epsilon is too small for subsets of so many inputs")
    return inputs * support.other * (1 - support.other) / gap**2 + (1 - support.own - support.other) / gap


@dataclass(frozen=True, slots=True)
class SubsetSelection(CountedSupport):
    """Reports a set of `size` inputs, which contains the true one more often than any other."""

    name: ClassVar[str] = "subset-selection"
    requested: Epsilon
    inputs: int  # d
    size: int | None = None  # w; the best one if not given
    # T: the set contains x with probability T / 2**64.
    keep: int = field(init=False, repr=False, compare=False)
    _size: int = field(init=False, repr=False, compare=False)  # w again, as a plain integer

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, MOST_INPUTS)
        size = best_size(self.requested, self.inputs) if self.size is None else self.size
        if not 1 <= size < self.inputs:
            raise InvalidParameter(
                "the size of the reported set lies between 1 and the number of inputs less 1"
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "keep", keep_threshold(self.requested, size, self.inputs - size))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        kept, others = self.keep * (self.inputs - self._size), (WORD_RANGE - self.keep) * self._size
        return Epsilon.of_ratio(Fraction(kept, others))

    @property
    def report_bits(self) -> int:
        """Size of one packed report: a bitmap of whole bytes, or the items if that is shorter."""
        return min(8 * self._bitmap_bytes, self._items_bits)

    @property
    def support(self) -> Support:
        """A report supports its items."""
        return support_of(self.requested, self.inputs, self._size)

    @property
    def likely(self) -> Fraction:
        """The sets that contain the input."""
        return min(Fraction(self._size, self.inputs), Fraction(1, 2))

    @property
    def draw_cost(self) -> DrawCost:
        """A table of the law for each part; then keys for all inputs, sorted."""
        person = 60 + self.inputs * (2 + log2(self.inputs) / 2.4)
        return DrawCost(300 + 5 * self.inputs, person, 2 * self.inputs)

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One set for each value, as a row: its bitmap, or its items in increasing order."""
        truth = checked_inputs(values, self.inputs)
        kept = source.bernoulli(self.keep, len(truth))
        drawn = drawn_bitmaps if self._as_bitmaps else drawn_items
        return drawn(truth, kept, self.inputs, self._size, source)

    def items(self, reports: Reports) -> Unsigned:
        """The items of each report in increasing order, whichever form it has."""
        return items_of(reports, self.inputs, self._size) if self._as_bitmaps else reports

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report, as a tuple: of the bytes of the bitmap, or of the sorted items."""
        if comb(self.inputs, self._size) > LARGEST_LAW:
            raise InvalidParameter(f"the law is written out for at most {LARGEST_LAW} sets")
        own = self.support.own
        inside = own / comb(self.inputs - 1, self._size - 1)
        outside = (1 - own) / comb(self.inputs - 1, self._size)
        sets = list(combinations(range(self.inputs), self._size))
        rows = bitmaps_of(np.array(sets), self.inputs).tolist() if self._as_bitmaps else sets
        return {
            tuple(row): inside if value in chosen else outside
            for row, chosen in zip(rows, sets, strict=True)
        }

    def pack(self, reports: Reports) -> bytes:
        """Each report as a bitmap of whole bytes, or all items without gaps: whichever is shorter."""
        if self._as_bitmaps:
            return reports.tobytes()
        return pack_integers(reports.ravel(), bits_below(self.inputs))

    def unpack(self, data: bytes, count: int) -> Unsigned:
        """The reports again, if they are exactly `count` sets of the right size."""
        if self._as_bitmaps:
            return self._unpack_bitmaps(data, count)
        items = unpack_integers(data, count * self._size, bits_below(self.inputs), self.inputs)
        reports = items.reshape(count, self._size)
        if (reports[:, 1:] <= reports[:, :-1]).any():
            raise MalformedReport("the items of a report are not in strictly increasing order")
        return reports

    def tally(self, reports: Reports) -> Tally:
        """How many reports contain each item."""
        if self._as_bitmaps:
            return Tally(self, len(reports), column_sums(reports, self.inputs))
        counts = np.zeros(self.inputs, np.int64)
        for start in range(0, len(reports), _ROWS):  # counting widens the items to 64 bits: a few at a time
            counts += np.bincount(reports[start : start + _ROWS].ravel(), minlength=self.inputs)
        return Tally(self, len(reports), counts)

    @property
    def _bitmap_bytes(self) -> int:
        return -(-self.inputs // 8)

    @property
    def _items_bits(self) -> int:
        return self._size * bits_below(self.inputs)

    @property
    def _as_bitmaps(self) -> bool:
        return 8 * self._bitmap_bytes <= self._items_bits

    def _unpack_bitmaps(self, data: bytes, count: int) -> Unsigned:
        if len(data) != count * self._bitmap_bytes:
            raise MalformedReport(
                f"{count} reports take {count * self._bitmap_bytes} bytes, not {len(data)}"
            )
        bitmaps = np.frombuffer(data, np.uint8).reshape(count, self._bitmap_bytes)
        if (np.bitwise_count(bitmaps).sum(axis=1, dtype=np.int64) != self._size).any():
            raise MalformedReport(f"a report is not a set of {self._size} items")
        if self.inputs % 8 and (bitmaps[:, -1] & np.uint8(0xFF >> self.inputs % 8)).any():
            raise MalformedReport("the padding of a report is not zero")
        return bitmaps
