"""The outcome of an attack as data: panels of points, beside what theory says, and what else was seen, in words.

Only the data and how trials are run; the attacks are in `localdp/attacks`, drawing is in parties/report.
Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from localdp.errors import InvalidParameter
from localdp.experiments.keyring import Keyring
from localdp.randomness.source import RandomSource

MOST_TRIALS = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of all trials of one series at one parameter."""

    series: str
    parameter: float
    value: float
    trials: int
    predicted: float | None = None  # None: theory gives a bound, or nothing


@dataclass(frozen=True, slots=True)
class Panel:
    """Series over one parameter."""

    title: str
    parameter: str  # what the horizontal axis is
    measure: str  # what the vertical axis is
    points: tuple[Point, ...]
    logarithmic: bool = False  # the horizontal axis

    def series(self) -> dict[str, list[Point]]:
        """The points of every series, by parameter."""
        found: dict[str, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: point.parameter):
            found.setdefault(point.series, []).append(point)
        return found


@dataclass(frozen=True, slots=True)
class Attack:
    """A demonstration."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Range:
    """Where attacks are tried: how often, with which coins, and who is told of progress."""

    keyring: Keyring
    trials: int
    done: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        if not 1 <= self.trials <= MOST_TRIALS:
            raise InvalidParameter(f"an attack is tried 1 to {MOST_TRIALS} times")

    def point(
        self,
        series: str,
        parameter: float,
        trial: Callable[[RandomSource], float],
        *,
        predicted: float | None = None,
        trials: int | None = None,
    ) -> Point:
        """The mean of a trial's outcome; every trial has coins of its own."""
        outcomes = []
        for number in range(trials or self.trials):
            outcomes.append(trial(self.keyring.source("attack", series, f"{parameter:g}", str(number))))
            self.done(f"{series}, {parameter:g}")
        return Point(series, parameter, float(np.mean(outcomes)), len(outcomes), predicted)
