"""Randomized weighted majority, private or not (Algorithms 15 and 16, Theorems 11.1 to 11.4).

In each of T rounds one of k experts is followed; then all losses l_i in [0, 1] of that round become known.  Expert i is
followed with probability proportional to exp(-eta L_i), where L_i is the sum of its losses so far.  The average regret
against the best expert is at most eta + ln k / (eta T) (Theorem 11.1), 2 sqrt(ln k / T) at the best eta.

A person is one round, with all its losses; neighbours differ in one round.  Three ways to be private, side by side:

- by choice (`ChosenMajority`, the book's): each action is a draw of the exponential mechanism, 2 eta-private, and T of
  them compose.  Theorem 11.2 sets eta = epsilon / sqrt(32 T ln(1 / delta)).
- by counting (`CountedMajority`): the running losses come from factorised counters (`mechanisms/factorised_counter.py`)
  with noise of order ln T, whatever eta is; all else is post-processing, so eta is the best one.  The default.
- locally (`LocalMajority`): everybody reports one bit about one expert; all else is post-processing.  Pure epsilon.

**Deviation.** With `composition="optimal"` the book's version spends what the accountant vouches for, at the same (epsilon,
delta): about four times the eta of Theorem 11.2, because the exponential mechanism is of bounded range (epsilon**2 / 8
zCDP; Cesar and Rogers 2021), where optimal composition of any mechanisms would allow twice.

Losses are whole numbers from 0 to `RESOLUTION`, which stands for 1.
Checked in tests/unit/algorithms/online/test_weighted_majority.py; regrets in tests/statistical/test_online.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from localdp.accounting.accountant import largest_epsilon_each
from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_variance
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import Adder
from localdp.mechanisms.factorised_counter import (
    left_factor,
    right_factor,
    series_product,
    whole_convolution,
)
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomness.source import Floats, Integers, Numbers, RandomSource

RESOLUTION = 1 << 10
MOST_ROUNDS = 1 << 20
MOST_EXPERTS = 1 << 10
Composition = Literal["book", "optimal"]


def checked_losses(losses: Numbers) -> Integers:
    """Whole losses, one row a round; raises for anything else."""
    if losses.ndim != 2 or losses.dtype.kind not in "iu" or not losses.size:
        raise InvalidParameter("losses are a table of whole numbers: a row for each round")
    rounds, experts = losses.shape
    if rounds > MOST_ROUNDS or not 2 <= experts <= MOST_EXPERTS:
        raise InvalidParameter(f"there are at most {MOST_ROUNDS} rounds, and 2 to {MOST_EXPERTS} experts")
    if int(losses.min()) < 0 or int(losses.max()) > RESOLUTION:
        raise InvalidParameter(f"a loss is a whole number from 0 to {RESOLUTION}")
    return losses.astype(np.int64)


def best_rate(rounds: int, experts: int) -> float:
    """eta = sqrt(ln k / T), for which Theorem 11.1 gives a regret of at most 2 sqrt(ln k / T)."""
    return math.sqrt(math.log(experts) / rounds)


def regret_bound(eta: float, rounds: int, experts: int) -> float:
    """Theorem 11.1: the expected average regret, whatever the losses."""
    return eta + math.log(experts) / (eta * rounds)


def followed(totals: Numbers, eta: float) -> Floats:
    """With which probability each expert is followed in each round, given the losses before it, in units of 1."""
    exponents = -eta * (totals - totals.min(axis=1, keepdims=True))
    weights = np.exp(exponents)
    probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def before(losses: Integers) -> Floats:
    """The true sum of each expert's losses before each round, in units of 1."""
    sums = np.cumsum(losses, axis=0) - losses
    return sums / RESOLUTION


def regret(losses: Integers, probabilities: Floats) -> float:
    """The expected average loss beyond that of the best expert."""
    scaled = losses / RESOLUTION
    return float((probabilities * scaled).sum(axis=1).mean() - scaled.mean(axis=0).min())


def regret_of_actions(losses: Integers, actions: Integers) -> float:
    """The average loss of the actions beyond that of the best expert."""
    scaled = losses / RESOLUTION
    return float(scaled[np.arange(len(actions)), actions].mean() - scaled.mean(axis=0).min())


@dataclass(frozen=True, slots=True)
class ChosenMajority:
    """Every action a draw of the exponential mechanism: the book's private version."""

    rounds: int
    epsilon: Epsilon  # of all actions together, per round's losses, in nats
    delta: Fraction
    composition: Composition = "book"

    @property
    def epsilon_per_round(self) -> Epsilon:
        """2 eta: what one action costs."""
        optimal = _optimal_each(self.epsilon, self.rounds, self.delta)
        # Theorem 3.20 and with it Theorem 11.2 are for moderate epsilon; beyond, what they allow is too much.
        return (
            optimal if self.composition == "optimal" else min(optimal, Epsilon.requested(2 * self.book_eta))
        )

    @property
    def book_eta(self) -> float:
        """Theorem 11.2."""
        return float(self.epsilon) / math.sqrt(32 * self.rounds * math.log(1 / self.delta))

    @property
    def eta(self) -> float:
        """The update parameter that this comes to."""
        return float(self.epsilon_per_round) / 2

    @property
    def claim(self) -> PrivacyClaim:
        """Of the whole sequence of actions, for neighbours that differ in one round."""
        honest = "The curator sees all losses and must be honest."
        return PrivacyClaim.of_curator(self.epsilon, self.delta, honest)

    def actions(self, losses: Numbers, source: RandomSource) -> Integers:
        """The expert followed in each round."""
        known = checked_losses(losses)
        if len(known) > self.rounds:
            raise InvalidParameter(f"epsilon was divided over {self.rounds} rounds")
        totals = np.cumsum(known, axis=0) - known
        mechanism, each = ExponentialMechanism(), self.epsilon_per_round
        chosen = [mechanism.choose(-row, RESOLUTION, each, source) for row in totals]
        return np.array(chosen, np.int64)


@dataclass(frozen=True, slots=True)
class CountedMajority:
    """Follows experts by counters of their losses; the counters are private, and so is all that is made of them."""

    rounds: int
    experts: int
    epsilon: Epsilon  # of all counters together, per round's losses, in nats
    delta: Fraction
    adder: Adder

    @property
    def variance(self) -> int:
        """Of the Gaussian on the right factor of each counter: one round moves all k of them."""
        of_one = RESOLUTION**2 * int((right_factor(self.rounds) ** 2).sum())
        return gaussian_variance(self.epsilon, self.delta, self.experts * of_one)

    @property
    def claim(self) -> PrivacyClaim:
        """Of the running losses, for neighbours that differ in one round."""
        return self.adder.claim(self.epsilon, self.delta)

    def totals(self, losses: Numbers) -> Floats:
        """Private estimates of each expert's losses before each round, in units of 1."""
        known = checked_losses(losses)
        if known.shape != (self.rounds, self.experts):
            raise InvalidParameter(f"there are {self.rounds} rounds and {self.experts} experts")
        counted = np.stack([self._counted(column) for column in known.T], axis=1) / RESOLUTION
        return np.concatenate([np.zeros((1, self.experts)), counted[:-1]])

    def probabilities(self, losses: Numbers, eta: float | None = None) -> Floats:
        """With which probability each expert is followed in each round."""
        return followed(self.totals(losses), eta or best_rate(self.rounds, self.experts))

    def _counted(self, column: Integers) -> Floats:
        rows = whole_convolution(right_factor(self.rounds), np.ascontiguousarray(column))[None, :]
        noisy = self.adder.gaussian_sums(rows, self.variance).astype(np.float64)
        return series_product(left_factor(self.rounds), noisy)


@dataclass(frozen=True, slots=True)
class LocalMajority:
    """Follows experts by one randomized bit about one expert from each round."""

    experts: int
    epsilon: Epsilon  # of one report, in nats

    @property
    def randomizer(self) -> CoordinateSampling:
        """What every person runs on their own losses."""
        return CoordinateSampling(self.epsilon, self.experts, RESOLUTION)

    @property
    def claim(self) -> PrivacyClaim:
        """Pure, and nobody has to be trusted."""
        return PrivacyClaim.of_local(self.epsilon)

    def totals(self, reports: Numbers) -> Floats:
        """Unbiased estimates of each expert's losses before each round, from one report a round, in units of 1."""
        numbers = reports.astype(np.int64)
        table = np.full((len(numbers), self.experts), 0.5)
        # The mean of a loss is 1/2 + (C k / 2) times the mean of the signed bits about it.
        flip = float(self.randomizer.bit.law(0)[1])
        width = self.experts / (2 * (1 - 2 * flip))
        table[np.arange(len(numbers)), numbers // 2] += width * (2 * (numbers % 2) - 1)
        totals: Floats = np.cumsum(table, axis=0) - table
        return totals

    def probabilities(self, losses: Numbers, source: RandomSource, eta: float | None = None) -> Floats:
        """The same, when the reports are drawn here: for simulations."""
        known = checked_losses(losses)
        reports = self.randomizer.randomize(known, source)
        return followed(self.totals(reports), eta or best_rate(len(known), self.experts))


@lru_cache(maxsize=32)
def _optimal_each(epsilon: Epsilon, rounds: int, delta: Fraction) -> Epsilon:
    return largest_epsilon_each(epsilon, rounds, delta, bounded_range=ExponentialMechanism.bounded_range)
