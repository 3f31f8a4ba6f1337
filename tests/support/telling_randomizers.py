"""Broken twins of what an agent draws with: the same reports, in a time that tells.

The first four are what the library did before; the others are sound but for one masked assignment.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomizers.parts.packing import unsigned_type
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import IntegerLaw, Integers
from localdp.randomness.stream import search_law
from tests.support.broken_twins import BrokenTwin

_STRETCH_BYTES = 1 << 17


class Stretches(LanedSource):
    """Makes a stretch of keystream whole, from the first wanted lane to the last."""

    def _blocks(
        self, kind: Any, call: int, retry: int, width: int, lanes: Any
    ) -> Iterator[tuple[Any, Any]]:
        if isinstance(lanes, range):
            yield from super()._blocks(kind, call, retry, width, lanes)
            return
        order = np.argsort(lanes, kind="stable")
        numbers = lanes[order] // max(1, _STRETCH_BYTES // (width * kind.itemsize))
        for places in np.split(order, np.flatnonzero(np.diff(numbers)) + 1):
            first, last = int(lanes[places[0]]), int(lanes[places[-1]])
            whole = range(first, last + 1)
            made = np.concatenate([w.copy() for _, w in super()._blocks(kind, call, retry, width, whole)])
            rows = made.reshape(-1, width)[lanes[places] - first]
            yield (places[:, None] * width + np.arange(width)).ravel(), rows.ravel()


class SearchedLaws(LanedSource):
    """Finds the outcome of a law by `numpy.searchsorted`."""

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        """The same outcomes."""
        return search_law(law, self.below(law.total, count))


class SplitByValue(BrokenTwin):
    """A finite channel that serves the people of one value after those of another, by `numpy.searchsorted`."""

    def randomize(self, values: NDArray[Any], source: Any) -> NDArray[Any]:
        """The same reports."""
        drawn = source.below(self.sound.total, len(values))
        reports = np.empty(len(values), unsigned_type(self.sound.report_bits))
        order = np.argsort(values.astype(np.uint8), kind="stable")
        ends = np.cumsum(np.bincount(values, minlength=self.sound.inputs))
        for value, places in enumerate(np.split(order, ends[:-1])):
            steps = np.cumsum(np.array(self.sound.matrix[value][:-1], np.uint64), dtype=np.uint64)
            reports[places] = np.searchsorted(steps, drawn[places], side="right")
        return reports


class CopiedWhere(BrokenTwin):
    """A hybrid that copies cells over bits with `numpy.copyto`."""

    def randomize(self, values: NDArray[Any], source: Any) -> NDArray[Any]:
        """The same reports."""
        kind = unsigned_type(self.sound.report_bits)
        bits: NDArray[Any] = self.sound.bit.randomize(values, source).astype(kind)
        cells = self.sound.piecewise.window.draw(values, source).astype(kind) + kind.type(2)
        np.copyto(bits, cells, where=source.bernoulli(self.sound.branch, len(values)))
        return bits


class MaskedSteps(BrokenTwin):
    """k-ary randomized response that moves by a masked assignment."""

    def randomize(self, values: NDArray[Any], source: Any) -> NDArray[Any]:
        """The same reports."""
        kept = source.bernoulli(self.sound.keep, len(values))
        moved = values + source.below(self.sound.inputs - 1, len(values)).view(np.int64) + 1
        moved -= self.sound.inputs * (moved >= self.sound.inputs)
        reports = values.copy()
        reports[~kept] = moved[~kept]
        return reports.astype(unsigned_type(self.sound.report_bits))


class MaskedTruth(BrokenTwin):
    """Binary randomized response that puts the truth in by a masked assignment."""

    def randomize(self, values: NDArray[Any], source: Any) -> NDArray[Any]:
        """The same reports."""
        reports = source.bernoulli(self.sound.flip, len(values))
        reports[values != 0] ^= True
        checked: NDArray[Any] = reports
        return checked
