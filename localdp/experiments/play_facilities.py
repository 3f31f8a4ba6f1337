"""Facilities on a line, shown: what truthfulness without payments costs everybody (section 10.2.3).

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.facilities import TruthfulFacilities
from localdp.algorithms.games.punishing import (
    Environment,
    PunishingMechanism,
    best_epsilon,
    facilities_on_a_line,
)
from localdp.domains import RealDomain, Records, Schema
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel
from localdp.experiments.parties_in_process import asked_in_process
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.source import Integers, RandomSource

PEOPLE = (10_000, 100_000, 1_000_000)
STEPS, FACILITIES = 10, 2
Welfare = Callable[[Integers, RandomSource], float]


@cache
def town() -> Environment:
    """Two facilities on a line of eleven places."""
    return facilities_on_a_line(STEPS, FACILITIES)


def mechanism(people: int) -> PunishingMechanism:
    """At the epsilon with the best promise."""
    return PunishingMechanism(town(), best_epsilon(town(), people))


def best(counts: Integers, source: RandomSource) -> float:
    """The best outcome, for what everybody told; there a lie may pay."""
    return float(town().means(counts).max())


def ours(counts: Integers, source: RandomSource) -> float:
    """What is expected with exact punishment."""
    return mechanism(int(counts.sum())).expected(counts)


def of_book(counts: Integers, source: RandomSource) -> float:
    """What is expected with q = 2 epsilon |O| / gamma, at the epsilon that is best for that."""
    environment, people = town(), int(counts.sum())
    costs = 2 * environment.outcomes / float(environment.gap)  # q, for each epsilon
    epsilon = np.sqrt(2 * np.log(environment.outcomes) / (costs * people))
    law = PunishingMechanism(environment, Epsilon.requested(f"{epsilon:.9f}")).law(counts)
    means = environment.means(counts)
    free = float(np.array(law.weights, np.float64) @ means) / law.total
    punishing = min(1.0, float(costs * epsilon))
    return (1 - punishing) * free + punishing * float(means.mean())


def by_addition(counts: Integers, source: RandomSource) -> float:
    """What is expected around the best outcome for a noisy histogram, as share servers can release it."""
    punished = mechanism(int(counts.sum()))
    noise = DiscreteLaplace(punished.epsilon.exact / 2).sample(source, len(counts))
    chances = np.eye(town().outcomes)[int(np.argmax((counts + noise) @ town().truthful))]
    return punished.punished.expected(chances, town().means(counts))


def asked_of(model: str, people: int, source: RandomSource) -> float:
    """The same by an oracle, which hears of places what its trust model lets it hear."""
    records = Records(Schema({"home": RealDomain(0, 1)}), {"home": source.below(STEPS + 1, people) / STEPS})
    oracle = asked_in_process(model, records, mechanism(people).epsilon, source)
    placed = TruthfulFacilities("home", FACILITIES, STEPS, check_signal=False).fit(oracle)
    return placed.measures(placed, records)["expected"]


SERIES: dict[str, Welfare] = {
    "best, if all tell the truth": best,
    "exact punishment": ours,
    "exact punishment, noisy histogram": by_addition,
    "as in the book": of_book,
}


def facilities(tried: Range) -> Demonstration:
    """By the number of people, who live anywhere."""
    points = [
        tried.point(name, people, partial(_welfare, welfare, people))
        for name, welfare in SERIES.items()
        for people in PEOPLE
    ]
    points += [
        tried.point(model, people, partial(asked_of, model, people))
        for model in tried.models
        for people in PEOPLE
    ]
    told = mechanism(PEOPLE[-1])
    notes = (
        "now and then an outcome is drawn evenly, and everybody has to go where it suits the place that they told",
        f"{PEOPLE[-1]:,} people: epsilon {told.epsilon}, and reactions are not free in {told.punishing:.3f} of the cases",
    )
    panel = Panel(
        f"{FACILITIES} facilities, {STEPS + 1} places",
        "people",
        "one less the mean distance to a facility",
        tuple(points),
    )
    title = "Facilities: truthful without payments"
    return Demonstration("facilities", title, (panel,), notes)


def _welfare(welfare: Welfare, people: int, source: RandomSource) -> float:
    places = source.below(STEPS + 1, people).astype(np.int64)
    return welfare(np.bincount(places, minlength=STEPS + 1), source)
