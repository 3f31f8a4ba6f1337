"""Broken twins of frequency oracles whose reports are not inputs, and whose sums are not supports."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.randomness.source import RandomSource
from tests.support.broken_twins import BrokenTwin


class NoiseTwice(BrokenTwin):
    """Randomizes its own reports once more, folded back to inputs."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports of reports."""
        first = self.sound.randomize(values, source).astype(np.int64) % self.sound.inputs
        reports: NDArray[Any] = self.sound.randomize(first, source)
        return reports


class DebiasForgotten(BrokenTwin):
    """Gives the share of supporting reports as its estimate."""

    def estimate(self, tally: Any) -> Any:
        """The raw shares."""
        estimate, support = self.sound.estimate(tally), self.sound.support
        share = estimate.values * float(support.own - support.other) + float(support.other)
        return replace(estimate, values=share)
