"""Exact binomial confidence intervals (Clopper and Pearson 1934), and what they say about an epsilon.

Definition.  For k successes in n trials and alpha = 1 - confidence, the interval ends at the p whose upper tail
P[Bin(n, p) >= k] and whose lower tail P[Bin(n, p) <= k] are alpha / 2.  It covers the true p with probability at least
`confidence`, for every p and n: no approximation is involved.

A tail is its largest term times a continued fraction (DiDonato and Morris 1992 use the same one for the incomplete
beta function).  The term is a saddle-point expansion (Loader 2000): the difference of logarithms of factorials would
lose eight digits at n = 10**8.  The end is found by Newton's method on the logarithm of the tail as a function of the log
odds: that function is concave, so the steps never overshoot twice.

Claim.  Both ends have a relative error below 1e-12 for n up to 10**8.  `epsilon_lower_bound` is, with probability at
least `confidence`, no larger than the epsilon of any randomizer under which one event was seen so often on two inputs.
Checked in tests/unit/estimation/test_intervals.py, against exact fractions and against scipy.
"""

import math
from statistics import NormalDist

from localdp.errors import InvalidParameter

LARGEST_TRIALS = 1 << 53
_TINY = 1e-300
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
    low = _upper_tail_root(successes, trials, tail) if successes else 0.0
    # P[Bin(n, p) <= k] = P[Bin(n, 1 - p) >= n - k].
    high = 1.0 - _upper_tail_root(trials - successes, trials, tail) if successes < trials else 1.0
    return low, high


def epsilon_lower_bound(
    successes_x: int, successes_y: int, trials: int, confidence: float = 0.95
) -> float:
    """An epsilon that is exceeded, at this confidence, if an event was seen so often on inputs x and y."""
    low, _ = clopper_pearson(successes_x, trials, confidence)
    _, high = clopper_pearson(successes_y, trials, confidence)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def log_upper_tail(successes: int, trials: int, probability: float) -> float:
    """log P[Bin(trials, probability) >= successes], for 1 <= successes <= trials and a probability in (0, 1)."""
    return _log_upper_tail(successes, trials, math.log(probability / (1 - probability)))[0]
