"""Averaging against a party: what repetition brings, and what stops it."""

from __future__ import annotations

import numpy as np

from localdp.experiments.attack_averaging import CONTENT, FRESH, PEOPLE, SAME, UNLIMITED, outcome
from localdp.randomness.hazmat import SeededSource

# One trial is about 1,000 people: a fraction has a standard deviation of at most .016.
DEVIATION = 0.016
ONCE = 0.731  # e / (1 + e)


def test_the_same_request_is_answered_for_ever_and_says_nothing_new() -> None:
    once, _ = outcome(SAME, 1, SeededSource(1))
    often, result = outcome(SAME, 200, SeededSource(1))
    assert result.answered == 200
    assert often == once
    assert abs(once - ONCE) < 5 * DEVIATION


def test_new_requests_are_refused_once_the_budget_is_spent() -> None:
    right, result = outcome(FRESH, 200, SeededSource(2))
    assert result.answered == 4
    assert right == outcome(FRESH, 4, SeededSource(2))[0]
    assert 0.75 < right < 0.9


def test_a_party_that_answers_by_content_gives_new_requests_the_old_report() -> None:
    right, result = outcome(CONTENT, 200, SeededSource(3))
    assert result.answered == 200
    assert abs(right - ONCE) < 5 * DEVIATION


def test_without_a_budget_the_noise_cancels() -> None:
    right, result = outcome(UNLIMITED, 200, SeededSource(4))
    assert result.answered == 200
    assert right == 1.0


def test_a_tie_is_settled_by_the_first_report() -> None:
    # With two reports the majority is the first one, so the second adds nothing: still .731.
    rights = [outcome(UNLIMITED, 2, SeededSource(seed))[0] for seed in range(5)]
    assert abs(np.mean(rights) - ONCE) < 5 * DEVIATION / np.sqrt(5)
    assert PEOPLE == 1000
