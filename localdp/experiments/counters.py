"""Running counts, shown: how far the worst of T counts is off, by T, beside what no counter does without (section 12.3).

A trial counts a stream in which nothing happens, and says how far the count was off where it was off most.
Checked in tests/unit/experiments/test_counters.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.separations import Lab, Separation, Trial, Tried
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.mechanisms.factorised_counter import FactorisedCounter
from localdp.mechanisms.pan_private import PanPrivateCounter
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.oracles.bounds import counter_error
from localdp.randomness.source import Integers, Numbers, RandomSource

DELTA = Fraction(1, 10**6)
STEPS = (16, 64, 256, 1024)
TREE, TWO = "tree, one noise", "tree, the full noises of two servers"
EACH = "every step by itself"
PAN = "pan-private"
GAUSSIAN = f"factorisation, delta = {float(DELTA):g}"
LINE = "at least, with probability 1/3"
_NOBODY = 1

Count: TypeAlias = Callable[[int, Epsilon, RandomSource], Numbers]


def counters(steps: Sequence[int] = STEPS) -> Separation:
    """The largest error of each counter, beside Theorem 12.6."""
    ways: dict[str, Count] = {
        TREE: lambda steps, epsilon, source: _tree(steps, epsilon, TrustedCurator(source)),
        TWO: lambda steps, epsilon, source: _tree(steps, epsilon, SharesInProcess(source)),
        EACH: _each,
        PAN: _pan_private,
        GAUSSIAN: _factorised,
    }
    tried = [Tried(name, many, _NOBODY, _trial(way, many)) for many in steps for name, way in ways.items()]
    tried += [Tried(LINE, many, _NOBODY, _line(many)) for many in steps]
    return Separation(
        "counters",
        "Running counts, and what none of them does without",
        "steps",
        "largest error over all steps, in people",
        tuple(tried),
        ("no pure counter is below the lowest line at every step with probability 2/3 (Theorem 12.6)",),
    )


def _trial(way: Count, steps: int) -> Trial:
    def run(lab: Lab, source: RandomSource, _: str) -> float:
        return float(np.abs(way(steps, lab.epsilon, source)).max())

    return run


def _line(steps: int) -> Trial:
    return lambda lab, _, __: counter_error(float(lab.epsilon), steps)


def _nothing(steps: int) -> Integers:
    return np.zeros(steps, np.int64)


def _tree(steps: int, epsilon: Epsilon, adder: Adder) -> Numbers:
    return TreeCounter(steps, epsilon, adder).release(_nothing(steps))


def _each(steps: int, epsilon: Epsilon, source: RandomSource) -> Numbers:
    return np.cumsum(TrustedCurator(source).released(_nothing(steps), 1, epsilon))


def _factorised(steps: int, epsilon: Epsilon, source: RandomSource) -> Numbers:
    return FactorisedCounter(steps, epsilon, DELTA, TrustedCurator(source)).release(_nothing(steps))


def _pan_private(steps: int, epsilon: Epsilon, source: RandomSource) -> Numbers:
    running = PanPrivateCounter(steps, epsilon, source).start()
    return np.array([running.update(_nothing(0)) for _ in range(steps)])
