"""A tree of noisy masses made consistent, with an error of its own on every level (Hay, Rastogi, Miklau and Suciu 2010).

A tree has 1 root and then h levels, every inner node with B children; the mass of a node is the sum of its children's, and
the root's is 1.  Level l = 1 .. h is estimated with independent errors of variance s(l).  Bottom up, every node's estimate
is pooled with the sum of its children's pooled ones, weighted by inverse variances; top down, what siblings lack to their
parent is divided equally among them.  That is the least squares fit.

Claim.  It is unbiased, consistent, and of all such linear fits the one of least variance.  With V(h) = s(h) and
1 / V(l) = 1 / s(l) + 1 / (B V(l+1)), and g(v) the share of node v that lies in a range R, v' the parent of v,

    Var(R) = sum over levels of V(l) times the sum over nodes v of level l of (g(v) - g(v'))**2

because the contrasts among the children of different nodes are uncorrelated under least squares.  Only the nodes on the
way to the two ends of the range count.  If no error exceeds tau and all s(l) are equal, a range is off by at most
B h (h + 1) tau / 2.
Checked against a dense least squares fit in tests/unit/estimation/test_tree_consistency.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Integers

_LEAST_VARIANCE = 1e-60  # exact levels are pooled equally, and not as zero over zero


@dataclass(frozen=True, slots=True)
class LevelTree:
    """A B-ary tree and the variance of its levels' estimates, from the level below the root to the leaves."""

    branching: int
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.branching < 2 or not self.variances or not min(self.variances) >= 0:
            raise InvalidParameter("a tree branches, has a level, and its levels have variances")

    @property
    def levels(self) -> int:
        """h: the number of levels below the root."""
        return len(self.variances)

    @property
    def leaves(self) -> int:
        """B**h."""
        return int(self.branching**self.levels)

    @property
    def pooled(self) -> Floats:
        """V: the variance of a node's estimate with all that is below it, level by level."""
        floored = [max(variance, _LEAST_VARIANCE) for variance in self.variances]
        pooled = [floored[-1]]
        for variance in reversed(floored[:-1]):
            pooled.append(1 / (1 / variance + 1 / (self.branching * pooled[-1])))
        return np.array(pooled[::-1])

    def fit(self, levels: Sequence[Floats]) -> Floats:
        """The leaves of the tree nearest to the levels' estimates."""
        if [len(level) for level in levels] != [
            self.branching**depth for depth in range(1, self.levels + 1)
        ]:
            raise InvalidParameter("a level has an estimate for each of its nodes")
        pooled, fitted = self.pooled, [np.asarray(levels[-1], np.float64)]
        for depth in range(self.levels - 2, -1, -1):
            own = pooled[depth] / max(self.variances[depth], _LEAST_VARIANCE)
            children = fitted[-1].reshape(-1, self.branching).sum(axis=1)
            fitted.append(own * levels[depth] + (1 - own) * children)
        masses = np.ones(1)
        for level in reversed(fitted):
            siblings = level.reshape(-1, self.branching)
            lacking = (masses - siblings.sum(axis=1)) / self.branching
            masses = (siblings + lacking[:, None]).ravel()
        return masses

    def range_variances(self, low: Integers, high: Integers) -> Floats:
        """The variance of the fitted mass of leaves low .. high - 1, for many ranges at once."""
        total = np.zeros(len(low))
        for depth, variance in enumerate(self.pooled, start=1):
            size = self.branching ** (self.levels - depth)
            starts, ends = _Cut.at(low, size, self.branching), _Cut.at(high, size, self.branching)
            together = starts.parent == ends.parent
            total += variance * (
                starts.square + ends.square - 2 * np.where(together, starts.with_later(ends), 0.0)
            )
        return np.maximum(total, 0.0)

    def mean_range_variance(self, leaves: int | None = None) -> float:
        """The average over all ranges of the first so many leaves."""
        count = self.leaves if leaves is None else leaves
        ends = np.unique(np.linspace(0, count, min(count, 64) + 1).astype(np.int64))
        low, high = np.meshgrid(ends, ends)
        ordered = low < high
        return float(self.range_variances(low[ordered], high[ordered]).mean())


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """Where the end of a range cuts the children of one node: `whole` before it, and a share of the next."""

    parent: Integers
    whole: Integers
    share: Floats
    branching: int

    @classmethod
    def at(cls, places: Integers, size: int, branching: int) -> _Cut:
        inside = places % (size * branching)
        return cls(places // (size * branching), inside // size, (inside % size) / size, branching)

    @property
    def mean(self) -> Floats:
        result: Floats = (self.whole + self.share) / self.branching
        return result

    @property
    def square(self) -> Floats:
        """The sum over the children of (g(v) - g(v'))**2."""
        result: Floats = self.whole + self.share**2 - self.branching * self.mean**2
        return result

    def with_later(self, later: _Cut) -> Floats:
        """The same product of this cut and of a later one of the same node."""
        beside = np.where(later.whole > self.whole, 1.0, later.share)
        result: Floats = self.whole + self.share * beside - self.branching * self.mean * later.mean
        return result
