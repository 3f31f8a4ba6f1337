"""Counts of people by the values of one column or of several, each with its label and its interval.

    print(hospitals.histogram("ward", epsilon=0.5))

Every interval is at the stated level by itself.  Counts are not forced to be positive or to add up, because that would
bias them; `consistent` gives shares that are and do, for whoever wants to draw people from them.

Checked in tests/unit/asking/test_results.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from localdp.asking.frames import Columns
from localdp.asking.plots import plot_bars, plot_map, titled
from localdp.asking.result import SAID, Result, Terms
from localdp.asking.writing import exact, with_error
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.randomness.source import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 40  # that are printed
FIGURES = (*("count", "low", "high", "share"), *SAID)  # that a table and its data have beside the labels


@dataclass(frozen=True, slots=True, eq=False)
class Tabulation(Result):
    """Estimated shares of the people, one for each cell of a table."""

    name: str
    by: tuple[str, ...]  # what the cells are by: a column, or several
    labels: tuple[tuple[str, ...], ...]  # of each cell, one for each of `by`
    shares: Floats  # of the people
    half_widths: Floats  # of the shares
    terms: Terms
    note: str = ""  # what has to be known when it is read

    @property
    def counts(self) -> Floats:
        """Numbers of people."""
        return self.shares * self.people

    @property
    def low(self) -> Floats:
        """Lower ends of the intervals of the counts."""
        return (self.shares - self.half_widths) * self.people

    @property
    def high(self) -> Floats:
        """Upper ends of the intervals of the counts."""
        return (self.shares + self.half_widths) * self.people

    def consistent(self) -> Floats:
        """Shares none of which is negative, and which add up to one; no longer unbiased."""
        return norm_sub(self.shares)

    def top(self, most: int) -> Tabulation:
        """The largest cells, in falling order."""
        if not isinstance(most, int) or most < 1:
            raise InvalidParameter("the largest cells are at least one: top(column, 10)")
        order = np.argsort(-self.shares, kind="stable")[:most]
        note = self.note
        if len(order) < len(self.shares):
            note = "chosen because they came out largest, so on average a little too large"
        return replace(
            self,
            name=f"top {len(order)} of {', '.join(self.by)}",
            labels=tuple(self.labels[place] for place in order),
            shares=self.shares[order],
            half_widths=self.half_widths[order],
            note=note,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, label: str | tuple[str, ...]) -> float:
        """The count of the cell with this label, or these."""
        wanted = (label,) if isinstance(label, str) else tuple(label)
        if wanted not in self.labels:
            raise InvalidParameter(f"there is no cell {', '.join(map(str, wanted)):.80} in {self.name}")
        return float(self.counts[self.labels.index(wanted)])

    def __str__(self) -> str:
        shown = self._shown()
        widths = [max(map(len, (name, *cells[:MOST_LINES]))) for name, cells in shown.items()]
        rows = [tuple(shown), *zip(*shown.values(), strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows[: MOST_LINES + 1]
        ]
        further = [f"and {len(self) - MOST_LINES:,} more"] if len(self) > MOST_LINES else []
        outside = (
            ["counts below 0 come from the noise: read them as close to 0"]
            if (self.shares < 0).any()
            else []
        )
        return "\n".join([self.caption, *lines, *further, *outside, *([self.note] if self.note else [])])

    def _labels(self) -> dict[str, list[str]]:
        """The labels by what they are of; a name that a figure or another one has gets a number."""
        named: dict[str, list[str]] = {}
        for place, name in enumerate(self.by):
            taken = {*FIGURES, *named}
            numbered = (f"{name}_{number}" for number in count(2))
            free = next(one for one in chain([name], numbered) if one not in taken)
            named[free] = [cell[place] for cell in self.labels]
        return named

    def _columns(self) -> Columns:
        labels = self._labels()
        numbers = {"count": self.counts, "low": self.low, "high": self.high, "share": self.shares}
        return {**labels, **{name: values.tolist() for name, values in numbers.items()}}

    def _shown(self) -> dict[str, list[str]]:
        labels = self._labels()
        wide = self.half_widths * self.people
        counts = [
            with_error(count, width, whole=True) for count, width in zip(self.counts, wide, strict=True)
        ]
        return {
            **labels,
            "people": counts,
            "share": [f"{exact(round(100 * share, 2))} %" for share in self.shares],
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Bars with their intervals, or a map of colours for two columns, on axes of matplotlib."""
        if len(self.by) == 2:
            drawn, horizontal = plot_map(self.labels, self.counts, ax), self.by[1]
        else:
            names, widths = [", ".join(cell) for cell in self.labels], self.half_widths * self.people
            drawn, horizontal = plot_bars(names, self.counts, widths, self._colour, ax), "people"
        vertical = self.by[0] if len(self.by) == 2 else ", ".join(self.by)
        drawn.set_ylabel(vertical, parse_math=False)
        return titled(drawn, self.caption, horizontal)
