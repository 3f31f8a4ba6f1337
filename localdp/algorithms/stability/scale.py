"""Scale: how widely numbers are spread, up to a factor, without any bounds on them (Algorithm 12, Theorem 7.1).

The logarithm of the interquartile range is put into bins, twice, with bins that are shifted by half of one; in one of
the two it is not near an edge.  The distance is how many records have to be replaced before it leaves its bin, less
one: exactly, by order statistics (`mechanisms/order_distances.py`).  Where the test passes, the bin is the same for
all neighbours, so it is told as it is, and its middle is the scale.

**Deviations** from the book.  The threshold follows from epsilon (its 1 + ln(1 / delta) is too little below epsilon =
1).  The base is 1 + 1 / ln n, at which the book hints, in place of 2.  And the bin has no noise: it needs none, as
the winner of a vote needs none (Proposition 7.2), so that two tests have half of epsilon each.  With `noise=True`
there are the book's four draws, two tests and two exponents, at a quarter of epsilon each.

Claim.  (epsilon, delta)-private: two tests, each with half of delta, of a distance that one record moves by at most 1.
Numbers lie on a grid of 2**40 steps between the bounds of the schema, which nothing else depends on.
Checked in tests/unit/algorithms/stability/test_scale.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused
from localdp.mechanisms.order_distances import moves_to_grow, moves_to_shrink
from localdp.mechanisms.propose_test_release import ProposeTestRelease, StabilityTest
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.source import Integers, RandomSource

_GRID_BITS = 40
_PARTS = 4  # of the book's epsilon; without noise on exponents two of them are together
FEWEST = 8
MOST_BINS = 1 << 16


@dataclass(frozen=True, slots=True)
class OrderedColumn:
    """A column of numbers as whole numbers from 0, in order."""

    ordered: Integers
    largest: int
    unit: float  # of one of them, on the scale of the column
    low: float

    @classmethod
    def empty(cls, schema: Schema, column: str) -> OrderedColumn:
        """The grid of a column, without any numbers."""
        domain = schema[column]
        assert isinstance(domain, IntegerDomain | RealDomain)
        width = (domain.high - domain.low) or 1
        steps = 1 << _GRID_BITS if isinstance(domain, RealDomain) else int(width)
        return cls(np.zeros(0, np.int64), steps, width / steps, domain.low)

    @classmethod
    def of(cls, records: Records, column: str) -> OrderedColumn:
        """The numbers of a column."""
        grid = cls.empty(records.schema, column)
        steps = np.rint((records.column(column) - grid.low) / grid.unit).astype(np.int64)
        return replace(grid, ordered=np.sort(steps))


def require_numbers(schema: Schema, column: str) -> None:
    """Refuse a column that has no numbers."""
    if column not in schema or not isinstance(schema[column], IntegerDomain | RealDomain):
        raise QueryRefused(f"a column of numbers is needed, and {column!r:.60} is none")


@dataclass(frozen=True, slots=True)
class ScaleBins:
    """The bins of the logarithm of an interquartile range, to a base, with one of two offsets."""

    base: float
    shifted: bool
    edges: tuple[int, ...]  # on the grid: an interquartile range of this or more is in the bin above

    @classmethod
    def of(cls, base: float, shifted: bool, largest: int) -> ScaleBins:
        """The bins up to the largest number."""
        if not base > 1:
            raise InvalidParameter("the base of a scale is above 1")
        number = math.ceil(math.log(max(2, largest)) / math.log(base)) + 2
        if number > MOST_BINS:
            raise InvalidParameter(f"powers of {base} are more than {MOST_BINS:,} bins: take a larger base")
        powers = (base ** (place + shifted / 2) for place in range(number))
        return cls(base, shifted, tuple(math.ceil(one) for one in powers if one <= 4 * largest))

    def of_range(self, width: int) -> int:
        """The number of the bin of an interquartile range: how many edges are at or below it."""
        return int(np.searchsorted(np.array(self.edges), width, side="right"))

    def middle(self, place: int) -> float:
        """The middle of a bin, on the grid."""
        return 0.0 if place <= 0 else float(self.base ** (place - 1 + self.shifted / 2 + 0.5))

    def distance(self, ordered: Integers, largest: int) -> int:
        """How many records can be replaced before one more leaves the bin."""
        low, high = quarters(len(ordered))
        place = self.of_range(int(ordered[high] - ordered[low]))
        up = down = len(ordered) + 1
        if place < len(self.edges):
            up = moves_to_grow(ordered, low, high, self.edges[place], 0, largest)
        if place > 0:
            down = moves_to_shrink(ordered, low, high, self.edges[place - 1])
        return min(up, down) - 1


def quarters(people: int) -> tuple[int, int]:
    """The ranks of the first and the third quartile."""
    return people // 4, people - 1 - people // 4


@dataclass(frozen=True, slots=True)
class PrivateScale:
    """Algorithm 12, by whoever holds records; tells a scale, or None."""

    column: str
    delta: Fraction
    base: float | None = None
    noise: bool = False
    anyway: bool = False  # also where no data would pass

    @property
    def instead(self) -> str:
        """What needs no test."""
        return "with bounds, RangeRelease gives all quantiles, under every trust model and without a delta"

    @property
    def text(self) -> str:
        """What is computed, in words."""
        return f"the scale of {self.column}"

    def require(self, schema: Schema, people: int, epsilon: Epsilon) -> None:
        """Refuse what has no scale, and too few people for any."""
        require_numbers(schema, self.column)
        if people < FEWEST:
            raise InvalidParameter(f"a scale is of at least {FEWEST} people")
        self._bins(people, OrderedColumn.empty(schema, self.column).largest, False)
        if epsilon.nanonats and not self.anyway:
            self._test(epsilon).require_reachable(people // 4, "a scale")

    def error(self, epsilon: Epsilon) -> float:
        """None within a bin, whose middle is told; the noise of the book is on an exponent."""
        return 0.0

    def release(self, records: Records, epsilon: Epsilon, source: RandomSource) -> float | None:
        """The scale, if one of two discretisations is far from an edge."""
        grid, test = OrderedColumn.of(records, self.column), self._test(epsilon)
        for shifted in (False, True):
            bins = self._bins(records.people, grid.largest, shifted)
            found = self._of(bins, grid, test).run(grid.ordered, source)
            if found is not None:
                return found * grid.unit
        return None

    def truth(self, records: Records) -> float | None:
        """The interquartile range itself."""
        grid = OrderedColumn.of(records, self.column)
        low, high = quarters(records.people)
        return float(grid.ordered[high] - grid.ordered[low]) * grid.unit

    def _test(self, epsilon: Epsilon) -> StabilityTest:
        """One of the two."""
        part = epsilon.divided_by(_PARTS if self.noise else 2)
        return StabilityTest(Epsilon.requested(part), self.delta / 2)

    def _of(
        self, bins: ScaleBins, grid: OrderedColumn, test: StabilityTest
    ) -> ProposeTestRelease[Integers, float]:
        def told(ordered: Integers, source: RandomSource) -> float:
            low, high = quarters(len(ordered))
            place = bins.of_range(int(ordered[high] - ordered[low]))
            if self.noise:
                place += int(DiscreteLaplace(test.epsilon.exact).sample(source, 1)[0])
            return bins.middle(min(place, len(bins.edges)))

        return ProposeTestRelease(lambda ordered: bins.distance(ordered, grid.largest), told, test)

    def _bins(self, people: int, largest: int, shifted: bool) -> ScaleBins:
        return ScaleBins.of(self.base or 1 + 1 / math.log(people), shifted, largest)
