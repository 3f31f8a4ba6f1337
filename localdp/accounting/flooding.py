"""What a flooded sum reveals: many messages of +1 and -1, of which only the numbers are seen.

Each of n people sends x_i messages +1 and a part of three noises (Ghazi, Kumar, Manurangsi, Pagh and Sinha, ICML 2021):
Z+ messages +1 and Z- messages -1, both geometric in all, Pr[Z = k] = (1 - a) a^k with a = exp(-rate); and F pairs of one +1
and one -1, Poisson in all.  Whoever sees the mixed messages sees their two numbers, S + Z+ + F and Z- + F, and nothing
else.  Let D = Z+ - Z- and M = min(Z+, Z-).  Both are independent, D is discrete Laplace, M is geometric of 2 rate, and the
view is as good as (S + D, M + F + max(0, -D)).  Let G = M + F (`flood_window.py`) and H its hockey-stick divergence.

**Up** (the view at S, against that at S + j).  Where S + D is at u above S, the two discrete Laplace masses differ by a
factor of exp(rate (|u - j| - |u|)), and G is shifted by max(0, j - u) - max(0, -u).  So

    delta(j, epsilon) = Pr[D <= 0] H(j, epsilon - rate j)
                        + sum over 0 < u < j of Pr[D = u] H(j - u, epsilon - rate (j - 2u))

**Down** (the view at S + j, against that at S): never more than rate j, and no delta.  Take j more Z+: the numbers at S
with those are the numbers at S + j without, and Pr[Z+ = z + j] = exp(-rate j) Pr[Z+ = z].

So a record that is replaced costs, where at most `largest` of one number is moved: delta(j, epsilon), the largest over j.
Where it moves several numbers by one each, `falling` of them down and `rising` up: rate for each that falls; what is left
of epsilon is divided among those that rise, and their deltas add up (basic composition).  Of a histogram, one falls and
one rises.

Noise that is added to the view can only help, so more honest people than the noise was divided among, do no harm.

Claim.  `Flood.delta` is at least the delta of the view, in both directions: rationals and enclosures only, rounded against
us.  That an agent sends batches of a fixed size is paid for apart (`flood_room.py`).
Checked by enumeration of the views of up to six people, for every database and neighbour, with broken twins, in
tests/unit/accounting/test_flooding.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from localdp.accounting.flood_window import PRECISION, flood_window, scaled_above, scaled_below
from localdp.accounting.outward import exp_above, exp_below
from localdp.errors import InvalidParameter

MOST_PAIRS = 1 << 26
LARGEST_CHANGE = 255  # of one number by one person: so many messages each person sends
SMALLEST_RATE = Fraction(1, 1 << 16)


@dataclass(frozen=True, slots=True)
class Moved:
    """How a record that is replaced moves the sums: one of them by up to `largest`, or several by one each."""

    largest: int = 1
    rising: int = 1  # sums that grow by one, or by up to `largest`
    falling: int = 0  # sums that shrink at the same time

    def __post_init__(self) -> None:
        if not 1 <= self.largest <= LARGEST_CHANGE:
            raise InvalidParameter(f"a flooded sum is of whole numbers from 0 to at most {LARGEST_CHANGE}")
        if self.rising < 1 or self.falling < 0 or (self.largest > 1 and self.units > self.largest):
            raise InvalidParameter("one sum is moved by several units, or several sums by one unit each")

    @property
    def units(self) -> int:
        """By how much all sums together are moved at most."""
        return self.largest * self.rising + self.falling


@dataclass(frozen=True, slots=True)
class Flood:
    """The noise of one number: two geometric ones of this rate, and so many pairs in the mean."""

    rate: Fraction  # nats for each unit of the sum
    pairs: int

    def __post_init__(self) -> None:
        if not SMALLEST_RATE <= self.rate <= 30 or not 0 <= self.pairs <= MOST_PAIRS:
            raise InvalidParameter(f"a flood has a rate up to 30, and at most {MOST_PAIRS} pairs")

    def delta(self, epsilon: Fraction, moved: Moved) -> Fraction:
        """An upper bound on delta at this epsilon, for the whole view."""
        left = epsilon - moved.falling * self.rate
        if moved.largest > 1:
            changes = range(1, moved.largest + 1)
            return min(Fraction(1), max(self.rising(left, change) for change in changes))
        return min(Fraction(1), moved.rising * self.rising(left / moved.rising, 1))

    def rising(self, epsilon: Fraction, change: int) -> Fraction:
        """The same for one number that is larger by `change`."""
        if epsilon < change * self.rate:
            return Fraction(1)  # the sum alone reveals more
        return _rising(self, epsilon, change)


@lru_cache(maxsize=4096)
def _rising(flood: Flood, epsilon: Fraction, change: int) -> Fraction:
    """In whole numbers of 2**-PRECISION: a change of 255 has as many terms, and there are 255 changes."""
    rate, window = flood.rate, flood_window(flood.rate, flood.pairs)
    base_low, base_high = exp_below(-rate), exp_above(-rate)
    power, ratio = scaled_above(1 / (1 + base_low)), scaled_above(base_high)
    total = power * window.excess(change, _growth(epsilon - change * rate))
    power = scaled_above((1 - base_low) / (1 + base_low))
    for above in range(1, change):
        power = -(-power * ratio >> PRECISION)
        total += power * window.excess(change - above, _growth(epsilon - (change - 2 * above) * rate))
    return Fraction(total, 1 << 2 * PRECISION)


@lru_cache(maxsize=1024)
def _growth(exponent: Fraction) -> int:
    return scaled_below(exp_below(exponent))
