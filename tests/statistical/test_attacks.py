"""The attacks at full size: the bands that the documentation gives, each with its seeds and how wide it is."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.attacks.least_squares import expected_fraction
from localdp.attacks.linear_program import linear_program
from localdp.experiments.attack_reconstruction import (
    PEOPLE,
    QUERIES,
    Noise,
    OracleOf,
    answer_deviation,
    curator,
    garbage_trial,
    local,
    oracle_trial,
    within_one,
)
from localdp.randomizers.definition import Floats
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource


def whole_within_one(count: int, source: RandomSource) -> Floats:
    """-1, 0 or 1: a larger error on average, and sums that tie more often."""
    return source.below(3, count).astype(np.float64) - 1


def plus_or_minus_one(count: int, source: RandomSource) -> Floats:
    """-1 or 1: always as wrong as the bound allows."""
    return 2 * source.below(2, count).astype(np.float64) - 1


@pytest.mark.parametrize("oracle_of", [curator, local])
def test_at_epsilon_1_nobody_recovers_more_than_a_coin_would(oracle_of: OracleOf) -> None:
    # 4 trials of 256 bits: predicted .502 or less, with a standard deviation of .0156; the band of .56 is 3.7 of them.
    found = [oracle_trial(oracle_of, PEOPLE, QUERIES, 1, SeededSource(seed)) for seed in range(4)]
    assert np.mean(found) <= 0.56


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [10, 100, 1000])
@pytest.mark.parametrize("name", ["curator", "local reports"])
def test_oracles_give_away_what_the_formula_predicts(name: str, epsilon: int) -> None:
    # 8 trials of 256 bits: a standard deviation of at most .011; five of them.
    oracle_of = curator if name == "curator" else local
    found = [oracle_trial(oracle_of, PEOPLE, QUERIES, epsilon, SeededSource(seed)) for seed in range(8)]
    expected = expected_fraction(QUERIES, PEOPLE, answer_deviation(name, epsilon))
    assert np.mean(found) == pytest.approx(expected, abs=5 * 0.011)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("noise", "at_least"), [(within_one, 0.998), (whole_within_one, 0.98), (plus_or_minus_one, 0.95)]
)
def test_a_linear_program_survives_30_percent_of_garbage(noise: Noise, at_least: float) -> None:
    # n = 128, m = 512, six seeds, for each of the three ways in which the other answers may be off by at most one.
    found = [garbage_trial(linear_program, 128, 512, 0.3, SeededSource(seed), noise) for seed in range(6)]
    assert np.mean(found) >= at_least
