"""Logistic regression: by descent where answers are noisy, by moments and gradients where they are the truth.

The model is Pr[y = 1] = sigma(<w, u> + w_0).

With noise, in any trust model: centre and scale of the features are learned of a part of the people (`learned_scale`),
the direction of w by one direction of each person (`descent`), and slope and shift of the logistic curve from a table
of margins and labels (`logistic_curve`; Platt 1999).  Nothing has to be set.  **Deviation** from gradients (sigma - y)
u: they are short wherever the model is right, and their noise is not.

Without noise, or when `rounds` are given, u are the features in public units, v = ball(a u, b), a**2 + b**2 = 1:

- First round: `moments(v, 2*y - 1)`, all second moments of v and its products with the sign s of the label.  Least squares
  of s on u have the direction of w for every elliptical law of u (Brillinger 1982), and are solved with the noise in mind
  (`noisy_moments`).  The length of w is the one at which normal margins m with the moments found agree with the labels as
  often as these do: E[tanh(k m / 2) m] = E[s m].
- Further rounds: `gradient(logistic, w, v, y)`, each step with four times the inverse of the covariance, which is at least
  the inverse of every Hessian (Boehning and Lindsay 1988), and Nesterov's momentum.  Whoever is longer than `radius` is
  shortened where people are asked, and not in `predict`.

Claims.  With answers without error the rounds converge to the maximum of the likelihood.  With three features that fill
the ball, labels of one side of a plane, and every entry off by at most 0.01, at least 95 % are predicted right.
Checked in tests/unit/algorithms/learners/test_logistic.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.learners.descent import Descent, error_after, is_noiseless, rounds_for
from localdp.algorithms.learners.halfspace import mean_projection
from localdp.algorithms.learners.noisy_moments import Regressors, shortened, symmetric
from localdp.algorithms.learners.scaling import Scaling, called, factor_of
from localdp.algorithms.learners.separation import LinearSeparation
from localdp.algorithms.tables import Features
from localdp.algorithms.texts import decimal, point
from localdp.domains import BitDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

MOST_ROUNDS = 1024
_FEATURES, _CONSTANT = map(factor_of, (0.9, 0.1))  # a and b
_EXACT_ROUNDS = 20  # where answers are the truth
_LARGEST_MARGIN = 30.0  # in standard deviations times length: beyond it a logistic curve is a step
_LEAST_KNOWN = (
    0.1  # of a variance along the weights, with its eigenvalues raised: below it noise has taken it
)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


class LogisticRegression(Classifier):
    """Predicts the probability of a bit by a linear form of the features.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers, but not the target.
    rounds : int, optional
        How often people are asked: once for moments, then for gradients. Default: a descent, in as many rounds as the
        noise allows, up to 100; 20 rounds of moments and gradients where there is no noise.
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
    classes : list, optional
        Arrays only: the labels that `y` can have. Not needed for truth values and for 0 and 1, nor by "exact", which takes
        those that occur.

    Attributes
    ----------
    coef_ : array
        The weight of each feature.
    intercept_ : float
        The constant of the linear form.
    rounds_ : int
        The rounds that were asked.
    classes_ : array
        The classes, in rising order.
    features_ : tuple of str
        The columns that it learned from, in the order of what was learned.
    n_features_in_, feature_names_in_ : int, array of str
        How many features there were, and their names if they had some.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        The error that was to be expected, what was asked and spent, and what is promised.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.linspace(0, 100, 20_000)[:, None]
    >>> learner = LogisticRegression(model="local", epsilon=4.0, bounds=(0, 100)).fit(age, age[:, 0] > 50)
    >>> learner.score(age, age[:, 0] > 50) > 0.9
    True
    """

    coef_: Floats
    intercept_: float
    rounds_: int  # that were asked

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
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.rounds = rounds
        self.radius = radius

    def _rounds(self) -> int:
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidParameter(f"a logistic regression has 1 to {MOST_ROUNDS} rounds")
        return self.rounds or 1

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self.rounds_ = self._rounds()
        self._prepare(oracle.schema)
        self._descent = Descent(self._scaling, f"2*{self.target} - 1", shifts=1.0)
        self._descends = self.rounds is None and not is_noiseless(self._descent.plan(oracle))
        if self._descends:
            self.rounds_ = rounds_for(oracle, self._descent)
        elif self.rounds is None:
            self.rounds_ = _EXACT_ROUNDS
        return self.rounds_

    def _prepare(self, schema: Schema) -> None:
        """Set the features and the public units, from the schema."""
        self._study(schema, (BitDomain, IntegerDomain, RealDomain))
        require_bit(schema, self.target)
        self._scaling = Scaling.each(schema, self.features_, self.radius)
        self._vector = called("ball", [*self._scaling.forms(_FEATURES), decimal(_CONSTANT)])

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        if self._descends:
            self._learn_by_descent(oracle)
        else:
            self._learn_by_moments(oracle)

    def _learn_by_descent(self, oracle: StatisticalQueryOracle) -> None:
        conditioned = self._descent.is_conditioned(oracle)
        parts = LinearSeparation.of(
            self.target, self.rounds_, scaled=self.radius is None, conditioned=conditioned
        )
        self.plan_ = self._descent.plan(oracle)
        error = error_after(self.plan_, parts.steps)
        self._require_signal(mean_projection(len(self.features_)), error, "a linear margin")
        self.coef_, self.intercept_ = parts.found(oracle, self._scaling, self._require_signal)

    def _learn_by_moments(self, oracle: StatisticalQueryOracle) -> None:
        query, size = f"moments({self._vector}, 2*{self.target} - 1)", len(self.features_)
        self.plan_ = oracle.plan([query])
        error = math.sqrt(2) * self.plan_.rows[0].standard_error
        self._require_signal(mean_projection(size), math.sqrt(size) * error / _FEATURES, "a linear margin")
        values = math.sqrt(2) * oracle.answer_vectors([query])[0].values
        regressors, products, mean = _regression(values, size, error)
        weights, constant = _lengthened(regressors, products, mean)
        weights, constant = self._descended(oracle, regressors, weights, constant)
        self.coef_, self.intercept_ = self._scaling.in_columns(weights, constant)

    def _descended(
        self, oracle: StatisticalQueryOracle, regressors: Regressors, weights: Floats, constant: float
    ) -> tuple[Floats, float]:
        """All further rounds."""
        before = ahead = np.array([*weights, constant])
        for number in range(1, self.rounds_):
            gradient = oracle.answer_vectors([self._gradient_query(ahead[:-1], float(ahead[-1]))])[0].values
            step, shift = regressors.solve(gradient[:-1] / _FEATURES, float(gradient[-1]) / _CONSTANT)
            reached = ahead - 4 * np.array([*step, shift])
            ahead = reached + (number - 1) / (number + 2) * (reached - before)
            before = reached
        return before[:-1], float(before[-1])

    def _gradient_query(self, weights: Floats, constant: float) -> str:
        at = point([*(weights / _FEATURES), constant / _CONSTANT])
        return f"gradient(logistic, {at}, {self._vector}, {self.target})"

    def decision_function(self, X: Features) -> Floats:  # noqa: N803
        """The margin of each person: the logarithm of the odds that the label holds."""
        self._require_fitted("coef_")
        margin: Floats = self._numbers(X) @ self.coef_ + self.intercept_
        return margin

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """The probability that the label does not hold, and that it does."""
        half = np.tanh(self.decision_function(X) / 2) / 2
        return np.stack([0.5 - half, 0.5 + half], axis=1)


def _regression(values: Floats, size: int, error: float) -> tuple[Regressors, Floats, float]:
    """Of the sign of the label on the features: the regressors, E[s u] and E[s]."""
    cut = (size + 1) * (size + 2) // 2
    second, products = symmetric(values[:cut], size + 1), values[cut:]
    means = second[:-1, -1] / (_FEATURES * _CONSTANT)
    of_means = error / (math.sqrt(2) * _FEATURES * _CONSTANT)
    regressors = Regressors.of(second[:-1, :-1] / _FEATURES**2, means, error / _FEATURES**2, of_means)
    mean = shortened(products[-1:] / _CONSTANT, error / _CONSTANT)
    return regressors, products[:-1] / _FEATURES, float(mean[0])


def _lengthened(regressors: Regressors, products: Floats, mean: float) -> tuple[Floats, float]:
    """Least squares, times the length that makes normal margins agree with the labels as often as these do."""
    weights, constant = regressors.solve(products, mean)
    # Noise may leave next to nothing of a covariance, or less: then the length follows from what was divided by.
    divided = _LEAST_KNOWN * float(weights @ (products - regressors.means * mean))
    spread = math.sqrt(max(float(weights @ regressors.covariance @ weights), divided, 1e-300))
    agreement = float(weights @ products) + constant * mean
    margins = mean + spread * _NODES
    low, high = 0.0, _LARGEST_MARGIN / spread
    for _ in range(60):
        middle = (low + high) / 2
        found = float(_WEIGHTS @ (np.tanh(middle * margins / 2) * margins)) / math.sqrt(2 * math.pi)
        low, high = (middle, high) if found < agreement else (low, middle)
    return weights * low, constant * low
