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

Where noise is so small that one round tells the second moments E[u u' / |u|**2], as with a curator or shares of many
people, steps are multiplied with their inverse, and a quarter of the rounds is enough.  Fewer rounds are better there: each
has its part of epsilon, so the average of T steps has a noise of order sqrt(T).

For t = -1 and 1, and features of an elliptical law, the direction of w is that of least squares (Li and Duan 1989).  For a
number the form is its conditional median: that of the mean where residuals are symmetric; `LinearRegression` corrects the
constant where they are not.

Claims.  With answers without error and enough steps, w minimises E|m - t| / |u| over linear forms, up to the size of the
last steps.  In the local model at n = 1e5, d = 10, epsilon = 1 the numbers are those of docs/learners.md.
Checked in tests/unit/algorithms/learners/test_descent.py; the numbers in tests/statistical/test_defaults.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from localdp.algorithms.learners.noisy_moments import symmetric, wigner
from localdp.algorithms.learners.scaling import Scaling, called, factor_of
from localdp.algorithms.texts import decimal
from localdp.errors import TooFewReports
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.plans import Plan
from localdp.randomness.source import Floats

# All rounds of a learner: as many as leave a step's noise no longer than a direction.
ROUNDS = (100, 50, 25, 12)
_FEATURES, _CONSTANT = map(factor_of, (0.9, 0.1))  # of the squared length of a vector, at the learned scale
_LARGEST = (
    12.0  # size of the first step: the last one is then no larger than the curvature of any vectors allows
)
_NOISE = 0.25  # of a direction: where it has less, steps are larger in proportion
_SLOWER = 4.0  # the last step is 1 / (1 + this) of the first
CONDITIONED, _LEAST_CONDITIONED = 25, 8  # rounds where the second moments are known
_MOST_CONDITIONED = 128  # entries: they have as many second moments as half of the square of this
_CLEAR = 0.5  # error of the second moments that may be, in units of their mean eigenvalue
_LEAST_VALUE = 0.02  # in the same units: smaller eigenvalues are raised
_FULL_STEP = 1.25  # times the inverse of the second moments of directions
_AVERAGED = 0.5  # of the steps
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it fill an interval evenly
_RARELY = 4.0  # standard deviations of the squared length of noise
_OF_LATER = 1.5  # times the noise of all steps, of which the later ones are averaged
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
    smallest: float = 2.0  # size of the first step, for a target of spread 1, however large the noise is

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
        target = f"{self.target} - {decimal(self.shifts * _shift(step))}" if self.shifts else self.target
        return f"signed({self.margin(weights)} <= {target}, {called('sphere', self.entries)})"

    def plan(self, oracle: StatisticalQueryOracle) -> Plan:
        """Of one step."""
        return oracle.plan([self.query(np.zeros(len(self.entries)))])

    def descended(
        self, oracle: StatisticalQueryOracle, rounds: int, condition: Floats | None = None
    ) -> Floats:
        """The weights after so many rounds, on average over the last of them; with a `condition` if one is known."""
        if condition is not None:
            return self._stepped(oracle, rounds, _FULL_STEP * condition)
        if rounds > _LEAST_CONDITIONED and self.is_conditioned(oracle):
            return self._stepped(oracle, rounds - 1, _FULL_STEP * self.condition(oracle))
        noise = self.plan(oracle).vector_error
        size = min(self.smallest * max(_NOISE / max(noise, 1e-9), 1.0), _LARGEST)
        return self._stepped(oracle, rounds, size * np.eye(len(self.entries)))

    @property
    def moments_query(self) -> str:
        """The second moments of directions: how steps should be turned and stretched."""
        return called("moments", [called("sphere", self.entries)])

    def is_conditioned(self, oracle: StatisticalQueryOracle) -> bool:
        """Whether one round of this oracle tells the second moments of directions well enough to divide by them."""
        if len(self.entries) > _MOST_CONDITIONED:
            return False
        return self._error_of_moments(oracle.plan([self.moments_query])) <= _CLEAR / len(self.entries)

    def _error_of_moments(self, plan: Plan) -> float:
        """Of the largest eigenvalue."""
        return wigner(plan.rows[0].standard_error, len(self.entries))

    def condition(self, oracle: StatisticalQueryOracle) -> Floats:
        """The inverse of the second moments of directions, with small eigenvalues raised."""
        error, size = self._error_of_moments(oracle.plan([self.moments_query])), len(self.entries)
        answer = oracle.answer_vectors([self.moments_query])[0]
        values, axes = np.linalg.eigh(symmetric(answer.values, size))
        inverse: Floats = (axes / np.maximum(values, max(error, _LEAST_VALUE / size))) @ axes.T
        return inverse

    def _stepped(self, oracle: StatisticalQueryOracle, steps: int, first: Floats) -> Floats:
        weights, kept = np.zeros(len(self.entries)), []
        for step in range(steps):
            answer = oracle.answer_vectors([self.query(weights, step)])[0]
            weights = weights + first @ answer.values / (1 + _SLOWER * step / steps)
            kept.append(weights)
        return late_average(kept)

    def shifted(self, weights: Floats, by: float) -> Floats:
        """The weights of margins that are larger by so much."""
        return np.array([*weights[:-1], weights[-1] + by / _CONSTANT])

    def labelled(self, oracle: StatisticalQueryOracle, rounds: int) -> tuple[Floats, Floats]:
        """E[t u] of a target at -1 and 1, and the inverse of the second moments of directions; one round is for these."""
        query = f"signed({self.target} >= 0, {called('sphere', self.entries)})"
        means = [oracle.answer_vectors([query])[0].values for _ in range(rounds - 1)]
        return np.mean(means, axis=0), self.condition(oracle)

    def refined(
        self, oracle: StatisticalQueryOracle, start: Floats, condition: Floats, rounds: int
    ) -> Floats:
        """The weights after so many full steps, on average over all but the first."""
        kept = self._walked(oracle, start, _FULL_STEP * condition, rounds)
        return average_of_others(kept)

    def sharpened(
        self, oracle: StatisticalQueryOracle, start: Floats, mean: Floats, condition: Floats, rounds: int
    ) -> list[Floats]:
        """Steps to where E[clip(m, -1, 1) u] is E[t u]: of a ramp, which looks at people near to the other class."""
        ramp = replace(self, target="0", shifts=1.0)
        return ramp._walked(oracle, start, condition, rounds, mean)

    def _walked(
        self,
        oracle: StatisticalQueryOracle,
        start: Floats,
        condition: Floats,
        rounds: int,
        more: Floats | float = 0.0,
    ) -> list[Floats]:
        """The weights after each of so many steps, with so much more than is answered."""
        weights, kept = start, []
        for step in range(rounds):
            answer = oracle.answer_vectors([self.query(weights, step)])[0]
            weights = weights + condition @ (answer.values + more)
            kept.append(weights)
        return kept

    def in_columns(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept of the form in the columns themselves."""
        if not self.constant:
            return self.scaling.in_columns(weights, 0.0)
        return self.scaling.in_columns(_FEATURES * weights[:-1], _CONSTANT * float(weights[-1]))


def average_of_others(kept: list[Floats]) -> Floats:
    """The mean of all but the first."""
    averaged: Floats = np.mean(kept[1:] or kept, axis=0)
    return averaged


def late_average(kept: list[Floats]) -> Floats:
    """The mean of the last ones, in whole pairs."""
    whole = kept[: len(kept) // 2 * 2] or kept
    averaged: Floats = np.mean(whole[-2 * math.ceil(_AVERAGED * len(whole) / 2) :], axis=0)
    return averaged


def _shift(step: int) -> float:
    """Evenly spread over [-1, 1]; the steps of a pair have opposite ones, so that no side is favoured for long."""
    pair = step // 2
    size = (pair * _GOLDEN) % 1
    return size if (step + pair) % 2 == 0 else -size


def rounds_for(oracle: StatisticalQueryOracle, descent: Descent) -> int:
    """Among how many rounds people are divided: as many as leave enough of them for each, and little enough noise."""
    queries = [descent.query(np.zeros(len(descent.entries)))]
    if divided_plan(oracle, CONDITIONED, queries) and descent.is_conditioned(oracle.in_rounds(CONDITIONED)):
        return CONDITIONED
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


def error_of_weights(plan: Plan, steps: int) -> float:
    """As long as weights of noise alone hardly ever are, where directions are all alike."""
    size = plan.rows[0].entries
    return _OF_LATER * size * error_after(plan, steps) * math.sqrt(1 + _RARELY * math.sqrt(2 / size))


def is_noiseless(plan: Plan) -> bool:
    """Whether answers are as good as the truth."""
    return plan.vector_error <= _NEGLIGIBLE
