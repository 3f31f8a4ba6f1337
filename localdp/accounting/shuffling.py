"""Privacy amplification by shuffling: what n local reports promise once nobody can tell whose is whose.

Each of n people sends one report of an eps0-local randomizer; a shuffler drops identities, order and timing.  Against
whoever sees the shuffled reports the promise is (epsilon, delta) with an epsilon far below eps0.  Two computations, both of
the hockey-stick divergence delta(epsilon) of two explicit laws:

- `binary`: binary randomized response.  The shuffled reports are their number of ones.  With k ones among n - 1 others it
  has the law of N + Bern(p) against N + Bern(q), N = Bin(k, p) + Bin(n - 1 - k, q), p = e0 / (1 + e0), q = 1 - p, and
  delta is the largest over k.  (**Deviation**: k = 0 is often taken for the worst.  It is not: with n = 3, e0 = 2 and
  exp(epsilon) = 1.1 it gives 2/15, and k = 1 gives 13/90.)  Not all k are tried.  Showing the reports of r others hides
  less, so k = j + r ones among the others are at least as private as j ones among r fewer others: every k is covered by a
  j below it on a grid whose steps are a few thousandths of n, and the loss is of that order.
- `any`: every eps0-local randomizer (Feldman, McMillan and Talwar 2023, "stronger clones"):
  (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), with C ~ Bin(n - 1, 2 / (e0 + 1)), A ~ Bin(C, 1/2),
  D ~ Bern(e0 / (e0 + 1)).  `closed_form` is their earlier formula (2021), for comparison.

Of a randomizer that has each report with one of two probabilities, e0 times as large for a share u of all reports, which
ones depends on the input, `any` is sharper (the privacy blanket of Balle, Bell, Gascon and Nissim 2019; the best
decomposition, Su, Cheng and Wang, arXiv 2504.07414).  So are k-ary randomized response with u = 1 / k, subsets, local
hashing and PrivUnit.  With probability 1 / (u e0 + 1 - u) a report is uniform; who else sends one that is not, is told.
The worst pair of inputs shares no likely report: in E (sum of L)+, L = R(x) / R - e^epsilon R(x') / R under uniform
reports R, a shared one and one that is unlikely under both have L = e0 (1 - g) and 1 - g, and one of each side e0 - g and
1 - e0 g: those have the same sum, and lie further apart (g = e^epsilon).  So the view is how many reports are likely
under the one, the other, or neither.  With a = u / (u e0 + 1 - u), c ~ Bin(n - 1, 2 a) others' uniform reports that are
likely under either, and m ~ Bin(n - 1 - c, a (1 - 2 u) / u / (1 - 2 a)) under neither,

    a (e0 + r) B(A - 1) + a (1 + r) B(A)  against  a (1 + r) B(A - 1) + a (e0 + r) B(A),  B the law of Bin(c, 1/2),

r = m / (c + 1), where r is for that one's own report being likely under neither.  Fewer fair coins hide less, and so does a
smaller r.  With u = 1/2 this is the law above.  (That r counts only who sends a uniform report is essential: counting all
n - 1 - c others there is no upper bound.  Of three people, k = 4, e0 = e and epsilon = 0.8 it makes 0.0091 of 0.0195.)

Claim.  What is returned is an upper bound.  Masses are computed in floats from log-factorials with a relative error below
`_mass_error`.  By so much the masses of one law are enlarged and those of the other made smaller, before they are
subtracted: a difference of two nearly equal masses has no relative error to speak of.  For the same reason the chance of a
flip is computed by itself and not as 1 - p, of which nothing is left at eps0 = 30.  Tails that are cut off are added whole;
C and r are rounded down (fewer clones hide less); a bisection ends on the safe side; and the result is rounded up to the
grid of `Epsilon`.
Checked against published tables in tests/unit/accounting/test_shuffling.py, and from eps0 = 0.1 to 30 against sums of 60
digits in tests/unit/accounting/test_shuffling_bounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

Law = tuple[Floats, Floats, float]
ShuffledAs = Literal["binary", "any"]

FEWEST_PEOPLE = 2
MOST_PEOPLE = 1 << 26
_WIDTH = 9.0  # standard deviations that are summed; beyond lies less than exp(-40)
_TAIL = 1e-16
_CONVOLUTION_ERROR = 1e-13  # of a sum over a few 10**4 entries, each off by a few 2**-52 of the largest
_SHORT = 512  # up to here convolutions are sums of positive products, whose relative error is part of `_mass_error`
_BLOCKS = 128  # of values of C that are treated alike
_RESTS = 16  # of numbers of reports that are likely under neither input
_EXACT_LOGS = 1 << 8
_THOUSANDTH = NANONATS_PER_NAT // 1000
_ROUNDING = 1e-12  # of a few operations on floats, relative


@dataclass(frozen=True, slots=True)
class Shuffled:
    """n people behind a shuffler, each with a report of an eps0-local randomizer."""

    people: int
    local: float  # eps0, in nats
    randomizer: ShuffledAs = "any"
    likely: float = 0.5  # u, of "any"; a half is for those of which nothing is known

    def __post_init__(self) -> None:
        if not FEWEST_PEOPLE <= self.people <= MOST_PEOPLE:
            raise InvalidParameter(f"a shuffler has {FEWEST_PEOPLE} to {MOST_PEOPLE} people")
        if not 0 < self.local <= 30:
            raise InvalidParameter("a local epsilon lies between 0 and 30")
        if not 0 < self.likely <= 0.5:
            raise InvalidParameter("at most half of all reports are likely ones")

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at this epsilon."""
        if epsilon >= self.local:
            return 0.0
        return _binary_delta(self, epsilon) if self.randomizer == "binary" else _clones_delta(self, epsilon)

    def epsilon(self, delta: float) -> Epsilon:
        """The least epsilon on the grid whose delta is known to be no larger; never above eps0."""
        _require_delta(delta)
        low, high = 0.0, self.local
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return Epsilon(math.ceil(high * NANONATS_PER_NAT))


def largest_local(people: int, epsilon: Epsilon, delta: float, randomizer: ShuffledAs = "any") -> Epsilon:
    """The largest eps0 on a grid of 1e-6 that shuffling so many reports turns into (epsilon, delta)."""
    _require_delta(delta)
    return _largest_local(people, epsilon, delta, randomizer)


@lru_cache(maxsize=256)
def _largest_local(people: int, epsilon: Epsilon, delta: float, randomizer: ShuffledAs) -> Epsilon:
    target = float(epsilon)
    low, high = int(target * 1e6), int((target + math.log(people) + 3) * 1e6)
    high = min(high, 30 * 10**6)
    if randomizer == "binary":
        largest = _largest_binary(people, target, delta, low, high)
    else:
        largest = _last(low, high, lambda one: Shuffled(people, one / 1e6).delta(target) <= delta)
    return Epsilon(largest * (NANONATS_PER_NAT // 10**6))


def _largest_binary(people: int, epsilon: float, delta: float, low: int, high: int) -> int:
    """The same as a bisection over the whole grid, of which only a few points matter.

    Points that were the worst so far bound the answer from above, at little cost.  The whole grid then either agrees with
    them, or it has a point that is worse: from then on that is among them.
    """
    growth, error, grid = math.exp(epsilon), _mass_error(people), _grid(people - 1)
    worst = [grid[-1]]

    def affordable(millionths: int) -> bool:
        laws = (_binary_law(people, millionths / 1e6, *point) for point in worst)
        return all(_law_excess(law, growth, error) + _TAIL <= delta for law in laws)

    while True:
        high = _last(low, high, affordable)
        found = [_law_excess(law, growth, error) for law in _binary_laws(people, high / 1e6)]
        if high == low or max(found) + _TAIL <= delta:
            return high
        worst.append(grid[found.index(max(found))])


def _last(low: int, high: int, affordable: Callable[[int], bool]) -> int:
    """By bisection: the last that can be afforded, as `low` can."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if affordable(middle) else (low, middle - 1)
    return low


def largest_likely(
    people: int, epsilon: Epsilon, delta: float, likely: Callable[[Epsilon], float]
) -> Epsilon:
    """The same for "any" with this share of likely reports at each eps0, on a grid of thousandths.

    What is returned is enough, whatever the shares are; that it is the largest takes a delta that grows with eps0.
    """
    least = largest_local(people, epsilon, delta)
    low, high = (
        math.ceil(float(least) * 1000),
        min(30, math.ceil(float(epsilon) + math.log(people) + 3)) * 1000,
    )

    def affordable(thousandths: int) -> bool:
        local = Epsilon(thousandths * _THOUSANDTH)
        return Shuffled(people, float(local), "any", likely(local)).delta(float(epsilon)) <= delta

    if low > high or not affordable(low):
        return least
    return Epsilon(_last(low, high, affordable) * _THOUSANDTH)


def closed_form(people: int, local: float, delta: float) -> float | None:
    """Theorem 3.1 of Feldman, McMillan and Talwar (2021), where its condition holds."""
    _require_delta(delta)
    if local > math.log(people / (16 * math.log(2 / delta))):
        return None
    ratio = math.exp(local)
    spread = 8 * math.sqrt(ratio * math.log(4 / delta) / people) + 8 * ratio / people
    return math.log1p((ratio - 1) / (ratio + 1) * spread)


def _binary_delta(shuffled: Shuffled, epsilon: float) -> float:
    """Over a grid of ones among the others; k and n - 1 - k are the same with both directions taken."""
    growth, error = math.exp(epsilon), _mass_error(shuffled.people)
    laws = _binary_laws(shuffled.people, shuffled.local)
    return min(1.0, max(_law_excess(law, growth, error) for law in laws) + _TAIL)


@lru_cache(maxsize=2)
def _binary_laws(people: int, local: float) -> list[Law]:
    """The two laws of the number of ones, for every point of the grid."""
    return [_binary_law(people, local, ones, shown) for ones, shown in _grid(people - 1)]


def _binary_law(people: int, local: float, ones: int, shown: int) -> Law:
    """The two laws with so many ones among those others whose reports are not shown; how far off either may be in all."""
    flip = _flip(local)
    kept = _binomial(ones, flip)[1][::-1]  # of ones that stay ones, counted by those that do not
    of_zeros = _binomial(people - 1 - shown - ones, flip)[1]
    off = 0.0 if _is_short(kept, of_zeros) else _CONVOLUTION_ERROR
    return (*_shifted_sums(_convolved(kept, of_zeros), _flip(-local), flip), off)


def _law_excess(law: Law, growth: float, error: float) -> float:
    one, zero, off = law
    excess = max(_excess(one, zero, growth, error), _excess(zero, one, growth, error))
    return excess + off * (1 + growth)


def _excess(above: Floats, below: Floats, growth: float, error: float) -> float:
    """By how much one law exceeds `growth` times the other, in all; both with their errors on the side that hurts."""
    least = growth * (1 - error)
    return float(np.maximum(above * (1 + error) - least * below, 0.0).sum())


def _mass_error(people: int) -> float:
    """Of a product of two masses, relative, with what becomes of it.

    A log-mass is a sum of five terms of at most n log n, each good to a few 2**-53 of itself: together that is below
    2**-48 n (log n + 2), for each of the two; and 1e-12 is for the sums of products.
    """
    return 1e-12 + 2.0**-47 * people * (math.log(people) + 2)


def _flip(local: float) -> float:
    """How likely randomized response lies."""
    return 1 / (1 + math.exp(local))


def _grid(others: int) -> list[tuple[int, int]]:
    """Numbers of ones up to half of the others, and how many reports must be shown to reach the next."""
    points, ones, half = [], 0, (others + 1) // 2
    while ones <= half:
        step = max(1, min(ones // 16, others // 256))
        shown = min(step, half + 1 - ones) - 1
        points.append((ones, shown))
        ones += step
    return points


def _convolved(left: Floats, right: Floats) -> Floats:
    """The law of a sum; long ones through the Fourier transform, whose error is part of `_CONVOLUTION_ERROR`."""
    if _is_short(left, right):
        return np.convolve(left, right)
    size = len(left) + len(right) - 1
    padded = 1 << (size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(left, padded) * np.fft.rfft(right, padded), padded)[:size]
    law: Floats = np.maximum(product, 0.0)
    return law


def _is_short(left: Floats, right: Floats) -> bool:
    return min(len(left), len(right)) <= _SHORT


def _shifted_sums(masses: Floats, keep: float, flip: float) -> tuple[Floats, Floats]:
    """Of a count that grows by one with weight `keep`, else `flip`, and the other way round; on the same support."""
    stay, move = np.append(masses, 0.0), np.insert(masses, 0, 0.0)
    return flip * stay + keep * move, keep * stay + flip * move


def _clones_delta(shuffled: Shuffled, epsilon: float) -> float:
    growth, error, total = math.exp(epsilon), _mass_error(shuffled.people), 0.0
    for mass, one, zero in _clone_laws(shuffled.people, shuffled.local, shuffled.likely):
        total += mass * (_excess(one, zero, growth, error) + _TAIL)
    return min(1.0, total * (1 + error) + _TAIL)


@lru_cache(maxsize=2)
def _clone_laws(people: int, local: float, likely: float = 0.5) -> list[tuple[float, Floats, Floats]]:
    """For blocks of numbers of clones: how likely the block is, and the two laws given its smallest number."""
    keep, flip = _levels(local, likely)
    neither = flip * (1 - 2 * likely) / likely / (1 - 2 * flip)
    clones, masses = _binomial(people - 1, 2 * flip)
    told = []
    for block in np.array_split(np.arange(len(clones)), min(_BLOCKS, len(clones))):
        least, most = int(clones[block[0]]), int(clones[block[-1]])
        halves, pairs = _binomial(least, 0.5)[1], []
        for rest, mass in _rests(people - 1 - most, neither):
            more = flip * rest / (most + 1) * (1 - _ROUNDING)
            pairs.append(_shifted_sums(mass * halves, keep + more, flip + more))
        one, zero = (np.concatenate(side) for side in zip(*pairs, strict=True))
        told.append((float(masses[block].sum()), one, zero))
    return told


def _levels(local: float, likely: float) -> tuple[float, float]:
    """How likely a report is one that is likely under one's own input, a e0; or, where they share none, another's, a."""
    keep = likely / (likely + (1 - likely) * math.exp(-local))
    return keep, math.exp(-local) * keep


def _rests(trials: int, share: float) -> list[tuple[int, float]]:
    """For blocks of a binomial number: its smallest, and how likely the block is."""
    if share == 0:
        return [(0, 1.0)]
    counts, masses = _binomial(trials, share)
    blocks = np.array_split(np.arange(len(counts)), min(_RESTS, len(counts)))
    return [(int(counts[block[0]]), float(masses[block].sum())) for block in blocks]


def _binomial(trials: int, share: float) -> tuple[NDArray[np.int64], Floats]:
    """The numbers within nine standard deviations of the mean, and their masses."""
    mean, deviation = trials * share, math.sqrt(trials * share * (1 - share))
    reach = _WIDTH * deviation + 40  # the law of rare events has a longer tail
    low, high = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    counts = np.arange(low, high + 1, dtype=np.int64)
    if trials == 0:
        return counts, np.ones(1)
    logs = _log_choose(trials, counts) + counts * math.log(share) + (trials - counts) * math.log1p(-share)
    return counts, np.exp(logs)


def _log_choose(trials: int, counts: NDArray[np.int64]) -> Floats:
    whole = _log_factorial(np.array([trials], np.int64))[0]
    chosen: Floats = whole - _log_factorial(counts) - _log_factorial(trials - counts)
    return chosen


def _log_factorial(numbers: NDArray[np.int64]) -> Floats:
    """By a table for small numbers, by Stirling's series for large ones, where its error is below 1e-19."""
    x = np.maximum(numbers, 1).astype(np.float64)
    inverse = 1 / x
    square = inverse * inverse  # powers would take half of the time
    rest = inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    series = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + rest
    small = numbers < _EXACT_LOGS
    result: Floats = np.where(small, _log_factorials()[np.where(small, numbers, 0)], series)
    return result


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    return np.array([math.log(math.factorial(number)) for number in range(_EXACT_LOGS)])


def _require_delta(delta: float) -> None:
    if not 1e-12 <= delta < 1:
        raise InvalidParameter("a delta lies between 1e-12 and 1")
