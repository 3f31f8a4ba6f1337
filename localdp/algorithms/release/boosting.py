"""Boosting for queries (chapter 6, Figure 6.1; Dwork, Rothblum and Vadhan 2010), with the rounds and costs that hold.

A base synopsis generator (Definition 6.1) looks at k queries that are drawn from a distribution over all of them, and gives
a synopsis that is within lambda for most of that distribution's mass, 1/2 + eta.  Boosting makes each round's distribution
heavier where synopses were wrong, and answers with the median of T synopses: all queries are then within lambda + mu.

In a round the sign of a query is a = 1 where the synopsis is within lambda, -1 beyond lambda + mu, and on the line in
between, and the distribution is proportional to exp(-alpha sum of a), alpha = ln((1 + 2 eta) / (1 - 2 eta)) / 2.

Claims.  Theorems 6.1 and 6.9, with T > 2 ln |Q| / -ln(1 - 4 eta**2) rounds (21 for 448 queries and eta = 1/3; the book
has ln |Q| / eta**2, 55): if every synopsis is as good as Definition 6.1 says, every median is within lambda + mu.
Errors are whole numbers of people, and e, their sum over rounds of what is beyond lambda, each at most mu, moves by at
most i in round i + 1.  A query is drawn with exp(2 alpha e / mu), so by the exponential mechanism at 4 alpha i / mu
(Lemma 6.4 charges T for i), whose draws are of bounded range and so cost epsilon**2 / 8 each. `BoostingPlan` takes the
least mu for which all draws cost half of epsilon and delta; the answers that base generators see cost the other half.
**Deviation**: weights far below the heaviest are cut off (`distinguishers.py`).

The base generator for linear queries (Theorems 6.6 and 6.8) answers its k queries with discrete Laplace noise, and fits
a distribution over the universe to that: by least squares, by the linear program of Theorem 6.7, or by multiplicative
weights.
Checked in tests/unit/algorithms/release/test_boosting.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from localdp.accounting.accountant import Method, bounds, largest_epsilon_each
from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.algorithms.release.updates import MultiplicativeWeights
from localdp.errors import InvalidParameter, requiring
from localdp.estimation.projection import project
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.source import Floats, Integers, RandomSource

ETA = 1 / 3
_CONCENTRATED = (Method.CONCENTRATED, Method.RENYI)

# From the rows of some queries, what they were answered, and the number of people, to masses over the universe.
Fit = Callable[[Floats, Floats, int], Floats]


def least_squares(rows: Floats, answers: Floats, people: int) -> Floats:
    """The distribution whose answers are nearest, in squares."""
    fitted = project(answers, rows, float(people), tolerance=4e-4 * people)
    return np.asarray(fitted.weights / people, np.float64)


def linear_program(rows: Floats, answers: Floats, people: int) -> Floats:
    """The distribution whose largest misfit is least (Theorem 6.7)."""
    with requiring("a fit by a linear program needs scipy", "attacks"):
        from scipy.optimize import linprog
    cells, told = rows.shape[1], answers / people
    slack = np.full((len(rows), 1), -1.0)
    found = linprog(
        np.append(np.zeros(cells), 1.0),
        A_ub=np.block([[rows, slack], [-rows, slack]]),
        b_ub=np.concatenate([told, -told]),
        A_eq=np.append(np.ones(cells), 0.0)[None],
        b_eq=[1.0],
    )
    masses = np.clip(found.x[:cells], 0.0, None)
    return np.asarray(masses / masses.sum(), np.float64)


def multiplicative_weights(rows: Floats, answers: Floats, people: int, tolerance: float = 0.002) -> Floats:
    """The distribution that updates of the query that is furthest off lead to."""
    update, told = MultiplicativeWeights(), answers / people
    state = update.start(rows.shape[1])
    for _ in range(2000):
        misfits = update.answers(state, rows) - told
        worst = int(np.argmax(np.abs(misfits)))
        if abs(misfits[worst]) <= tolerance:
            break
        state = update.update(state, rows[worst], float(told[worst]), abs(float(misfits[worst])))
    return np.asarray(update.distribution(state), np.float64)


@dataclass(frozen=True, slots=True)
class BoostingPlan:
    """How many rounds boosting takes, what each draw and each answer may cost, and what is promised for it."""

    queries: int
    samples: int  # k, in a round
    epsilon: Epsilon
    delta: Fraction
    eta: float = ETA
    rounds: int = field(init=False)
    answering: Epsilon = field(init=False)  # of each answer of a base generator
    wide: int = field(init=False)  # mu, in people

    def __post_init__(self) -> None:
        if self.queries < 2 or self.samples < 1 or not 0 < self.eta < 1 / 2 or not 0 < self.delta < 1:
            raise InvalidParameter(
                "boosting is of two queries or more, with an eta between 0 and 1/2, and a delta"
            )
        rounds = math.floor(2 * math.log(self.queries) / -math.log(1 - 4 * self.eta**2)) + 1
        object.__setattr__(self, "rounds", rounds)
        half = Epsilon.requested(self.epsilon.exact / 2)
        each = largest_epsilon_each(half, rounds * self.samples, self.delta / 2, _CONCENTRATED)
        object.__setattr__(self, "answering", each)
        object.__setattr__(self, "wide", self._least_wide(half))

    @property
    def alpha(self) -> float:
        """How fast weights follow mistakes."""
        return math.log((1 + 2 * self.eta) / (1 - 2 * self.eta)) / 2

    @property
    def near(self) -> int:
        """lambda, in people: what k noisy answers are off by at most, but for a chance of about one half."""
        return math.ceil(math.log(2 * self.samples) / float(self.answering))

    def promised(self, people: int) -> float:
        """What every answer is within, as a share of the people."""
        return (self.near + self.wide) / people

    def drawing(self, rounds: int, wide: int | None = None) -> Epsilon:
        """What a draw costs after so many rounds."""
        return Epsilon.requested(f"{4 * self.alpha * rounds / (wide or self.wide):.9f}")

    def _least_wide(self, half: Epsilon) -> int:
        """The least mu for which all draws together cost that half."""
        low, high = 0, 1
        while self._costs(high) > half:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._costs(middle) <= half else (middle, high)
        return high

    def _costs(self, wide: int) -> Epsilon:
        if 4 * self.alpha * self.rounds / wide > 8:
            return Epsilon(64 * NANONATS_PER_NAT)  # far too much, whatever it is exactly
        events = [
            PrivacyEvent(self.drawing(number, wide), self.samples, bounded_range=True)
            for number in range(1, self.rounds)
        ]
        return min(bound.epsilon for bound in bounds(events, self.delta / 2, _CONCENTRATED))


@dataclass(frozen=True, slots=True, eq=False)
class Boosted:
    """The answers of a boosted generator, and how good its synopses were."""

    answers: Floats  # of every query, as a share of the people
    synopses: tuple[Floats, ...]  # masses over the universe, of every round
    masses: Floats  # of each round's distribution, the part that its synopsis was within lambda for; not private
    plan: BoostingPlan

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised about the answers and synopses: the curator sees everything."""
        return PrivacyClaim.of_curator(self.plan.epsilon, self.plan.delta)


def boosted(
    plan: BoostingPlan, histogram: Integers, rows: Integers, source: RandomSource, fit: Fit = least_squares
) -> Boosted:
    """Answers to counting queries, whose rows say which cells of the universe each counts, about people in these cells."""
    if rows.shape != (plan.queries, len(histogram)) or not np.isin(rows, (0, 1)).all():
        raise InvalidParameter("each query of the plan is a row of zeros and ones, one for each cell")
    people, truth = int(histogram.sum()), np.asarray(rows @ histogram, np.int64)
    beyond, shown, synopses, masses = np.zeros(plan.queries, np.int64), [], [], []
    for number in range(plan.rounds):
        weights = _weights(plan, beyond)
        chosen = np.unique(_sampled(plan, beyond, number, source))
        noisy = TrustedCurator(source).released(truth[chosen], 1, plan.answering)
        synopsis = fit(rows[chosen].astype(np.float64), noisy.astype(np.float64), people)
        told = np.rint(rows @ synopsis * people).astype(np.int64)
        misses = np.abs(told - truth)
        masses.append(float(weights[misses <= plan.near].sum()))
        beyond += np.clip(misses - plan.near, 0, plan.wide)
        shown.append(told / people)
        synopses.append(synopsis)
    return Boosted(np.median(shown, axis=0), tuple(synopses), np.array(masses), plan)


def _sampled(plan: BoostingPlan, beyond: Integers, rounds: int, source: RandomSource) -> Integers:
    """k queries: evenly drawn at first, and by the exponential mechanism of what synopses were off after that."""
    if rounds == 0:
        return source.below(plan.queries, plan.samples).astype(np.int64)
    law = ExponentialMechanism().law(beyond, rounds, plan.drawing(rounds))
    return source.categorical(law, plan.samples)


def _weights(plan: BoostingPlan, beyond: Integers) -> Floats:
    weights = np.exp(2 * plan.alpha * (beyond - beyond.max()) / plan.wide)
    return np.asarray(weights / weights.sum(), np.float64)
