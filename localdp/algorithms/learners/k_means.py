"""k-means by a histogram on a public grid, and Lloyd's steps where noise is small (Blum, Dwork, McSherry and Nissim 2005).

With u the features in one public unit, centred, |u| <= 1:

1. Up to three features: a grid over the box of the schema.  More: one round of second moments first, and the grid is laid
   over the first two principal axes, three standard deviations to each side, as conditions on linear forms.
2. One round asks in which cell a person is.  The frequencies, projected on the simplex, are clustered without asking
   anybody (`grid_clusters`); centres along principal axes are brought back into the space of the features.
3. Further rounds, where the plan finds them good enough: Lloyd's steps, `at(nearest(u, centres), ball(b, a u))`, for every
   cluster its mass and its sum in one vector.  A centre moves by what is not explained by noise.

**Deviation** from T rounds of step 3 alone: a cell is one-hot, so its frequencies are less noisy than a vector, and one
round of all people places centres better than five rounds of a fifth of them each.  At k = 4, d = 2, n = 1e5, epsilon = 1
in the local model the cost is below 0.055 against 0.085, where 0.045 is the least possible.  `rounds=None` takes 8 of
Lloyd's steps only if noise moves no centre of an average cluster by more than 0.02.

Claims.  With answers without error the last steps are Lloyd's.  With every frequency of c cells off by at most tau, the
projected frequencies are off by at most c tau in all, so the cost of any centres, measured on the histogram, is off by at
most 4 c tau in units of u.
Checked in tests/unit/algorithms/learners/test_k_means.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import features_of
from localdp.algorithms.learners.grid_clusters import clustered, squared_distances
from localdp.algorithms.learners.pca import covariance_of, moments_query, principal_axes
from localdp.algorithms.learners.scaling import Scaling, bounds_of, called, factor_of
from localdp.algorithms.learners.transformer import Transformer
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import decimal, point
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

MOST_CLUSTERS = 64
MOST_ROUNDS = 64
_MOST_GRID_FEATURES = 3
_AXES = 2
_REACH = 3.0  # of the grid along a principal axis, in standard deviations
_LARGEST_GRID = 16  # intervals of an axis
_MOST_CELLS = 512  # their clustering takes the square of this
_SMALLEST_GRID = 4
_CELL_NOISE = 0.06  # root of the sum of the squared errors of all cells that a finer grid may have
_LLOYD_STEPS = 8
_STEADY = 0.02  # how far noise may move a centre in one of them
_MASS, _PLACE = map(factor_of, (0.25, 0.75))  # b and a of Lloyd's steps


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Cells over some axes of the features' space: the axes as rows, where the origin is, the edges of each axis."""

    axes: Floats
    origin: Floats
    edges: Floats  # one row per axis, both ends included

    @property
    def middles(self) -> Floats:
        """The middle of every cell, in the space of the features, in the order of the query's numbers."""
        along = (self.edges[:, :-1] + self.edges[:, 1:]) / 2
        lattice = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, len(self.axes))
        middles: Floats = self.origin + lattice @ self.axes
        return middles

    def query(self, scaling: Scaling) -> str:
        """In which cell a person is; the outer ones are open."""
        parts = []
        for axis, edges in zip(self.axes, self.edges, strict=True):
            used = [term for term, weight in zip(scaling.terms(axis), axis, strict=True) if weight]
            form, shift = " + ".join(used), float(axis @ self.origin)
            parts.append(called("which", [f"{form} <= {decimal(shift + edge)}" for edge in edges[1:-1]]))
        return called("cells", parts)


class KMeans(Transformer):
    """Finds k centres near which people are.

    Parameters
    ----------
    n_clusters : int, default=8
        How many centres to find.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers.
    rounds : int, optional
        How often people are asked: once for a grid, once before it if there are more than three features, then once for
        each of Lloyd's steps. Default: with 8 of these steps where the noise allows them, otherwise without.
    radius : float, optional
        How long a vector of features, from the middle of their ranges, may be without being shortened. A good one is about
        the typical length. Default: nobody is shortened.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Arrays only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Arrays only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Arrays only: what the features can hold, from what is known about them. Every model but "exact" needs them for
        numbers, and "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.

    Attributes
    ----------
    cluster_centers_ : array
        The centres, one row each.
    labels_ : array
        The centre of each person of the fit, under "exact" alone: under every other model a learner keeps nothing about a
        single person. `predict` says it.
    rounds_ : int
        The rounds that were asked.
    features_ : tuple of str
        The columns that it learned from, in the order of what was learned.
    n_features_in_, feature_names_in_ : int, array of str
        How many features there were, and their names if they had some.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> angle = np.linspace(0, 6.28, 20_000)
    >>> X = np.column_stack([np.sign(np.cos(angle)), 0.1 * np.sin(angle)])
    >>> learner = KMeans(2, model="local", epsilon=2.0, bounds=(-2, 2)).fit(X)
    >>> sorted(learner.cluster_centers_[:, 0].round().tolist())
    [-1.0, 1.0]
    """

    cluster_centers_: Floats
    labels_: NDArray[np.int64]
    rounds_: int  # that were asked
    _nature = Nature("clusterer", transforms=True)
    _outputs = "cluster_centers_"

    def __init__(
        self,
        n_clusters: int = 8,
        features: Sequence[str] | None = None,
        rounds: int | None = None,
        radius: float | None = None,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.features = features
        self.rounds = rounds
        self.radius = radius
        self.check_signal = check_signal
        self.epsilon, self.model, self.bounds = epsilon, model, bounds

    def fit(self, X: StatisticalQueryOracle | Features, y: ArrayLike | None = None) -> Self:  # noqa: N803
        """Learn from an oracle, or from a table of features at hand; `y` is ignored."""
        vars(self).pop("labels_", None)
        super().fit(X, y)
        if self.model == "exact":
            self.labels_ = self.predict(cast(Features, X))
        return self

    def _rounds(self) -> int:
        if not 1 <= self.n_clusters <= MOST_CLUSTERS:
            raise InvalidParameter(f"there are 1 to {MOST_CLUSTERS} clusters to find")
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidParameter(f"k-means has 1 to {MOST_ROUNDS} rounds")
        return self.rounds or 1

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        given = self._rounds()
        self._prepare(oracle.schema)
        least = 1 if self._has_plain_grid else 2
        if self.rounds is None:
            self.rounds_ = least + (_LLOYD_STEPS if self._is_steady(oracle, least + _LLOYD_STEPS) else 0)
        elif given < least:
            raise InvalidParameter(
                "more than three features take two rounds: one for the axes, one for the grid"
            )
        else:
            self.rounds_ = given
        return self.rounds_

    def _prepare(self, schema: Schema) -> None:
        """Set the features and the public units, from the schema."""
        self.features_ = features_of(schema, self.features, None)
        self._scaling = Scaling.common(schema, self.features_, self.radius)
        lows, highs = bounds_of(schema, self.features_)
        self._halves = (highs - lows) / 2 / self._scaling.widths

    @property
    def _has_plain_grid(self) -> bool:
        return len(self.features_) <= _MOST_GRID_FEATURES

    def _is_steady(self, oracle: StatisticalQueryOracle, rounds: int) -> bool:
        centres = np.zeros((self.n_clusters, len(self.features_)))
        plan = oracle.in_rounds(rounds).plan([self._lloyd_query(centres)])
        return self.n_clusters * plan.rows[0].standard_error / _PLACE <= _STEADY

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        grid = self._plain_grid(oracle) if self._has_plain_grid else self._principal_grid(oracle)
        query = grid.query(self._scaling)
        if self._has_plain_grid:
            self.plan_ = oracle.plan([query])
            error = self.plan_.vector_error
            self._require_signal(1 / math.sqrt(self.n_clusters), error, "a histogram of clusters")
        frequencies = norm_sub(oracle.answer_vectors([query])[0].values)
        centres = clustered(grid.middles, frequencies, self.n_clusters)
        for _ in range(self.rounds_ - (1 if self._has_plain_grid else 2)):
            centres = self._moved(oracle, centres)
        self.cluster_centers_ = self._scaling.centres + centres * self._scaling.widths

    def _plain_grid(self, oracle: StatisticalQueryOracle) -> _Grid:
        size = len(self.features_)
        return self._finest(oracle, np.eye(size), np.zeros(size), self._halves)

    def _principal_grid(self, oracle: StatisticalQueryOracle) -> _Grid:
        """One round: the axes along which people differ most."""
        query = moments_query(self._scaling, centred=False)
        self.plan_ = oracle.plan([query])
        self._require_signal(1.0, self.plan_.vector_error, "a covariance")
        means, covariance = covariance_of(oracle.answer_vectors([query])[0], centred=False)
        values, axes = principal_axes(covariance)
        spreads = np.sqrt(np.maximum(values[:_AXES], 1e-6))
        return self._finest(oracle, axes[:_AXES], means, _REACH * spreads)

    def _finest(self, oracle: StatisticalQueryOracle, axes: Floats, origin: Floats, reach: Floats) -> _Grid:
        """The finest grid whose cells together are not too noisy by the plan."""
        allowed = (n for n in range(_LARGEST_GRID, _SMALLEST_GRID, -1) if n ** len(axes) <= _MOST_CELLS)
        for intervals in allowed:
            grid = _Grid(axes, origin, np.outer(reach, np.linspace(-1, 1, intervals + 1)))
            if oracle.plan([grid.query(self._scaling)]).vector_error <= _CELL_NOISE:
                return grid
        return _Grid(axes, origin, np.outer(reach, np.linspace(-1, 1, _SMALLEST_GRID + 1)))

    def _lloyd_query(self, centres: Floats) -> str:
        nearest = called("nearest", [called("ball", self._scaling.forms()), *map(point, centres)])
        return f"at({nearest}, {called('ball', [decimal(_MASS), *self._scaling.forms(_PLACE)])})"

    def _moved(self, oracle: StatisticalQueryOracle, centres: Floats) -> Floats:
        """One of Lloyd's steps: every centre goes to the mean of those nearest to it."""
        answer = oracle.answer_vectors([self._lloyd_query(centres)])[0]
        blocks = answer.values.reshape(len(centres), -1)
        masses, sums = blocks[:, :1] / _MASS, blocks[:, 1:] / _PLACE
        noise = float(np.sqrt(answer.variance_empirical.mean()))
        moves = (sums - masses * centres) / np.maximum(masses, max(3 * noise / _MASS, 1e-12))
        squares = np.square(moves).mean(axis=1, keepdims=True)
        error = np.square(noise / (_PLACE * np.maximum(masses, 1e-12)))
        moved: Floats = centres + moves * squares / np.maximum(squares + error, 1e-300)
        return moved

    def predict(self, X: Features) -> NDArray[np.int64]:  # noqa: N803
        """The number of the centre nearest to each person."""
        nearest: NDArray[np.int64] = self._distances(X).argmin(axis=1)
        return nearest

    def fit_predict(self, X: Features, y: ArrayLike | None = None) -> NDArray[np.int64]:  # noqa: N803
        """Fit, then the number of the centre nearest to each person."""
        return self.fit(X, y).predict(X)

    def transform(self, X: Features) -> Floats:  # noqa: N803
        """The distance of each person to each centre."""
        distances: Floats = np.sqrt(self._distances(X))
        return distances

    def score(self, X: Features, y: ArrayLike | None = None) -> float:  # noqa: N803
        """Minus the mean squared distance to the nearest centre."""
        return -float(self._distances(X).min(axis=1).mean())

    def _scored(self, records: Records) -> float:
        return self.score(records)

    def _distances(self, X: Features) -> Floats:  # noqa: N803
        self._require_fitted("cluster_centers_")
        return squared_distances(self._numbers(X), self.cluster_centers_)
