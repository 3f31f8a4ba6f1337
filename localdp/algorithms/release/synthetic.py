"""A distribution over a universe, as what a release hands out: marginals, means of queries, synthetic records.

Synthetic records are drawn systematically (Madow 1949): with the cells in line, each as long as its mass, record i is
the cell at (i + u) / n for one uniform u.  So n records have, of every cell and of every stretch of cells, less than
one record more or less than its share, where independent draws would have the square root of it; their order is then
drawn at random.

Nothing here looks at a person: post-processing of what was released (Proposition 2.1).
Checked in tests/unit/algorithms/release/test_synthetic.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.release.universe import Universe
from localdp.domains import Records
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.source import Floats, RandomSource

MOST_RECORDS = 1 << 31
_GRID = 1 << 53


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """One mass for every cell of a universe; they add up to 1."""

    universe: Universe
    masses: Floats

    def __post_init__(self) -> None:
        masses = np.asarray(self.masses, np.float64)
        if (
            masses.shape != (self.universe.cells,)
            or not (masses >= 0).all()
            or not 0 < masses.sum() < np.inf
        ):
            raise InvalidParameter(
                "a distribution has one mass for every cell, none negative, not all zero"
            )
        object.__setattr__(self, "masses", masses / masses.sum())

    def marginal(self, *names: str) -> Floats:
        """The frequency of every combination of these attributes, with one axis for each."""
        return self.universe.marginal(self.masses, names)

    def mean(self, query: str) -> float:
        """The mean of a query about the attributes."""
        return float(rows_of([query], self.universe)[0] @ self.masses)

    def synthetic(self, people: int, source: RandomSource) -> Records:
        """So many made-up records, in random order."""
        if not 1 <= people <= MOST_RECORDS:
            raise InvalidParameter(f"synthetic records are of 1 to {MOST_RECORDS} people")
        start = int(source.below(_GRID, 1)[0]) / _GRID
        ends = np.cumsum(self.masses)
        # The last end is 1 but for rounding; nobody may fall off it.
        cells = np.searchsorted(ends / ends[-1], (np.arange(people) + start) / people, side="right")
        order = np.argsort(source.raw(np.uint64, people), kind="stable")
        return self.universe.records(np.minimum(cells, self.universe.cells - 1)[order])


def rows_of(queries: Sequence[str], universe: Universe) -> Floats:
    """The values of several queries in every cell: one row for each query."""
    records = universe.records()
    rows = np.empty((len(queries), universe.cells))
    for row, query in zip(rows, queries, strict=True):
        row[:] = _parsed(query, universe).evaluate(records)
    return rows


def _parsed(query: str, universe: Universe) -> StatisticalQuery:
    try:
        return StatisticalQuery.parse(query, universe.schema)
    except QueryRefused as error:
        among = ", ".join(universe.schema.names)
        raise QueryRefused(
            f"{error}; these queries are about {among}, which are all bits and categories unless `columns` names others"
        ) from None
