"""k-means by a histogram over the axes that matter, and centres that then move (Blum, Dwork, McSherry and Nissim 2005).

1. Centre and scale of the features are learned of a part of the people (`learned_scale`), then the axes along which they
   differ most, k - 1 of them and at most four (`cluster_space`).
2. In which cell of a grid over these axes a person is: the frequencies, projected on the simplex, are clustered without
   asking anybody (`grid_clusters`).
3. Centres move to where their people are (`cluster_moves`).  Across the axes nothing distinguishes the clusters, so one
   vector query serves all of them, in units of the spread within a cluster.  Along the axes each cluster has a query of its
   own, around its own centre, in the same small unit.  A centre moves by what is not explained by noise.

Without noise, step 3 goes along all features, in units in which nobody is shortened: these are Lloyd's steps.

**Deviation** from Lloyd's steps in units of all people: noise is in proportion to the unit, and the spread within a cluster
is several times smaller.  At k = 4, d = 10, n = 1e5, epsilon = 1 in the local model the cost is 1.14 times that of the true
centres, where a grid over two axes and the bounds had 4.15.

Claims.  With answers without error the last steps are Lloyd's.  With every frequency of c cells off by at most tau, the
projected frequencies are off by at most c tau in all, so the cost of any centres, measured on the histogram, is off by at
most 4 c tau in units of u.
Checked in tests/unit/algorithms/learners/test_k_means.py; the numbers in tests/statistical/test_defaults.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import features_of
from localdp.algorithms.learners.cluster_moves import Moves
from localdp.algorithms.learners.cluster_space import MOST_AXES, ClusterSpace, Grid, direction_query
from localdp.algorithms.learners.descent import divided_plan, error_after, is_noiseless, part_of
from localdp.algorithms.learners.grid_clusters import clustered, squared_distances
from localdp.algorithms.learners.learned_scale import learned
from localdp.algorithms.learners.noisy_moments import wigner
from localdp.algorithms.learners.scaling import Scaling, bounds_of
from localdp.algorithms.learners.transformer import Transformer
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.estimation.consistency import norm_sub
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

MOST_CLUSTERS = 64
MOST_ROUNDS = 1024
SCALE_ROUNDS = 3  # without mean squares: the moments that follow say them
ROUNDS, LEAST_ROUNDS = 30, 12
_MOST_GRID_FEATURES = 3  # of a grid over the bounds
_SIZE, _AXES, _GRID, _ACROSS = (
    7,
    24,
    27,
    14,
)  # percent of the rounds; the scale takes three, and moves along axes the rest
_LARGEST_GRID = 16  # intervals of an axis
_MOST_CELLS = 512  # their clustering takes the square of this
_SMALLEST_GRID = 4
_CELL_NOISE = 0.08  # root of the sum of the squared errors of all cells that a finer grid may have
_TURNED_NOISE = 0.14  # the same, of a grid over found axes: the moves after it correct more
_UNIT = 1.5  # of a move, in root mean squares of what is within a cluster
_WHOLE = 2.0  # of a move that shortens nobody: u differ by no more
_STEADY = 0.1  # noise of a move by one round, in its unit, below which every round moves the centres
_LEAST_MASS = 0.4  # of that of an average cluster


class KMeans(Transformer):
    """Finds k centres near which people are.

    Parameters
    ----------
    n_clusters : int, default=8
        How many centres to find.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers.
    rounds : int, optional
        How often people are asked, at least 12 times. Default: 30 times. With up to three features, 1 asks for a grid over
        the bounds alone.
    radius : float, optional
        About how long a vector of features is, from the middle of their ranges: their scale. Default: it is learned.
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
        if self.rounds is not None and self.rounds != 1 and not LEAST_ROUNDS <= self.rounds <= MOST_ROUNDS:
            raise InvalidParameter(f"k-means has 1 round, or {LEAST_ROUNDS} to {MOST_ROUNDS} rounds")
        return self.rounds or ROUNDS

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self.rounds_ = self._rounds()
        self.features_ = features_of(oracle.schema, self.features, None)
        self._units = Scaling.common(oracle.schema, self.features_, None)
        few = len(self.features_) <= _MOST_GRID_FEATURES
        if self.rounds_ == 1 and not few:
            raise InvalidParameter(f"more than three features take at least {LEAST_ROUNDS} rounds")
        if self.rounds is None and few and not self._is_divisible(oracle):
            self.rounds_ = 1
        return self.rounds_

    def _is_divisible(self, oracle: StatisticalQueryOracle) -> bool:
        return (
            divided_plan(oracle, self.rounds_, [direction_query(self._units)] * self.n_clusters) is not None
        )

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        if self.rounds_ == 1:
            centres, _, _ = self._on_grid(oracle, self._bounded(oracle.schema), 1)
        else:
            centres = self._learn_in_rounds(oracle)
        self.cluster_centers_ = self._units.centres + centres * self._units.widths

    def _bounded(self, schema: Schema) -> ClusterSpace:
        """The features within their bounds."""
        size = len(self.features_)
        lows, highs = bounds_of(schema, self.features_)
        return ClusterSpace(np.zeros(size), np.eye(size), (highs - lows) / 4 * self._units.slopes, 0.0)

    def _learn_in_rounds(self, oracle: StatisticalQueryOracle) -> Floats:
        size, axes, grid, across = (part_of(self.rounds_, part) for part in (_SIZE, _AXES, _GRID, _ACROSS))
        count = min(len(self.features_), max(self.n_clusters - 1, 1), MOST_AXES)
        if len(self.features_) <= _MOST_GRID_FEATURES:
            count, axes, grid, across = len(self.features_), 0, grid + axes + across, 0
        self._require_axes(oracle, count, axes)
        rough = Scaling.common(oracle.schema, self.features_, self.radius)
        scale = 0 if self.radius is not None else SCALE_ROUNDS
        rough = learned(oracle, rough, scale) if scale else rough
        space = ClusterSpace.found(oracle, self._units, rough, count, (size, axes))
        centres, masses, within = self._on_grid(oracle, space, grid)
        left = self.rounds_ - scale - size - axes - grid
        if is_noiseless(oracle.plan([direction_query(self._units)])):
            return self._moved(oracle, centres, masses, Moves(np.eye(len(self.features_)), _WHOLE), left)
        if across:
            within = space.others
            other = Moves(space.complement, _UNIT * within * math.sqrt(len(space.complement)))
            centres = other.across(oracle, self._units, space.origin, centres, masses, across)
        along = Moves(space.axes, _UNIT * within * math.sqrt(count))
        return self._moved(oracle, centres, masses, along, left - across)

    def _require_axes(self, oracle: StatisticalQueryOracle, axes: int, rounds: int) -> None:
        """Refuse where axes would be noise."""
        self.plan_ = oracle.plan([direction_query(self._units)])
        entry = error_after(self.plan_, rounds or self.rounds_) / self.plan_.rows[0].entries ** 0.5
        noise = (
            wigner(entry, len(self.features_)) if rounds else 0.0
        )  # few features need no axes, but people
        self._require_signal(1 / (2 * axes), noise, "a covariance of clusters")

    def _on_grid(
        self, oracle: StatisticalQueryOracle, space: ClusterSpace, rounds: int
    ) -> tuple[Floats, Floats, float]:
        """Centres, their masses, and the spread within a cluster, from the finest grid that is not too noisy."""
        grid = self._finest(oracle, space, rounds)
        query = grid.query(self._units)
        if not space.others:
            self.plan_ = oracle.plan([query])
        error = error_after(oracle.plan([query]), rounds)
        self._require_signal(1 / math.sqrt(self.n_clusters), error, "a histogram of clusters")
        answers = [oracle.answer_vectors([query])[0].values for _ in range(rounds)]
        shares, middles = norm_sub(np.mean(answers, axis=0)), grid.middles
        centres = clustered(middles, shares, self.n_clusters)
        distances = squared_distances(middles, centres)
        masses = np.bincount(distances.argmin(axis=1), shares, len(centres))
        square = float(shares @ distances.min(axis=1)) / len(space.axes)
        within = math.sqrt(max(square - grid.width**2 / 12, grid.width**2 / 4)) / 2  # noise has widened it
        return centres, np.maximum(masses, _LEAST_MASS / len(centres)), within

    def _finest(self, oracle: StatisticalQueryOracle, space: ClusterSpace, rounds: int) -> Grid:
        for intervals in range(_LARGEST_GRID, _SMALLEST_GRID, -1):
            grid = Grid.over(space, intervals)
            if intervals ** len(space.axes) <= _MOST_CELLS:
                planned = oracle.plan([grid.query(self._units)])
                if error_after(planned, rounds) <= (_TURNED_NOISE if space.others else _CELL_NOISE):
                    return grid
        return Grid.over(space, _SMALLEST_GRID)

    def _moved(
        self, oracle: StatisticalQueryOracle, centres: Floats, masses: Floats, moves: Moves, rounds: int
    ) -> Floats:
        """Every round moves the centres, or all rounds together where one is too noisy."""
        error = oracle.plan(moves.queries(self._units, centres)).rows[0].standard_error
        steady = error * len(centres) <= _STEADY
        for _ in range(rounds if steady else 1):
            centres = moves.along(oracle, self._units, centres, masses, 1 if steady else rounds)
        return centres

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
