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
from collections.abc import Sequence

import numpy as np

from localdp.algorithms.definition import TARGET
from localdp.algorithms.learners.classifier import Classifier, require_bit
from localdp.algorithms.learners.scaling import called
from localdp.algorithms.tables import Features, numbers_for_prediction
from localdp.domains import BitDomain, IntegerDomain, RealDomain
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomizers.definition import Floats


class HalfspaceLearner(Classifier):
    """Learns on which side of a hyperplane through 0 the label holds."""

    coef_: Floats  # of length 1

    def __init__(
        self, target: str = TARGET, features: Sequence[str] | None = None, check_signal: bool = True
    ) -> None:
        """The target is a bit; the features should be centred at 0 and of about the same spread."""
        self.target = target
        self.features = features
        self.check_signal = check_signal

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
        distance: Floats = numbers_for_prediction(X, self.features_) @ self.coef_
        return distance

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """1 for the side that a person is on: a halfspace knows no doubt."""
        holds = (self.decision_function(X) > 0).astype(np.float64)
        return np.stack([1 - holds, holds], axis=1)


def mean_projection(dimension: int) -> float:
    """c: the mean absolute value of a coordinate of a uniform point of the sphere."""
    logarithm = math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)
    return math.exp(logarithm) / math.sqrt(math.pi)
