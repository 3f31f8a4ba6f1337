"""Projective geometry response (Feldman, Nelson, Nguyen and Talwar 2022), on a Singer cycle.

Points and hyperplanes of PG(t - 1, q) are both numbered 0 .. K - 1 (singer.py), K = (q**t - 1) / (q - 1) >= d.  Item x is
hyperplane x, with c points on it, of which s lie on any other given hyperplane.  A report is a point u: uniform among the
c points on the hyperplane with probability p = T / 2**64, and uniform among the K - c others otherwise.

Claim 1.  The randomizer is epsilon-local with exp(epsilon) = T (K - c) / ((2**64 - T) c), for T rounded down, and tight.
Claim 2.  It is a pure protocol with p and q* = p s / c + (1 - p) (c - s) / (K - c).  At q near exp(epsilon) + 1 its
variance is the optimum 4 e / (e - 1)**2 to within a few percent: 3.685 at epsilon = 1, d = 1024, q = 4.
Both checked exactly, by enumerating the coins, in tests/unit/randomizers/test_projective_geometry.py.

**Deviation.**  The source decodes by dynamic programming over the coordinates of a point, for prime q.  In the numbering of
the Singer cycle, u lies on x if and only if (u + x) mod K is in one fixed set, so the decoder is one correlation
(correlation.py): O(n + K log K) for every prime power.  The party needs one table lookup instead of linear algebra.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Frequencies, Reports, Tally, Values
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.correlation import correlate
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.pure_protocol import PureProtocol, Support
from localdp.randomizers.parts.singer import LARGEST_POINTS, Geometry, difference_set, prime_factors
from localdp.randomizers.parts.thresholds import keep_threshold
from localdp.randomness.source import WORD_RANGE, RandomSource

LARGEST_INPUTS = LARGEST_POINTS - 1  # PG(21, 2) has as many points
_LARGEST_PLANE_ORDER = 2048  # no larger field has three dimensions within the limit on points
_BLOCK = 1 << 15


@dataclass(frozen=True, slots=True)
class ProjectiveGeometryResponse(IntegerReports, PureProtocol):
    """Reports a point of a projective space, more often one on the item's hyperplane."""

    name: ClassVar[str] = "projective-geometry"
    draw_cost: ClassVar[DrawCost] = DrawCost(300, 65)
    requested: Epsilon
    inputs: int
    field_order: int | None = None  # q; it and the dimension are chosen by the exact variance, if not given
    dimension: int | None = None  # t
    geometry: Geometry = field(init=False, repr=False, compare=False)
    # T: the point lies on it with probability T / 2**64.
    keep: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, LARGEST_INPUTS)
        geometry = _geometry(self.requested, self.inputs, self.field_order, self.dimension)
        object.__setattr__(self, "geometry", geometry)
        object.__setattr__(self, "field_order", geometry.field_order)
        object.__setattr__(self, "dimension", geometry.dimension)
        object.__setattr__(self, "keep", _keep(self.requested, geometry))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for a 64-bit threshold")

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        on, off = self.geometry.on_hyperplane, self.geometry.points - self.geometry.on_hyperplane
        return Epsilon.of_ratio(Fraction(self.keep * off, (WORD_RANGE - self.keep) * on))

    @property
    def likely(self) -> Fraction:
        """The points on the item's hyperplane."""
        return Fraction(self.geometry.on_hyperplane, self.geometry.points)

    @property
    def outputs(self) -> int:
        """K: the points."""
        return self.geometry.points

    def randomize(self, values: Values, source: RandomSource) -> NDArray[np.uint32]:
        """One point for each item; everybody draws a point on the hyperplane and one off it."""
        items = checked_inputs(values, self.inputs)
        members, others = difference_set(self.geometry)
        kept = source.bernoulli(self.keep, len(items))
        on, off = source.below(len(members), len(items)), source.below(len(others), len(items))
        points = np.empty(len(items), np.int64)
        for start in range(0, len(items), _BLOCK):
            part = slice(start, start + _BLOCK)
            outside = others[off[part]]
            block = outside + (members[on[part]] - outside) * kept[part] - items[part]
            points[part] = block + self.geometry.points * (block < 0)
        return points.astype(np.uint32)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the point."""
        members, others = difference_set(self.geometry)
        own = Fraction(self.keep, WORD_RANGE * len(members))
        other = Fraction(WORD_RANGE - self.keep, WORD_RANGE * len(others))
        masses = [(place, own) for place in members.tolist()] + [
            (place, other) for place in others.tolist()
        ]
        return {(place - value) % self.geometry.points: mass for place, mass in masses}

    def unpack(self, data: bytes, count: int) -> NDArray[np.uint32]:
        """The points again."""
        return IntegerReports.unpack(self, data, count).astype(np.uint32)

    def tally(self, reports: Reports) -> Tally:
        """How often each point was reported."""
        return Tally(
            self, len(reports), np.bincount(reports, minlength=self.geometry.points).astype(np.int64)
        )

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased frequencies of all items, by one correlation with the difference set."""
        require_own(tally, self)
        members, _ = difference_set(self.geometry)
        return self.support.estimate(correlate(tally.sums, members, self.inputs), tally.reports)

    @property
    def support(self) -> Support:
        """A point supports the items on whose hyperplane it lies."""
        return _support(self.geometry, self.keep)


def _keep(requested: Epsilon, geometry: Geometry) -> int:
    return keep_threshold(requested, geometry.on_hyperplane, geometry.points - geometry.on_hyperplane)


def _support(geometry: Geometry, keep: int) -> Support:
    on, both = geometry.on_hyperplane, geometry.on_two
    own = Fraction(keep, WORD_RANGE)
    return Support(own, own * Fraction(both, on) + (1 - own) * Fraction(on - both, geometry.points - on))


def _geometry(requested: Epsilon, inputs: int, field_order: int | None, dimension: int | None) -> Geometry:
    if field_order is None or dimension is None:
        return best_geometry(requested, inputs, field_order, dimension)
    geometry = Geometry(field_order, dimension)
    if geometry.points < inputs:
        raise InvalidParameter("the geometry has fewer hyperplanes than there are inputs")
    return geometry


@lru_cache(maxsize=256)
def best_geometry(
    requested: Epsilon, inputs: int, field_order: int | None = None, dimension: int | None = None
) -> Geometry:
    """The geometry of least exact variance at frequency 0, among those of this order or dimension if given."""
    candidates = [
        geometry
        for geometry in geometries(inputs)
        if field_order in (None, geometry.field_order) and dimension in (None, geometry.dimension)
    ]
    if not candidates:
        raise InvalidParameter(
            f"there is no such geometry for this many inputs within {LARGEST_POINTS} points"
        )

    def variance(geometry: Geometry) -> tuple[Fraction | float, int]:
        support = _support(geometry, _keep(requested, geometry))
        gap = support.own - support.other
        exact = support.other * (1 - support.other) / gap**2 if gap > 0 else float("inf")
        return exact, geometry.points

    return min(candidates, key=variance)


def geometries(inputs: int) -> Iterator[Geometry]:
    """All geometries within the limit that have a hyperplane for every input; of the lines only the shortest."""
    line = next(order for order in range(max(2, inputs - 1), 2 * LARGEST_POINTS) if _is_prime_power(order))
    if line < LARGEST_POINTS:
        yield Geometry(line, 2)
    for order in filter(_is_prime_power, range(2, _LARGEST_PLANE_ORDER)):
        dimension, points = 3, order * order + order + 1
        while points <= LARGEST_POINTS:
            if points >= inputs:
                yield Geometry(order, dimension)
            dimension, points = dimension + 1, points * order + 1


def _is_prime_power(order: int) -> bool:
    return len(prime_factors(order)) == 1
