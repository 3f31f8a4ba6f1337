"""Exact binomial confidence intervals (Clopper and Pearson 1934), and what they say about an epsilon.

Definition.  For k successes in n trials and alpha = 1 - confidence, the interval ends at the p whose upper tail
P[Bin(n, p) >= k] and whose lower tail P[Bin(n, p) <= k] are alpha / 2.  It covers the true p with probability at least
`confidence`, for every p and n: no approximation is involved.

A tail is its largest term times a continued fraction (DiDonato and Morris 1992 use the same one for the incomplete
beta function).  The term is a saddle-point expansion (Loader 2000): the difference of logarithms of factorials would
lose eight digits at n = 10**8.  The end is found by Newton's method on the logarithm of the tail as a function of the
log odds: that function is concave, so that from its second step on the method approaches from one side.

Claim.  Both ends have a relative error below 1e-12 for n up to 10**8.  `epsilon_lower_bound` is, with probability at
least `confidence`, no larger than the epsilon of any randomizer under which one event was seen so often on two
inputs. `surprising_count` turns "so many standard deviations" into a count, where the normal approximation
understates the tail.
Checked in tests/unit/estimation/test_intervals.py, against exact fractions and against scipy.
"""

import math
from statistics import NormalDist

from localdp.errors import InvalidParameter

LARGEST_TRIALS = 1 << 53
_STEPS = 200
_RELATIVE_ERROR = 1e-15
# log(n!) - log(sqrt(2 pi n) (n / e)**n) for n = 0 .. 15 comes from factorials, above that from Stirling's series.
_SMALL_REMAINDERS = tuple(
    math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi) if n else 0.0
    for n in range(16)
)


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided interval for a probability; each side fails with probability (1 - confidence) / 2."""
    _require(successes, trials, confidence)
    tail = math.log((1 - confidence) / 2)
    low = _from_log_odds(_tail_root(successes, trials, tail)) if successes else 0.0
    # P[Bin(n, p) <= k] = P[Bin(n, 1 - p) >= n - k], and the log odds of 1 - p are minus those of p.
    high = _from_log_odds(-_tail_root(trials - successes, trials, tail)) if successes < trials else 1.0
    return low, high


def epsilon_lower_bound(successes_x: int, successes_y: int, trials: int, confidence: float = 0.95) -> float:
    """What epsilon is at least, at this confidence, if an event was seen so often on the inputs x and y."""
    low, _ = clopper_pearson(successes_x, trials, confidence)
    _, high = clopper_pearson(successes_y, trials, confidence)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def surprising_count(trials: int, probability: float, tail: float) -> int:
    """The smallest k with P[Bin(trials, probability) >= k] <= tail <= 1/2; trials + 1 if there is none."""
    if not 1 <= trials <= LARGEST_TRIALS or not 0 < probability < 1 or not 0 < tail <= 0.5:
        raise InvalidParameter("a probability lies strictly between 0 and 1, and a tail is at most 1/2")
    log_odds, log_tail = math.log(probability / (1 - probability)), math.log(tail)
    low, high = min(math.ceil(trials * probability) + 1, trials + 1), trials + 1
    while low < high:
        middle = (low + high) // 2
        enough = log_upper_tail(middle, trials, log_odds)[0] <= log_tail
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def log_upper_tail(successes: int, trials: int, log_odds: float) -> tuple[float, float]:
    """log P[Bin(trials, p) >= successes] and its slope, at p of these log odds and below successes / trials."""
    slope = _tail_slope(successes, trials, log_odds)
    log_term = _log_mass(successes, trials, log_odds) + math.log(successes * _from_log_odds(-log_odds))
    return log_term - math.log(slope), slope


def _tail_root(successes: int, trials: int, log_tail: float) -> float:
    """The log odds of the p with log P[Bin(trials, p) >= successes] = log_tail <= log(1 / 2)."""
    log_odds = _starting_log_odds(successes, trials, log_tail)
    for _ in range(_STEPS):
        value, slope = log_upper_tail(successes, trials, log_odds)
        step = (log_tail - value) / slope
        log_odds += max(-1.0, min(step, 30.0))
        if abs(step) <= _RELATIVE_ERROR * max(1.0, abs(log_odds)):
            break
    return log_odds


def _starting_log_odds(successes: int, trials: int, log_tail: float) -> float:
    """Wilson's score interval (1927), one success short so that it starts on the convergent side."""
    quantile = -NormalDist().inv_cdf(math.exp(max(log_tail, -700.0)))
    counted = max(successes - 1, 0.5)
    spread = quantile**2
    centre = counted + spread / 2
    width = quantile * math.sqrt(counted * (trials - counted) / trials + spread / 4)
    low = max((centre - width) / (trials + spread), 0.1 * counted / trials * math.exp(log_tail / successes))
    return math.log(low / (1 - low))


def _log_mass(successes: int, trials: int, log_odds: float) -> float:
    """log P[Bin(trials, p) = successes] by Loader's expansion, for successes >= 1."""
    p, q = _from_log_odds(log_odds), _from_log_odds(-log_odds)
    failures = trials - successes
    if not failures:
        return -trials * math.log1p(math.exp(-log_odds))
    remainders = _remainder(trials) - _remainder(successes) - _remainder(failures)
    deviances = _deviance(successes, trials * p) + _deviance(failures, trials * q)
    spread = 2 * math.pi * successes * (failures / trials)
    return remainders - deviances - 0.5 * math.log(spread)


def _remainder(n: int) -> float:
    """log n! less Stirling's formula for it."""
    if n < len(_SMALL_REMAINDERS):
        return _SMALL_REMAINDERS[n]
    square = float(n) * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n


def _deviance(observed: float, expected: float) -> float:
    """observed log(observed / expected) + expected - observed, without cancellation where the two are close."""
    gap, total = observed - expected, observed + expected
    if abs(gap) >= 0.1 * total:
        return observed * math.log(observed / expected) - gap
    ratio = gap / total
    result, term, odd = gap * ratio, 2 * observed * ratio, 1
    while True:
        term *= ratio * ratio
        odd += 2
        longer = result + term / odd
        if longer == result:
            return result
        result = longer


def _tail_slope(successes: int, trials: int, log_odds: float) -> float:
    """successes q P[Bin = successes] / P[Bin >= successes]: a continued fraction, by the modified Lentz method."""
    a, b = float(successes), float(trials - successes + 1)
    x, y = _from_log_odds(log_odds), _from_log_odds(-log_odds)
    lead = a * y - b * x + 1.0  # All terms of the fraction are positive while this is.
    fraction = c = a * lead / (a + 1.0)
    d, m = 0.0, 0
    while True:
        m += 1
        middle = a + 2 * m - 1.0
        over = (a + m - 1.0) * (a + b + m - 1.0) / middle * (m * (b - m) * x * x / middle)
        under = m + m * (b - m) * x / middle + (a + m) * (lead + m * (1.0 + y)) / (middle + 2.0)
        d = 1.0 / (under + over * d)
        c = under + over / c
        fraction *= c * d
        if abs(c * d - 1.0) <= _RELATIVE_ERROR:
            return fraction


def _from_log_odds(log_odds: float) -> float:
    if log_odds >= 0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    return math.exp(log_odds) / (1.0 + math.exp(log_odds))


def _require(successes: int, trials: int, confidence: float) -> None:
    if not 1 <= trials <= LARGEST_TRIALS or not 0 <= successes <= trials:
        raise InvalidParameter("an interval needs at least one trial, and no more successes than trials")
    if not 0 < confidence < 1:
        raise InvalidParameter("a confidence lies strictly between 0 and 1")
