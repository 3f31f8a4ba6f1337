"""Marginals of many bits through one parity of each person (InpHT of Cormode, Kulkarni and Srivastava 2018).

A value is a record of d bits.  Its parities of weight 1 .. k are the signs (-1)**<S, x> of the subsets S of at most k
attributes; there are T = sum over l = 1 .. k of binomial(d, l).  A person draws one of them uniformly and reports it by
binary randomized response.

Claim.  Epsilon-local, tight.  With C = (exp(eps) + 1) / (exp(eps) - 1), T C / n times the signed reports of a parity
is an unbiased estimate of its mean.  A marginal over k attributes is 2**-k times the Hadamard transform of the 2**k
parities inside them, and its cells have, for the empirical target and exactly,

    n Var = 4**-k (2**k - 1) T C**2 - f (1 - 2**-k)**2 - (1 - f) 4**-k.

All marginals are made of the same parities, so that they are consistent: summing an attribute out of one gives the
other.

With a label, the highest of the bits, the parities are those of the label and at most k of the other attributes: the
correlations of the label with all parities of these.  There are T = sum over l = 0 .. k of binomial(d - 1, l), they
are estimated the same way, and no marginals are made of them.
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_marginals.py; sampled in
tests/statistical/test_structures.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Floats, Frequencies, Reports, Tally, Values
from localdp.randomizers.input_kinds import BitsInput, InputKind
from localdp.randomizers.parts.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.parts.walsh import parity, transform_columns
from localdp.randomizers.sampled_sign import LARGEST_SIGNS, SampledSign
from localdp.randomness.source import RandomSource, Words

MOST_BITS = 62
LARGEST_ORDER = 20


@dataclass(frozen=True, slots=True)
class HadamardMarginals(SampledSign):
    """Reports the index of a parity and its randomized sign; attribute i is bit i of the value."""

    requested: Epsilon
    bits: int
    order: int = 2  # the most attributes that a marginal can have, or a parity besides the label
    labelled: bool = False  # whether the highest bit is a label, which is in every parity
    # F: a sign is flipped with probability F / 2**64.
    flip: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.labelled, bool):
            raise InvalidParameter("marginals are labelled, or they are not")
        require_between("the number of bits", self.bits, 1 + self.labelled, MOST_BITS)
        attributes = self.bits - self.labelled
        require_between("the order of marginals", self.order, 1, min(attributes, LARGEST_ORDER))
        if self.signs > LARGEST_SIGNS:
            raise InvalidParameter(f"marginals of this order need more than {LARGEST_SIGNS} parities")
        self._set_flip()

    @property
    def inputs(self) -> int:
        """The number of different records."""
        return 1 << self.bits

    @property
    def signs(self) -> int:
        """T: the number of parities."""
        attributes, least = self.bits - self.labelled, 0 if self.labelled else 1
        return sum(comb(attributes, weight) for weight in range(least, self.order + 1))

    @property
    def masks(self) -> Words:
        """The attributes of each parity, as words, in the order of their numbers."""
        return (
            labelled_masks(self.bits, self.order) if self.labelled else parity_masks(self.bits, self.order)
        )

    @property
    def canonical(self) -> str:
        """Name and parameters as text."""
        label = ",labelled" if self.labelled else ""
        return f"hadamard-marginals(epsilon={self.requested},bits={self.bits},order={self.order}{label})"

    @property
    def takes(self) -> InputKind:
        """The bits of a record."""
        return BitsInput(self.bits, self.order, self.labelled, self.signs)

    @property
    def draw_cost(self) -> DrawCost:
        """A parity of the bits."""
        return DrawCost(200, 22 + 0.6 * self.bits)

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """A parity and its randomized sign for each value."""
        records = checked_inputs(values, self.inputs).astype(np.uint64)
        indices = source.below(self.signs, len(records))
        flipped = source.bernoulli(self.flip, len(records))
        return self._reports(indices, parity(records & self.masks[indices]) ^ flipped)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        masses: dict[Hashable, Fraction] = {}
        for index, mask in enumerate(self.masks.tolist()):
            masses |= self._masses(index, (value & mask).bit_count() % 2 == 1, Fraction(1, self.signs))
        return masses

    def estimate(self, tally: Tally) -> MarginalEstimates:
        """Unbiased estimates of all parities."""
        require_own(tally, self)
        means = tally.sums.astype(np.float64) * (self.signs * self.scale / tally.reports)
        return MarginalEstimates(self, tally.reports, means)

    def cell_variance(self, attributes: int, mass: Floats) -> Floats:
        """n times the variance of a cell of a marginal over so many attributes, for the empirical target."""
        share = 0.5**attributes
        noise = share * (1 - share) * self.signs * self.scale**2
        variance: Floats = noise - mass * (1 - share) ** 2 - (1 - mass) * share**2
        return variance


@dataclass(frozen=True, slots=True, eq=False)
class MarginalEstimates:
    """Unbiased estimates of the means of all parities, and of the marginals made of them."""

    randomizer: HadamardMarginals
    reports: int
    parities: Floats  # in the order of `HadamardMarginals.masks`

    def means(self) -> Frequencies:
        """The means of all parities, which are from -1 to 1, with their variances."""
        total = self.randomizer.signs * self.randomizer.scale**2
        inside = np.clip(self.parities, -1.0, 1.0)
        empirical = np.full(len(inside), (total - 1) / self.reports)
        return Frequencies(self.parities, self.reports, empirical, (total - inside**2) / self.reports)

    def parity_mean(self, attributes: Sequence[int]) -> float:
        """The estimated mean of (-1)**(number of ones among these attributes, and the label if there is one)."""
        labelled = self.randomizer.labelled
        bits = self._checked(attributes, least=0 if labelled else 1)
        mask = sum(1 << bit for bit in bits) | (labelled << (self.randomizer.bits - 1))
        return float(self._means(np.array([mask], np.uint64))[0])

    def marginal(self, attributes: Sequence[int]) -> Frequencies:
        """The frequency of every combination of these attributes: bit i of a cell's number is attributes[i]."""
        if self.randomizer.labelled:
            raise InvalidParameter("parities with a label make no marginals")
        bits = self._checked(attributes, least=1)
        cells = np.arange(1 << len(bits), dtype=np.uint64)
        masks = np.zeros(len(cells), np.uint64)
        for place, bit in enumerate(bits):
            masks |= (cells >> np.uint64(place) & np.uint64(1)) << np.uint64(bit)
        values = self._means(masks)
        transform_columns(values[:, None])
        values /= len(cells)
        inside = np.clip(values, 0.0, 1.0)
        empirical = np.maximum(self.randomizer.cell_variance(len(bits), inside), 0.0) / self.reports
        return Frequencies(
            values, self.reports, empirical, empirical + inside * (1 - inside) / self.reports
        )

    def _means(self, masks: Words) -> Floats:
        """The estimated means of these parities; that of the empty one is known."""
        places = np.searchsorted(self.randomizer.masks, masks)
        return np.where(masks == 0, 1.0, self.parities[places])

    def _checked(self, attributes: Sequence[int], least: int) -> tuple[int, ...]:
        bits, order = tuple(attributes), self.randomizer.order
        if not least <= len(bits) <= order or len(set(bits)) < len(bits):
            raise InvalidParameter(f"there are {least} to {order} different attributes")
        number = self.randomizer.bits - self.randomizer.labelled
        if not all(0 <= bit < number for bit in bits):
            raise InvalidParameter(f"attributes are numbered from 0 to {number - 1}")
        return bits


@lru_cache(maxsize=16)
def parity_masks(bits: int, order: int) -> Words:
    """The subsets of 1 .. order of the bits, as words, in the order of their numbers."""
    return _frozen(_subsets(bits, order)[1:])


@lru_cache(maxsize=16)
def labelled_masks(bits: int, order: int) -> Words:
    """The subsets of 0 .. order of all bits but the highest, each with the highest, in the order of their numbers."""
    return _frozen(_subsets(bits - 1, order) | np.uint64(1 << (bits - 1)))


def _subsets(bits: int, order: int) -> Words:
    """The subsets of at most `order` of the bits: those without the highest one come before those with it."""
    subsets = np.zeros(1, np.uint64)
    for bit in range(bits):
        smaller = subsets[np.bitwise_count(subsets) < order]
        subsets = np.concatenate([subsets, smaller | np.uint64(1 << bit)])
    return subsets


def _frozen(masks: Words) -> Words:
    masks.setflags(write=False)
    return masks
