"""Linear regression: by descent where answers are noisy, by moments where they are the truth.

With noise, in any trust model: mean and spread of the target, and centre and scale of the features, are learned of a
part of the people (`learned_scale`), the linear form by one direction of each person (`descent`), and the constant is
corrected by the mean of the residuals where that is more than noise explains.  Nothing has to be set.  Residuals count by
their sign, which is best for those of a normal law; where the target is skewed, or noise is small, as in least squares up
to a bound; and where noise is small the form is learned in stages, each on what the last one left, in units of its spread.
Weights that are no longer than noise alone are refused, and predictions are brought within the bounds of the target, so
that people far out do no harm.

Without noise, or with `rounds=1` where every collection is dear, one vector query: the second moments of (a u, b, g t),
with u the features in public units, 1 the constant and t the target brought to [-1, 1]; a**2 + b**2 + g**2 = 1, so that
nobody with |u| <= 1 is shortened.  They contain the normal equations, E[u u'], E[u], E[t u], E[t], which `noisy_moments`
solves with the noise in mind.  In the local model that is not enough: the error of E[t u] does not shrink with what is
unexplained.

Claims.  With answers without error, and nobody shortened, one round is ordinary least squares.  With three features that
fill the ball and every entry off by at most 0.003, R**2 is at most 0.01 below that of least squares.
**Deviation** from moments alone, which reach R**2 = 0.68 at n = 1e5, d = 10, epsilon = 1 in the local model where 0.909 is
possible, with the radius of the data set by hand: the descent reaches 0.90 with nothing set.
Checked in tests/unit/algorithms/learners/test_linear_regression.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from localdp.algorithms.at_hand.bounds import Bounds, Pair
from localdp.algorithms.definition import TARGET, Learner, features_of, labels_of
from localdp.algorithms.learners.descent import (
    Descent,
    error_after,
    error_of_weights,
    is_noiseless,
    part_of,
    rounds_for,
)
from localdp.algorithms.learners.halfspace import mean_projection
from localdp.algorithms.learners.learned_scale import (
    learned,
    learned_spread,
    learned_target,
    mean_residual,
    rounds_of_scale,
)
from localdp.algorithms.learners.logistic_curve import class_share
from localdp.algorithms.learners.noisy_moments import Regressors, mean_weight, shortened, symmetric
from localdp.algorithms.learners.scaling import Scaling, bounds_of, called, factor_of
from localdp.algorithms.scikit_learn import Nature
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import decimal
from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.oracles.plans import Plan
from localdp.randomizers.definition import Floats

MOST_ROUNDS, LEAST_ROUNDS = 1024, 12  # of a descent
_OF_TARGET = 2  # percent of the rounds for the mean of the target, and as many for its spread
_LAST = 6  # percent of the rounds for the mean of the residuals
_FEATURES, _CONSTANT, _TARGET = map(factor_of, (0.5, 0.1, 0.4))  # a, b and g
_FULL, _SOMEWHAT = 2.0, 1.0  # spreads of the target within which residuals count as in least squares
_STAGES, _LEAST_IN_STAGES = 3, 12  # of the steps, and so many of them
_SKEWED = 0.1  # of the people more on one side of the mean than half of them
_TYPICAL_SPREAD = 1 / 3  # of a target in [-1, 1]


class LinearRegression(Learner):
    """Predicts a number by a linear form of the features.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers, but not the target.
    rounds : int, optional
        How often people are asked. Default: a descent, in as many rounds as the noise allows, up to 100; at least 12 when
        given. 1 asks for moments alone: cheaper, and less exact. Without noise moments are all that is asked.
    radius : float, optional
        How long a vector of features is, each in units of half its range: their scale. Default: it is learned.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if what is looked for would drown in the noise. False asks all the same.
    epsilon : float, optional
        Arrays only: what each person spends in a fit, in nats. Every model but "exact" needs it.
    model : {"exact", "curator", "local", "shuffled", "shared"}, optional
        Arrays only: whom people have to trust. There is no default: a fit without it raises.
    bounds : (low, high), list of pairs, or mapping from names to pairs, optional
        Arrays only: what the features can hold, from what is known about them. Every model but "exact" needs them for
        numbers, and "exact" takes the data's own. Data that do not fit are refused, and nothing is spent.
    target_bounds : (low, high), optional
        Arrays only: what `y` can hold, by the same rules as `bounds`.

    Attributes
    ----------
    coef_ : array
        The weight of each feature.
    intercept_ : float
        The constant of the linear form.
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
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> learner = LinearRegression(model="curator", epsilon=1.0, bounds=(-1, 1), target_bounds=(-3, 3))
    >>> learner.fit(X, 2 * X[:, 0] - X[:, 1]).score(X, 2 * X[:, 0] - X[:, 1]) > 0.9
    True
    """

    coef_: Floats
    intercept_: float
    rounds_: int  # that were asked
    _nature = Nature("regressor")
    _possible: Pair | None = None  # what the target can be, where predictions are brought back to it

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        rounds: int | None = None,
        radius: float | None = None,
        check_signal: bool = True,
        *,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        target_bounds: Pair | None = None,
    ) -> None:
        self.target = target
        self.features = features
        self.rounds = rounds
        self.radius = radius
        self.check_signal = check_signal
        self.epsilon = epsilon
        self.model = model
        self.bounds = bounds
        self.target_bounds = target_bounds

    def _rounds(self) -> int:
        if self.rounds is not None and self.rounds != 1 and not LEAST_ROUNDS <= self.rounds <= MOST_ROUNDS:
            raise InvalidParameter(f"a regression has 1 round, or {LEAST_ROUNDS} to {MOST_ROUNDS} rounds")
        return self.rounds or 1

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        given = self._rounds()
        self._study(oracle.schema)
        self._descent = Descent(self._scaling, self._labels.forms()[0])
        self._descends = self.rounds != 1 and not is_noiseless(self._descent.plan(oracle))
        self.rounds_ = 1
        if self._descends:
            self.rounds_ = rounds_for(oracle, self._descent) if self.rounds is None else given
        return self.rounds_

    def _study(self, schema: Schema) -> None:
        """Set the features and the public units, from the schema."""
        self.features_ = features_of(schema, self.features, self.target)
        self._scaling = Scaling.each(schema, self.features_, self.radius)
        self._labels = Scaling.each(schema, (self.target,), None)
        self._possible = None

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        if self._descends:
            self._learn_by_descent(oracle)
        else:
            self._learn_by_moments(oracle)

    def _learn_by_descent(self, oracle: StatisticalQueryOracle) -> None:
        scale = 0 if self.radius is not None else rounds_of_scale(self.rounds_)
        labels, last = part_of(self.rounds_, _OF_TARGET), part_of(self.rounds_, _LAST)
        steps = self.rounds_ - scale - 3 * labels - last
        self.plan_ = self._descent.plan(oracle)
        error = error_after(self.plan_, steps)
        self._require_signal(mean_projection(len(self.features_)), error, "a linear dependence")
        self._labels = learned_target(oracle, self._labels, labels)
        target = self._labels.forms()[0]
        smooth = self._smoothness(oracle, target, labels)
        scaling = learned(oracle, self._scaling, scale, apart=True) if scale else self._scaling
        descent = Descent(scaling, target, shifts=smooth)
        weights = _descended(oracle, descent, steps)
        error = error_of_weights(self.plan_, steps)
        self._require_signal(float(np.linalg.norm(weights[:-1])), error, "a linear dependence")
        shift = mean_residual(oracle, f"{target} - ({descent.margin(weights)})", last)
        coefficients, constant = descent.in_columns(weights)
        self._set(coefficients, constant + shift)
        low, high = bounds_of(oracle.schema, (self.target,))
        self._possible = float(low[0]), float(high[0])

    def _smoothness(self, oracle: StatisticalQueryOracle, target: str, rounds: int) -> float:
        """How far residuals count as in least squares: far where noise is small, and somewhat where a target is skewed."""
        share = class_share(oracle, f"{target} >= 0", rounds)
        if self._descent.is_conditioned(oracle):
            return _FULL
        return 0.0 if abs(share - 0.5) < _SKEWED else _SOMEWHAT

    def _set(self, coefficients: Floats, constant: float) -> None:
        middle, half = float(self._labels.centres[0]), float(self._labels.widths[0])
        self.coef_, self.intercept_ = half * coefficients, middle + half * constant

    def _learn_by_moments(self, oracle: StatisticalQueryOracle) -> None:
        query, size = self._moments_query(), len(self.features_)
        self.plan_ = oracle.plan([query])
        # Features that fill the ball have a covariance of 1 / d; a linear target then has products of this length.
        expected = _TYPICAL_SPREAD / math.sqrt(size)
        error = math.sqrt(size) * _error_of_products(self.plan_)
        self._require_signal(expected, error, "a linear dependence")
        moments = symmetric(oracle.answer_vectors([query])[0].values, size + 2)
        weights, constant = _least_squares(moments, self.plan_.rows[0].standard_error)
        self._set(*self._scaling.in_columns(weights, constant))

    def _moments_query(self) -> str:
        parts = [*self._scaling.forms(_FEATURES), decimal(_CONSTANT), *self._labels.forms(_TARGET)]
        return called("moments", [called("ball", parts)])

    def predict(self, X: Features) -> Floats:  # noqa: N803
        """The expected target of each person."""
        self._require_fitted("coef_")
        predicted: Floats = self._numbers(X) @ self.coef_ + self.intercept_
        return predicted if self._possible is None else np.clip(predicted, *self._possible)

    def score(self, X: Features, y: ArrayLike) -> float:  # noqa: N803
        """R**2: the part of the target's variance that is predicted."""
        target = np.asarray(y, np.float64)
        residual = np.square(target - self.predict(X)).mean()
        return float(1 - residual / np.square(target - target.mean()).mean())

    def _scored(self, records: Records) -> float:
        return self.score(records, labels_of(records, self.target))


def _descended(oracle: StatisticalQueryOracle, descent: Descent, steps: int) -> Floats:
    """The weights after so many rounds; where noise is small, of the target, and then of what is left of it.

    What is left has a spread of its own, so noise and the evenness of shifts count in units of that.
    """
    if descent.shifts != _FULL or steps < _LEAST_IN_STAGES:
        return descent.descended(oracle, steps)
    condition, target, unit = descent.condition(oracle), descent.target, 1.0
    weights = np.zeros(len(descent.entries))
    for stage in range(_STAGES):
        if stage:
            left = f"{target} - ({descent.margin(weights)})"
            stretch = float(
                f"{1 / learned_spread(oracle, left):.3g}"
            )  # few digits: texts multiply out, and numbers end at 30
            unit = 1 / stretch
            descent = replace(descent, target=f"{decimal(stretch)}*({left})")
        rounds = (steps - _STAGES + stage) // _STAGES
        weights = weights + unit * descent.descended(oracle, rounds, condition)
    return weights


def _error_of_products(plan: Plan) -> float:
    """Of an entry of E[t u], from the plan of the first round."""
    return plan.rows[0].standard_error / (math.sqrt(2) * _FEATURES * _TARGET)


def _least_squares(moments: Floats, error: float) -> tuple[Floats, float]:
    """Weights and constant, from the second moments of (a u, b, g t) with errors of this size."""
    scales = np.array([*[_FEATURES] * (len(moments) - 2), _CONSTANT, _TARGET])
    second = moments / np.outer(scales, scales)
    second /= mean_weight(float(second[-2, -2]), error / _CONSTANT**2)
    means, products, mean = second[:-2, -2], second[:-2, -1], float(second[-2, -1])
    of_means = error / (math.sqrt(2) * _FEATURES * _CONSTANT)
    regressors = Regressors.of(second[:-2, :-2], means, error / _FEATURES**2, of_means)
    of_mean = error / (math.sqrt(2) * _CONSTANT * _TARGET)
    return regressors.solve(products, float(shortened(np.array([mean]), of_mean)[0]))
