"""Halfspaces: labelled directions, averaged (Servedio 1999), then corrected step by step.

One round asks for m = E[s x / |x|] with s = +1 where the label holds and -1 elsewhere.  If x / |x| is uniform on the sphere
and s is the side of a hyperplane through 0 with normal w, then m = c w with c = E|x_1| / |x|, which is
Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)), about sqrt(2 / (pi d)).  Labels that are flipped with probability eta shrink m by
1 - 2 eta and do not turn it.

That is the first step of a descent (`descent.py`) from w = 0, and the further steps correct it: where x is longer in some
directions than in others, m is turned towards them, and later steps turn it back.  Before them, a few rounds ask how long
people's x are (`learned_scale`).  `rounds=1` is the average alone.

First of all a few rounds ask whether people are around 0 and as many on one side of the plane as on the other.  If not, a
plane through 0 may be worse than a constant, and one with an intercept is learned, as for logistic regression
(`separation`).

Claims.  One round, with every entry of m off by at most tau: the halfspace found differs from the true one on a part of at
most arcsin(tau sqrt(d) / c) / pi of such people; with independent errors of deviation s on about s sqrt(d) / (pi c).
By default, on correlated features: at least 0.9 are predicted right at n = 1e5, d = 10, epsilon = 1 in the local model,
where the average has 0.85.
Checked in tests/unit/algorithms/learners/test_halfspace.py; the numbers in tests/statistical/test_defaults.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localdp.algorithms.at_hand.bounds import Bounds
from localdp.algorithms.at_hand.labels import Classes
from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.learners.descent import (
    Descent,
    error_after,
    part_of,
    rounds_for,
)
from localdp.algorithms.learners.learned_scale import resized
from localdp.algorithms.learners.logistic_curve import class_share
from localdp.algorithms.learners.noisy_moments import is_more_than_noise
from localdp.algorithms.learners.scaling import Scaling, bounds_of, called
from localdp.algorithms.learners.separation import LinearSeparation
from localdp.algorithms.tables import Features
from localdp.domains import BitDomain, IntegerDomain, RealDomain, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import ModelName
from localdp.randomizers.definition import Floats

MOST_ROUNDS = 1024
_SCALE = 4  # percent of the rounds for the scale
_SMALLEST_STEP = 1.0
_ROUNDS_OF_CHECK, _SURE = 2, 2.5  # for whether the plane says anything, and by how many standard errors
_CENTRED = 0.03  # mean of directions that counts as none
_ROUNDS_OF_CENTRE, _LEAST_OF_CENTRE = (
    4,
    12,
)  # rounds for whether the plane may be through 0, of at least so many


class HalfspaceLearner(Classifier):
    """Learns on which side of a hyperplane the label holds.

    Through 0 if people are around 0 and classes are even, and with an intercept where they are not.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers, but not the target.
    rounds : int, optional
        How often people are asked. Default: as often as the noise allows, up to 100 times. Once is the average of the
        labelled directions, which is right where the features have about the same spread and do not depend on each other.
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
        The normal of the hyperplane, of length 1.
    intercept_ : float
        What is added to the projection on the normal; 0 for a plane through 0.
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
    >>> angle = np.linspace(0, 6.28, 20_000)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> learner = HalfspaceLearner(model="local", epsilon=2.0, bounds=(-1, 1)).fit(X, X[:, 0] > X[:, 1])
    >>> learner.score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    """

    coef_: Floats  # of length 1
    intercept_: float
    rounds_: int  # that were asked

    def __init__(
        self,
        target: str = TARGET,
        features: Sequence[str] | None = None,
        rounds: int | None = None,
        check_signal: bool = True,
        epsilon: float | None = None,
        model: ModelName | None = None,
        bounds: Bounds | None = None,
        classes: Classes | None = None,
    ) -> None:
        super().__init__(target, features, check_signal, epsilon, model, bounds, classes)
        self.rounds = rounds

    def _rounds(self) -> int:
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidParameter(f"a halfspace has 1 to {MOST_ROUNDS} rounds")
        return self.rounds or 1

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self.rounds_ = self._rounds()
        self._study(oracle.schema, (BitDomain, IntegerDomain, RealDomain))
        require_bit(oracle.schema, self.target)
        self._descent = self._through_zero(_around_zero(oracle.schema, self.features_))
        if self.rounds is None:
            self.rounds_ = rounds_for(oracle, self._descent)
        return self.rounds_

    def _through_zero(self, scaling: Scaling) -> Descent:
        return Descent(scaling, f"2*{self.target} - 1", constant=False, smallest=_SMALLEST_STEP)

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        asked = _ROUNDS_OF_CENTRE if self.rounds_ >= _LEAST_OF_CENTRE else 0
        scale = part_of(self.rounds_, _SCALE) if self.rounds_ > 1 else 0  # one step needs none
        self.plan_ = self._descent.plan(oracle)
        error = error_after(self.plan_, self.rounds_ - scale - asked)
        self._require_signal(
            mean_projection(len(self.features_)), error, "an average of labelled directions"
        )
        if asked and not self._is_centred(oracle, asked):
            normal, intercept = self._anywhere(oracle, self.rounds_ - asked)
        else:
            normal, intercept = self._around(oracle, scale, self.rounds_ - scale - asked)
        length = max(float(np.linalg.norm(normal)), 1e-300)
        self.coef_, self.intercept_ = normal / length, intercept / length

    def _is_centred(self, oracle: StatisticalQueryOracle, rounds: int) -> bool:
        """Whether people are around 0 and classes are even, as far as can be told."""
        half = rounds // 2
        if class_share(oracle, self.target, half) != 0.5:
            return False
        query = called("sphere", self._descent.scaling.forms())
        answers = [oracle.answer_vectors([query])[0] for _ in range(rounds - half)]
        mean = np.mean([answer.values for answer in answers], axis=0)
        variance = float(np.mean([answer.variance_empirical.mean() for answer in answers])) / len(answers)
        return not is_more_than_noise(mean, variance + _CENTRED**2 / len(mean))

    def _around(self, oracle: StatisticalQueryOracle, scale: int, steps: int) -> tuple[Floats, float]:
        """Through 0."""
        if scale:
            self._descent = self._through_zero(resized(oracle, self._descent.scaling, scale))
        checked = _ROUNDS_OF_CHECK if scale and steps > _LEAST_OF_CENTRE else 0
        weights = self._descent.descended(oracle, steps - checked)
        if checked:
            self._require_agreement(oracle, self._descent.margin(weights), checked)
        return self._descent.in_columns(weights)

    def _require_agreement(self, oracle: StatisticalQueryOracle, margin: str, rounds: int) -> None:
        """Refuse a plane on whose sides labels are as on any."""
        above = f"{margin} >= 0"
        query = f"({above} and {self.target}) or (not {above} and not {self.target})"
        answers = [oracle.answer([query])[0] for _ in range(rounds)]
        variance = float(np.mean([answer.variance_empirical for answer in answers])) / rounds
        agreed = float(np.mean([answer.value for answer in answers]))
        self._require_signal(agreed - 0.5, _SURE * math.sqrt(variance), "a linear margin of labels")

    def _anywhere(self, oracle: StatisticalQueryOracle, rounds: int) -> tuple[Floats, float]:
        """With a constant, as a logistic regression."""
        scaling = Scaling.each(oracle.schema, self.features_, None)
        descent = Descent(scaling, f"2*{self.target} - 1", shifts=1.0)
        conditioned = descent.is_conditioned(oracle)
        parts = LinearSeparation.of(self.target, rounds, scaled=True, conditioned=conditioned)
        return parts.found(oracle, scaling, self._require_signal)

    def decision_function(self, X: Features) -> Floats:  # noqa: N803
        """How far each person is from the hyperplane, positive where the label is expected."""
        self._require_fitted("coef_")
        distance: Floats = self._numbers(X) @ self.coef_ + self.intercept_
        return distance

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """1 for the side that a person is on: a halfspace knows no doubt."""
        holds = (self.decision_function(X) > 0).astype(np.float64)
        return np.stack([1 - holds, holds], axis=1)


def _around_zero(schema: Schema, names: Sequence[str]) -> Scaling:
    """Units in which nobody is longer than 1, from 0."""
    lows, highs = bounds_of(schema, names)
    furthest = np.maximum(np.abs(lows), np.abs(highs))
    return Scaling.around(names, np.zeros(len(names)), math.sqrt(len(names)) * furthest)


def mean_projection(dimension: int) -> float:
    """c: the mean absolute value of a coordinate of a uniform point of the sphere."""
    logarithm = math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)
    return math.exp(logarithm) / math.sqrt(math.pi)
