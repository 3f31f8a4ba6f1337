"""The continual counter on a binary tree (Figure 12.1; Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).

Events come in T = 2^(L - 1) steps; after each step the number of events so far is released.  The interval that ends
at step t and is as long as the lowest one bit of t is summed and released once, with noise; the running count at t is
the sum of the intervals of the binary digits of t.

Claim.  An event lies in at most L of the released intervals, one on each level, and changes each by at most `bound`.
Discrete Laplace noise with parameter epsilon / (L bound) on each makes the whole stream of answers epsilon-private,
for neighbours that differ in one event.  The error at step t is the sum of popcount(t) independent noises, exactly.

**Deviation** from Figure 12.1: noise for L = log2 T + 1 levels, as in the text below the figure, so that the count at
T itself is released too; and of the intervals that end at t only the one that a running count needs.
Checked in tests/unit/mechanisms/test_tree_counter.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms.adder import Adder
from localdp.mechanisms.intervals import MOST_STEPS, Intervals
from localdp.randomness.source import Integers, Numbers
from localdp.sharing.summed_noise import SummedNoise

ONE_EVENT = "changing the value of one event, in the step in which it comes,"
LARGEST_STEP = 1 << 38  # of the values that come in one step, added up


@dataclass(frozen=True, slots=True)
class TreeCounter:
    """Counts events, each of a value in 0 .. bound, through `steps` steps."""

    steps: int
    epsilon: Epsilon  # of the whole stream, per event, in nats
    adder: Adder
    bound: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= MOST_STEPS or self.steps & (self.steps - 1):
            raise InvalidParameter(f"a tree counter has a power of two of steps, at most {MOST_STEPS}")
        if not 1 <= self.bound <= LARGEST_STEP:
            raise InvalidParameter(f"an event has a value of at most {LARGEST_STEP}")

    @property
    def levels(self) -> int:
        """L = log2 T + 1."""
        return self.steps.bit_length()

    @property
    def sensitivity(self) -> int:
        """How far one event moves the released intervals together."""
        return self.levels * self.bound

    @property
    def claim(self) -> PrivacyClaim:
        """Of the whole stream, for streams that differ in one event, in the step in which it comes."""
        return replace(self.adder.claim(self.epsilon), neighbours=ONE_EVENT)

    @property
    def node_noise(self) -> SummedNoise:
        """The law of the noise of one interval."""
        return self.adder.noise(self.sensitivity, self.epsilon)

    def variance(self, step: int) -> float:
        """Of the count after `step` steps: popcount(step) noises."""
        return step.bit_count() * self.node_noise.variance()

    @property
    def root_mean_square(self) -> float:
        """Of the error, over all steps."""
        # Of the numbers 1 .. T each of the L - 1 low bits is set in T / 2, the highest in T alone.
        mean_popcount = (self.levels - 1) / 2 + 1 / self.steps
        return sqrt(mean_popcount * self.node_noise.variance())

    def largest_error(self, failure: float) -> int:
        """What none of the counts is off by more than, but for the failure: Corollary 12.4, by the exact law."""
        return Intervals(self.steps).largest_error(self.node_noise, failure)

    def release(self, values: Numbers) -> Integers:
        """The counts after each of the steps, from what came in each: the whole stream at once."""
        sums = step_sums(values, self.steps, LARGEST_STEP)
        ends = np.arange(1, self.steps + 1)
        prefix = np.concatenate([[0], np.cumsum(sums)])
        intervals = prefix[ends] - prefix[ends & ends - 1]
        noisy = np.concatenate(
            [[0], self.adder.noisy_sums(intervals[None, :], self.sensitivity, self.epsilon)]
        )
        counts = np.zeros(self.steps, np.int64)
        while ends.any():
            counts += noisy[ends]
            ends &= ends - 1  # without its lowest one bit
        return counts

    def start(self) -> RunningTree:
        """A counter that is told what comes, step by step."""
        return RunningTree(self)


@dataclass(slots=True)
class RunningTree:
    """The state of a counter: exact sums of the intervals that are open, and the released ones."""

    counter: TreeCounter
    step: int = 0
    _open: dict[int, int] = field(default_factory=dict)  # by level
    # By level: those of the binary digits of the step.
    _closed: dict[int, int] = field(default_factory=dict)

    def update(self, values: Numbers) -> int:
        """Take the values of the events of the next step, and release the noisy sum of all so far."""
        arrived = event_sum(values, self.counter.bound, self.step, self.counter.steps)
        self.step += 1
        level = (self.step & -self.step).bit_length() - 1
        interval = arrived + sum(self._open.pop(lower, 0) for lower in range(level))
        self._open[level] = interval  # for the interval above, of which this is the first half
        self._closed = {above: count for above, count in self._closed.items() if above > level}
        rows = np.array([[interval]], np.int64)
        noisy = self.counter.adder.noisy_sums(rows, self.counter.sensitivity, self.counter.epsilon)
        self._closed[level] = int(noisy[0])
        return sum(self._closed.values())


def step_sums(values: Numbers, steps: int, largest: int) -> Integers:
    """What came in each step, checked."""
    if values.shape != (steps,) or values.dtype.kind not in "biu":
        raise InvalidRecord(f"a stream is a list of {steps} whole numbers")
    if not (values.min() >= 0 and values.max() <= largest):
        raise InvalidRecord(f"a step is outside of 0 to {largest}")
    return values.astype(np.int64)


def event_sum(values: Numbers, bound: int, step: int, steps: int) -> int:
    """The sum of the values of one step's events, checked."""
    if step >= steps:
        raise InvalidParameter(f"the counter was made for {steps} steps, and they are over")
    if values.ndim != 1 or (values.size and values.dtype.kind not in "biu"):
        raise InvalidRecord("the events of a step are a list of whole numbers")
    if values.size and not (values.min() >= 0 and values.max() <= bound):
        raise InvalidRecord(f"an event is outside of 0 to {bound}")
    if values.size > LARGEST_STEP // bound:
        raise InvalidRecord(f"the events of a step add up to at most {LARGEST_STEP}")
    return int(values.sum(dtype=np.int64)) if values.size else 0
