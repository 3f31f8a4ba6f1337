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

Claim.  What is returned is an upper bound.  Masses are computed in floats from log-factorials with a relative error below
`_MASS_ERROR`, by which they are enlarged; tails that are cut off are added whole; C is rounded down (fewer clones hide
less); a bisection ends on the safe side; and the result is rounded up to the grid of `Epsilon`.
Checked against published tables and against exact rational sums in tests/unit/accounting/test_shuffling.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.errors import InvalidParameter

Floats = NDArray[np.float64]
Randomizer = Literal["binary", "any"]

FEWEST_PEOPLE = 2
MOST_PEOPLE = 1 << 26
_MASS_ERROR = 3e-6  # a log-mass is a sum of five terms below 1.2e9 each, every one good to 2**-52 of itself
_WIDTH = 9.0  # standard deviations that are summed; beyond lies less than exp(-40)
_TAIL = 1e-16
_CONVOLUTION_ERROR = 1e-13  # of a sum over a few 10**4 entries, each off by a few 2**-52 of the largest
_SHORT = 512
_BLOCKS = 128  # of values of C that are treated alike
_EXACT_LOGS = 1 << 16


@dataclass(frozen=True, slots=True)
class Shuffled:
    """n people behind a shuffler, each with a report of an eps0-local randomizer."""

    people: int
    local: float  # eps0, in nats
    randomizer: Randomizer = "any"

    def __post_init__(self) -> None:
        if not FEWEST_PEOPLE <= self.people <= MOST_PEOPLE:
            raise InvalidParameter(f"a shuffler has {FEWEST_PEOPLE} to {MOST_PEOPLE} people")
        if not 0 < self.local <= 30:
            raise InvalidParameter("a local epsilon lies between 0 and 30")

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


def largest_local(people: int, epsilon: Epsilon, delta: float, randomizer: Randomizer = "any") -> Epsilon:
    """The largest eps0 on a grid of 1e-6 that shuffling so many reports turns into (epsilon, delta)."""
    _require_delta(delta)
    return _largest_local(people, epsilon, delta, randomizer)


@lru_cache(maxsize=256)
def _largest_local(people: int, epsilon: Epsilon, delta: float, randomizer: Randomizer) -> Epsilon:
    target = float(epsilon)
    low, high = int(target * 1e6), int((target + math.log(people) + 3) * 1e6)
    high = min(high, 30 * 10**6)
    while low < high:
        middle = (low + high + 1) // 2
        affordable = Shuffled(people, middle / 1e6, randomizer).delta(target) <= delta
        low, high = (middle, high) if affordable else (low, middle - 1)
    return Epsilon(low * (NANONATS_PER_NAT // 10**6))


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
    growth = math.exp(epsilon)
    worst = 0.0
    for one, zero in _binary_laws(shuffled.people, shuffled.local):
        forth = float(np.maximum(one - growth * zero, 0.0).sum())
        back = float(np.maximum(zero - growth * one, 0.0).sum())
        worst = max(worst, forth, back)
    return _enlarged(worst + _CONVOLUTION_ERROR)


@lru_cache(maxsize=2)
def _binary_laws(people: int, local: float) -> list[tuple[Floats, Floats]]:
    """The two laws of the number of ones, for every point of the grid."""
    others, keep = people - 1, 1 / (1 + math.exp(-local))
    laws = []
    for ones, shown in _grid(others):
        of_ones, of_zeros = _binomial(ones, keep)[1], _binomial(others - shown - ones, 1 - keep)[1]
        laws.append(_shifted_sums(_convolved(of_ones, of_zeros), keep))
    return laws


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
    if min(len(left), len(right)) <= _SHORT:
        return np.convolve(left, right)
    size = len(left) + len(right) - 1
    padded = 1 << (size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(left, padded) * np.fft.rfft(right, padded), padded)[:size]
    law: Floats = np.maximum(product, 0.0)
    return law


def _shifted_sums(masses: Floats, keep: float) -> tuple[Floats, Floats]:
    """The laws of count + Bern(keep) and of count + Bern(1 - keep), on the same support."""
    stay, move = np.append(masses, 0.0), np.insert(masses, 0, 0.0)
    return (1 - keep) * stay + keep * move, keep * stay + (1 - keep) * move


def _clones_delta(shuffled: Shuffled, epsilon: float) -> float:
    growth, total = math.exp(epsilon), 0.0
    for mass, one, zero in _clone_laws(shuffled.people, shuffled.local):
        total += mass * (float(np.maximum(one - growth * zero, 0.0).sum()) + _TAIL)
    return _enlarged(total)


@lru_cache(maxsize=2)
def _clone_laws(people: int, local: float) -> list[tuple[float, Floats, Floats]]:
    """For blocks of numbers of clones: how likely the block is, and the two laws given its smallest number."""
    share, keep = 2 / (math.exp(local) + 1), 1 / (1 + math.exp(-local))
    clones, masses = _binomial(people - 1, share)
    blocks = np.array_split(np.arange(len(clones)), min(_BLOCKS, len(clones)))
    return [
        (float(masses[block].sum()), *_shifted_sums(_binomial(int(clones[block[0]]), 0.5)[1], keep))
        for block in blocks
    ]


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
    """By a table for small numbers, by Stirling's series for large ones, where its error is below 1e-25."""
    x = np.maximum(numbers, 1).astype(np.float64)
    series = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + 1 / (12 * x) - 1 / (360 * x**3)
    small = numbers < _EXACT_LOGS
    result: Floats = np.where(small, _log_factorials()[np.where(small, numbers, 0)], series)
    return result


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, _EXACT_LOGS)))])


def _enlarged(delta: float) -> float:
    return delta * (1 + _MASS_ERROR) + _TAIL


def _require_delta(delta: float) -> None:
    if not 1e-12 <= delta < 1:
        raise InvalidParameter("a delta lies between 1e-12 and 1")
