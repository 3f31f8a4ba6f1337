"""The result of comparing the trust models on one count: points, fitted slopes, and what each model promises.

Section 9.3 in numbers: for the same count at the same epsilon the local model errs by order sqrt(n), a
curator (trusted, or simulated by share servers) by a constant, and so does the shuffled model, by a larger
one and at the price of a delta.  On log-log axes: slopes 1/2 and 0.

Only the data: running the models is elsewhere, drawing is in parties/report.  `Comparison.to_data` holds
nothing but what JSON can hold (no NaN, no infinity).
Checked in tests/unit/experiments/test_comparison.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.panels import Point
from localdp.oracles.bounds import shuffled_local_epsilon
from localdp.oracles.compared import COMPARED
from localdp.oracles.models import MODELS, models_with
from localdp.randomness.source import Floats
from localdp.sharing.coalitions import coalition_epsilons
from localdp.sharing.noise_plans import NoisePlan

ORDER = tuple(  # of the table, so that growth is read first
    sorted(COMPARED, key=lambda name: (COMPARED[name].needs_records, not COMPARED[name].spends))
)
NOISY_MODELS = tuple(name for name in ORDER if COMPARED[name].spends)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of each model at each n, with the parameters that all of them share."""

    epsilon: float  # Privacy loss of one count, in nats, replace-one neighbours.
    noise_plan: str
    servers: int
    transport: str
    points: tuple[Point, ...]  # of a model, at n: the mean absolute error, beside what theory says
    seconds: float | None = None
    privacy: Sequence[Mapping[str, Any]] = ()  # the claim of each model about one count, as data
    delta: float = 1e-6  # of the shuffled model

    def of_model(self, model: str) -> list[Point]:
        """The points of one model, by increasing n."""
        return sorted((one for one in self.points if one.series == model), key=lambda one: one.parameter)

    @property
    def slopes(self) -> dict[str, float | None]:
        """Of each noisy model; None: too few different n, or an error of zero."""
        return {model: _slope_or_none(self.of_model(model)) for model in NOISY_MODELS}

    def notes(self) -> tuple[str, ...]:
        """What is left of epsilon against a dishonest shuffler, and against more share servers than a plan tolerates."""
        told, people = list[str](), list[int]()
        for model in models_with("delta"):
            points = self.of_model(model)
            if MODELS[model].sealed and points:
                told.append(f"{model}: against a shuffler that tells who sent what nothing holds.")
            elif points:
                people += [int(point.parameter) for point in points]
        if people:
            told.append(_single_reports(self.epsilon, self.delta, people))
        told += [_coalitions(model, self.epsilon, *self.sharing(model)) for model in self.shared_models]
        return tuple(filter(None, told))

    @property
    def shared_models(self) -> list[str]:
        """Those of which there are points, and for which share servers add noise."""
        return [
            row.name for row in COMPARED.values() if row.needs_share_servers and self.of_model(row.name)
        ]

    def sharing(self, model: str) -> tuple[NoisePlan, int]:
        """Who adds which noise, and how many share servers there are: as was asked for, or as the row has it."""
        row = COMPARED[model]
        if row.share_servers is None:
            return NoisePlan.parse(self.noise_plan), self.servers
        return NoisePlan.parse(row.options["noise_plan"]), row.share_servers

    def settings(self) -> dict[str, str]:
        """What each model with options was asked with, in a few words."""
        told = {model: f"delta = {self.delta:g}" for model in models_with("delta") if self.of_model(model)}
        for model in self.shared_models:
            plan, servers = self.sharing(model)
            told[model] = f"{servers} share servers, noise plan {plan}"
        return told

    def to_data(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and finite numbers: the `data` of the JSON envelope."""
        return {
            "rows": [_row(point) for point in self.points],
            "slopes": self.slopes,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "settings": self.settings(),
            "noise_plan": self.noise_plan,
            "servers": self.servers,
            "transport": self.transport,
            "seconds": self.seconds,
            "privacy": list(self.privacy),
            "notes": list(self.notes()),
        }


def _single_reports(epsilon: float, delta: float, people: Sequence[int]) -> str:
    """What a report reveals to the shuffler, for the fewest and for the most people."""
    amount, part = Epsilon.requested(epsilon), Fraction(str(delta))
    told = [
        f"{float(shuffled_local_epsilon(amount, part, n)):.3g} where {n:,} people are mixed"
        for n in sorted({min(people), max(people)})
    ]
    return f"shuffled: against the shuffler itself a single report has epsilon {' and '.join(told)}."


def _coalitions(model: str, epsilon: float, plan: NoisePlan, servers: int) -> str:
    """What is left of epsilon against the smallest coalition that is not tolerated, and against all but one server."""
    if plan.is_joint:
        return f"{model}: two servers together know the noise and the exact sums, so two of three must be honest."
    rows = coalition_epsilons(plan, Epsilon.requested(epsilon), servers=servers)[
        plan.withstands(servers) + 1 : -1
    ]
    told = [
        f"against {_coalition(row.colluding)} it is {float(row.epsilon):.3g}"
        for row in dict.fromkeys((*rows[:1], *rows[-1:]))
        if row.epsilon is not None
    ]
    return f"{model}: a server knows its own part of the noise, so {' and '.join(told)}." if told else ""


def _coalition(servers: int) -> str:
    return "one server" if servers == 1 else f"{servers} servers"


def summarise(absolute_errors: Sequence[float] | Floats) -> tuple[float, float]:
    """Mean and its standard error, from at least two trials: one trial has no error bar."""
    errors = np.abs(np.asarray(absolute_errors, dtype=np.float64))
    if errors.ndim != 1 or errors.size < 2:
        raise InvalidParameter("an error bar needs at least two trials")
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(errors.size))


def fit_slope(people: Sequence[float] | Floats, errors: Sequence[float] | Floats) -> float:
    """Least squares of log10(error) on log10(n): 1/2 for sqrt(n), 0 for a constant."""
    n, error = np.asarray(people, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if n.shape != error.shape or n.ndim != 1 or np.unique(n).size < 2:
        raise InvalidParameter("a slope needs the errors at two or more different numbers of people")
    if not (np.all(np.isfinite(n)) and np.all(np.isfinite(error)) and np.all(n > 0) and np.all(error > 0)):
        raise InvalidParameter("a slope on log axes needs positive numbers of people and positive errors")
    x, y = np.log10(n), np.log10(error)
    centred = x - x.mean()
    return float(centred @ (y - y.mean()) / (centred @ centred))


def _slope_or_none(points: list[Point]) -> float | None:
    try:
        return fit_slope([point.parameter for point in points], [point.value or 0.0 for point in points])
    except InvalidParameter:
        return None


def _row(point: Point) -> dict[str, Any]:
    return {
        "model": point.series,
        "people": point.parameter,
        "trials": point.trials,
        "mean_abs_error": point.value,
        "standard_error": point.error,
        "predicted": point.predicted,
        "lower_bound": point.bound,
    }
