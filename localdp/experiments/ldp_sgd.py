"""LDP-SGD, the published method that regressions are measured against: one private gradient of each person.

Duchi, Jordan and Wainwright (2013): people are divided among steps; each tells a gradient of at most length 1 through an
epsilon-local randomizer, here PrivUnit (Bhowmick et al. 2018), the best known one and the library's own; the average over
the later steps is the result (Polyak and Juditsky 1992).

    v = (features in public units / radius, constant), within the unit ball
    logistic    (sigma(<w, v>) - y) v
    linear      (<w, v> - t, clipped to [-B, B]) v / B, rounded at random to v or -v: from step to step t is shifted by
                another public number within B, so that the mean is the clipped gradient and every report is as long as v

The method needs to be told how long people's vectors are (`radius`), where residuals are clipped and how large steps are;
none of it may be read off the data.  The defaults are set for the isotropic sets of `datasets.py`, in the method's favour.

Checked in tests/unit/experiments/test_ldp_sgd.py; its figures stand beside ours in docs/learners.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.algorithms.definition import features_of
from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.algorithms.learners.logistic import LogisticRegression
from localdp.algorithms.learners.scaling import Scaling, called, factor_of
from localdp.algorithms.texts import decimal, point
from localdp.domains import BitDomain, IntegerDomain, RealDomain
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.plans import Plan
from localdp.randomness.source import Floats

ROUNDS = 100
RADIUS = 0.4  # two thirds of the typical length of ten features whose bounds are five spreads away, in half ranges
CLIP = 0.25  # B, in half ranges of the target
_RATE_LINEAR, _RATE_LOGISTIC = 2.0, 8.0  # of the first step
_FEATURES, _CONSTANT = map(factor_of, (0.9, 0.1))  # of the squared length of a vector
_AVERAGED = 0.5  # of the steps
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it fill an interval evenly
_KINDS = (BitDomain, IntegerDomain, RealDomain)


@dataclass(frozen=True, slots=True)
class Gradients:
    """What each person is asked for, in the units of a scaling."""

    scaling: Scaling
    ask: Callable[[Floats, str, int], str]  # of weights, a person's vector and the number of the step

    def query(self, weights: Floats, step: int = 0) -> str:
        """One person's gradient at these weights."""
        return self.ask(weights, called("ball", [*self.scaling.forms(_FEATURES), decimal(_CONSTANT)]), step)

    def plan(self, oracle: StatisticalQueryOracle) -> Plan:
        """Of one step."""
        return oracle.plan([self.query(np.zeros(len(self.scaling.names) + 1))])

    def descended(self, oracle: StatisticalQueryOracle, rate: float) -> tuple[Floats, float]:
        """Coefficients and constant, in the columns themselves, on average over the later steps."""
        weights, kept = np.zeros(len(self.scaling.names) + 1), []
        for step in range(ROUNDS):
            answer = oracle.answer_vectors([self.query(weights, step)])[0]
            weights = weights - rate / math.sqrt(step + 1) * answer.values
            kept.append(weights)
        mean = np.mean(kept[-math.ceil(_AVERAGED * ROUNDS) :], axis=0)
        return self.scaling.in_columns(_FEATURES * mean[:-1], _CONSTANT * float(mean[-1]))


class SgdLinear(LinearRegression):
    """Least squares by one private gradient of each person."""

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self.rounds_ = ROUNDS
        return ROUNDS

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self.features_ = features_of(oracle.schema, self.features, self.target)
        scaling = Scaling.each(oracle.schema, self.features_, self.radius or RADIUS)
        labels = Scaling.each(oracle.schema, (self.target,), None)

        def ask(weights: Floats, vector: str, step: int) -> str:
            terms = scaling.terms(_FEATURES * weights[:-1])
            shift = CLIP * (2 * ((step * _GOLDEN) % 1) - 1)
            margin = " + ".join([*terms, decimal(_CONSTANT * float(weights[-1]) + shift)])
            return f"signed({margin} > {labels.forms()[0]}, {vector})"

        gradients = Gradients(scaling, ask)
        self.plan_ = gradients.plan(oracle)
        coefficients, constant = gradients.descended(oracle, _RATE_LINEAR)
        middle, unit = float(labels.centres[0]), float(labels.widths[0])
        self.coef_, self.intercept_ = unit * coefficients, middle + unit * constant


class SgdLogistic(LogisticRegression):
    """The logistic loss by one private gradient of each person."""

    def _announced(self, oracle: StatisticalQueryOracle) -> int:
        self.rounds_ = ROUNDS
        return ROUNDS

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        self._study(oracle.schema, _KINDS)

        def ask(weights: Floats, vector: str, step: int) -> str:
            return f"gradient(logistic, {point(weights)}, {vector}, {self.target})"

        gradients = Gradients(Scaling.each(oracle.schema, self.features_, self.radius or RADIUS), ask)
        self.plan_ = gradients.plan(oracle)
        self.coef_, self.intercept_ = gradients.descended(oracle, _RATE_LOGISTIC)
