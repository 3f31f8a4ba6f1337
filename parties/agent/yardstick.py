"""How much slower this machine is than the one that the prices of work were measured on.

A piece of work of the same kind, which has nothing to do with records: coins, numpy on arrays, and Python itself.  It is
measured once, when an agent starts, and the best of some runs counts.

Checked in tests/unit/parties/agent/test_work.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from localdp.randomness.lanes import LanedSource

REFERENCE_SECONDS = 1.2e-3
_PEOPLE = 100_000
_STEPS = 20_000
_RUNS = 7
_FASTEST = 0.5  # a lucky clock must not make answers late


def yardstick() -> int:
    """Some milliseconds of work of the kind that an agent does."""
    coins = LanedSource(bytes(32), range(_PEOPLE)).bernoulli(1 << 63, _PEOPLE)
    values = np.where(coins, 1.0, 0.5) * 3.0 + 1.0
    total = 0
    for step in range(_STEPS):
        total += step & 7
    return total + int(np.packbits(values > 3.0).sum())


def slowness(clock: Callable[[], float] = time.perf_counter) -> float:
    """The factor by which predicted seconds are multiplied here."""
    best = float("inf")
    for _ in range(_RUNS):
        begin = clock()
        yardstick()
        best = min(best, clock() - begin)
    return max(_FASTEST, best / REFERENCE_SECONDS)
