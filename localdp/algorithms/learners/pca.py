"""Principal components by moments: the eigenvectors of a noisy covariance (Blum, Dwork, McSherry and Nissim 2005).

With noise and no radius: centre and scale are learned of a tenth of the people (`learned_scale`); then the second moments
of directions, `moments(sphere(u))`, are asked, to which everybody adds the same length, and whose eigenvectors are those of
the covariance for every elliptical law (Tyler 1987; Locantore et al. 1999); then how large people are along the axes found.
A single component is found by fewer such moments and then by steps of the power method (`power_steps`): they ask for d
entries instead of d (d + 1) / 2, so they are clearer.

Otherwise, one vector query: the second moments of (a u, b) with u the features in one public unit and 1 the constant, or of
u alone when the features are known to be centred.  The covariance E[u u'] - E[u] E[u]' is taken apart afterwards.

Claim.  With answers without error these are the principal components of the records.  With every entry off by at most
tau, the covariance C is off by at most e = (tau / a**2) d + 2 (tau / (a b)) sqrt(d) in operator norm (b = 0 and a = 1 when
centred: e = tau d); if the first k eigenvalues are more than g > e above the others, the sine of every angle between the
learned and the true span of the first k is at most e / (g - e) (Davis and Kahan 1970, in the form of Weyl and Wedin).
Checked in tests/unit/algorithms/learners/test_pca.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.definition import Measures, features_of
from localdp.algorithms.learners.descent import divided_plan, error_after, is_noiseless
from localdp.algorithms.learners.learned_scale import MARGIN, learned, learned_sizes
from localdp.algorithms.learners.noisy_moments import mean_weight, symmetric, wigner
from localdp.algorithms.learners.power_steps import Turning
from localdp.algorithms.learners.scaling import Scaling, called, factor_of
from localdp.algorithms.learners.transformer import Transformer
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features, numbers_for_prediction
from localdp.algorithms.texts import decimal
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle, VectorAnswer
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

FEATURES, CONSTANT = map(factor_of, (0.8, 0.2))  # a and b
_OF_SCALE, _ROUNDS, _OF_VARIANCES = 16, 42, 2  # centre and scale, directions, and the variances along them
_FIRST = 18  # rounds of second moments, where a single component is then turned by the others
_WORTH = 14.0  # of the others: what these say about the component


class PCA(Transformer):
    """Finds the directions in which people differ most.

    Parameters
    ----------
    n_components : int, default=2
        How many directions to find.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers.
    centred : bool, default=False
        Says that the features have the middle of their ranges as means, so that no means need be learned.
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
    components_ : array
        The directions, one row each, of length 1.
    mean_ : array
        The mean of each feature.
    explained_variance_, explained_variance_ratio_ : array
        The variance along each direction, and its part of all variance.
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
    >>> X = np.column_stack([np.cos(angle), 0.2 * np.sin(angle)])
    >>> learner = PCA(1, centred=True, model="local", epsilon=2.0, bounds=(-1, 1), radius=1.0).fit(X)
    >>> bool(learner.components_[0, 0] > 0.95)
    True
    """

    mean_: Floats
    components_: Floats  # one row each, of length 1
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    _nature = Nature("transformer", transforms=True)
    _outputs = "components_"

    def __init__(
        self,
        n_components: int = 2,
        features: Sequence[str] | None = None,
        centred: bool = False,
        radius: float | None = None,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.centred = centred
        self.radius = radius
        self.check_signal = check_signal
        self.epsilon = epsilon
        self.model = model
        self.bounds = bounds

    def _rounds(self) -> int:
        if self.n_components < 1:
            raise InvalidParameter("there is at least one component to find")
        return 1

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self._rounds()
        self.features_ = features_of(oracle.schema, self.features, None)
        if self.n_components > len(self.features_):
            raise InvalidParameter("there are no more components than features")
        self._scaling = Scaling.common(oracle.schema, self.features_, self.radius)
        rounds, query = _OF_SCALE + _ROUNDS + _OF_VARIANCES, self._direction_query()
        noisy = self.radius is None and not is_noiseless(oracle.plan([query]))
        self._by_directions = (
            noisy and divided_plan(oracle, rounds, [query] * self.n_components) is not None
        )
        return rounds if self._by_directions else 1

    def _direction_query(self) -> str:
        return called("moments", [called("sphere", self._scaling.forms())])

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        if self._by_directions:
            self._learn_by_directions(oracle)
        else:
            self._learn_by_moments(oracle)

    def _learn_by_directions(self, oracle: StatisticalQueryOracle) -> None:
        self.plan_ = oracle.plan([self._direction_query()])
        error = wigner(
            error_after(self.plan_, _ROUNDS) / self.plan_.rows[0].entries ** 0.5, len(self.features_)
        )
        self._require_signal(1 / (2 * self.n_components), error, "a principal component")
        self._scaling = learned(oracle, self._scaling, _OF_SCALE)
        self.mean_, self.components_ = self._scaling.centres, self._directions(oracle)
        sizes = learned_sizes(oracle, self._scaling, self.components_, _OF_VARIANCES)
        width = float(self._scaling.widths[0])
        self.explained_variance_ = np.square(sizes * width)
        self.explained_variance_ratio_ = np.minimum(
            np.square(sizes * MARGIN), 1.0
        )  # of a mean square of 1 / MARGIN**2

    def _directions(self, oracle: StatisticalQueryOracle) -> Floats:
        """The components: of the second moments of directions, and a single one turned towards its people after that."""
        rounds = _FIRST if self.n_components == 1 else _ROUNDS
        answers = [oracle.answer_vectors([self._direction_query()])[0].values for _ in range(rounds)]
        values, axes = principal_axes(symmetric(np.mean(answers, axis=0), len(self.features_)))
        if self.n_components > 1:
            return axes[: self.n_components]
        turning = Turning.of(values, axes, _WORTH)
        for _ in range(_ROUNDS - _FIRST):
            turning.add(oracle.answer_vectors([self._side_query(turning.axis)])[0].values)
        return with_signs(turning.axis[None, :])

    def _side_query(self, axis: Floats) -> str:
        """A person's direction, turned over where it points away from the axis: on average a step of the power method."""
        forms = self._scaling.forms()
        return f"signed({' + '.join(self._scaling.terms(axis))} >= 0, {called('sphere', forms)})"

    def _learn_by_moments(self, oracle: StatisticalQueryOracle) -> None:
        scaling = self._scaling
        query, scale = moments_query(scaling, self.centred), 1.0 if self.centred else FEATURES**2
        self.plan_ = oracle.plan([query])
        # Components that carry half of all variance between them have this much each.
        error = wigner(self.plan_.rows[0].standard_error / scale, len(self.features_))
        self._require_signal(1 / (2 * self.n_components), error, "a principal component")
        means, covariance = covariance_of(oracle.answer_vectors([query])[0], self.centred)
        self._set(means, covariance, scaling)

    def _set(self, means: Floats, covariance: Floats, scaling: Scaling) -> None:
        values, axes = principal_axes(covariance)
        width = float(scaling.widths[0])
        self.mean_ = scaling.centres + width * means
        self.components_ = axes[: self.n_components]
        self.explained_variance_ = values[: self.n_components] * width**2
        self.explained_variance_ratio_ = values[: self.n_components] / max(values.sum(), 1e-300)

    def transform(self, X: Features) -> Floats:  # noqa: N803
        """Where each person stands along the components."""
        self._require_fitted("components_")
        along: Floats = (self._numbers(X) - self.mean_) @ self.components_.T
        return along

    def inverse_transform(self, along: ArrayLike) -> Floats:
        """The features of someone who stands so."""
        self._require_fitted("components_")
        features: Floats = np.asarray(along, np.float64) @ self.components_ + self.mean_
        return features

    def measures(self, truth: Self, records: Records) -> Measures:
        """Also how much of the directions found is within the span of the true ones: a squared cosine, for one of each."""
        inside = np.square(self.components_ @ truth.components_.T).sum() / len(self.components_)
        return {**super().measures(truth, records), "aligned": float(inside)}

    def _scored(self, records: Records) -> float:
        """The part of the variance within the span of the directions found."""
        values = numbers_for_prediction(records, self.features_)
        centred = values - values.mean(axis=0)
        basis, _ = np.linalg.qr(self.components_.T)
        return float(np.square(centred @ basis).sum() / np.square(centred).sum())


def moments_query(scaling: Scaling, centred: bool) -> str:
    """The second moments of the features, and of the constant 1 unless they are centred."""
    forms = scaling.forms() if centred else [*scaling.forms(FEATURES), decimal(CONSTANT)]
    return called("moments", [called("ball", forms)])


def covariance_of(answer: VectorAnswer, centred: bool) -> tuple[Floats, Floats]:
    """Means and covariance of the features in public units; whoever was shortened counts for less."""
    values = answer.values
    size = math.isqrt(2 * len(values))
    moments = symmetric(values, size)
    if centred:
        return np.zeros(size), moments
    scales = np.array([*[FEATURES] * (size - 1), CONSTANT])
    moments /= np.outer(scales, scales)
    error = math.sqrt(float(answer.variance_empirical.mean()))
    moments /= mean_weight(float(moments[-1, -1]), error / CONSTANT**2)
    means = moments[:-1, -1]
    return means, moments[:-1, :-1] - np.outer(means, means)


def principal_axes(covariance: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, falling and not below 0, and eigenvectors as rows whose largest entry is positive."""
    values, vectors = np.linalg.eigh(covariance)
    return np.maximum(values[::-1], 0.0), with_signs(vectors.T[::-1])


def with_signs(axes: Floats) -> Floats:
    """The same axes, the largest entry of each positive."""
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    signed: Floats = axes * np.sign(largest)[:, None]
    return signed
