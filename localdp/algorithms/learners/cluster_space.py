"""Where clusters are looked for: centre and size of the people, the axes along which they differ, and a grid over these.

k centres lie in a space of k - 1 dimensions, so with many features few axes matter.  Three questions, in one public unit:

1. the second moments of the features around the learned centre: their trace is the size of the people.  Projections alone,
   as `learned_scale` asks them, are off by up to a factor of two where people stand in a few places;
2. the second moments of directions, `moments(sphere(u))`: the first axes hold the clusters, and what is left of the trace
   is the spread within a cluster;
3. in which cell of a grid over these axes people are (`Grid`).

With no more features than axes, the axes are the features, and the second question is left out.
Checked in tests/unit/algorithms/learners/test_cluster_space.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from localdp.algorithms.learners.noisy_moments import symmetric
from localdp.algorithms.learners.pca import principal_axes
from localdp.algorithms.learners.scaling import Scaling, called
from localdp.algorithms.texts import decimal
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

MOST_AXES = 4
_REACH = 2.0  # of the grid along an axis, in standard deviations
_LEAST_TRACE, _FULL_TRACE = (
    0.05,
    0.85,
)  # of moments within the ball: below the one is noise, above the other all are shortened
_SHORTENED = 1.15  # how much larger the size is than the ball then
_LEAST_PART = 0.02  # of the size along an axis, and in all other directions


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSpace:
    """A few axes around the mean of the people, in public units."""

    origin: Floats
    axes: Floats  # rows, of length 1, at right angles
    spreads: Floats  # root mean square along each
    others: float  # root mean square in each of all other directions; 0 if there are none

    @property
    def complement(self) -> Floats:
        """The other directions, as rows."""
        rows: Floats = np.linalg.svd(self.axes)[2][len(self.axes) :]
        return rows

    @classmethod
    def found(
        cls,
        oracle: StatisticalQueryOracle,
        units: Scaling,
        rough: Scaling,
        axes: int,
        rounds: tuple[int, int],
    ) -> Self:
        """From so many rounds for the size, and so many for the axes, if there are fewer of these than features."""
        features = len(units.names)
        second = moments_within(oracle, rough, rounds[0])
        trace = float(np.clip(np.trace(second), _LEAST_TRACE, 1.0))
        size = math.sqrt(trace) * (_SHORTENED if trace > _FULL_TRACE else 1.0)
        to_units = float(rough.widths[0] * units.slopes[0])
        origin = (rough.centres - units.centres) * units.slopes
        if axes >= features:
            parts = np.maximum(np.diag(second) / trace, _LEAST_PART)
            return cls(origin, np.eye(features), to_units * size * np.sqrt(parts), 0.0)
        values, turned = principal_axes(_direction_moments(oracle, rough, rounds[1]))
        rest = max(1 - float(values[:axes].sum()), _LEAST_PART) / (features - axes)
        parts = np.maximum(values[:axes], _LEAST_PART)
        return cls(
            origin, turned[:axes], to_units * size * np.sqrt(parts), to_units * size * math.sqrt(rest)
        )


def direction_query(scaling: Scaling) -> str:
    """The second moments of directions."""
    return called("moments", [called("sphere", scaling.forms())])


def _direction_moments(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int) -> Floats:
    answers = [oracle.answer_vectors([direction_query(scaling)])[0].values for _ in range(rounds)]
    return symmetric(np.mean(answers, axis=0), len(scaling.names))


def moments_within(oracle: StatisticalQueryOracle, scaling: Scaling, rounds: int) -> Floats:
    """The second moments of the features, whoever is far brought back to the ball."""
    query = called("moments", [called("ball", scaling.forms())])
    answers = [oracle.answer_vectors([query])[0].values for _ in range(rounds)]
    return symmetric(np.mean(answers, axis=0), len(scaling.names))


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells over some axes of the features' space: the axes as rows, where the origin is, the edges of each axis."""

    axes: Floats
    origin: Floats
    edges: Floats  # one row per axis, both ends included

    @classmethod
    def over(cls, space: ClusterSpace, intervals: int) -> Self:
        """With so many intervals along each axis."""
        return cls(
            space.axes, space.origin, np.outer(_REACH * space.spreads, np.linspace(-1, 1, intervals + 1))
        )

    @property
    def middles(self) -> Floats:
        """The middle of every cell, in the space of the features, in the order of the query's numbers."""
        along = (self.edges[:, :-1] + self.edges[:, 1:]) / 2
        lattice = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, len(self.axes))
        middles: Floats = self.origin + lattice @ self.axes
        return middles

    @property
    def width(self) -> float:
        """Of a cell, root mean square over the axes."""
        return float(np.sqrt(np.square(self.edges[:, 1] - self.edges[:, 0]).mean()))

    def query(self, scaling: Scaling) -> str:
        """In which cell a person is; the outer ones are open."""
        parts = []
        for axis, edges in zip(self.axes, self.edges, strict=True):
            used = [term for term, weight in zip(scaling.terms(axis), axis, strict=True) if weight]
            form, shift = " + ".join(used), float(axis @ self.origin)
            parts.append(called("which", [f"{form} <= {decimal(shift + edge)}" for edge in edges[1:-1]]))
        return called("cells", parts)
