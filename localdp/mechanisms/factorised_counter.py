"""The continual counter by a square-root factorisation (Fichtenberger, Henzinger and Upadhyay 2023).

Running counts are M x, with M the lower triangle of ones.  M = A A for the lower triangular Toeplitz matrix A of r_0
= 1, r_k = r_{k-1} (1 - 1/(2 k)), the coefficients of (1 - z)^(-1/2).  Gaussian noise g is put on A x, and A (A x + g)
is released: the sensitivity is the largest column norm of the right factor, and the error at every step about sigma *
sum of r_k^2, which is 1 + ln(T) / pi + 0.066.  The tree (`tree_counter.py`) has errors of order log^1.5.

On the grid.  Here the right factor is whole: rho_k = r_k 2^12, rounded, and R x = (rho * x) is a vector of whole
numbers for whole x.  Nothing that depends on the data is rounded.  The left factor follows from it: 1 / ((1 - z)
rho(z)), so that the product is M exactly.  Rounding rho moves the errors by less than 0.2 % up to T = 2^20.

Claim.  One event of value at most `bound` moves R x by at most bound * sqrt(sum rho_k^2) in L2.  With rounded
Gaussian noise z of the variance of `gaussian_variance` the whole sequence R x + z is (epsilon, delta)-private for
neighbours that differ in one event, exactly by Balle and Wang (2018): R x is whole, so R x + round(G) = round(R x +
G) is a function of the continuous Gaussian mechanism, in any dimension.  Everything after that is done to released
numbers, and may be done in floats.  As the matrices are lower triangular, the stream may depend on earlier answers
(Denisov, McMahan, Rush, Smith and Thakurta 2022, Theorem 2.1).
Checked in tests/unit/mechanisms/test_factorised_counter.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_variance
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import Adder
from localdp.mechanisms.intervals import MOST_STEPS, probability
from localdp.mechanisms.tree_counter import LARGEST_STEP, ONE_EVENT, event_sum, step_sums
from localdp.randomness.source import Floats, Integers, Numbers

GRID = 1 << 12
LARGEST_EVENT = 1 << 16
_LIMB_BITS = 16
_DIRECT_STEPS = 1 << 10


def square_root_coefficients(steps: int) -> Floats:
    """r_0 .. r_{T-1}, of (1 - z)^(-1/2)."""
    k = np.arange(1, steps)
    return np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))])


@lru_cache(maxsize=8)
def right_factor(steps: int) -> Integers:
    """rho: the whole coefficients of the right factor."""
    return np.rint(square_root_coefficients(steps) * GRID).astype(np.int64)


@lru_cache(maxsize=8)
def left_factor(steps: int) -> Floats:
    """The coefficients of 1 / ((1 - z) rho(z))."""
    return np.cumsum(_inverse(right_factor(steps).astype(np.float64)))


def whole_convolution(rho: Integers, x: Integers) -> Integers:
    """The first len(x) entries of rho * x, exactly.

    Long ones go through the discrete Fourier transform, 16 bits of x at a time.  Its error is below a few times
    log2(2^21) 2^-52 ||rho|| ||x|| < 1/8 with ||rho|| < 2^14 and ||x|| < 2^26, so that rounding restores the whole number.
    """
    if len(x) <= _DIRECT_STEPS:
        return np.convolve(rho, x)[: len(x)]
    result = np.zeros(len(x), np.int64)
    for shift in range(0, int(x.max(initial=0)).bit_length(), _LIMB_BITS):
        limb = (x >> shift & (1 << _LIMB_BITS) - 1).astype(np.float64)
        result += np.rint(series_product(rho.astype(np.float64), limb)).astype(np.int64) << shift
    return result


@dataclass(frozen=True, slots=True)
class FactorisedCounter:
    """Counts events, each of a value in 0 .. bound, through `steps` steps."""

    steps: int
    epsilon: Epsilon  # of the whole stream, per event, in nats
    delta: Fraction
    adder: Adder
    bound: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= MOST_STEPS or not 1 <= self.bound <= LARGEST_EVENT:
            raise InvalidParameter(
                f"a counter has at most {MOST_STEPS} steps, and events of at most {LARGEST_EVENT}"
            )
        self.adder.gaussian_noise(self.variance)  # refuses what cannot be drawn

    @property
    def squared_sensitivity(self) -> int:
        """How far one event moves R x, in squares."""
        return self.bound**2 * int((right_factor(self.steps) ** 2).sum())

    @property
    def variance(self) -> int:
        """Of the Gaussian before it is rounded, on the grid of R x."""
        return gaussian_variance(self.epsilon, self.delta, self.squared_sensitivity)

    @property
    def claim(self) -> PrivacyClaim:
        """Of the whole stream, for streams that differ in one event, in the step in which it comes."""
        return replace(self.adder.claim(self.epsilon, self.delta), neighbours=ONE_EVENT)

    @property
    def standard_errors(self) -> Floats:
        """Of the count after each step."""
        noise = self.adder.gaussian_noise(self.variance)
        errors: Floats = np.sqrt(noise * np.cumsum(left_factor(self.steps) ** 2))
        return errors

    def largest_error(self, failure: float) -> float:
        """What none of the counts is off by more than, but for the failure; rounding moves a Gaussian by 1/2 in 4,096."""
        each = probability(failure) / self.steps
        return float(self.standard_errors.max()) * NormalDist().inv_cdf(1 - each / 2)

    def release(self, values: Numbers) -> Floats:
        """The counts after each of the steps, from what came in each: the whole stream at once."""
        rows = whole_convolution(right_factor(self.steps), step_sums(values, self.steps, LARGEST_STEP))[
            None, :
        ]
        return series_product(
            left_factor(self.steps), self.adder.gaussian_sums(rows, self.variance).astype(np.float64)
        )

    def start(self) -> RunningFactors:
        """A counter that is told what comes, step by step; a step takes work in proportion to its number."""
        return RunningFactors(self, np.zeros(self.steps, np.int64), np.zeros(self.steps, np.float64))


@dataclass(slots=True)
class RunningFactors:
    """The state of a counter, all of it in reverse order so that a step is a dot product."""

    counter: FactorisedCounter
    _arrived: Integers
    _released: Floats
    step: int = field(default=0)

    def update(self, values: Numbers) -> float:
        """Take the values of the events of the next step, and release an estimate of the sum of all so far."""
        counter, place = self.counter, self.counter.steps - self.step - 1
        self._arrived[place] = event_sum(values, counter.bound, self.step, counter.steps)
        self.step += 1
        whole = right_factor(counter.steps)[: self.step] @ self._arrived[place:]
        rows = np.array([[whole]], np.int64)
        self._released[place] = counter.adder.gaussian_sums(rows, counter.variance)[0]
        return float(left_factor(counter.steps)[: self.step] @ self._released[place:])


def _inverse(series: Floats) -> Floats:
    """1 / series, by Newton's iteration, which doubles the number of right coefficients."""
    inverse = np.array([1 / series[0]])
    while len(inverse) < len(series):
        size = min(2 * len(inverse), len(series))
        grown = np.concatenate([inverse, np.zeros(size - len(inverse))])
        rest = -series_product(series[:size], grown)
        rest[0] += 2
        inverse = series_product(grown, rest)
    return inverse


def series_product(left: Floats, right: Floats) -> Floats:
    """The first coefficients of the product of two power series, as many as each has."""
    size = 2 * len(left)
    return np.fft.irfft(np.fft.rfft(left, size) * np.fft.rfft(right, size), size)[: len(left)]
