"""How the trials of an attack are run: so often, with coins of their own; the attacks are in `localdp/attacks`.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidParameter, TooFewReports
from localdp.experiments.panels import Point
from localdp.randomness.keyring import Keyring
from localdp.randomness.source import RandomSource

MOST_TRIALS = 10_000


@dataclass(frozen=True, slots=True)
class Range:
    """Where attacks are tried: how often, with which coins, and who is told of progress."""

    keyring: Keyring
    trials: int
    done: Callable[[str], None] = lambda _: None
    models: tuple[str, ...] = ()  # trust models to show in place of the usual ones

    def __post_init__(self) -> None:
        if not 1 <= self.trials <= MOST_TRIALS:
            raise InvalidParameter(f"an attack is tried 1 to {MOST_TRIALS} times")

    def shown(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The trust models to show."""
        return self.models or usual

    def point(
        self,
        series: str,
        parameter: float,
        trial: Callable[[RandomSource], float],
        *,
        predicted: float | None = None,
        trials: int | None = None,
    ) -> Point:
        """The mean of a trial's outcome; every trial has coins of its own.  Of too few people there is none."""
        outcomes = []
        for number in range(trials or self.trials):
            with suppress(TooFewReports):
                outcomes.append(trial(self.keyring.source("attack", series, f"{parameter:g}", str(number))))
            self.done(f"{series}, {parameter:g}")
        value = float(np.mean(outcomes)) if outcomes else None
        return Point(series, parameter, value, len(outcomes), predicted=predicted)
