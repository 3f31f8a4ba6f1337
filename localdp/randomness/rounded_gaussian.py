"""The Gaussian law rounded to whole numbers, exactly.

Definition.  Pr[n] = Phi((n + 1/2) / sigma) - Phi((n - 1/2) / sigma), with a whole variance sigma^2 from 1 to
2**56: a continuous Gaussian X of that variance, rounded.

Why rounded, and not the discrete Gaussian of Canonne, Kamath and Steinke (2020), Pr[n] ~ exp(-n^2 / (2 sigma^2))?
For a whole number q, q + round(X) = round(q + X): noise on a vector of whole numbers is a function of the continuous
Gaussian mechanism, and has its (epsilon, delta) in any dimension.  The discrete Gaussian's own (epsilon, delta) is
known exactly for one number only.  **Deviation**, for that reason.

The draw.  Write |X| = 2^b h + y with 0 <= y < 2^b, where 2^b is sigma / 32 to sigma / 16.  Propose h with weight
exp(-(2^b h)^2 / (2 sigma^2)) (a small table), y uniform, a uniform sign; accept with probability exp(-gamma), gamma =
y (2^{b+1} h + y) / (2 sigma^2).  That makes exp(-X^2 / (2 sigma^2)).  For gamma <= 1 the coin exp(-gamma) is von
Neumann's (1951): count how often in a row a coin of gamma / 1, gamma / 2, gamma / 3, ... succeeds; accept if that is
even.

A variance below 2**8 is drawn on a finer grid: 2^g X, of 4^g times the variance, rounded to multiples of 2^g.

A coin of gamma compares two uniform reals, v < gamma(y).  Both are known by integers at first, which nearly always
decides; what remains, and the cells beyond 16 sigma where gamma > 1, is settled in Python integers with as many bits
as needed.

Claim.  The law is exact; no floating-point number takes part.  **Not constant work**: for curators and servers.
Checked in tests/unit/randomness/test_rounded_gaussian.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import erf, isqrt, sqrt

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.inverse_cdf import Enclosures, LazyInverseCdf, in_blocks
from localdp.randomness.source import WORD_BITS, Bits, Integers, RandomSource, require_count

SMALLEST_VARIANCE, LARGEST_VARIANCE = 1, 1 << 56
_SMALLEST_DRAWN = 1 << 8  # smaller ones are drawn on a finer grid
_CELLS_PER_SIGMA = 16
_GUARD_BITS = 96
_PRODUCT_BITS = 62  # so that products of fixed-point numbers fit a word
_MOST_FRACTION_BITS = 24


def _cell_bits(variance: int) -> int:
    """b: the largest power of two that is at most sigma / 16."""
    return max(0, isqrt(variance // _CELLS_PER_SIGMA**2).bit_length() - 1)


def _enclose_cells(variance: int, bits: int, size: int) -> Enclosures:
    """F over the cells 0, 1, 2, ..., of weights g^(h^2), g = exp(-4^b / (2 variance))."""
    precision = bits + _GUARD_BITS
    one = 1 << precision
    low_base, high_base = exp_enclosure(Fraction(-(4 ** _cell_bits(variance)), 2 * variance), precision)
    low = high = one
    low_step, high_step = low_base, high_base  # g^(2 h + 1)
    lows: list[int] = []
    highs: list[int] = []
    while len(lows) < size or high > 1:
        lows.append(low)
        highs.append(high)
        low, high = low * low_step >> precision, -(-high * high_step >> precision)
        low_step = low_step * low_base * low_base >> 2 * precision
        high_step = -(-high_step * high_base * high_base >> 2 * precision)
    # Each weight that is not listed is at most half of the one before, and the first is at most one unit.
    low_total, high_total = sum(lows), sum(highs) + 2
    lower = [(mass << bits) // high_total for mass in accumulate(lows)]
    upper = [min(1 << bits, -(-(mass << bits) // low_total)) for mass in accumulate(highs)]
    return lower[:size], upper[:size]


@lru_cache(maxsize=64)
def _cell_table(variance: int) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_cells, variance))


@dataclass(slots=True)
class Careful:
    """One proposal |X| = start + y, continued in Python integers; y is known to lie in low .. low + 1, over 2**bits."""

    source: RandomSource
    start: int
    low: int
    bits: int
    modulus: int  # gamma is y (2 start + y) / modulus

    def accepted(self) -> bool:
        """A coin of exp(-gamma), for any gamma, in pieces of at most 1."""
        most = (self.low + 1) * ((2 * self.start << self.bits) + self.low + 1)
        pieces = max(1, -(-most // (self.modulus << 2 * self.bits)))
        self.modulus *= pieces
        return all(self.continued(1, self._fresh()) for _ in range(pieces))

    def continued(self, trial: int, v: int) -> bool:
        """Von Neumann's coin, from the comparison of v in this trial on."""
        while self._below_gamma(v):
            trial += 1
            if int(self.source.below(trial, 1)[0]):
                break
            v = self._fresh()
        return trial % 2 == 1

    def _below_gamma(self, v: int) -> bool:
        """Whether the uniform real that begins with v / (modulus * 4**bits) is below gamma."""
        while True:
            double_start = 2 * self.start << self.bits
            if v < self.low * (double_start + self.low):
                return True
            if v >= (self.low + 1) * (double_start + self.low + 1):
                return False
            self.low, self.bits = self.low << WORD_BITS | self._words(1), self.bits + WORD_BITS
            v = v << 2 * WORD_BITS | self._words(2)

    def _fresh(self) -> int:
        words = -(-2 * self.bits // WORD_BITS)
        tail = self._words(words) >> (words * WORD_BITS - 2 * self.bits)
        return int(self.source.below(self.modulus, 1)[0]) << 2 * self.bits | tail

    def _words(self, count: int) -> int:
        return int.from_bytes(self.source.raw(np.uint64, count).astype(">u8").tobytes(), "big")


@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """Pr[n] = Phi((n + 1/2) / sigma) - Phi((n - 1/2) / sigma), of a whole variance sigma^2."""

    variance: int

    def __post_init__(self) -> None:
        if not SMALLEST_VARIANCE <= self.variance <= LARGEST_VARIANCE:
            raise InvalidParameter(
                f"a rounded Gaussian has a variance of {SMALLEST_VARIANCE} to {LARGEST_VARIANCE}"
            )

    @property
    def grid_bits(self) -> int:
        """g: the units of what is drawn are 2^-g."""
        grid = 0
        while self.variance << 2 * grid < _SMALLEST_DRAWN:
            grid += 1
        return grid

    @property
    def drawn_variance(self) -> int:
        """In units of the finer grid."""
        return self.variance << 2 * self.grid_bits

    @property
    def fraction_bits(self) -> int:
        """How many bits of y after the point are drawn at first."""
        return min(_MOST_FRACTION_BITS, (_PRODUCT_BITS - (2 * self.drawn_variance).bit_length()) // 2)

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        require_count(count)
        return in_blocks(partial(self._sample_block, source), count)

    def probability(self, n: int) -> float:
        """Pr[n], in floating point."""
        scale = sqrt(2.0 * self.variance)
        return (erf((n + 0.5) / scale) - erf((n - 0.5) / scale)) / 2.0

    def _sample_block(self, source: RandomSource, count: int) -> Integers:
        drawn, pending = np.empty(count, np.int64), np.arange(count)
        while pending.size:
            value, accepted = self._propose(source, pending.size)
            drawn[pending[accepted]] = value[accepted]
            pending = pending[~accepted]
        return drawn

    def _propose(self, source: RandomSource, count: int) -> tuple[Integers, Bits]:
        cell_bits, fraction_bits = _cell_bits(self.drawn_variance), self.fraction_bits
        cell = _cell_table(self.drawn_variance).sample(source, count)
        words = source.raw(np.uint64, count)
        low = (words & np.uint64((1 << cell_bits + fraction_bits) - 1)).astype(np.int64)
        below = self.grid_bits + fraction_bits
        magnitude = (cell << cell_bits + fraction_bits) + low + (1 << below - 1) >> below
        value = np.where(words >> np.uint64(WORD_BITS - 1), magnitude, -magnitude)
        return value, self._accept(source, cell << cell_bits, low)

    def _accept(self, source: RandomSource, start: Integers, low: Integers) -> Bits:
        """One coin of exp(-gamma) for each proposal."""
        fraction_bits = self.fraction_bits
        accepted = np.zeros(len(low), np.bool_)
        cell_bits = _cell_bits(self.drawn_variance)
        far = ((start >> cell_bits) + 1) << 2 * cell_bits > self.drawn_variance
        for place in np.flatnonzero(far):
            accepted[place] = self._careful(source, int(start[place]), int(low[place])).accepted()
        near = np.flatnonzero(~far)
        double_start = start << fraction_bits + 1
        least = (low * (double_start + low)).astype(np.uint64)
        most = ((low + 1) * (double_start + low + 1)).astype(np.uint64)
        trial = 1
        while near.size:
            v = source.below(2 * self.drawn_variance << 2 * fraction_bits, near.size)
            reached = source.below(trial, near.size) == 0
            unsure = reached & (v >= least[near]) & (v < most[near])
            for place, known in zip(near[unsure], v[unsure], strict=True):
                careful = self._careful(source, int(start[place]), int(low[place]))
                accepted[place] = careful.continued(trial, int(known))
            success = reached & (v < least[near])
            accepted[near[~success & ~unsure]] = trial % 2 == 1
            near, trial = near[success], trial + 1
        return accepted

    def _careful(self, source: RandomSource, start: int, low: int) -> Careful:
        return Careful(source, start, low, self.fraction_bits, 2 * self.drawn_variance)
