"""Which people of a party some cohorts cover together, kept so that adding one more never looks at all of them again.

Ranges are kept as the sorted edges of their union; a few random splits as they are, and many of them as one flag for each
person.  So the work for a cohort grows with that cohort and with the logarithm of what was added before: ten thousand
charges of one person each, under one request, take ten thousand small steps.

Checked against a set of people in tests/unit/accounting/test_coverage.py.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import Cohort

MOST_SPLITS = 8  # kept as they are: a flag for each person takes more memory than these


class Coverage:
    """The union of the cohorts that were added."""

    __slots__ = ("_edges", "_flags", "_splits")

    def __init__(self) -> None:
        self._edges: list[int] = []  # start, stop, start, stop, ...: ranges that neither overlap nor touch
        self._splits: list[Cohort] = []
        self._flags: NDArray[np.bool_] | None = None  # what does not fit into the two above

    def add(self, cohort: Cohort, people: int) -> None:
        """Cover the cohort as well; `people` is how many the party has."""
        if cohort.start == cohort.stop:
            return
        if cohort.split is None:
            self._add_range(cohort.start, cohort.stop)
        elif cohort not in self._splits:
            self._splits.append(cohort)
            if len(self._splits) > MOST_SPLITS:
                self._fold(people)

    def covers(self, cohort: Cohort) -> bool:
        """Whether everybody in the cohort is covered."""
        return cohort in self._splits or self._covers_range(cohort) or self.missing(cohort).size == 0

    def missing(self, cohort: Cohort) -> NDArray[np.int64]:
        """Whoever is in the cohort and not covered, in order."""
        if self._covers_range(cohort):
            return np.empty(0, np.int64)
        left = np.ones(cohort.stop - cohort.start, np.bool_)
        for start, stop in self._ranges_within(cohort):
            left[start - cohort.start : stop - cohort.start] = False
        for split in self._splits:
            people = np.asarray(split.lanes(), np.int64)
            within = people[slice(*np.searchsorted(people, (cohort.start, cohort.stop)))]
            left[within - cohort.start] = False
        if self._flags is not None:
            left &= ~self._flags[cohort.start : cohort.stop]
        asked = np.asarray(cohort.lanes(), np.int64)
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

    def _fold(self, people: int) -> None:
        if self._flags is None:
            self._flags = np.zeros(people, np.bool_)
        for cohort in self._splits:
            self._flags[cohort.selection()] = True
        self._splits.clear()
