"""The discrete Laplace (two-sided geometric) law (Ghosh, Roughgarden and Sundararajan 2009), exactly.

Definition.  Pr[k] = (1 - a) / (1 + a) * a^|k| over all integers k, with a = exp(-epsilon) for an exact
rational epsilon.  Its scale is 1 / epsilon.

Claim.  Added to an integer of sensitivity 1 it is epsilon-differentially private, with equality:
neighbouring probabilities differ by a factor of exactly a.  The draw has exactly this law; epsilon is in
nats, per draw.

- Scales up to 128: one table over 0, 1, -1, 2, -2, ..., whose cumulative distribution is 1 - a^m after +m,
  and 1 - 2 a^(m+1) / (1 + a) after -m.
- Larger scales: X = S (1 + G), with S in {0, +1, -1} of probabilities (1 - a, a, a) / (1 + a), and G
  geometric by digits.  **Deviation** from the difference of two geometrics: the same law from half as many
  draws.

Checked in tests/unit/randomness/test_discrete_laplace.py and, as a law, in
tests/statistical/test_samplers.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import exp, expm1

from localdp.randomness.geometric import LARGEST_TABLE_SCALE, Geometric, checked_rate, exp_powers
from localdp.randomness.inverse_cdf import Enclosures, LazyInverseCdf, in_blocks, scaled, zigzag
from localdp.randomness.source import Integers, RandomSource, require_count

_GUARD_BITS = 8


def _enclose_zigzag(epsilon: Fraction, bits: int, size: int) -> Enclosures:
    """F after the first points of 0, 1, -1, 2, -2, ...: one minus the tails c, a, a c, a^2, a^2 c, ..."""
    precision = bits + _GUARD_BITS
    one = 1 << precision
    lows, highs = exp_powers(epsilon, size // 2 + 2, precision)
    low_factor = 2 * lows[1] * one // (one + lows[1])  # c = 2 a / (1 + a) grows with a.
    high_factor = -(-2 * highs[1] * one // (one + highs[1]))
    lower, upper = [], []
    for index in range(size):
        power = (index + 1) // 2
        low_tail, high_tail = lows[power], highs[power]
        if index % 2 == 0:
            low_tail, high_tail = (
                low_tail * low_factor >> precision,
                -(-high_tail * high_factor >> precision),
            )
        low, high = scaled(one - high_tail, one - low_tail, _GUARD_BITS)
        lower.append(low)
        upper.append(high)
    return lower, upper


def _enclose_sign(epsilon: Fraction, bits: int, size: int) -> Enclosures:
    """F over 0, +1, -1: (1 - a) / (1 + a), 1 / (1 + a), 1."""
    lower, upper = _enclose_zigzag(epsilon, bits, 1)
    (_, low), (_, high) = exp_powers(epsilon, 2, bits + _GUARD_BITS)
    one = 1 << bits + _GUARD_BITS
    lower += [(one << bits) // (one + high), 1 << bits]
    upper += [-(-(one << bits) // (one + low)), 1 << bits]
    return lower[:size], upper[:size]


@lru_cache(maxsize=64)
def _whole_table(epsilon: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_zigzag, epsilon), value_of=zigzag)


@lru_cache(maxsize=64)
def _sign_table(epsilon: Fraction) -> LazyInverseCdf:
    return LazyInverseCdf(partial(_enclose_sign, epsilon), support=3, value_of=zigzag)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Pr[k] = (1 - a) / (1 + a) a^|k|, a = exp(-epsilon); 2**-40 <= epsilon <= 64."""

    epsilon: Fraction  # Privacy loss of one draw at sensitivity 1, in nats.

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_rate(self.epsilon))

    def sample(self, source: RandomSource, count: int) -> Integers:
        """Independent draws, exactly of the law."""
        if 1 / self.epsilon <= LARGEST_TABLE_SCALE:
            return _whole_table(self.epsilon).sample(source, count)
        require_count(count)
        return in_blocks(partial(self._sample_large, source), count)

    def _sample_large(self, source: RandomSource, count: int) -> Integers:
        magnitude = Geometric(self.epsilon).sample(source, count) + 1
        return magnitude * _sign_table(self.epsilon).sample(source, count)

    def probability(self, k: int) -> float:
        """Pr[k], in floating point."""
        epsilon = float(self.epsilon)
        return -expm1(-epsilon) / (1.0 + exp(-epsilon)) * exp(-epsilon * abs(k))

    def mean_absolute(self) -> float:
        """E|X| = 2 a / (1 - a^2)."""
        epsilon = float(self.epsilon)
        return 2.0 * exp(-epsilon) / -expm1(-2.0 * epsilon)

    def variance(self) -> float:
        """E X^2 = 2 a / (1 - a)^2."""
        epsilon = float(self.epsilon)
        return 2.0 * exp(-epsilon) / expm1(-epsilon) ** 2
