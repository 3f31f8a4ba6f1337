"""Which steps of a stream are summed together, so that every running count is the sum of a few of these sums.

After each of T steps one interval is summed and released, with noise that is drawn once; the running count is a sum of
released intervals.  Two layouts:

- `tree` (Figure 12.1; Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011): the interval that ends at step t
  is as long as the lowest one bit of t, and the count at t is the sum of the intervals of the binary digits of t.  A step
  lies in at most log2 T + 1 intervals, and a count holds at most log2 T noises.
- `steps`: every step by itself.  A step lies in one interval, and the count at t holds t noises (the second of the three
  simple counters of section 12.3).

Whoever adds noise to sums divides epsilon by how many intervals a step lies in.  So the mean square error over all steps is
about (log2 T + 1)^2 log2 T / 2 variances of one noise for the tree and T / 2 for the steps: the tree is better from
T = 2,048 on.  Where people report with noise of their own, it is never better.

Largest error.  Y, a sum of k independent noises of scale b, obeys Pr[|Y| > sqrt(k) b sqrt(8 ln(2 / failure))] <= failure
once sqrt(k) >= sqrt(ln(2 / failure)), and below that with the larger of the two in the place of sqrt(k) (Lemma 12.2,
Corollary 12.3, and Corollary 12.4 for equal scales).  It is for Laplace noise, and holds for discrete Laplace noise, whose
moment generating function is smaller: (cosh h - 1) / h^2 grows with h.  `largest_error` is the same from the exact law of
the noise.
Checked in tests/unit/mechanisms/test_intervals.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from localdp.errors import InvalidParameter
from localdp.sharing.summed_noise import SummedNoise

MOST_STEPS = 1 << 20
LayoutName: TypeAlias = Literal["tree", "steps"]
LAYOUTS: tuple[LayoutName, ...] = get_args(LayoutName)


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of `steps` steps, which are numbered from 1."""

    steps: int
    layout: LayoutName = "tree"

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise InvalidParameter(
                f"a stream is counted by {' or '.join(LAYOUTS)}; got {self.layout!s:.40}"
            )
        if not isinstance(self.steps, int) or not 1 <= self.steps <= MOST_STEPS:
            raise InvalidParameter(f"a stream has 1 to {MOST_STEPS} steps")
        if self.layout == "tree" and self.steps & (self.steps - 1):
            higher = 1 << self.steps.bit_length()
            raise InvalidParameter(
                f"a tree is over a power of two of steps: say {higher}, of which not all have to come"
            )

    @property
    def most(self) -> int:
        """In how many intervals a step lies at most."""
        return self.steps.bit_length() if self.layout == "tree" else 1

    def ending_at(self, step: int) -> range:
        """The steps of the interval that is summed after this one."""
        first = step & (step - 1) if self.layout == "tree" else step - 1
        return range(first + 1, step + 1)

    def before(self, step: int) -> int:
        """The step whose count and this interval together are the count at `step`; 0 if the interval is all of it."""
        return self.ending_at(step).start - 1

    @property
    def most_noises(self) -> int:
        """How many intervals a running count holds at most."""
        return max(1, self.steps.bit_length() - 1) if self.layout == "tree" else self.steps

    def largest_error(self, noise: SummedNoise, failure: float) -> int:
        """What none of the counts is off by more than, but for the failure, with this noise on every interval."""
        summed = replace(noise, shape=noise.shape * self.most_noises)
        return summed.half_width(1 - probability(failure) / self.steps)

    def largest_error_of_book(self, scale: float, failure: float) -> float:
        """The same by Corollary 12.3, for noise of this scale."""
        return corollary_12_3([scale] * self.most_noises, probability(failure) / self.steps)


def lemma_12_2(scales: Sequence[float], error: float) -> float:
    """A bound on the probability that a sum of Laplace noises of these scales exceeds `error`."""
    squared, largest = sum(scale**2 for scale in scales), max(scales)
    if not 0 < error < 2 * math.sqrt(2) * squared / largest:
        raise InvalidParameter("Lemma 12.2 is for errors above 0 and below 2 sqrt(2) nu^2 / b_max")
    return math.exp(-(error**2) / (8 * squared))


def corollary_12_3(scales: Sequence[float], failure: float) -> float:
    """What the absolute value of a sum of Laplace noises of these scales does not exceed, but for the failure."""
    root = math.sqrt(math.log(2 / probability(failure)))
    nu = max(math.sqrt(sum(scale**2 for scale in scales)), max(scales) * root)
    return nu * math.sqrt(8) * root


def probability(failure: float) -> float:
    """A failure that is one."""
    if not 0 < failure < 1:
        raise InvalidParameter("a failure is a probability between 0 and 1")
    return failure
