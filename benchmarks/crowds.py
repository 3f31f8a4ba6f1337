"""A crowd's reports, the whole path: people made by formula, reports drawn and tallied, in units of one numpy double.

1,024 inputs (one bit: two), epsilon 1, a few blocks of 2**20 people a turn, as in a task; the processor's time of this
thread, in turns with the yardstick, the best of all turns.  Run with `python -m benchmarks.crowds`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from time import thread_time

import numpy as np

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.experiments.crowd import Crowd
from localdp.experiments.crowd_reports import BLOCK, BlockRange, CrowdReports
from localdp.randomizers.registry import entry_of

TURNS = 15
DOUBLES = 1 << 16
MANY = 64 * DOUBLES  # in a turn of the yardstick: as long as the shortest of the others
BLOCKS = 6  # a turn
INPUTS = 1024
# Randomizer, inputs, law, and doubles for a person at most.
CASES = [
    ("one-bit", 2, "0.3", 0.42),
    ("k-ary", INPUTS, "zipf", 3.3),
    ("projective-geometry", INPUTS, "zipf", 7.5),
    ("hadamard", INPUTS, "zipf", None),
    ("recursive-hadamard", INPUTS, "zipf", None),
]


def crowds() -> list[Row]:
    """What one person of a crowd costs."""
    calls = [_reporting(name, inputs, law) for name, inputs, law, _ in CASES]
    for call in calls:
        call()  # tables are made, and the heap grows
    double, *seconds = best_seconds([_doubles(), *calls], TURNS, thread_time)
    rows = []
    for (name, inputs, _, target), taken in zip(CASES, seconds, strict=True):
        each = taken / (BLOCKS * BLOCK)
        ratio = each / (double / MANY)
        named = f"made, drawn and tallied: {name}, {inputs:,} inputs"
        rows.append(row_of(named, each * 1e9, "ns a person", "numpy doubles", ratio, target))
    return rows


def _doubles() -> Callable[[], object]:
    generator, place = np.random.default_rng(), np.empty(DOUBLES)

    def draw() -> None:
        for _ in range(MANY // DOUBLES):
            generator.random(out=place)

    return draw


def _reporting(name: str, inputs: int, law: str) -> Callable[[], object]:
    made = entry_of(name).made(Epsilon.requested(1), inputs)
    reports = CrowdReports(Crowd.by_law(10**12, inputs, law), made, bytes(32))
    starts = cycle(range(0, 900_000, BLOCKS))

    def report() -> object:
        start = next(starts)
        return reports.tally(BlockRange(start, start + BLOCKS))

    return report


if __name__ == "__main__":
    print_rows(crowds())
