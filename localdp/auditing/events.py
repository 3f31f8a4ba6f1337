"""Events by which reports about two inputs are told apart: found on some reports, tested on others.

An event is a set of reports; P[event | x] / P[event | x'] is never above exp(epsilon), whichever event it is and however it
was found.  Three ways to find one, none of which has to be right:

- from the law that the randomizer states: the reports with the largest ratio;
- by value: how often each report was seen (or, for rows, each entry in a row) about the one input and the other;
- by bit: the same for each bit of the report.

The last two make a naive Bayes score out of what differs significantly, and cut it where the bound on epsilon, from the
same reports and at the confidence of the test to come, is largest: rare reports then have to differ by more.
Checked in tests/unit/auditing/test_sampled.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.auditing.drawing import Law, report_key
from localdp.estimation.intervals import epsilon_lower_bound
from localdp.randomizers.definition import Floats, Reports
from localdp.randomizers.unary import column_sums
from localdp.randomness.source import Bits, Integers

Counter = Callable[[Reports], Integers]  # how many reports have each feature
Presence = Callable[[Reports, int], Bits]  # which reports have a feature

_MOST_CUTS = 32
_MOST_FEATURES = 32
_MOST_VALUES = 1 << 20
_SIGNIFICANT = 4.0  # standard errors


@dataclass(frozen=True, slots=True)
class Stated:
    """Reports of which the stated law says that they are the most telling ones."""

    members: frozenset[Hashable]

    def holds(self, reports: Reports) -> Bits:
        """For which of the reports the event holds."""
        # Reports repeat, and looking each kind up once is much faster.
        bytes_of = _as_bytes(reports)
        rows = bytes_of.view(np.dtype((np.void, bytes_of.shape[1]))).ravel()
        _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
        found = np.array([report_key(report) in self.members for report in reports[first]], np.bool_)
        return found[kind]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Reports whose score is at least the cut: a weight for each feature that is there, another if it is not."""

    presence: Presence
    features: tuple[int, ...]
    present: Floats
    absent: Floats
    cut: float = 0.0

    def scores(self, reports: Reports) -> Floats:
        """The score of each report."""
        total = np.zeros(len(reports))
        for feature, present, absent in zip(self.features, self.present, self.absent, strict=True):
            total += np.where(self.presence(reports, feature), present, absent)
        return total

    def holds(self, reports: Reports) -> Bits:
        """For which of the reports the event holds."""
        found: Bits = self.scores(reports) >= self.cut
        return found


Event = Stated | Scored


def found_events(
    x: Reports, y: Reports, law_x: Law | None, law_y: Law | None, confidence: float
) -> Iterator[tuple[float, Event]]:
    """Events that hold more often in the reports x than in y, each with the bound that it gives on these reports."""
    if law_x is not None and law_y is not None:
        event = _stated(law_x, law_y)
        yield _bound(event.holds(x), event.holds(y), confidence), event
    for count, presence in _features(x, y):
        scored = _scored(x, y, count, presence, confidence)
        if scored is not None:
            yield scored


def _stated(law_x: Law, law_y: Law) -> Stated:
    ratios = {key: float(mass / law_y[key]) if key in law_y else np.inf for key, mass in law_x.items()}
    largest = max(ratios.values())
    return Stated(frozenset(key for key, ratio in ratios.items() if ratio >= largest * (1 - 1e-9)))


def _features(x: Reports, y: Reports) -> Iterator[tuple[Counter, Presence]]:
    """By value, where reports are integers or rows of integers that are not too large; by bit."""
    if x.dtype.kind in "bui" and max(int(x.max()), int(y.max())) < _MOST_VALUES:
        values = max(int(x.max()), int(y.max())) + 1
        yield (lambda reports: _value_counts(reports, values)), _has_value
    yield (lambda reports: column_sums(_as_bytes(reports), 8 * _as_bytes(reports).shape[1])), _has_bit


def _value_counts(reports: Reports, values: int) -> Integers:
    counts = np.bincount(reports.ravel().astype(np.int64), minlength=values).astype(np.int64)
    return np.minimum(counts, len(reports))  # an entry may stand in a row more than once


def _has_value(reports: Reports, value: int) -> Bits:
    rows = (reports == value).reshape(len(reports), -1)
    found: Bits = np.logical_or.reduce(rows, axis=1)
    return found


def _has_bit(reports: Reports, place: int) -> Bits:
    column = _as_bytes(reports)[:, place // 8]
    found: Bits = (column & np.uint8(0x80 >> place % 8)) != 0
    return found


def _as_bytes(reports: Reports) -> NDArray[np.uint8]:
    return np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), -1)


def _scored(
    x: Reports, y: Reports, count: Counter, presence: Presence, confidence: float
) -> tuple[float, Event] | None:
    """The features that differ most, weighted, with the best cut."""
    in_x, in_y, trials = count(x).astype(np.float64), count(y).astype(np.float64), len(x)
    spread = in_x * (1 - in_x / trials) + in_y * (1 - in_y / trials) + 1
    telling = np.abs(in_x - in_y) / np.sqrt(spread)
    features = np.argsort(-telling, kind="stable")[:_MOST_FEATURES]
    features = features[telling[features] > _SIGNIFICANT]
    if not len(features):
        return None
    a, b = in_x[features], in_y[features]
    present, absent = np.log((a + 0.5) / (b + 0.5)), np.log((trials - a + 0.5) / (trials - b + 0.5))
    uncut = Scored(presence, tuple(features.tolist()), present, absent)
    return _cut(uncut, x, y, confidence)


def _cut(event: Scored, x: Reports, y: Reports, confidence: float) -> tuple[float, Event]:
    in_x, in_y = event.scores(x), event.scores(y)
    levels = np.unique(in_x)
    cuts = levels[np.unique(np.linspace(0, len(levels) - 1, _MOST_CUTS).astype(np.int64))]
    bounds = [_bound(in_x >= cut, in_y >= cut, confidence) for cut in cuts]
    best = int(np.argmax(bounds))
    chosen = Scored(event.presence, event.features, event.present, event.absent, float(cuts[best]))
    return bounds[best], chosen


def _bound(in_x: Bits, in_y: Bits, confidence: float) -> float:
    hits = int(np.count_nonzero(in_x)), int(np.count_nonzero(in_y))
    return epsilon_lower_bound(*hits, len(in_x), confidence)
