"""Regrets of weighted majority with 16 experts, private in three ways, at (1, 1e-6) or pure 1.

Of the source, at T = 20,000 and gaps of 0.05 / 0.2 between the best expert and the rest: non-private 0.012 / 0.012, by
choice 0.046 / 0.175, by counting 0.0135 / 0.0137, locally 0.037 / 0.057.  Losses here are bits; coins are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest

from localdp.algorithms.online.weighted_majority import (
    RESOLUTION,
    ChosenMajority,
    CountedMajority,
    LocalMajority,
    before,
    best_rate,
    followed,
    regret,
    regret_of_actions,
)
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.hazmat import SeededSource
from tests.support.people import ONE

ROUNDS, EXPERTS, DELTA = 20_000, 16, Fraction(1, 10**6)


def losses(gap: float, rounds: int = ROUNDS) -> np.ndarray:
    means = np.full(EXPERTS, 0.5)
    means[3] -= gap
    bits = np.random.default_rng(1).random((rounds, EXPERTS)) < means
    return bits.astype(np.int64) * RESOLUTION


@pytest.mark.parametrize("gap", [0.05, 0.2])
def test_counting_costs_hardly_more_than_no_privacy_and_local_reports_little(gap: float) -> None:
    table = losses(gap)
    plain = regret(table, followed(before(table), best_rate(ROUNDS, EXPERTS)))
    assert plain == pytest.approx(0.012, abs=0.001)
    runs = [
        CountedMajority(ROUNDS, EXPERTS, ONE, DELTA, TrustedCurator(SeededSource(s))) for s in range(10)
    ]
    counted = [regret(table, run.probabilities(table)) for run in runs]
    # One run has a standard deviation of about 0.001, so the mean of ten one of 0.0003.
    assert np.mean(counted) == pytest.approx(0.0137, abs=0.0015)
    local = [
        regret(table, LocalMajority(EXPERTS, ONE).probabilities(table, SeededSource(s))) for s in range(5)
    ]
    assert np.mean(local) < 0.06


def test_the_books_version_hardly_learns_in_two_thousand_rounds() -> None:
    table = losses(0.2, 2000)
    chosen = ChosenMajority(2000, ONE, DELTA)
    found = regret_of_actions(table, chosen.actions(table, SeededSource(1)))
    assert 0.14 < found < 0.2  # a random expert has 0.1875


@pytest.mark.nightly
@pytest.mark.parametrize(("gap", "expected"), [(0.05, 0.046), (0.2, 0.175)])
def test_the_books_version_is_worse_than_local_reports(gap: float, expected: float) -> None:
    table = losses(gap)
    chosen = ChosenMajority(ROUNDS, ONE, DELTA)
    found = regret_of_actions(table, chosen.actions(table, SeededSource(1)))
    assert found == pytest.approx(expected, abs=0.006)
