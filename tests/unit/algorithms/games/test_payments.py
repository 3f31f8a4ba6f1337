"""Private VCG: no lie gains in 10,000 tries, nobody is paid, and privacy costs what it should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.payments import SCALE, PaidChoice
from localdp.errors import InvalidParameter
from localdp.randomness.hazmat import SeededSource

PLAYERS, OUTCOMES, TRIES = 5, 6, 10_000
ONE = Epsilon.requested(1)


def largest_gain(*, paid: bool, epsilon: Epsilon = ONE) -> float:
    """Of one player over all tries; lies are drawn at random, near the truth, or the extremes of the truth."""
    source, gains = np.random.default_rng(3), list[float]()
    while len(gains) < TRIES:
        truth = PaidChoice.of(source.random((PLAYERS, OUTCOMES)), epsilon)
        worth, honest = truth.said / SCALE, _had(truth, truth.said / SCALE, paid)
        near = np.clip(worth[0] + source.normal(scale=0.1, size=OUTCOMES), 0, 1)
        for lie in (source.random(OUTCOMES), near, worth[0] == worth[0].max(), np.zeros(OUTCOMES)):
            said = truth.said.copy()
            said[0] = np.rint(np.asarray(lie, np.float64) * SCALE)
            gains.append(_had(PaidChoice(said, epsilon), worth, paid) - honest)
    return max(gains)


def _had(choice: PaidChoice, worth: np.ndarray, paid: bool) -> float:
    return float((choice.utilities(worth) if paid else worth @ choice.probabilities)[0])


def test_no_lie_gains_and_without_payments_some_do() -> None:
    assert largest_gain(paid=True) <= 2**-30
    assert largest_gain(paid=False) > 0.02  # the twin in which nobody pays


def test_payments_are_between_nothing_and_what_one_person_can_move() -> None:
    for seed in range(200):
        choice = PaidChoice.of(
            np.random.default_rng(seed).random((PLAYERS, OUTCOMES)), Epsilon.requested(4)
        )
        assert (choice.payments >= -1e-12).all() and (choice.payments <= 1).all()


def test_privacy_costs_everybody_what_the_bound_says() -> None:
    """300 games of uniform worths: 0.64 on average of at most 3.58, with a standard error of 0.02."""
    missed = []
    for seed in range(300):
        choice = PaidChoice.of(np.random.default_rng(seed).random((PLAYERS, OUTCOMES)), ONE)
        sums = choice.said.sum(axis=0) / SCALE
        missed.append(float(sums.max() - sums @ choice.probabilities))
        assert missed[-1] <= choice.largest_miss
    assert choice.largest_miss == pytest.approx(2 * math.log(OUTCOMES))
    assert np.mean(missed) == pytest.approx(0.65, abs=0.08)


def test_the_law_is_the_one_with_most_of_worth_and_entropy() -> None:
    choice, source = (
        PaidChoice.of(np.random.default_rng(1).random((PLAYERS, OUTCOMES)), ONE),
        np.random.default_rng(2),
    )
    sums = choice.said.sum(axis=0) / SCALE
    best = float(sums @ choice.probabilities) + 2 * choice.entropy
    for _ in range(500):
        other = choice.probabilities * np.exp(source.normal(scale=0.2, size=OUTCOMES))
        other /= other.sum()
        assert float(sums @ other) - 2 * float(other @ np.log(other)) <= best + 2**-30
    assert 0 <= choice.drawn(SeededSource(1)) < OUTCOMES


@pytest.mark.parametrize("said", [np.zeros((1, 3), np.int64), np.full((2, 2), SCALE + 1)])
def test_what_nobody_can_say_is_refused(said: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        PaidChoice(said, ONE)
