"""Linear forms by one direction of each person: least absolute deviations, descended on the sphere.

The loss is E|m - t| with m = <w, u> the margin and t the target; its gradient is E[sign(m - t) u].  Each person is asked for
`signed(m <= t, sphere(u))`, a vector of length 1: the direction of their gradient and nothing else.  So no report is wasted on
lengths, no bound has to be set, and no step can run away: a step moves w by at most its size (after Duchi, Jordan and
Wainwright 2013, whose private gradients have one length as well).  The people are divided among the steps; the average over
the last half of them is the result (Polyak and Juditsky 1992), whose error is that of the best step size for nearly any.

For t = -1 and 1, and features of an elliptical law, the direction of w is that of least squares (Li and Duan 1989).  For a
number the form is its conditional median: that of the mean where residuals are symmetric; `LinearRegression` corrects the
constant where they are not.

Claims.  With answers without error and enough steps, w minimises E|m - t| / |u| over linear forms, up to the last step's
size.  In the local model at n = 1e5, d = 10, epsilon = 1 the numbers are those of docs/learners.md.
Checked in tests/unit/algorithms/learners/test_descent.py; the numbers in tests/statistical/test_learners_b.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from localdp.algorithms.learners.scaling import called
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

STEPS = (88, 44, 22)  # as many as leave a step's noise no longer than a person's direction
_SIZE = 2.0  # of the first step, for a target of spread 1
_SLOWER = 4.0  # the last step is 1 / (1 + this) of the first
_AVERAGED = 0.5  # of the steps

Condition = Callable[[Floats], str]  # that the margin with these weights is at most the target


def direction_query(condition: str, vector: list[str]) -> str:
    """One person's direction."""
    return f"signed({condition}, {called('sphere', vector)})"


def descended(
    oracle: StatisticalQueryOracle, condition: Condition, vector: list[str], steps: int
) -> Floats:
    """The weights after so many steps, on average over the last of them."""
    weights, kept = np.zeros(len(vector)), []
    for step in range(steps):
        size = _SIZE / (1 + _SLOWER * step / steps)
        answer = oracle.answer_vectors([direction_query(condition(weights), vector)])[0]
        weights = weights + size * answer.values
        kept.append(weights)
    averaged: Floats = np.mean(kept[-math.ceil(_AVERAGED * steps) :], axis=0)
    return averaged


def steps_for(error_of: Callable[[int], float]) -> int:
    """How many steps the people are divided among, by the expected distance of a step from its truth."""
    return next((steps for steps in STEPS if error_of(steps) <= 1.0), STEPS[-1])
