"""LinearLearner (Algorithm 17, Theorems 11.5 and 11.6): the best point of the simplex for linear losses, privately.

Examples x are vectors in [-1, 1]**d, theta is a point of the simplex, and its loss on x is <theta, x>.  The d corners are
the experts of a weighted majority, the examples its rounds, and the average of what it follows is theta.

**Deviation.** The book feeds losses in [-1, 1] to an algorithm whose privacy (Theorem 11.2) is for losses in [0, 1]: one
example then moves a sum by 2 and not by 1, and Theorem 11.5 holds with 2 epsilon in place of epsilon.  Here the loss of
corner i on x is (1 + x_i) / 2, which changes no minimum and halves every regret.

Checked in tests/unit/algorithms/online/test_linear_learner.py.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.algorithms.online.weighted_majority import (
    RESOLUTION,
    ChosenMajority,
    CountedMajority,
    LocalMajority,
    regret_bound,
)
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats, Numbers, RandomSource


def losses_of(examples: Numbers) -> NDArray[np.int64]:
    """The losses of all corners of the simplex on all examples, on the grid of a weighted majority."""
    table = np.asarray(examples, np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or np.abs(table).max(initial=0.0) > 1:
        raise InvalidParameter("examples are rows of numbers between -1 and 1")
    return np.rint((1 + table) / 2 * RESOLUTION).astype(np.int64)


class LinearLearner:
    """Learns theta with the majority that it is given: the book's, the counting one or the local one."""

    def __init__(self, majority: ChosenMajority | CountedMajority | LocalMajority) -> None:
        self.majority = majority

    def fit(self, examples: Numbers, source: RandomSource) -> LinearLearner:
        """One pass over the examples; what is learned is `theta_`."""
        losses = losses_of(examples)
        self.theta_ = self._followed(losses, source)
        self.claim_ = self.majority.claim
        return self

    def _followed(self, losses: NDArray[np.int64], source: RandomSource) -> Floats:
        theta: Floats
        match self.majority:
            case ChosenMajority() as chosen:
                counts = np.bincount(chosen.actions(losses, source), minlength=losses.shape[1])
                theta = counts / len(losses)
            case CountedMajority() as counted:
                theta = counted.probabilities(losses).mean(axis=0)
            case LocalMajority() as local:
                theta = local.probabilities(losses, source).mean(axis=0)
        return theta


def excess_bound(eta: float, examples: int, corners: int, failure: float, off: float = 0.0) -> float:
    """What theta loses on examples to come, beyond the best point, but for the failure (Theorem 11.6, with constants).

    For T examples that are drawn independently.  Twice the regret, because losses are half of what x has; and three times
    what a sum of T bounded differences is off: actions about their probabilities, and means over these examples about those
    to come, of what is followed and of the best corner (Azuma and Hoeffding, a third of the failure each).  `off`: how far
    private running losses are off, in units of one loss, in no round by more.
    """
    if not 0 < failure < 1:
        raise InvalidParameter("a failure is a probability between 0 and 1")
    regrets = 2 * (regret_bound(eta, examples, corners) + math.expm1(2 * eta * off))
    return regrets + 3 * math.sqrt(2 * math.log(3 / failure) / examples)


def excess_loss(theta: Floats, examples: Numbers) -> float:
    """The mean loss of theta on the examples, beyond that of the best point of the simplex."""
    means = np.asarray(examples, np.float64).mean(axis=0)
    return float(theta @ means - means.min())
