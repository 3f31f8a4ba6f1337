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
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_marginals.py; sampled in
tests/statistical/test_structures.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import comb

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Floats, Frequencies, Reports, Tally, Values
from localdp.randomizers.inputs import checked_inputs, require_between, require_own
from localdp.randomizers.sampled_sign import LARGEST_SIGNS, SampledSign
from localdp.randomizers.walsh import parity
from localdp.randomness.source import RandomSource, Words

MOST_BITS = 62
LARGEST_ORDER = 16


@dataclass(frozen=True, slots=True)
class HadamardMarginals(SampledSign):
    """Reports the index of a parity and its randomized sign; attribute i is bit i of the value."""

    requested: Epsilon
    bits: int
    order: int = 2  # the most attributes that a marginal can have
    flip: int = field(
        init=False, repr=False, compare=False
    )  # F: a sign is flipped with probability F / 2**64

    def __post_init__(self) -> None:
        require_between("the number of bits", self.bits, 1, MOST_BITS)
        require_between("the order of marginals", self.order, 1, min(self.bits, LARGEST_ORDER))
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
        return sum(comb(self.bits, weight) for weight in range(1, self.order + 1))

    @property
    def canonical(self) -> str:
        """Name and parameters as text."""
        return f"hadamard-marginals(epsilon={self.requested},bits={self.bits},order={self.order})"

    def randomize(self, values: Values, source: RandomSource) -> Reports:
        """A parity and its randomized sign for each value."""
        records = checked_inputs(values, self.inputs).astype(np.uint64)
        indices = source.below(self.signs, len(records))
        flipped = source.bernoulli(self.flip, len(records))
        asked = parity_masks(self.bits, self.order)[indices]
        return self._reports(indices, parity(records & asked) ^ flipped)

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        masses: dict[Hashable, Fraction] = {}
        for index, mask in enumerate(parity_masks(self.bits, self.order).tolist()):
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
    """Unbiased estimates of the means of all parities of weight 1 .. order, and of the marginals made of them."""

    randomizer: HadamardMarginals
    reports: int
    parities: Floats  # in the order of `parity_masks`

    def parity_mean(self, attributes: Sequence[int]) -> float:
        """The estimated mean of (-1)**(number of ones among these attributes)."""
        bits = self._checked(attributes)
        return float(self._means(np.array([sum(1 << bit for bit in bits)], np.uint64))[0])

    def marginal(self, attributes: Sequence[int]) -> Frequencies:
        """The frequency of every combination of these attributes: bit i of a cell's number is attributes[i]."""
        bits = self._checked(attributes)
        cells = np.arange(1 << len(bits), dtype=np.uint64)
        masks = np.zeros(len(cells), np.uint64)
        for place, bit in enumerate(bits):
            masks |= (cells >> np.uint64(place) & np.uint64(1)) << np.uint64(bit)
        signs = 1.0 - 2.0 * parity(cells[:, None] & cells)
        values = signs @ self._means(masks) / len(cells)
        inside = np.clip(values, 0.0, 1.0)
        empirical = np.maximum(self.randomizer.cell_variance(len(bits), inside), 0.0) / self.reports
        return Frequencies(
            values, self.reports, empirical, empirical + inside * (1 - inside) / self.reports
        )

    def _means(self, masks: Words) -> Floats:
        """The estimated means of these parities; that of the empty one is known."""
        known = parity_masks(self.randomizer.bits, self.randomizer.order)
        places = np.searchsorted(known, masks)
        return np.where(masks == 0, 1.0, self.parities[places])

    def _checked(self, attributes: Sequence[int]) -> tuple[int, ...]:
        bits = tuple(attributes)
        if not 1 <= len(bits) <= self.randomizer.order or len(set(bits)) < len(bits):
            raise InvalidParameter(f"a marginal has 1 to {self.randomizer.order} different attributes")
        if not all(0 <= bit < self.randomizer.bits for bit in bits):
            raise InvalidParameter(f"attributes are numbered from 0 to {self.randomizer.bits - 1}")
        return bits


@lru_cache(maxsize=16)
def parity_masks(bits: int, order: int) -> Words:
    """The subsets of 1 .. order of the bits, as words, in the order of their numbers."""
    subsets = chain.from_iterable(combinations(range(bits), weight) for weight in range(1, order + 1))
    masks = np.sort(np.fromiter((sum(1 << bit for bit in subset) for subset in subsets), np.uint64))
    masks.setflags(write=False)
    return masks
