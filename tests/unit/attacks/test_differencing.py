"""Differences of two counts: what they give away without noise, with it, and behind a shuffler."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.attacks.differencing import but_the_last
from localdp.attacks.subset_sums import guess_bound
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.experiments.attack_differencing import (
    NAIVE,
    SHUFFLED,
    Make,
    count_trial,
    curator,
    exact,
    refusals,
    shares,
    shuffled_trial,
)
from localdp.randomness.hazmat import SeededSource

TRIALS = 300  # a fraction has a standard deviation of at most .029
DEVIATION = 0.029


def test_exact_counts_always_give_the_person_away() -> None:
    assert all(count_trial(exact, "0.1", SeededSource(seed)) for seed in range(50))


@pytest.mark.parametrize("make", [curator, shares])
def test_noise_on_both_counts_hides_the_person_as_promised(make: Make) -> None:
    # For discrete Laplace noise at epsilon = .1 the difference of two is right about .52 of the time.
    right = np.mean([count_trial(make, "0.1", SeededSource(seed)) for seed in range(TRIALS)])
    assert right <= guess_bound(0.2) + 4 * DEVIATION
    assert np.mean([count_trial(make, "10", SeededSource(seed)) for seed in range(40)]) > 0.9


def test_a_shuffler_that_asked_both_cohorts_alike_would_give_the_report_away() -> None:
    broken = np.mean([shuffled_trial(NAIVE, 1000, SeededSource(seed)) for seed in range(100)])
    sound = np.mean([shuffled_trial(SHUFFLED, 1000, SeededSource(seed)) for seed in range(TRIALS)])
    assert broken > 0.9
    assert sound < 0.5 + 5 * DEVIATION


def test_collections_below_their_minimum_batch_are_refused_by_servers_and_by_parties() -> None:
    small, early = refusals(SeededSource(1))
    assert "TooFewReports" in small
    assert "PolicyRefused" in early


def test_leaving_one_out_takes_two() -> None:
    assert but_the_last(2) == Cohort(0, 1)
    with pytest.raises(InvalidParameter):
        but_the_last(1)
