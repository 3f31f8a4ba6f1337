"""Ranges through a B-ary tree (HH_B of Cormode, Kulkarni and Srivastava 2019), made consistent (Hay et al. 2010).

The inputs, padded to D = B**h, are the leaves of a tree in which every inner node has B children.  A person draws a
level l = 1 .. h uniformly and reports its own node of that level by optimized unary encoding (Wang et al. 2017): the
bit of the own node is 1 with probability 1/2, every other bit of the level with probability q = F / 2**64.

Claim.  Epsilon-local with exp(epsilon) = (2**64 - F) / F, F rounded up, tight.  A node's estimate is h times the
debiased bits over n, unbiased, of the same variance at all levels but for its own mass.  The least squares fit of a
tree to these, with the root fixed to 1, is Hay's two passes; it is linear, hence unbiased, and consistent.

Its error.  Let g(v) be the share of node v that lies in a range R, v' the parent of v, and S(l) = 1 + 1/B + ... +
B**(l-h). The contrasts among the children of different nodes are orthogonal under least squares, so that a node of
level l has the weight w(v) = (g(v) - g(v')) / S(l) + w(v') / B in the estimate of R, and with sigma**2 = q (1 - q) /
(1/2 - q)**2

    n Var(R) = h sum w(v)**2 (sigma**2 + 2 f(v)) - f(R) (1 - |R| / D)**2 - (1 - f(R)) (|R| / D)**2

for the empirical target, exactly: the 2 f(v) are from each person's own nodes and the draw of the level.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_hierarchy.py; sampled in
tests/statistical/test_structures.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import MalformedReport
from localdp.randomizers.definition import DrawCost, Floats, Reports, Tally, Values
from localdp.randomizers.parts.construction import Construction
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.range_estimates import RangeEstimates
from localdp.randomizers.unary import OptimizedUnaryEncoding, column_sums
from localdp.randomness.source import Integers, RandomSource

LARGEST_INPUTS = 1 << 14  # a report has a bit for each input; above that, `haar.py`
LARGEST_BRANCHING = 64
_WEIGHTS_AT_A_TIME = 1 << 21
_QUOTIENT_BITS = 28  # twice those of a leaf


@dataclass(frozen=True, slots=True)
class HierarchicalRanges(Construction):
    """Reports a level, and one bit for each node of the level; the report is as long at every level.

    A report is a row of bytes: the level less one, then the bits, eight to a byte, zeros after those of the level.
    """

    name: ClassVar[str] = "hierarchical-ranges"
    requested: Epsilon
    inputs: int
    branching: int = 4
    encoding: OptimizedUnaryEncoding = field(init=False, repr=False, compare=False)  # of the longest level

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, LARGEST_INPUTS)
        require_between("the branching", self.branching, 2, LARGEST_BRANCHING)
        require_between(
            "the number of inputs, padded to a power of the branching,", self.sizes[-1], 2, LARGEST_INPUTS
        )
        object.__setattr__(self, "encoding", OptimizedUnaryEncoding(self.requested, self.sizes[-1]))

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; from the integer law, rounded up."""
        return self.encoding.epsilon

    @property
    def levels(self) -> int:
        """h: the number of levels below the root."""
        return len(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level below the root; the last is D."""
        sizes = [self.branching]
        while sizes[-1] < self.inputs:
            sizes.append(sizes[-1] * self.branching)
        return tuple(sizes)

    @property
    def report_bits(self) -> int:
        """Size of one packed report."""
        return 8 * self._row_bytes

    @property
    def draw_cost(self) -> DrawCost:
        """Two words for each input."""
        return DrawCost(250 + 0.4 * self.inputs, 120 + 4 * self.inputs, 2 * self.inputs)

    def randomize(self, values: Values, source: RandomSource) -> NDArray[np.uint8]:
        """A level and its bits for each value; every person draws the bits of the longest level."""
        places = checked_inputs(values, self.inputs)
        levels = source.below(self.levels, len(places)).astype(np.int64)
        bits = self.encoding.randomize(self._nodes(places, levels), source)
        return np.column_stack((levels.astype(np.uint8), bits & self._masks[levels]))

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        masses: dict[Hashable, Fraction] = {}
        for level, size in enumerate(self.sizes):
            ones = [self.encoding.support.other] * size
            ones[value // int(self._node_sizes[level])] = self.encoding.support.own
            for bits in product((0, 1), repeat=size):
                mass = Fraction(1, self.levels)
                for bit, one in zip(bits, ones, strict=True):
                    mass *= one if bit else 1 - one
                padded = np.zeros(self.sizes[-1], np.uint8)
                padded[:size] = bits
                masses[level, *np.packbits(padded).tolist()] = mass
        return masses

    def pack(self, reports: Reports) -> bytes:
        """The rows, one after the other."""
        return reports.tobytes()

    def unpack(self, data: bytes, count: int) -> NDArray[np.uint8]:
        """The rows again, if the levels exist and nothing stands outside them."""
        if len(data) != count * self._row_bytes:
            raise MalformedReport(f"{count} reports take {count * self._row_bytes} bytes, not {len(data)}")
        rows = np.frombuffer(data, np.uint8).reshape(count, self._row_bytes)
        if count and int(rows[:, 0].max()) >= self.levels:
            raise MalformedReport("a report names a level that does not exist")
        if (rows[:, 1:] & ~self._masks[rows[:, 0]]).any():
            raise MalformedReport("a report has bits outside its level")
        return rows

    def tally(self, reports: Reports) -> Tally:
        """How many reports there are of each level, and then how many ones of each node, level by level."""
        counts = np.bincount(reports[:, 0], minlength=self.levels).astype(np.int64, copy=False)
        ones = [
            column_sums(reports[reports[:, 0] == level, 1:], size) for level, size in enumerate(self.sizes)
        ]
        return Tally(self, len(reports), np.concatenate([counts, *ones]))

    def estimate(self, tally: Tally) -> RangeEstimates:
        """Unbiased and consistent estimates of the mass of every range."""
        require_own(tally, self)
        masses = constrained_inference(self.node_estimates(tally), self.branching)
        prefix = np.concatenate(([0.0], np.cumsum(masses)))[: self.inputs + 1]
        prefix[-1] = 1.0  # There is nobody in the padding, so the whole is known.
        return RangeEstimates(self, tally.reports, prefix)

    def node_estimates(self, tally: Tally) -> list[Floats]:
        """An unbiased estimate of the mass of every node, level by level, before they are made consistent."""
        ends = self.levels + np.cumsum((0, *self.sizes))
        factor = self.levels / (0.5 - self._other) / tally.reports
        return [
            factor * (tally.sums[ends[level] : ends[level + 1]] - self._other * tally.sums[level])
            for level in range(self.levels)
        ]

    def range_variance(self, low: Integers, high: Integers, prefix: Floats) -> Floats:
        ends = np.where(high == self.inputs, self.sizes[-1], high)
        rows = max(1, _WEIGHTS_AT_A_TIME // self.sizes[-1])
        cuts = [slice(start, start + rows) for start in range(0, len(ends), rows)]
        parts = [self._block_variance(low[cut], ends[cut], prefix) for cut in cuts]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block_variance(self, low: Integers, high: Integers, prefix: Floats) -> Floats:
        support = self.encoding.support
        gap = float(support.own - support.other)
        other = float(support.other * (1 - support.other)) / gap**2
        # Second moment, above that of another.
        own = float(support.own * (1 - support.own)) / gap**2 + 1 - other
        whole = np.append(prefix, np.ones(self.sizes[-1] - self.inputs))
        share = (high - low)[:, None] / self.sizes[-1]
        inside, total, weights = share, np.zeros(len(low)), np.zeros_like(share)
        for level, size in enumerate(self.sizes):
            shares = _shares(low, high, size, self.sizes[-1])
            contrasts = shares - np.repeat(inside, self.branching, axis=1)
            decay = float((float(self.branching) ** -np.arange(self.levels - level)).sum())
            weights = contrasts / decay + np.repeat(weights, self.branching, axis=1) / self.branching
            masses = np.diff(whole[:: self.sizes[-1] // size])
            total += (weights**2) @ (other + own * masses)
            inside = shares
        mass, part = whole[high] - whole[low], share[:, 0]
        variance: Floats = self.levels * total - mass * (1 - part) ** 2 - (1 - mass) * part**2
        return variance

    def _nodes(self, places: Integers, levels: Integers) -> Integers:
        """The node of each leaf at its level: a quotient by a product, because a processor divides in uneven time."""
        # ceil(2**28 / size) is too large by less than one, which leaves / 2**28 times moves no quotient: 2**14 leaves.
        inverses = -(-(1 << _QUOTIENT_BITS) // self._node_sizes)
        nodes: Integers = places * inverses[levels] >> _QUOTIENT_BITS
        return nodes

    @property
    def _row_bytes(self) -> int:
        return 1 + -(-self.sizes[-1] // 8)

    @property
    def _node_sizes(self) -> Integers:
        """How many leaves a node of each level has."""
        return self.sizes[-1] // np.array(self.sizes, np.int64)

    @property
    def _other(self) -> float:
        """q: the probability of a one at a node that is not the person's."""
        return float(self.encoding.support.other)

    @property
    def _masks(self) -> NDArray[np.uint8]:
        """The bits that a report of each level may have."""
        return np.packbits(np.arange(self.sizes[-1]) < np.array(self.sizes)[:, None], axis=1)


def constrained_inference(nodes: list[Floats], branching: int) -> Floats:
    """The leaves of the tree nearest to equally noisy estimates of its nodes, with the root fixed to 1 (Hay et al.)."""
    fitted = [nodes[-1]]
    for height, own in enumerate(reversed(nodes[:-1]), start=2):
        power = float(branching**height)
        children = fitted[-1].reshape(-1, branching).sum(axis=1)
        own_weight = (power - power / branching) / (power - 1)
        fitted.append(own_weight * own + (1 - own_weight) * children)
    masses = np.ones(1)
    for level in reversed(fitted):
        siblings = level.reshape(-1, branching)
        masses = (siblings + (masses - siblings.sum(axis=1))[:, None] / branching).ravel()
    return masses


def _shares(low: Integers, high: Integers, nodes: int, leaves: int) -> Floats:
    """How much of each node of a level lies in each range."""
    size = leaves // nodes
    starts = size * np.arange(nodes)
    overlap = np.minimum(high[:, None], starts + size) - np.maximum(low[:, None], starts)
    shares: Floats = np.maximum(overlap, 0) / size
    return shares
