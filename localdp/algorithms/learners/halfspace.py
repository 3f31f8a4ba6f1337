"""Halfspaces by averaging: the mean of the labelled directions is the normal of the halfspace (Servedio 1999).

One vector query, m = E[s x / |x|] with s = +1 where the label holds and -1 elsewhere.  If x / |x| is uniform on the sphere
and s is the side of a hyperplane through 0 with normal w, then m = c w with c = E|x_1| / |x|, which is
Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)), about sqrt(2 / (pi d)).  Labels that are flipped with probability eta shrink m by
1 - 2 eta and do not turn it.  Nothing is adapted, so everybody answers the one query.

Claim.  With every entry of m off by at most tau, the halfspace found differs from the true one on a part of at most
arcsin(tau sqrt(d) / c) / pi of such people.  With independent errors of deviation s it differs on about s sqrt(d) / (pi c):
0.030 at n = 1e5, d = 10, epsilon = 1 in the local model.
Where x is no more likely in one direction than in another this is best; otherwise m is turned towards the directions in
which x is long, and `LogisticRegression` is the learner to take.
Checked in tests/unit/algorithms/learners/test_halfspace.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math

import numpy as np

from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.learners.scaling import called
from localdp.algorithms.tables import Features
from localdp.domains import BitDomain, IntegerDomain, RealDomain
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomizers.definition import Floats


class HalfspaceLearner(Classifier):
    """Learns on which side of a hyperplane through 0 the label holds.

    The features should be centred at 0 and of about the same spread; otherwise take `LogisticRegression`.

    Parameters
    ----------
    target : str, default="target"
        The column to predict. With arrays, the name that `y` gets.
    features : list of str, optional
        The columns to learn from. Default: all bits and numbers, but not the target.
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

    def _rounds(self) -> int:
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self._study(oracle.schema, (BitDomain, IntegerDomain, RealDomain))
        require_bit(oracle.schema, self.target)
        query = f"signed({self.target}, {called('sphere', self.features_)})"
        self.plan_ = oracle.plan([query])
        signal = mean_projection(len(self.features_))
        self._require_signal(signal, self.plan_.vector_error, "an average of labelled directions")
        mean = oracle.answer_vectors([query])[0].values
        length = float(np.linalg.norm(mean))
        self.coef_ = mean / length if length > 0 else mean

    def decision_function(self, X: Features) -> Floats:  # noqa: N803
        """How far each person is from the hyperplane, positive where the label is expected."""
        self._require_fitted("coef_")
        distance: Floats = self._numbers(X) @ self.coef_
        return distance

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """1 for the side that a person is on: a halfspace knows no doubt."""
        holds = (self.decision_function(X) > 0).astype(np.float64)
        return np.stack([1 - holds, holds], axis=1)


def mean_projection(dimension: int) -> float:
    """c: the mean absolute value of a coordinate of a uniform point of the sphere."""
    logarithm = math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)
    return math.exp(logarithm) / math.sqrt(math.pi)
