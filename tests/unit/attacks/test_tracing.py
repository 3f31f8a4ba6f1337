"""Tracing and traitor tracing: their laws by every outsider and every decoder of a small scheme."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from localdp.attacks.tracing import (
    accused,
    expected_fraction,
    fair_frequencies,
    scores,
    threshold,
    traced_at_most,
)
from localdp.attacks.traitor_tracing import Ciphertext, decrypt, encrypt, mixed, trace, user_keys
from localdp.errors import InvalidParameter
from localdp.experiments.attack_tracing import by_curator, exact, members_trial, outsiders_trial
from localdp.randomness.hazmat import SeededSource

FREQUENCIES = np.array([0.5, 0.2, 0.7, 0.4])
EVERYBODY = np.array(list(product([0, 1], repeat=4)), np.bool_)
CHANCES = np.where(EVERYBODY, FREQUENCIES, 1 - FREQUENCIES).prod(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_an_outsider_has_score_zero_on_average_whatever_the_means_are(seed: int) -> None:
    means = np.random.default_rng(seed).normal(0.5, 1, 4)
    told = scores(EVERYBODY, FREQUENCIES, means)
    assert CHANCES @ told == pytest.approx(0, abs=1e-12)
    deviation = threshold(FREQUENCIES, means, 0.15865525393145707)  # one standard deviation
    assert math.sqrt(CHANCES @ told**2) == pytest.approx(deviation)


def test_somebody_behind_exact_means_leads_by_the_variance_over_n() -> None:
    # The mean score of a member, over all members and all others: sum p (1 - p) / n.
    people = 3
    lead = float(FREQUENCIES @ (1 - FREQUENCIES)) / people
    told = sum(
        CHANCES[list(rows)].prod()
        * scores(EVERYBODY[[rows[0]]], FREQUENCIES, EVERYBODY[list(rows)].mean(axis=0))[0]
        for rows in product(range(16), repeat=people)
    )
    assert told == pytest.approx(lead)


def test_members_are_accused_as_often_as_predicted_and_outsiders_seldom() -> None:
    # 1,000 members: a standard deviation of 0.016; five of them.  20,000 outsiders: 20 expected, 50 have chance 1e-8.
    inside = np.mean([members_trial(exact, 1000, SeededSource(seed)) for seed in range(10)])
    assert inside == pytest.approx(expected_fraction(100, 1000, 0), abs=0.08)
    outside = np.mean([outsiders_trial(1000, SeededSource(seed)) for seed in range(20)])
    assert outside <= 50 / 20_000


def test_five_thousand_exact_means_name_everybody_and_private_ones_nobody() -> None:
    # 2,000 members; private means name each with a probability of at most 0.0027, and 20 of them have chance 1e-7.
    named = np.mean([members_trial(exact, 5000, SeededSource(seed)) for seed in range(20)])
    assert named >= 0.999
    private = np.mean([members_trial(by_curator, 5000, SeededSource(seed)) for seed in range(20)])
    assert private <= 0.01 and traced_at_most(1) == pytest.approx(0.0027, abs=1e-4)


def test_without_the_means_in_the_threshold_outsiders_would_be_accused() -> None:
    rows = np.random.default_rng(1).random((1000, 200)) < 0.5
    means = np.random.default_rng(2).normal(0.5, 2, 200)  # useless answers, far off
    half = fair_frequencies(200)
    assert accused(rows, half, means).mean() < 0.01
    careless = threshold(half, rows[:100].mean(axis=0))  # as if the means were nearly right
    assert (scores(rows, half, means) > careless).mean() > 0.4


@pytest.mark.parametrize("alarm", [0, 0.5, -1])
def test_a_false_alarm_is_a_probability(alarm: float) -> None:
    with pytest.raises(InvalidParameter):
        threshold(FREQUENCIES, FREQUENCIES, alarm)
    with pytest.raises(InvalidParameter):
        scores(EVERYBODY, FREQUENCIES[:2], FREQUENCIES)


def test_every_user_reads_what_was_meant_for_it() -> None:
    source = SeededSource(1)
    keys = user_keys(6, source)
    for bit in (False, True):
        sent = encrypt(bit, keys, source)
        assert [decrypt(place, key, sent) for place, key in enumerate(keys)] == [bit] * 6
    for first in range(7):
        sent = mixed(first, keys, source)
        assert [decrypt(place, key, sent) for place, key in enumerate(keys)] == [
            p < first for p in range(6)
        ]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_every_exact_decoder_is_traced_to_one_of_its_users(size: int) -> None:
    source = SeededSource(size)
    keys = user_keys(6, source)
    for members in combinations(range(6), size):

        def majority(sent: Ciphertext, members: tuple[int, ...] = members) -> float:
            return float(2 * sum(decrypt(place, keys[place], sent) for place in members) > len(members))

        def counted(sent: Ciphertext, members: tuple[int, ...] = members) -> float:
            return float(sum(decrypt(place, keys[place], sent) for place in members))

        assert trace(majority, keys, source) in members
        assert trace(counted, keys, source) in members


def test_a_decoder_that_tells_nothing_is_traced_to_no_user_in_particular() -> None:
    source = SeededSource(3)
    keys = user_keys(6, source)
    # So a name alone is no proof: it has to be weighed with how well the decoder decrypts.
    assert trace(lambda _: 0.0, keys, source) == 0
