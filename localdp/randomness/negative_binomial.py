"""The negative binomial law of a fractional exponent, exactly, at any scale.

Definition.  NB(r, a): Pr[k] = binom(k + r - 1, k) (1 - a)^r a^k, with r = shape / parts and a = exp(-rate).
The sum of independent copies whose exponents add up to 1 is geometric: Pr[k] = (1 - a) a^k.

- Scales 1 / rate up to 128: one table of the cumulative sums of Pr[0] = exp(-mean), with
  mean = -log(1 - a) r, and Pr[k] = Pr[k - 1] a (k - 1 + r) / k.
- Larger scales: the compound form (Quenouille 1949).  NB is the sum of N logarithmic variables, N
  Poisson(mean), and the logarithmic law, proportional to a^k / k for k >= 1, is drawn by rejection from
  dyadic blocks: block i with weight a^(2^i), k uniform in 2^i .. 2^(i+1) - 1, accepted with probability
  (2^i / k) a^(k - 2^i).  That makes a^(2^i) 2^-i (2^i / k) a^(k - 2^i) = a^k / k.  Both factors are exact
  coins: a uniform integer below k is below 2^i, and a geometric variable is at least k - 2^i.  About two
  thirds of the proposals are accepted.

Claim.  The law is exact in both forms; no floating-point number takes part.
Checked in tests/unit/randomness/test_polya.py (both forms against the law) and
tests/statistical/test_samplers.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate

import numpy as np

from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure, log_enclosure
from localdp.randomness.geometric import LARGEST_TABLE_SCALE, Geometric, checked_rate
from localdp.randomness.inverse_cdf import Enclosures, LazyInverseCdf, in_blocks
from localdp.randomness.source import Bits, Integers, RandomSource, require_count
from localdp.randomness.uniform import below_each

LARGEST_PARTS = 1 << 20
LARGEST_EXPONENT = 64
_GUARD_BITS = 96  # 40 of them for 1 - a at the largest scale, the rest for the sums.


def _mean(rate: Fraction, exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclosure of -log(1 - a) r, the mean of the Poisson number of terms."""
    one = 1 << bits
    low, high = exp_enclosure(-rate, bits)
    _, high_log = log_enclosure(Fraction(one, one - high), bits)
    low_log, _ = log_enclosure(Fraction(one, one - low), bits)
    shape, parts = exponent.as_integer_ratio()
    return low_log * shape // parts, -(-high_log * shape // parts)


def _cumulative(lows: list[int], highs: list[int], precision: int, bits: int) -> Enclosures:
    """The running sums of enclosed probabilities, cut to at most 1 and rounded outward to `bits`."""
    shift, one = precision - bits, 1 << precision
    lower = [min(one, low) >> shift for low in accumulate(lows)]
    return lower, [-(-min(one, high) >> shift) for high in accumulate(highs)]


def _zero_probability(rate: Fraction, exponent: Fraction, precision: int) -> tuple[int, int]:
    """Enclosure of (1 - a)^r = exp(-mean)."""
    low_mean, high_mean = _mean(rate, exponent, precision)
    one = 1 << precision
    low, _ = exp_enclosure(-Fraction(high_mean, one), precision)
    _, high = exp_enclosure(-Fraction(low_mean, one), precision)
    return low, min(high, one)


def _enclose_whole(rate: Fraction, exponent: Fraction, bits: int, size: int) -> Enclosures:
    precision = bits + _GUARD_BITS + size.bit_length()
    low_base, high_base = exp_enclosure(-rate, precision)
    low, high = _zero_probability(rate, exponent, precision)
    lows, highs = [low], [high]
    shape, parts = exponent.as_integer_ratio()
    for k in range(1, size):
        # (k - 1 + r) / k as a fraction of integers.
        numerator, denominator = (k - 1) * parts + shape, (k * parts) << precision
        low, high = (
            low * low_base * numerator // denominator,
            -(-high * high_base * numerator // denominator),
        )
        lows.append(low)
        highs.append(high)
    return _cumulative(lows, highs, precision, bits)


def _enclose_poisson(rate: Fraction, exponent: Fraction, bits: int, size: int) -> Enclosures:
    precision = bits + _GUARD_BITS + size.bit_length()
    low_mean, high_mean = _mean(rate, exponent, precision)
    low, high = _zero_probability(rate, exponent, precision)
    lows, highs = [low], [high]
    for n in range(1, size):
        low, high = low * low_mean // (n << precision), -(-high * high_mean // (n << precision))
        lows.append(low)
        highs.append(high)
    return _cumulative(lows, highs, precision, bits)


def _block_weight(rate: Fraction, block: int, precision: int) -> tuple[int, int]:
    exponent = rate * (1 << block)
    # exp(-x) < 2**-x: beyond the precision there is nothing left to compute.
    return (0, 1) if exponent > precision else exp_enclosure(-exponent, precision)


def _enclose_blocks(rate: Fraction, bits: int, size: int) -> Enclosures:
    """F over the blocks 0, 1, 2, ..., of weights a^(2^i)."""
    precision = bits + _GUARD_BITS
    enough = (precision * rate.denominator // rate.numerator).bit_length() + 1
    weights = [_block_weight(rate, block, precision) for block in range(max(size, enough))]
    lows, highs = [low for low, _ in weights], [high for _, high in weights]
    # Each weight is the square of the one before, so all that are not listed add up to less than one unit.
    low_total, high_total = sum(lows), sum(highs) + 1
    lower = [(low << bits) // high_total for low in accumulate(lows)]
    upper = [min(1 << bits, -(-(high << bits) // low_total)) for high in accumulate(highs)]
    return lower[:size], upper[:size]


@lru_cache(maxsize=64)
def _whole_table(rate: Fraction, exponent: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_whole, rate, exponent))


@lru_cache(maxsize=64)
def _poisson_table(rate: Fraction, exponent: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_poisson, rate, exponent))


@lru_cache(maxsize=64)
def _block_table(rate: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_blocks, rate))


def _propose(rate: Fraction, source: RandomSource, count: int) -> tuple[Integers, Bits]:
    start = np.int64(1) << _block_table(rate).sample(source, count)
    offset = (source.raw(np.uint64, count) & (start - 1).astype(np.uint64)).astype(np.int64)
    value = start + offset
    accepted = below_each(source, value.astype(np.uint64)) < start.astype(np.uint64)
    accepted &= Geometric(rate).sample(source, count) >= offset
    return value, accepted


def sample_logarithmic(rate: Fraction, source: RandomSource, count: int) -> Integers:
    """Draws of the law proportional to a^k / k, k >= 1."""
    drawn = np.empty(count, np.int64)
    pending = np.arange(count)
    while pending.size:
        value, accepted = _propose(rate, source, pending.size)
        drawn[pending[accepted]] = value[accepted]
        pending = pending[~accepted]
    return drawn


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """Pr[k] = binom(k + r - 1, k) (1 - a)^r a^k, r = shape / parts, a = exp(-rate)."""

    rate: Fraction
    parts: int
    shape: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))
        if not 1 <= self.parts <= LARGEST_PARTS:
            raise InvalidParameter(f"the number of parts lies between 1 and {LARGEST_PARTS}")
        if not 1 <= self.shape <= LARGEST_EXPONENT * self.parts:
            raise InvalidParameter(f"the exponent is positive, and at most {LARGEST_EXPONENT}")

    @property
    def exponent(self) -> Fraction:
        """r."""
        return Fraction(self.shape, self.parts)

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        if 1 / self.rate <= LARGEST_TABLE_SCALE:
            return _whole_table(self.rate, self.exponent).sample(source, count)
        require_count(count)
        return in_blocks(partial(self.sample_compound, source), count)

    def sample_compound(self, source: RandomSource, count: int) -> Integers:
        """The same law as a Poisson number of logarithmic terms, at any scale; for a block of draws."""
        terms = _poisson_table(self.rate, self.exponent).sample(source, count)
        ends = np.cumsum(terms)
        values = sample_logarithmic(self.rate, source, int(terms.sum()))
        # Sums of 64-bit words wrap around, and so do their differences: a draw that fits is right.
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
        drawn: Integers = running[ends] - running[ends - terms]
        return drawn
