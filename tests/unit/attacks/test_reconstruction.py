"""The reconstruction attacks: their bounds exactly, and their rates at fixed seeds."""

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np
import pytest

from localdp.attacks.exhaustive import all_sums, consistent, distances
from localdp.attacks.hadamard import hadamard, most_wrong, signed_sums
from localdp.attacks.least_squares import expected_fraction, least_squares
from localdp.attacks.linear_program import linear_program, require_solver
from localdp.attacks.subset_sums import guess_bound, random_bits, random_subsets, recovered, subset_sums
from localdp.errors import InvalidParameter, LocalDpError
from localdp.experiments.attack_reconstruction import (
    garbage_trial,
    gaussian,
    hadamard_trial,
    least_squares_trial,
)
from localdp.randomness.hazmat import SeededSource


def test_exact_sums_give_every_bit_away() -> None:
    source = SeededSource(1)
    bits, subsets = random_bits(60, source), random_subsets(90, 60, source)
    answers = subset_sums(subsets, bits)
    assert answers.tolist() == [int(bits[row].sum()) for row in subsets]
    assert recovered(least_squares(subsets, answers), bits) == 1.0
    assert recovered(hadamard(signed_sums(bits[:32])), bits[:32]) == 1.0


@pytest.mark.parametrize("error", [1, 2])
def test_no_candidate_within_the_error_differs_in_more_than_four_times_it(error: int) -> None:
    # Theorem 8.1 at n = 10, for answers that are off at random and for answers that lean towards another database.
    source = SeededSource(2)
    bits = random_bits(10, source)
    other = bits.copy()
    other[: 2 * error] ^= True
    middle = (all_sums(bits) + all_sums(other)) / 2
    for answers in (
        all_sums(bits) + source.below(2 * error + 1, 1 << 10).astype(np.float64) - error,
        np.clip(middle, all_sums(bits) - error, all_sums(bits) + error),
    ):
        candidates = consistent(answers, error)
        apart = distances(candidates, bits)
        assert 0 in apart
        assert apart.max() <= 4 * error


def test_the_bound_of_trying_everything_is_not_vacuous() -> None:
    bits = np.zeros(10, np.bool_)
    other = bits.copy()
    other[:2] = True
    answers = (all_sums(bits) + all_sums(other)) / 2
    assert distances(consistent(answers, 1), bits).max() >= 2


def test_every_sum_is_listed_under_the_number_of_its_subset() -> None:
    bits = np.array([True, False, True])
    members = [tuple(reversed(choice)) for choice in product([0, 1], repeat=3)]
    assert all_sums(bits).tolist() == [float(np.dot(choice, bits)) for choice in members]


@pytest.mark.parametrize("error", [2, 4, 8])
def test_no_errors_make_the_hadamard_attack_miss_more_than_its_bound(error: int) -> None:
    # The worst errors are signs of one's own choice: those that push as many bits as possible over the threshold.
    source = SeededSource(3)
    bits = random_bits(256, source)
    target = np.where(bits, -1.0, 1.0)
    target[most_wrong(error, 256) // 2 :] = 0
    worst = error * np.sign(signed_sums(target > 0) - signed_sums(target < 0))
    for off in (worst, source.below(2 * error + 1, 256).astype(np.float64) - error):
        wrong = 256 * (1 - recovered(hadamard(signed_sums(bits) + off), bits))
        assert wrong <= most_wrong(error, 256)


@pytest.mark.parametrize(("error", "wrong"), [(8, 2), (12, 25)])
def test_the_hadamard_attack_misses_few_of_1024_bits(error: int, wrong: int) -> None:
    # Five seeds.  At E = 12 a trial misses 14 on average, with a standard deviation of 3.7; 25 is three of them above.
    missed = [1024 * (1 - hadamard_trial(1024, error, SeededSource(seed))) for seed in range(5)]
    assert max(missed) <= wrong
    assert np.mean(missed) <= 17


@pytest.mark.parametrize(("people", "share"), [(128, 0.25), (256, 0.25), (256, 0.5), (512, 1.0)])
def test_least_squares_recovers_the_predicted_fraction(people: int, share: float) -> None:
    # 4 trials of n bits, m = 4 n: the standard deviation is at most 0.5 / sqrt(4 n); five of them.
    deviation = share * math.sqrt(people)
    found = [least_squares_trial(people, 4 * people, deviation, SeededSource(seed)) for seed in range(4)]
    expected = expected_fraction(4 * people, people, deviation)
    assert np.mean(found) == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(4 * people))


def test_256_bits_fall_to_1024_answers_of_deviation_4() -> None:
    # Predicted .958; the mean of four trials has a standard deviation of .0063.
    assert np.mean([least_squares_trial(256, 1024, 4, SeededSource(seed)) for seed in range(4)]) >= 0.94


def test_the_careless_noise_has_the_deviation_that_it_says() -> None:
    # 20,000 draws: the deviation is known to 0.5 %; five of them.
    noise = gaussian(4, 20_000, SeededSource(5))
    assert noise.std() == pytest.approx(4, rel=0.025)
    assert abs(noise.mean()) < 5 * 4 / math.sqrt(20_000)


def test_a_linear_program_survives_garbage_that_least_squares_does_not() -> None:
    # n = 64, m = 256, 30 % garbage.
    right = [garbage_trial(linear_program, 64, 256, 0.3, SeededSource(seed)) for seed in range(3)]
    lost = [garbage_trial(least_squares, 64, 256, 0.3, SeededSource(seed)) for seed in range(3)]
    assert min(right) >= 0.95
    assert np.mean(lost) <= 0.75


def test_without_scipy_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(LocalDpError, match=r"localdp\[attacks\]"):
        require_solver()


def test_a_private_bit_is_guessed_no_better_than_its_odds() -> None:
    assert guess_bound(1) == pytest.approx(math.e / (1 + math.e))
    assert guess_bound(1e-9) == pytest.approx(0.5)


def test_what_makes_no_sense_is_refused() -> None:
    source = SeededSource(1)
    for wrong in (
        lambda: random_subsets(1 << 20, 1 << 10, source),
        lambda: random_subsets(0, 4, source),
        lambda: least_squares(np.ones((3, 2), np.bool_), np.zeros(2)),
        lambda: linear_program(np.ones((3, 2), np.bool_), np.zeros(2)),
        lambda: expected_fraction(10, 10, 1.0),
        lambda: consistent(np.zeros(3), 1),
        lambda: all_sums(np.zeros(13, np.bool_)),
        lambda: hadamard(np.zeros(3)),
        lambda: recovered(np.zeros(2, np.bool_), np.zeros(3, np.bool_)),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
