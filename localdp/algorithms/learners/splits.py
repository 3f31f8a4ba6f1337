"""How a tree chooses its splits from noisy tables: information gain, and when it is more than noise makes.

For one leaf and one feature, h(b, c) is the frequency, among all people, of value b and class c within the leaf, m their
sum.  A split groups the values into branches: all of a category, or below and above an edge of a number.  Its gain is the
mutual information of branch and class times m (Quinlan 1986):

    gain = sum over groups g and classes c of h(g, c) ln (h(g, c) m / (h(g) h(c)))

Noise alone makes gain.  Where a branch has a share p_g of the leaf and a class a share q_c, and the cells of branch g have
a variance v_g, what noise alone is expected to gain is, by the quadratic approximation of the logarithm,

    noise = 1 / (2 m)  sum_g (sum_g' v_g' (1[g = g'] - p_g)**2) / p_g  sum_c ((1 - q_c)**2 + (k - 1) q_c**2) / q_c

for k classes: 2 v / m with two even branches and classes, and many times that where a branch or a class is rare.  With two
of each, sqrt(gain / noise) is about the size of a normal variable of variance 1, so that sqrt(gain), the effect, is known
up to sqrt(noise).  A feature need not be asked about again where its effect cannot be above the best one's, or by too
little to matter (`contenders`).

Checked in tests/unit/algorithms/learners/test_splits.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from localdp.algorithms.learners.binning import Binned, opposite
from localdp.randomizers.definition import Floats

LEAD = 4.0  # standard deviations by which another split may be better than it looks, beside the best one
INDIFFERENT = 0.25  # the part of an effect that is not worth asking for
WORTH = (
    0.5  # standard errors of a cell: a leaf with fewer people of other classes is not worth asking about
)
LEAST_GAIN = 1e-12  # what rounding may make of no gain at all


@dataclass(frozen=True, slots=True, eq=False)
class Branching:
    """Branches on one feature, and what they would gain."""

    conditions: tuple[str, ...]
    classes: Floats  # of each branch and class: the frequency
    variance: tuple[float, ...]  # of each branch: the variance of these frequencies
    gain: float
    noise: float  # what the gain of noise alone is expected to be

    def exceeds_noise(self, caution: float) -> bool:
        """Whether so many standard deviations of noise make neither the gain nor the second largest branch."""
        masses = self.classes.sum(axis=1)
        errors = np.sqrt(self.classes.shape[1] * np.array(self.variance))
        inhabited = bool(np.count_nonzero(masses > caution * errors) >= 2)
        return inhabited and self.gain > max(LEAST_GAIN, caution**2 * self.noise)

    def contends(self, best: Branching) -> bool:
        """Whether this one may be better than the best one so far, and by more than does not matter."""
        effect, lead = math.sqrt(best.gain), math.sqrt(best.gain) - math.sqrt(max(self.gain, 0.0))
        return LEAD * math.sqrt(best.noise + self.noise) - lead > INDIFFERENT * effect


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What the tables of one leaf say so far."""

    best: Branching | None  # that exceeds noise
    contenders: tuple[int, ...]  # places of the features that are worth asking about again
    classes: Floats  # the frequency of each class
    variance: float  # of these frequencies


def judged(
    features: Sequence[Binned],
    tables: Sequence[Floats],
    noise: Sequence[float],
    known: tuple[Floats, float],
    caution: float,
) -> Judgement:
    """The best split of a leaf, and the features that may have a better one; `known` is what the level above said."""
    agreed = consistent(tables, noise, *known)
    splits = [list(candidate_splits(*one)) for one in zip(features, agreed, noise, strict=True)]
    best, classes = best_split(chain.from_iterable(splits), caution), agreed[0].sum(axis=0)
    worth = classes.sum() - classes.max() > WORTH * math.sqrt(max(noise))
    sums = [len(table) * each for table, each in zip(tables, noise, strict=True)]
    return Judgement(
        best,
        tuple(contenders(best, splits)) if worth else (),
        classes,
        pooled_variance([known[1], *sums]),
    )


def contenders(best: Branching | None, splits: Sequence[Sequence[Branching]]) -> list[int]:
    """The places of features that may still have the best split; none, where there is no doubt.

    Where no split exceeds noise, every feature may have one that more people would show.
    """
    near = [
        place
        for place, several in enumerate(splits)
        if any(one.noise and (best is None or one is best or one.contends(best)) for one in several)
    ]
    return near if best is None or len(near) > 1 else []


def pooled_variance(variances: Sequence[float]) -> float:
    """Of the mean by inverse variances."""
    return 0.0 if not all(variances) else 1 / sum(1 / one for one in variances)


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
            yield _split(feature.bins, table, (variance,) * len(table))
        return
    below = np.cumsum(table, axis=0)
    for place, condition in enumerate(feature.thresholds):
        each = (place + 1) * variance, (len(table) - place - 1) * variance
        halves = np.array([below[place], below[-1] - below[place]])
        yield _split((condition, opposite(condition)), halves, each)


def best_split(splits: Iterable[Branching], caution: float) -> Branching | None:
    """The one that gains most beyond what its noise is expected to, among those that exceed noise."""
    exceeding = (split for split in splits if split.exceeds_noise(caution))
    return max(exceeding, key=lambda split: split.gain - split.noise, default=None)


def _split(conditions: tuple[str, ...], cells: Floats, variance: tuple[float, ...]) -> Branching:
    return Branching(conditions, cells, variance, information(cells), expected_gain(cells, variance))


def expected_gain(cells: Floats, variance: Sequence[float]) -> float:
    """What noise of these variances, one for each row, is expected to make of rows that say nothing about the columns."""
    noise, inside = np.array(variance), np.maximum(cells, 0.0)
    if not noise.any():
        return 0.0
    # Nothing is rarer than what noise can hide.
    rows = np.maximum(inside.sum(axis=1), np.sqrt(cells.shape[1] * noise))
    columns = np.maximum(inside.sum(axis=0), math.sqrt(noise.sum()))
    by_row = (np.eye(len(rows)) - (rows / rows.sum())[:, None]) ** 2 @ noise / (rows / rows.sum())
    shares = columns / columns.sum()
    by_column = ((1 - shares) ** 2 + (len(shares) - 1) * shares**2) / shares
    return float(by_row.sum() * by_column.sum() / (2 * rows.sum()))


def information(cells: Floats) -> float:
    """Mutual information of rows and columns, times the total; negative cells count as empty."""
    inside = np.maximum(cells, 0.0)
    return float(_entropy(inside.sum(axis=1)) + _entropy(inside.sum(axis=0)) - _entropy(inside))


def _entropy(masses: Floats) -> float:
    """Total times the entropy of what is divided so, in nats."""
    inside = masses[masses > 0]
    total = inside.sum()
    return float(-(inside * np.log(inside / total)).sum()) if total > 0 else 0.0
