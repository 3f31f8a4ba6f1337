"""The law of k randomized responses, where it has any mass: binomial weights as enclosed integers.

Among k randomized responses at epsilon the number l of lies has probability proportional to C(k, l) e^((k - l) epsilon),
and the privacy loss is (k - 2 l) epsilon.  The weights are computed relative to one near the mode, by the ratio
w(l - 1) / w(l) = e^epsilon l / (k - l + 1) and its inverse: no factorial, no logarithm, and nothing for the l that do not
matter.  Of the k + 1 weights the window has about 2 sqrt(2 k p q ln(1 / cut)), with p = 1 - q = 1 / (1 + e^epsilon).

Every weight is a pair of integers with low <= w(l) 2**precision <= high.  The mass outside is at most that of a geometric
series whose ratio is the one at the edge, because the ratios fall away from the mode.

Checked against exact binomial coefficients in tests/unit/accounting/test_optimal.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from localdp.accounting.epsilon import Epsilon
from localdp.randomness.enclosures import exp_enclosure

# Beyond it a lie is rarer than 1e-27: the sum of the epsilons is all there is to say.
LARGEST_EPSILON_NATS = 64
LARGEST_WINDOW = 1 << 18
_GUARD_BITS = 96

Weights = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class BinomialWindow:
    """Enclosed weights of l = first, first + 1, ... lies, and bounds on what lies outside."""

    count: int
    epsilon: Epsilon
    precision: int  # the weights are multiples of 2**-precision
    first: int
    weights: Weights
    below: int  # at least the weight of all l < first
    beyond: int  # at least the weight of all l after the last

    @property
    def total(self) -> tuple[int, int]:
        """The weight of all l together, from below and from above."""
        low = sum(weight for weight, _ in self.weights)
        return low, sum(weight for _, weight in self.weights) + self.below + self.beyond


def fits(epsilon: Epsilon, count: int, cut_bits: int) -> bool:
    """Whether the window is small enough to be computed."""
    spread = math.sqrt(2 * count / (2 + 2 * math.cosh(min(50.0, float(epsilon)))) * cut_bits)
    return epsilon.exact <= LARGEST_EPSILON_NATS and 2 * spread + cut_bits < LARGEST_WINDOW


def binomial_window(epsilon: Epsilon, count: int, cut_bits: int) -> BinomialWindow:
    """The weights down to 2**-cut_bits times the one near the mode, on both sides."""
    # Absolute errors of a unit must not matter at the smallest weight kept, nor after a factor of e^(2 epsilon).
    precision = cut_bits + _GUARD_BITS + 5 * math.ceil(float(epsilon))
    mode = min(count, int((count + 1) / (1 + math.exp(float(epsilon)))))
    cut = 1 << (precision - cut_bits)
    lies_less = ((lies, count - lies + 1) for lies in range(mode, 0, -1))
    lies_more = ((count - lies, lies + 1) for lies in range(mode, count))
    down, below = _sweep(exp_enclosure(epsilon.exact, precision), lies_less, precision, cut)
    up, beyond = _sweep(exp_enclosure(-epsilon.exact, precision), lies_more, precision, cut)
    return BinomialWindow(count, epsilon, precision, mode + 1 - len(down), down[:0:-1] + up, below, beyond)


def _sweep(
    factor: tuple[int, int], ratios: Iterable[tuple[int, int]], precision: int, cut: int
) -> tuple[Weights, int]:
    """The weights from the mode outwards in one direction, the mode included, and a bound on the rest."""
    factor_low, factor_high = factor
    low = high = 1 << precision
    weights = [(low, high)]
    for numerator, denominator in ratios:
        before = low
        low = (low * factor_low >> precision) * numerator // denominator
        high = -((-high * factor_high >> precision) * numerator // denominator)
        weights.append((low, high))
        if high < cut and high < before:
            # The ratios only fall from here on, and the last one is at most high / before.
            return weights, -(-high * high // (before - high))
    return weights, 0
