"""Medians and trimmed means with noise for their local sensitivity, where that is proposed and tested (Definition 7.1).

Local sensitivity is how far replacing one record of these data moves an answer: of a median, the larger of the two
gaps beside it; of a mean of the ranks lo to hi, the larger of x[hi + 1] - x[lo] and x[hi] - x[lo - 1], divided by how
many ranks there are.  It may not be looked at, but a bound on it can be proposed: the distance is how many records
have to be replaced before the local sensitivity is above the bound, exactly, and where the test passes noise for the
bound is enough.

Claim.  (epsilon, delta)-private: half of epsilon is the test's and half is the noise's.  Where the distance is 1 or
more, no neighbour's answer is further away than the bound. Checked against all data of small size in
tests/unit/algorithms/stability/test_proposals.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.stability.scale import FEWEST, OrderedColumn, require_numbers
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.mechanisms.order_distances import moves_to_grow
from localdp.mechanisms.propose_test_release import ProposeTestRelease, StabilityTest
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.noise_plans import central_law

_STEPS = 1 << 10  # of a bound: what is released lies on a grid of this fineness


@dataclass(frozen=True, slots=True)
class Middle:
    """The mean of the ranks from lo to hi; of one rank, the median."""

    low: int
    high: int

    @property
    def number(self) -> int:
        """Of ranks."""
        return self.high - self.low + 1

    def sum_of(self, ordered: Integers) -> int:
        """Of the numbers at these ranks."""
        return int(ordered[self.low : self.high + 1].sum())

    def distance(self, ordered: Integers, largest: int, bound: int) -> int:
        """How many records have to be replaced before one can move the sum by more than the bound; 0 if one can now."""
        gaps = ((self.low, self.high + 1), (self.low - 1, self.high))
        return min(moves_to_grow(ordered, low, high, bound + 1, 0, largest) for low, high in gaps)

    @classmethod
    def of(cls, people: int, kept: float | None) -> Middle:
        """The median of so many people, or the mean of this share of them in the middle."""
        if people < FEWEST:
            raise InvalidParameter(f"a proposal is about at least {FEWEST} people")
        if kept is None:
            return cls((people - 1) // 2, (people - 1) // 2)
        if not 0 < kept < 1:
            raise InvalidParameter("a trimmed mean keeps a share of the people between 0 and 1")
        cut = min(max(1, round(people * (1 - kept) / 2)), (people - 1) // 2)
        return cls(cut, people - 1 - cut)


@dataclass(frozen=True, slots=True)
class ProposedMiddle:
    """A median or a trimmed mean of a column, by whoever holds records; or None."""

    column: str
    bound: float  # proposed: one record moves the answer by no more than that
    delta: Fraction
    kept: float | None = None  # of a trimmed mean; None: the median
    anyway: bool = False  # also where no data would pass

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"the {self.what} of {self.column}, if one record moves it by at most {self.bound:g}"

    @property
    def what(self) -> Literal["median", "trimmed mean"]:
        """In a word."""
        return "median" if self.kept is None else "trimmed mean"

    @property
    def instead(self) -> str:
        """What needs no proposal."""
        return "within bounds, the verb median and RangeRelease answer under every trust model and without a delta"

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what has no middle, and a bound that is none."""
        require_numbers(schema, self.column)
        if not 0 < self.bound < float("inf"):
            raise InvalidParameter("propose a bound above 0, on the scale of the column")
        self.steps(OrderedColumn.empty(schema, self.column), Middle.of(people, self.kept))
        if epsilon.nanonats and not self.anyway:
            test = StabilityTest(Epsilon.requested(epsilon.divided_by(2)), self.delta)
            test.require_reachable(people // 2, f"a {self.what}")

    def error(self, epsilon: Epsilon) -> float:
        """Of noise for the bound, at half of epsilon."""
        return 2 * math.sqrt(2) * self.bound / float(epsilon) if epsilon.nanonats else 0.0

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> float | None:
        """The answer with noise for the bound, if data are far from any that one record moves further."""
        grid, middle = OrderedColumn.of(records, self.column), Middle.of(records.people, self.kept)
        whole = self.steps(grid, middle)
        part = Epsilon.requested(epsilon.divided_by(2))
        step = max(1, whole // _STEPS)
        law = central_law(part, -(-whole // step))

        def told(ordered: Integers, coins: RandomSource) -> float:
            noisy = middle.sum_of(ordered) // step + int(law.sample(coins, 1)[0])
            return grid.low + min(max(noisy * step / middle.number, 0), grid.largest) * grid.unit

        ptr = ProposeTestRelease[Integers, float](
            lambda ordered: middle.distance(ordered, grid.largest, whole),
            told,
            StabilityTest(part, self.delta),
        )
        return ptr.run(grid.ordered, source)

    def truth(self, records: Records) -> float | None:
        """The answer itself."""
        grid, middle = OrderedColumn.of(records, self.column), Middle.of(records.people, self.kept)
        return grid.low + middle.sum_of(grid.ordered) / middle.number * grid.unit

    def steps(self, grid: OrderedColumn, middle: Middle) -> int:
        """The bound on the sum, on the grid of the numbers."""
        whole = int(Fraction(self.bound) * middle.number / Fraction(grid.unit))
        if whole < 1:
            raise InvalidParameter("the proposed bound is below what numbers of this column can differ by")
        return min(whole, grid.largest * middle.number)
