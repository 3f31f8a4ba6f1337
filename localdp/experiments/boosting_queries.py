"""Boosting for queries against noisy tables, shown: where which one is better (chapter 6).

A trial releases all cells of all tables of three of eight bits, and says what the worst of them is off by.
Checked in tests/unit/experiments/test_boosting_queries.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from localdp.algorithms.release.boosting import BoostingPlan, boosted
from localdp.algorithms.release.marginals import MarginalRelease
from localdp.experiments.separations import Lab, Separation, Trial, Tried, bit_records
from localdp.randomness.source import Integers, RandomSource

BITS, ORDER = 8, 3
SAMPLES = (50, 200, 400)
PEOPLE = (100_000, 1_000_000)
DELTA = Fraction(1, 10**6)
TABLES = "curator, noisy tables"


@cache
def cells_of_tables() -> Integers:
    """A row of zeros and ones over all words of the bits, for each cell of each table."""
    words = np.arange(1 << BITS)
    return np.array(
        [
            np.all([(words >> bit & 1) == (cell >> place & 1) for place, bit in enumerate(bits)], axis=0)
            for bits in combinations(range(BITS), ORDER)
            for cell in range(1 << ORDER)
        ]
    ).astype(np.int64)


def boosting(people: Iterable[int] = PEOPLE) -> Separation:
    """The largest error of a cell, as there are more people."""
    tried = [
        Tried(series, many, many, trial)
        for many in people
        for series, trial in (
            *((f"boosting, {samples} a round", _boosted(samples, many)) for samples in SAMPLES),
            (TABLES, _tables(many)),
        )
    ]
    rows = len(cells_of_tables())
    return Separation(
        "boosting",
        "Boosting for queries, and noisy tables",
        "people",
        f"largest error of {rows} cells of tables of {ORDER} bits",
        tuple(tried),
        (
            f"both by a curator; boosting: delta = {float(DELTA):g}, 21 rounds; noisy tables: delta = 0",
            "50 queries in a round say too little about the others: synopses are wrong about too many",
            "what boosting promises passes the largest noise of tables only from about a million queries on",
        ),
    )


def _boosted(samples: int, people: int) -> Trial:
    def run(lab: Lab, source: RandomSource, _: str) -> float:
        rows, words = cells_of_tables(), made_up_words(people, source)
        histogram = np.bincount(words, minlength=1 << BITS)
        plan = BoostingPlan(len(rows), samples, lab.epsilon, DELTA)
        found = boosted(plan, histogram, rows, source).answers
        return float(np.abs(found - rows @ histogram / people).max())

    return run


def _tables(people: int) -> Trial:
    def run(lab: Lab, source: RandomSource, purpose: str) -> float:
        words = made_up_words(people, source)
        names = [f"x{bit}" for bit in range(BITS)]
        records = bit_records({name: (words >> bit & 1) == 1 for bit, name in enumerate(names)})
        released = MarginalRelease(names, ORDER).fit(lab.curator(records, purpose)).distribution()
        masses = np.zeros(1 << BITS)
        masses[released.universe.words()] = released.masses
        truth = np.bincount(words, minlength=1 << BITS) / people
        return float(np.abs(cells_of_tables() @ (masses - truth)).max())

    return run


def made_up_words(people: int, source: RandomSource) -> Integers:
    """Words of bits that are 1 for a fifth to four fifths of the people, each bit by itself."""
    words = np.zeros(people, np.int64)
    for bit in range(BITS):
        words |= (source.below(70, people) < 14 + 6 * bit).astype(np.int64) << bit
    return words
