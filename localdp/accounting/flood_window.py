"""The law of what hides a flooded sum: a Poisson number of pairs and the smaller of two geometric numbers, enclosed.

    G = M + F,   F ~ Poisson(pairs),   Pr[M = m] = (1 - q) q^m   with q = exp(-2 rate)

    Pr[G = w] = q Pr[G = w - 1] + (1 - q) Pr[F = w]

The Poisson weights are computed relative to the one at the mode, by w(j + 1) / w(j) = pairs / (j + 1), and divided by
their sum: no factorial and no logarithm.  Every number is a pair of integers that encloses it times 2**precision.  What
lies outside the window weighs at most as much as a geometric series whose ratio is the one at the edge.

    H(m, c) = sum over w of max(0, Pr[G = w] - e^c Pr[G = w - m])

Both laws are log-concave, and so is their convolution: Pr[G = w] / Pr[G = w - m] falls with w, the w with a positive part
are those below some place, and H(m, c) is the largest of Pr[G <= w] - e^c Pr[G <= w - m] over all w.

Claim.  `above(m, growth)` is at least H(m, c) for every growth that is at most e^c, and exceeds it by less than 2**-100.
Checked against sums of decimals in tests/unit/accounting/test_flooding.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count

from localdp.randomness.enclosures import exp_enclosure

PRECISION = 224
_CUT_BITS = 128  # weights down to this part of the one at the mode are in the window
_ONE = 1 << PRECISION
_NEXT_TO_NOTHING = _ONE >> 104

Enclosed = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FloodWindow:
    """Pr[G = w] for w = first - 1, first, ..., and their running sums; the first entry is for all w below the window."""

    masses: Enclosed
    sums: Enclosed

    def above(self, shift: int, growth: Fraction) -> Fraction:
        """At least H(shift, c), where `growth` is at most e^c."""
        return Fraction(self.excess(shift, scaled_below(growth)), _ONE)

    def excess(self, shift: int, factor: int) -> int:
        """The same times 2**PRECISION, of a growth that is given so."""
        end = len(self.masses)
        place = bisect_left(range(end), 1, key=lambda one: self._falls(one, shift, factor))
        # From here on the excess falls; or nothing is known any more, but that Pr[G <= w] is at most 1.
        worst = _ONE - (factor * self._sum_below(end - shift) >> PRECISION) if place == end else 0
        while place > 0:
            place -= 1
            if self.sums[place][1] < _NEXT_TO_NOTHING:  # and so is all that could be found below
                return min(_ONE, max(0, worst, self.sums[place][1]))
            excess = self.sums[place][1] - (factor * self._sum_below(place - shift) >> PRECISION)
            worst = max(worst, excess)
            # Below, the excess is smaller; or at most what Pr[G <= w] is here, which only falls.
            if self._rises(place, shift, factor) or self.sums[place][1] <= worst:
                break
        return min(_ONE, max(0, worst))

    def _falls(self, place: int, shift: int, factor: int) -> bool:
        """Whether Pr[G = w] is certainly no more than `factor` times Pr[G = w - shift]: then so it is for all larger w."""
        before = self.masses[place - shift][0] if place >= shift else 0
        return self.masses[place][1] << PRECISION <= factor * before

    def _rises(self, place: int, shift: int, factor: int) -> bool:
        """Whether it is certainly no less: then so it is for all smaller w."""
        return self.masses[place][0] << PRECISION >= factor * self.masses[max(0, place - shift)][1]

    def _sum_below(self, place: int) -> int:
        """What Pr[G <= w] is at least; of what is below the window nothing is known but that it is not negative."""
        return self.sums[place][0] if place >= 0 else 0


def scaled_below(value: Fraction) -> int:
    """At most value times 2**PRECISION."""
    return (value.numerator << PRECISION) // value.denominator


def scaled_above(value: Fraction) -> int:
    """At least that."""
    return -(-(value.numerator << PRECISION) // value.denominator)


@lru_cache(maxsize=4)  # the largest take 90 MB, and whoever asks says which
def flood_window(rate: Fraction, pairs: int) -> FloodWindow:
    """The window of so many pairs and two geometric numbers of this rate."""
    below, poisson = _poisson(pairs)
    low_base, high_base = exp_enclosure(-2 * rate, PRECISION)
    # All w below the window together weigh at most Pr[F < first].
    low, high = 0, below
    masses = [(0, below)]
    for low_mass, high_mass in poisson:
        low = (low * low_base + low_mass * (_ONE - high_base)) >> PRECISION
        high = -(-(high * high_base + high_mass * (_ONE - low_base)) >> PRECISION)
        masses.append((low, high))
    lows, highs = (accumulate(ends) for ends in zip(*masses, strict=True))
    return FloodWindow(masses, [(low, min(_ONE, high)) for low, high in zip(lows, highs, strict=True)])


def _poisson(pairs: int) -> tuple[int, Enclosed]:
    """At least the mass of all numbers below the window, and the masses of those in it."""
    down, below = _sweep((place, pairs) for place in range(pairs, 0, -1))
    up, beyond = _sweep((pairs, place + 1) for place in count(pairs))
    weights = down[:0:-1] + up
    low_total = sum(low for low, _ in weights)
    high_total = sum(high for _, high in weights) + below + beyond
    masses = [
        ((low << PRECISION) // high_total, -(-(high << PRECISION) // low_total)) for low, high in weights
    ]
    return -(-(below << PRECISION) // low_total), masses


def _sweep(ratios: Iterable[tuple[int, int]]) -> tuple[Enclosed, int]:
    """The weights from the mode outwards, the mode included, and a bound on those that are left out."""
    low = high = _ONE
    weights = [(low, high)]
    cut = _ONE >> _CUT_BITS
    for numerator, denominator in ratios:
        if numerator == 0:
            return weights, 0
        before = low
        low, high = low * numerator // denominator, -(-high * numerator // denominator)
        weights.append((low, high))
        if high < cut and high < before:
            # The ratios only fall from here on, and the last one is at most high / before.
            return weights, -(-high * high // (before - high))
    return weights, 0
