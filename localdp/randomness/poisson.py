"""Exact Poisson draws of any rational mean.

Definition.  Poisson(mean): Pr[k] = exp(-mean) mean^k / k!.  A draw is the sum of 2^b independent draws of mean / 2^b, with
b such that one table of at most a few hundred numbers serves them all (`inverse_cdf.py`).

Claim.  The law is exact: sums of Poisson variables are Poisson, no tail is cut off, and no float takes part.  So a flood of
divided parts costs nothing in delta for how it is drawn.
**Not constant work**: how long a draw takes depends on coins alone.
Checked in tests/unit/randomness/test_poisson.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.inverse_cdf import Enclosures, LazyInverseCdf
from localdp.randomness.source import Integers, RandomSource

LARGEST_MEAN = 1 << 26
LARGEST_TABLE_MEAN = 64
_GUARD_BITS = 48


def _enclose(mean: Fraction, bits: int, size: int) -> Enclosures:
    # exp(-mean) is what everything is a multiple of, so its own bits count beside those that are asked for.
    precision = bits + _GUARD_BITS + size.bit_length() + 2 * int(mean)
    low, high = exp_enclosure(-mean, precision)
    lows, highs = [low], [high]
    for k in range(1, size):
        low = low * mean.numerator // (k * mean.denominator)
        high = -(-high * mean.numerator // (k * mean.denominator))
        lows.append(low)
        highs.append(high)
    shift, one = precision - bits, 1 << precision
    lower = [min(one, total) >> shift for total in accumulate(lows)]
    return lower, [-(-min(one, total) >> shift) for total in accumulate(highs)]


@lru_cache(maxsize=64)
def _table(mean: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose, mean))


@dataclass(frozen=True, slots=True)
class Poisson:
    """Pr[k] = exp(-mean) mean^k / k!, for a mean up to 2**26."""

    mean: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.mean, Fraction | int) or not 0 <= self.mean <= LARGEST_MEAN:
            raise InvalidParameter(f"a Poisson mean is an exact fraction between 0 and {LARGEST_MEAN}")

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        terms = 1 << max(0, int(self.mean) // LARGEST_TABLE_MEAN).bit_length()
        drawn = _table(Fraction(self.mean) / terms).sample(source, count * terms)
        sums: Integers = drawn.reshape(count, terms).sum(axis=1)
        return sums
