"""Linear forms by one direction of each person: least absolute deviations, descended on the sphere.

The loss is E|m - t| with m = <w, u> the margin and t the target; its gradient is E[sign(m - t) u].  Each person is
asked for `signed(m <= t, sphere(u))`, a vector of length 1: the direction of their gradient and nothing else.  So no
report is wasted on lengths, no bound has to be set, and no step can run away: it moves w by its size and its noise
(after Duchi, Jordan and Wainwright 2013, whose private gradients have one length as well).  The people are divided
among the steps; the average over the last half of them is the result (Polyak and Juditsky 1992), whose error hardly
depends on the size of the steps.

Where t is shifted by up to B from step to step, evenly, the loss is smooth: its gradient is E[clip((m - t) / B, -1, 1) u],
that of least squares within B.  For labels, -1 and 1, a margin is then about the mean of uncertain labels, and not the
label of the majority.

For t = -1 and 1, and features of an elliptical law, the direction of w is that of least squares (Li and Duan 1989).  For a
number the form is its conditional median: that of the mean where residuals are symmetric; `LinearRegression` corrects the
constant where they are not.

Claims.  With answers without error and enough steps, w minimises E|m - t| / |u| over linear forms, up to the size of the
last steps.  In the local model at n = 1e5, d = 10, epsilon = 1 the numbers are those of docs/learners.md.
Checked in tests/unit/algorithms/learners/test_descent.py; the numbers in tests/statistical/test_defaults.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.learners.scaling import Scaling, called, factor_of
from localdp.algorithms.texts import decimal
from localdp.errors import TooFewReports
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.plans import Plan
from localdp.randomness.source import Floats

# All rounds of a learner: as many as leave a step's noise no longer than a direction.
ROUNDS = (100, 50, 25, 12)
_FEATURES, _CONSTANT = map(factor_of, (0.9, 0.1))  # of the squared length of a vector, at the learned scale
_SMALLEST, _LARGEST = 2.0, 5.0  # size of the first step, for a target of spread 1
_NOISE = 0.5  # that a first step may have, if it is not a smallest one
_SLOWER = 4.0  # the last step is 1 / (1 + this) of the first
_AVERAGED = 0.5  # of the steps
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it fill an interval evenly
_NEGLIGIBLE = 1e-4  # error of a direction


def part_of(rounds: int, percent: int) -> int:
    """So many of a hundred rounds, and at least one."""
    return max(1, rounds * percent // 100)


@dataclass(frozen=True, slots=True)
class Descent:
    """A linear form that is looked for: of these features, with a constant or through 0, to predict this target."""

    scaling: Scaling
    target: str  # a linear form whose values are about 1 apart
    constant: bool = True
    shifts: float = 0.0  # largest shift of the target, from step to step

    @property
    def entries(self) -> list[str]:
        """Of a person's vector, before it is brought to length 1."""
        return (
            [*self.scaling.forms(_FEATURES), decimal(_CONSTANT)] if self.constant else self.scaling.forms()
        )

    def margin(self, weights: Floats) -> str:
        """The form with these weights, as an expression."""
        if not self.constant:
            return " + ".join(self.scaling.terms(weights))
        terms = self.scaling.terms(_FEATURES * weights[:-1])
        return " + ".join([*terms, decimal(_CONSTANT * float(weights[-1]))])

    def query(self, weights: Floats, step: int = 0) -> str:
        """One person's direction at these weights; the target is shifted by another public number in every step."""
        shift = self.shifts * (2 * ((step * _GOLDEN) % 1) - 1)
        target = f"{self.target} - {decimal(shift)}" if self.shifts else self.target
        return f"signed({self.margin(weights)} <= {target}, {called('sphere', self.entries)})"

    def plan(self, oracle: StatisticalQueryOracle) -> Plan:
        """Of one step."""
        return oracle.plan([self.query(np.zeros(len(self.entries)))])

    def descended(self, oracle: StatisticalQueryOracle, steps: int, first: float | None = None) -> Floats:
        """The weights after so many steps, on average over the last of them; `first` is the size of the first one."""
        noise = self.plan(oracle).vector_error
        size = first or min(max(_SMALLEST, _NOISE / max(noise, 1e-9)), _LARGEST)
        weights, kept = np.zeros(len(self.entries)), []
        for step in range(steps):
            answer = oracle.answer_vectors([self.query(weights, step)])[0]
            weights = weights + size / (1 + _SLOWER * step / steps) * answer.values
            kept.append(weights)
        averaged: Floats = np.mean(kept[-math.ceil(_AVERAGED * steps) :], axis=0)
        return averaged

    def in_columns(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept of the form in the columns themselves."""
        if not self.constant:
            return self.scaling.in_columns(weights, 0.0)
        return self.scaling.in_columns(_FEATURES * weights[:-1], _CONSTANT * float(weights[-1]))


def rounds_for(oracle: StatisticalQueryOracle, descent: Descent) -> int:
    """Among how many rounds people are divided: as many as leave enough of them for each, and little enough noise."""
    queries = [descent.query(np.zeros(len(descent.entries)))]
    for rounds in ROUNDS:
        plan = divided_plan(oracle, rounds, queries)
        if plan is not None and plan.vector_error <= 1.0:
            return rounds
    return ROUNDS[-1]


def divided_plan(oracle: StatisticalQueryOracle, rounds: int, queries: list[str]) -> Plan | None:
    """Of one of so many rounds; None if there are too few people to divide."""
    try:
        return oracle.in_rounds(rounds).plan(queries)
    except TooFewReports:  # to be mixed
        return None


def error_after(plan: Plan, steps: int) -> float:
    """How far off all steps together are expected to be, on average: noise averages out, and a bound does not."""
    certain = any(row.certain for row in plan.rows)
    return plan.vector_error if certain else plan.vector_error / math.sqrt(steps)


def is_noiseless(plan: Plan) -> bool:
    """Whether answers are as good as the truth."""
    return plan.vector_error <= _NEGLIGIBLE
