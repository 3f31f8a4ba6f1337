"""The privacy loss of noise whose shape falls short of 1: what a coalition that knows too much can still not see.

Let p be the law of `SummedNoise(parameter, shape)` with shape < 1, and a = exp(-parameter).

1. p is a sequence of moments.  w(j) = shape (shape + 1) ... (shape + j - 1) / j! is the j-th moment of the law
   Beta(shape, 1 - shape) on [0, 1], so p(k) = integral of (a x)^k g(x) dBeta(x) for k >= 0, with g(x) = (1 - a)^(2
   shape) / (1 - a^2 x)^shape > 0.  By the inequality of Cauchy and Schwarz p(k + 1)^2 <= p(k) p(k + 2): log p is
   convex on k >= 0.
2. One entry, moved by s.  The largest ratio p(k) / p(k + s) is at k = 0: convexity gives it for k > 0, and for k < 0
   both p(|k|) <= p(0) and p(|k + s|) >= p(s).  Write f(s) = log(p(0) / p(s)).  Each step costs more than the
   parameter (a x < a).
3. Several entries, moved by s_1, s_2, ... .  f is concave with f(0) = 0, so to spread a move over entries is *worse*
   than to make it in one: among all moves with sum of |s_i| at most `sensitivity` the sum of f(s_i) is largest when
   they are as equal as whole numbers can be.  (For shape >= 1 every move costs exactly parameter * sensitivity at the
   worst.)

Claim.  `worst_loss` is at least that largest sum.  f(s) = log(1 + D / P), where the series

    P = a^s sum of w(j) w(j + s) a^(2 j)        D = sum of w(j) (w(j) - a^s w(j + s)) a^(2 j)

have positive, convex, falling terms.  At scales up to 256 p(0) and p(s) are summed in integer enclosures, so far that
the result is the loss rounded up to the next nanonat.  At larger scales the sum over a block of terms lies between its
value at the middle (Jensen) and the trapezoid; these are floats, with slack for their rounding, and the result exceeds
the loss by less than a millionth of it.

Checked, by brute force over all moves and positions, in tests/unit/sharing/test_shortfall.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import epsilon_above, log_above
from localdp.errors import InvalidParameter
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.geometric import LARGEST_SCALE
from localdp.randomness.source import Floats

LARGEST_EXACT_SCALE = 256
_BITS = 256
_TAIL_NATS = 60  # what is cut off is below exp(-60) of the first term
_HEAD = 1 << 12  # terms that are summed one by one
_BLOCKS_PER_FOLD = 1 << 10
_SLACK = 2.0**-36  # for at most 2**16 roundings of 2**-52 each
_ABSOLUTE_SLACK = 2.0**-48  # for the cancellation in 1 - a^s w(j + s) / w(j)


def worst_loss(parameter: Fraction, shape: Fraction, sensitivity: int, length: int) -> Epsilon:
    """At least the loss of noise of a shape below 1 on `length` entries that one person moves by `sensitivity` in all."""
    if not 0 < shape < 1 or sensitivity < 1 or length < 1:
        raise InvalidParameter("a shortfall is of a shape below 1, a positive sensitivity and some entries")
    if not Fraction(1, LARGEST_SCALE) <= parameter:
        raise InvalidParameter(f"the parameter of noise is at least 1/{LARGEST_SCALE}")
    each, more = divmod(sensitivity, length)
    nats = more * loss_of_move(parameter, shape, each + 1)
    if each:
        nats += (length - more) * loss_of_move(parameter, shape, each)
    return epsilon_above(nats)


@lru_cache(maxsize=1024)
def loss_of_move(parameter: Fraction, shape: Fraction, move: int) -> Fraction:
    """At least f(move), in nats."""
    if 1 / parameter <= LARGEST_EXACT_SCALE:
        return _enclosed(parameter, shape, move)
    return _by_blocks(float(parameter), float(shape), move)


def _enclosed(parameter: Fraction, shape: Fraction, move: int) -> Fraction:
    """p(0) / p(move) from above, in integers over 2**_BITS."""
    terms = math.ceil(_TAIL_NATS / (2 * parameter)) + 1
    lows, highs = _weights(shape, terms + move)
    low_power, high_power = exp_enclosure(-2 * parameter, _BITS)
    low_decay = high_decay = 1 << _BITS  # a^(2 j)
    at_zero = at_move = 0
    for j in range(terms):
        at_zero += -(-highs[j] * highs[j] * high_decay >> 2 * _BITS)
        at_move += lows[j] * lows[j + move] * low_decay >> 2 * _BITS
        low_decay = low_decay * low_power >> _BITS
        high_decay = -(-high_decay * high_power >> _BITS)
    # w(j) / w(j + s) falls with j: two sums that are cut at the same place have a larger ratio than the whole ones.
    at_move = at_move * exp_enclosure(-parameter * move, _BITS)[0] >> _BITS
    return log_above(Fraction(at_zero, at_move))


def _weights(shape: Fraction, count: int) -> tuple[list[int], list[int]]:
    """Enclosures of w(0) .. w(count)."""
    low = high = 1 << _BITS
    lows, highs = [low], [high]
    for j in range(count):
        numerator, denominator = j * shape.denominator + shape.numerator, (j + 1) * shape.denominator
        low, high = low * numerator // denominator, -(-high * numerator // denominator)
        lows.append(low)
        highs.append(high)
    return lows, highs


def _by_blocks(rate: float, shape: float, move: int) -> Fraction:
    head = np.arange(_HEAD, dtype=np.float64)
    edges = np.unique(np.rint(_HEAD * np.exp(np.arange(_folds(rate)) / _BLOCKS_PER_FOLD)))
    middles = (edges[:-1] + edges[1:] - 1) / 2
    widths = np.diff(edges)
    at_move = _product_terms(head, rate, shape, move).sum()
    at_move += (widths * _product_terms(middles, rate, shape, move)).sum()
    steps = _difference_terms(edges, rate, shape, move)
    difference = _difference_terms(head, rate, shape, move).sum()
    difference += (widths * (steps[:-1] + steps[1:]) / 2 + (steps[:-1] - steps[1:]) / 2).sum()
    difference += steps[-1] / -math.expm1(-2 * rate)  # all further terms fall faster than a^(2 j)
    return Fraction(math.log1p(difference / at_move * (1 + _SLACK)) * (1 + _SLACK))


def _folds(rate: float) -> int:
    """How many edges it takes to come to where a^(2 j) is negligible."""
    return math.ceil(_BLOCKS_PER_FOLD * math.log(_TAIL_NATS / (2 * rate * _HEAD) + math.e)) + 1


def _product_terms(j: Floats, rate: float, shape: float, move: int) -> Floats:
    """a^s w(j) w(j + s) a^(2 j)."""
    terms: Floats = np.exp(_log_weight(j, shape) + _log_weight(j + move, shape) - rate * (2 * j + move))
    return terms


def _difference_terms(j: Floats, rate: float, shape: float, move: int) -> Floats:
    """w(j)^2 (1 - a^s w(j + s) / w(j)) a^(2 j), rounded up."""
    log_weight = _log_weight(j, shape)
    lost = -np.expm1(_log_weight(j + move, shape) - log_weight - rate * move)
    if move == 1:  # without the cancellation: (1 - a) + a (1 - shape) / (j + 1)
        lost = -math.expm1(-rate) + math.exp(-rate) * (1 - shape) / (j + 1)
    terms: Floats = (lost + _ABSOLUTE_SLACK * (move > 1)) * np.exp(2 * log_weight - 2 * rate * j)
    return terms


def _log_weight(j: Floats, shape: float) -> Floats:
    """log w(j) for rising j, w(j) = Gamma(j + shape) / (Gamma(j + 1) Gamma(shape)), by Stirling's series from 64 on."""
    near = np.array([math.lgamma(x + shape) - math.lgamma(x + 1) for x in j[j < 64]])
    far = j[j >= 64]
    x, y = far + shape, far + 1
    # (x - 1/2) log x - (y - 1/2) log y - (x - y), with the large parts cancelled beforehand.
    main = (shape - 1) * np.log(y) + (x - 0.5) * np.log1p((shape - 1) / y) + (1 - shape)
    # The series envelops: what is left out is below 1 / (1260 * 64**5).
    correction = (1 / x - 1 / y) / 12 - (1 / x**3 - 1 / y**3) / 360
    logs: Floats = np.concatenate([near, main + correction]) - math.lgamma(shape)
    return logs
