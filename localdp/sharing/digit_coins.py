"""Geometric and discrete Laplace laws by independent coins (Dwork et al., *Our Data, Ourselves*, 2006), as public integers.

Definition.  With a = exp(-rate), the binary digits of a geometric variable, Pr[G = g] = (1 - a) a^g, are independent,
and digit j is one with probability a^(2^j) / (1 + a^(2^j)).  Discrete Laplace: Z = sign B (1 + G), a fair sign, B a
coin of 2a / (1 + a): Pr[Z = 0] = (1 - a) / (1 + a) and Pr[Z = z] = (1 - a) a^|z| / (1 + a).  **Deviation** from the
difference of two geometrics: half as many coins.

A coin is a comparison of `coin_bits` uniform bits with a threshold, the integer nearest to 2**coin_bits times its
probability; there are `digits` of them, the least number with a^(2^digits) <= 2**-coin_bits.  With the exact
probabilities G would be geometric *conditioned* on G < 2**digits.  So the distance in total variation of one draw
from the law is at most

    tau = (B's probability, for Laplace) a^(2^digits) + sum over coins of |threshold / 2**coin_bits - probability|.

Claim.  d discrete Laplace noises of rate epsilon / sensitivity, on sums that one person moves by `sensitivity` in the
sum of absolute values, are (epsilon, delta)-private with delta = (1 + e^epsilon) d tau; every term is an exact
rational, rounded up.  Epsilon is in nats, for replace-one neighbours, per release.  Apart from it stand AES and the
error of the proofs.
Checked by enumeration at few coin bits in tests/unit/sharing/test_digit_coins.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import exp_above, log_above
from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.geometric import checked_rate

COIN_BITS = 64
LARGEST_DELTA = Fraction(1, 1 << 40)
_MORE_BITS = 64


@dataclass(frozen=True, slots=True)
class Coin:
    """A public threshold, and how far at most its probability lies from what it should be."""

    threshold: int
    error: Fraction


@cache
def coin_of(rate: Fraction, doubled: bool, bits: int) -> Coin:
    """The coin of a / (1 + a), or of 2a / (1 + a), a = exp(-rate), of so many bits."""
    precision = bits + _MORE_BITS
    while True:
        one = 1 << precision
        low, high = (
            Fraction((2 if doubled else 1) * end, one + end) for end in exp_enclosure(-rate, precision)
        )
        nearest = {int(end * (1 << bits) + Fraction(1, 2)) for end in (low, high)}
        if (
            len(nearest) == 1
        ):  # else the enclosure holds a half, and more bits tell on which side the probability is
            threshold = min(nearest.pop(), (1 << bits) - 1)
            share = Fraction(threshold, 1 << bits)
            return Coin(threshold, max(abs(share - low), abs(share - high)))
        precision += _MORE_BITS


def digits_for(rate: Fraction, bits: int) -> int:
    """The least number of digits with a^(2^digits) <= 2**-bits."""
    enough = bits * log_above(Fraction(2)) / rate
    return max(1, (ceil(enough) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class GeometricCoins:
    """One-sided noise: the digits of a geometric variable, the least significant first."""

    rate: Fraction
    digits: int
    bits: int = COIN_BITS
    coins: tuple[Coin, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rate = checked_rate(self.rate)
        if self.digits < 1 or self.bits < 2 or self.bits % 2:
            raise InvalidParameter("noise has at least one digit, and coins of an even number of bits")
        coins = tuple(coin_of(rate * (1 << digit), False, self.bits) for digit in range(self.digits))
        object.__setattr__(self, "coins", coins)

    @classmethod
    def of(cls, rate: Fraction) -> GeometricCoins:
        """With as many digits as its coins can tell apart."""
        return cls(rate, digits_for(rate, COIN_BITS))

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Of the digits."""
        return tuple(coin.threshold for coin in self.coins)

    def masses(self) -> dict[int, Fraction]:
        """The exact law of what these coins make."""
        masses = {0: Fraction(1)}
        for digit, threshold in enumerate(self.thresholds):
            one = Fraction(threshold, 1 << self.bits)
            masses = {value: mass * (1 - one) for value, mass in masses.items()} | {
                value + (1 << digit): mass * one for value, mass in masses.items()
            }
        return masses

    @property
    def tail(self) -> Fraction:
        """At least a^(2^digits)."""
        return exp_above(-self.rate * (1 << self.digits))

    @property
    def distance(self) -> Fraction:
        """At least the distance of one draw from the law, in total variation."""
        return self.tail + sum((coin.error for coin in self.coins), Fraction(0))


@dataclass(frozen=True, slots=True)
class LaplaceCoins:
    """Two-sided noise for sums: a sign, a coin for zero, and the digits of what is left."""

    epsilon: Epsilon  # of the release, per person, in nats, replace-one neighbours
    sensitivity: int  # how far one person moves the sums, in the sum of absolute values
    magnitude: GeometricCoins
    nonzero: Coin = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.sensitivity < 1 or self.magnitude.rate != self.epsilon.exact / self.sensitivity:
            raise InvalidParameter(
                "joint noise has the rate epsilon / sensitivity, and a positive sensitivity"
            )
        coin = coin_of(self.magnitude.rate, True, self.magnitude.bits)
        object.__setattr__(self, "nonzero", coin)

    @classmethod
    def of(cls, epsilon: Epsilon, sensitivity: int) -> LaplaceCoins:
        """For sums of this sensitivity."""
        if sensitivity < 1:
            raise InvalidParameter("a sensitivity is a positive number")
        return cls(epsilon, sensitivity, GeometricCoins.of(epsilon.exact / sensitivity))

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Of the coin for zero, then of the digits."""
        return (self.nonzero.threshold, *self.magnitude.thresholds)

    @property
    def distance(self) -> Fraction:
        """At least the distance of one noise from the discrete Laplace law, in total variation."""
        size = Fraction(self.nonzero.threshold, 1 << self.magnitude.bits) + self.nonzero.error
        digits = sum((coin.error for coin in self.magnitude.coins), Fraction(0))
        return size * self.magnitude.tail + self.nonzero.error + digits

    @property
    def text(self) -> str:
        """All of it that is public, for the name of a computation."""
        return f"joint {self.epsilon.nanonats} {self.sensitivity} {self.magnitude.bits} {self.thresholds}"

    def delta(self, count: int) -> Fraction:
        """At least the delta of a release of so many sums."""
        return delta_of(self.epsilon, count, self.distance)


def delta_of(epsilon: Epsilon, count: int, distance: Fraction) -> Fraction:
    """(1 + e^epsilon) d tau: what d draws, each within tau of a law that is epsilon-private, add to it."""
    return (1 + exp_above(epsilon.exact)) * count * distance


def require_small(delta: Fraction) -> None:
    """Refuse what would be promised with a larger delta than 2**-40."""
    if delta > LARGEST_DELTA:
        raise InvalidParameter(
            "delta would be above 2**-40: so large an epsilon, or so many numbers, are not for joint noise; ask with less"
        )
