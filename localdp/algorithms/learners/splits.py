"""How a tree chooses its splits from noisy tables: information gain, and when it is more than noise makes.

For one leaf and one feature, h(b, c) is the frequency, among all people, of value b and class c within the leaf, m their
sum.  A split groups the values into branches: all of a category, or below and above an edge of a number.  Its gain is the
mutual information of branch and class times m (Quinlan 1986):

    gain = sum over groups g and classes c of h(g, c) ln (h(g, c) m / (h(g) h(c)))

Noise alone makes gain.  With a variance v of each of k cells of about equal frequency, two classes and two branches, that
gain is v k / (2 m) times the square of a normal variable, by the quadratic approximation of the logarithm.  `noise` is
what it is at one standard deviation.

Checked in tests/unit/algorithms/learners/test_splits.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.learners.binning import Binned, opposite
from localdp.randomizers.definition import Floats

LEAST_GAIN = 1e-12  # what rounding may make of no gain at all


@dataclass(frozen=True, slots=True, eq=False)
class Branching:
    """Branches on one feature, and what they would gain."""

    conditions: tuple[str, ...]
    classes: Floats  # of each branch and class: the frequency
    variance: tuple[float, ...]  # of each branch: the variance of these frequencies
    gain: float
    noise: float  # what the gain would be of one standard deviation of noise alone

    def exceeds_noise(self, caution: float) -> bool:
        """Whether so many standard deviations of noise make neither the gain nor the second largest branch."""
        masses = self.classes.sum(axis=1)
        errors = np.sqrt(self.classes.shape[1] * np.array(self.variance))
        inhabited = bool(np.count_nonzero(masses > caution * errors) >= 2)
        return inhabited and self.gain > max(LEAST_GAIN, caution**2 * self.noise)


def consistent(
    tables: Sequence[Floats], noise: Sequence[float], known: Floats, known_noise: float
) -> list[Floats]:
    """The tables of one leaf, made to agree on how frequent its classes are.

    Each table says so in the sum of its values, and so does what is known from the level above.  Their mean by inverse
    variances is the best estimate; what a table differs from it is divided over its values (least squares).
    """
    sums = [known, *(table.sum(axis=0) for table in tables)]
    agreed = weighted_mean(
        sums, [known_noise, *(len(table) * each for table, each in zip(tables, noise, strict=True))]
    )
    return [table + (agreed - table.sum(axis=0)) / len(table) for table in tables]


def weighted_mean(values: Sequence[Floats], variances: Sequence[float]) -> Floats:
    """The mean by inverse variances; of the values without variance, where there are some."""
    variance = np.array(variances)
    weights = 1 / variance if variance.all() else (variance == 0).astype(np.float64)
    mean: Floats = weights @ np.array(values) / weights.sum()
    return mean


def candidate_splits(feature: Binned, table: Floats, variance: float) -> Iterator[Branching]:
    """The splits on one feature, given its table of (value, class) within a leaf."""
    if not feature.thresholds:
        if feature.size > 1:
            yield _split(feature.bins, table, (variance,) * len(table), variance)
        return
    below = np.cumsum(table, axis=0)
    for place, condition in enumerate(feature.thresholds):
        each = (place + 1) * variance, (len(table) - place - 1) * variance
        halves = np.array([below[place], below[-1] - below[place]])
        yield _split((condition, opposite(condition)), halves, each, max(each))


def best_split(splits: Iterable[Branching], caution: float) -> Branching | None:
    """The one that gains most beyond what its noise is expected to, among those that exceed noise."""
    exceeding = (split for split in splits if split.exceeds_noise(caution))
    return max(exceeding, key=lambda split: split.gain - split.noise, default=None)


def _split(
    conditions: tuple[str, ...], cells: Floats, each: tuple[float, ...], variance: float
) -> Branching:
    mass = max(float(np.maximum(cells, 0.0).sum()), 1e-300)
    return Branching(conditions, cells, each, information(cells), variance * cells.size / (2 * mass))


def information(cells: Floats) -> float:
    """Mutual information of rows and columns, times the total; negative cells count as empty."""
    inside = np.maximum(cells, 0.0)
    return float(_entropy(inside.sum(axis=1)) + _entropy(inside.sum(axis=0)) - _entropy(inside))


def _entropy(masses: Floats) -> float:
    """Total times the entropy of what is divided so, in nats."""
    inside = masses[masses > 0]
    total = inside.sum()
    return float(-(inside * np.log(inside / total)).sum()) if total > 0 else 0.0
