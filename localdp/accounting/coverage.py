"""Which people of a party some cohorts cover together, kept so that adding one more never looks at all of them again.

Ranges are kept as the sorted edges of their union.  Random splits are kept as they are: the same one asked again is found
without drawing it.  Only when another cohort is asked about are they drawn, once, into one bit for each person; there
also go ranges that are too many to list.  So the work for a cohort grows with that cohort and with the logarithm of what
was added before, and what is kept of one request is bounded: by `MOST_SPLITS` splits, `MOST_EDGES` edges and a bit for
each person up to the last one.

Checked against a set of people in tests/unit/accounting/test_coverage.py.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort

MOST_SPLITS = 64  # under one request; whoever charges refuses more
MOST_EDGES = 8192
_EDGE_BYTES, _SPLIT_BYTES = 40, 400  # about what one takes in memory


class Coverage:
    """The union of the cohorts that were added."""

    __slots__ = ("_drawn", "_edges", "_flags", "_people", "_splits")

    def __init__(self) -> None:
        self._edges: list[int] = []  # start, stop, start, stop, ...: ranges that neither overlap nor touch
        self._splits: dict[Cohort, None] = {}  # in order
        self._drawn = 0  # how many of them are in the flags
        self._flags: NDArray[np.uint8] | None = None  # eight people a byte
        self._people = 0  # up to the last one who was added

    @property
    def splits(self) -> int:
        """How many different splits were added."""
        return len(self._splits)

    def nbytes(self) -> int:
        """How much memory it takes at most until something is added."""
        flagged = self._people // 8 if self._splits or self._flags is not None else 0
        return _EDGE_BYTES * len(self._edges) + _SPLIT_BYTES * len(self._splits) + flagged

    def add(self, cohort: Cohort) -> None:
        """Cover the cohort as well."""
        self._people = max(self._people, cohort.stop)
        if cohort.start == cohort.stop:
            return
        if cohort.split is not None:
            self._splits.setdefault(cohort)
            return
        self._add_range(cohort.start, cohort.stop)
        if len(self._edges) > MOST_EDGES:
            self._flag([slice(*edges) for edges in zip(self._edges[::2], self._edges[1::2], strict=True)])
            self._edges.clear()

    def has(self, cohort: Cohort) -> bool:
        """Whether this very split was added."""
        return cohort in self._splits

    def covers(self, cohort: Cohort) -> bool:
        """Whether everybody in the cohort is covered."""
        return self.missing(cohort).size == 0

    def missing(self, cohort: Cohort) -> NDArray[np.int64]:
        """Whoever is in the cohort and not covered, in order."""
        if self.has(cohort) or self._covers_range(cohort):
            return np.empty(0, np.int64)
        left = np.ones(cohort.stop - cohort.start, np.bool_)
        for start, stop in self._ranges_within(cohort):
            left[start - cohort.start : stop - cohort.start] = False
        self._draw_splits()
        if self._flags is not None:
            left &= ~self._flagged(cohort.start, cohort.stop)
        asked = cohort.indices()
        return asked[left[asked - cohort.start]]

    def _covers_range(self, cohort: Cohort) -> bool:
        place = bisect_right(self._edges, cohort.start)
        return cohort.start == cohort.stop or (place % 2 == 1 and cohort.stop <= self._edges[place])

    def _ranges_within(self, cohort: Cohort) -> list[tuple[int, int]]:
        """The covered ranges that meet the cohort's, cut off at its ends."""
        first = bisect_right(self._edges, cohort.start) // 2 * 2
        last = -(-bisect_left(self._edges, cohort.stop) // 2) * 2
        starts, stops = self._edges[first:last:2], self._edges[first + 1 : last : 2]
        return [
            (max(start, cohort.start), min(stop, cohort.stop))
            for start, stop in zip(starts, stops, strict=True)
        ]

    def _add_range(self, start: int, stop: int) -> None:
        first, last = bisect_left(self._edges, start), bisect_right(self._edges, stop)
        # An odd place lies within a range, or at its end: then that range goes on, and brings its own edge.
        self._edges[first:last] = [start] * (first % 2 == 0) + [stop] * (last % 2 == 0)

    def _draw_splits(self) -> None:
        """Put the splits into the flags that are not there yet."""
        if self._drawn < len(self._splits):
            self._flag([split.selection() for split in list(self._splits)[self._drawn :]])
            self._drawn = len(self._splits)

    def _flag(self, selections: list[slice | NDArray[np.int64]]) -> None:
        flags = self._flagged(0, self._people)
        for selection in selections:
            flags[selection] = True
        self._flags = np.packbits(flags, bitorder="little")

    def _flagged(self, start: int, stop: int) -> NDArray[np.bool_]:
        """The flags of a range of people, who may be newcomers since the last one was set."""
        flagged = np.zeros(stop - start, np.bool_)
        if self._flags is not None:
            first = start // 8
            bits = np.unpackbits(self._flags[first : -(-stop // 8)], bitorder="little").view(np.bool_)
            known = bits[start - 8 * first : stop - 8 * first]
            flagged[: known.size] = known
        return flagged
