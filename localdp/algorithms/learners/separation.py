"""Two classes told apart by a linear form, in noisy answers: what logistic regression and halfspaces have in common.

1. The share of a class.  Where classes are uneven, a descent is cut nearer to the rare one (`logistic_curve.threshold_of`),
   and more people say where.
2. Centre and scale of the features (`learned_scale`).
3. The descent on labels (`descent`): least squares within 1, whose direction is right for features of an elliptical law.
   Where noise is so small that steps are conditioned, one solution of least squares instead, and then a ramp about the
   threshold (`Descent.sharpened`), whose direction is right for features of any law, if the classes lie apart.  It has
   twice the noise, so where classes are even it is drawn towards least squares by as much as noise explains
   (`noisy_moments.combined`): for features of an elliptical law nearly all the way.
4. A form that is not clearly longer than noise alone would be is refused: a constant may be as good.
5. Slope and threshold from a table of margins and labels (`logistic_curve`).

Checked in tests/unit/algorithms/learners/test_separation.py; the numbers in tests/statistical/test_hard_sets.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from localdp.algorithms.learners.descent import (
    Descent,
    average_of_others,
    error_of_weights,
    late_average,
    part_of,
)
from localdp.algorithms.learners.learned_scale import learned, rounds_of_scale
from localdp.algorithms.learners.logistic_curve import (
    class_share,
    fitted_bell,
    fitted_curve,
    threshold_of,
)
from localdp.algorithms.learners.noisy_moments import combined
from localdp.algorithms.learners.scaling import Scaling
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Floats

_LABELS, _CURVE, _SHARP = 2, 6, 48  # percent of the rounds
_LEAST_OF_CURVE, _LEAST_SHARP = 3, 20
_MORE_LABELS, _MORE_CURVE = 2, 1  # times as many again, where classes are uneven
_REFINED = 42  # percent of the rounds of a ramp are for least squares first, where classes are even
_WINDOW = 0.42  # half the width of a ramp, in spreads of margins
_WITHIN = 0.33  # the part of normal margins that are on such a ramp

Require = Callable[[float, float, str], None]  # a signal to be above an error, and what it is of


@dataclass(frozen=True, slots=True)
class LinearSeparation:
    """A linear form that is looked for in so many rounds, those of each part."""

    target: str
    labels: int
    scale: int
    steps: int
    sharp: int
    curve: int

    @classmethod
    def of(cls, target: str, rounds: int, *, scaled: bool, conditioned: bool) -> Self:
        """So many rounds, divided."""
        labels, curve = part_of(rounds, _LABELS), max(_LEAST_OF_CURVE, part_of(rounds, _CURVE))
        scale = rounds_of_scale(rounds) if scaled else 0
        sharp = part_of(rounds, _SHARP) if conditioned and rounds >= _LEAST_SHARP else 0
        return cls(target, labels, scale, rounds - labels - scale - sharp - curve, sharp, curve)

    def found(
        self, oracle: StatisticalQueryOracle, scaling: Scaling, require: Require
    ) -> tuple[Floats, float]:
        """Coefficients and intercept of the logarithm of the odds, in the columns themselves."""
        share = class_share(oracle, self.target, self.labels)
        if share != 0.5 and not self.sharp:
            more = _MORE_LABELS * self.labels
            again = class_share(oracle, self.target, more)
            share = (self.labels * share + more * again) / (self.labels + more)
            return self._with_more_curve(more)._cut(oracle, scaling, require, threshold_of(share))
        return self._cut(oracle, scaling, require, threshold_of(share))

    def _with_more_curve(self, asked: int) -> Self:
        more = min(_MORE_CURVE * self.curve, self.steps - asked - 1)
        return replace(self, curve=self.curve + more, steps=self.steps - more - asked)

    def _cut(
        self, oracle: StatisticalQueryOracle, scaling: Scaling, require: Require, own: float
    ) -> tuple[Floats, float]:
        """With the margin at which the classes of a descent are even."""
        scaling = learned(oracle, scaling, self.scale, apart=True) if self.scale else scaling
        descent = Descent(scaling, f"2*{self.target} - 1", shifts=1.0)
        weights, own = (self._ramp if self.sharp else self._descended)(oracle, descent, require, own)
        curve = fitted_curve(oracle, descent.margin(weights), self.target, self.curve, own)
        coefficients, constant = descent.in_columns(weights)
        return curve.slope * coefficients, curve.slope * constant + curve.shift

    def _descended(
        self, oracle: StatisticalQueryOracle, descent: Descent, require: Require, own: float
    ) -> tuple[Floats, float]:
        weights = descent.descended(oracle, self.steps)
        self._require_form(oracle, descent, weights, require)
        return weights, own

    def _ramp(
        self, oracle: StatisticalQueryOracle, descent: Descent, require: Require, own: float
    ) -> tuple[Floats, float]:
        # Where a class is rare, steps of least squares within 1 go slowly: they are for even classes.
        found = self._uneven_ramp if own else self._even_ramp
        return found(oracle, descent, require, own) * _WINDOW, 0.0

    def _uneven_ramp(
        self, oracle: StatisticalQueryOracle, descent: Descent, require: Require, own: float
    ) -> Floats:
        mean, condition = descent.labelled(oracle, self.steps)
        start = self._begun(oracle, descent, condition @ mean, require, own)
        return late_average(descent.sharpened(oracle, start, mean, condition / _WITHIN, self.sharp - 1))

    def _even_ramp(
        self, oracle: StatisticalQueryOracle, descent: Descent, require: Require, own: float
    ) -> Floats:
        refining, labelling = part_of(self.sharp, _REFINED), self.steps + 1
        sharpening = self.sharp - refining - 3
        mean, condition = descent.labelled(oracle, labelling + 1)
        weights = descent.refined(oracle, condition @ mean, condition, refining)
        start = self._begun(oracle, descent, weights, require, own)
        sharp = average_of_others(descent.sharpened(oracle, start, mean, condition / _WITHIN, sharpening))
        noise = descent.plan(oracle).rows[0].standard_error ** 2
        of_sharp = noise * (1 / labelling + 1 / (sharpening - 1))
        second = np.asarray(_WITHIN * np.linalg.inv(condition), np.float64)
        return combined(start, sharp, second, noise / (refining - 1), of_sharp)

    def _begun(
        self,
        oracle: StatisticalQueryOracle,
        descent: Descent,
        weights: Floats,
        require: Require,
        own: float,
    ) -> Floats:
        """Where a ramp begins: at the form of least squares, in units of the window, which one round tells."""
        self._require_form(oracle, descent, weights, require)
        bell = fitted_bell(oracle, descent.margin(weights), 1)
        return descent.shifted(weights, -own) / (_WINDOW * bell.spread)

    def _require_form(
        self, oracle: StatisticalQueryOracle, descent: Descent, weights: Floats, require: Require
    ) -> None:
        require(
            float(np.linalg.norm(weights[:-1])),
            error_of_weights(descent.plan(oracle), self.steps),
            "a linear margin of labels",
        )
