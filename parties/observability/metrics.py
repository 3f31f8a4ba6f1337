"""Counters, gauges and histograms, and Prometheus' text exposition format (version 0.0.4) of them.

Labels have few values, all of them chosen here: methods, status codes.  Nothing that a caller or a record says becomes one.

Checked in tests/unit/parties/observability/test_observability.py.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[str, ...]


@dataclass(slots=True)
class Metric:
    """A counter or a gauge: one number for each combination of labels."""

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    labels: Labels = ()
    _values: dict[Labels, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, amount: float, *labels: str) -> None:
        """Count; what is counted never goes down."""
        if amount < 0 and self.kind == "counter":
            raise ValueError("a counter only goes up")
        with self._lock:
            self._values[labels] = self._values.get(labels, 0.0) + amount

    def set(self, value: float, *labels: str) -> None:
        """Say what it is now."""
        with self._lock:
            self._values[labels] = value

    def lines(self) -> Iterator[str]:
        """One line for each combination of labels."""
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield f"{self.name}{_braces(self.labels, labels)} {_number(value)}"


@dataclass(slots=True)
class MetricHistogram:
    """How many observations were at most so large, for each of some bounds."""

    name: str
    help: str
    labels: Labels = ()
    bounds: Sequence[float] = LATENCY_SECONDS
    kind: Literal["histogram"] = "histogram"
    _counts: dict[Labels, list[int]] = field(default_factory=dict)
    _sums: dict[Labels, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def observe(self, value: float, *labels: str) -> None:
        """Count one observation."""
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> Iterator[str]:
        """The cumulative counts, the sum and the number of observations."""
        with self._lock:
            series = [
                (labels, list(counts), self._sums[labels])
                for labels, counts in sorted(self._counts.items())
            ]
        for labels, counts, total in series:
            running = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), counts, strict=True):
                running += count
                yield f"{self.name}_bucket{_braces((*self.labels, 'le'), (*labels, bound))} {running}"
            yield f"{self.name}_sum{_braces(self.labels, labels)} {_number(total)}"
            yield f"{self.name}_count{_braces(self.labels, labels)} {running}"


def exposition(metrics: Sequence[Metric | MetricHistogram]) -> str:
    """All metrics as text."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        lines += metric.lines()
    return "\n".join(lines) + "\n"


def _braces(names: Labels, values: Labels) -> str:
    pairs = [f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
