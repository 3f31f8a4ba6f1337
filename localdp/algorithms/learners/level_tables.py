"""What was measured of one level of a tree: each feature's table of (leaf, value, class), over all rounds that asked it.

Rounds may ask about different features, of different numbers of people: the tables of a feature are averaged by how many
people answered each, and their noise with them.

Checked in tests/unit/algorithms/learners/test_level_tables.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.algorithms.learners.binning import Binned
from localdp.oracles.definition import VectorAnswer
from localdp.randomizers.definition import Floats


class LevelTables:
    """The tables of all features, for the leaves of one level."""

    def __init__(self, features: Sequence[Binned], leaves: int, classes: int) -> None:
        """No round was asked yet."""
        self._leaves = leaves
        self._sums = [np.zeros((leaves, feature.size, classes)) for feature in features]
        self._squares = [0.0] * len(features)  # sums of squared weights times variances
        self._weights = [0] * len(features)

    def add(self, places: Sequence[int], answers: Sequence[VectorAnswer]) -> None:
        """Another round, which asked about the features of these places."""
        for place, answer in zip(places, answers, strict=True):
            table = answer.values.reshape(-1, *self._sums[place].shape[1:])
            self._sums[place] += answer.reports * table[: self._leaves]
            self._squares[place] += answer.reports**2 * float(answer.variance_empirical.mean())
            self._weights[place] += answer.reports

    def of_leaf(self, number: int) -> list[Floats]:
        """The table of (value, class) within a leaf, for each feature."""
        return [
            sums[number] / max(weight, 1) for sums, weight in zip(self._sums, self._weights, strict=True)
        ]

    @property
    def noise(self) -> list[float]:
        """The variance of a cell of each feature's tables."""
        return [
            square / max(weight, 1) ** 2
            for square, weight in zip(self._squares, self._weights, strict=True)
        ]
