"""The reconstruction attacks: their bounds exactly, and their rates at fixed seeds."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from localdp.attacks.exhaustive import (
    all_sums,
    consistent,
    distances,
    most_outvoting,
    outvoting,
    signed_answers,
)
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
    outvoted_trial,
)
from localdp.randomizers.definition import Floats
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits


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


def near_zero(places: int, error: float) -> Fraction:
    """How many of all questions a candidate that is wrong in so many places agrees on within twice the error."""
    ways = [comb(places, plus) for plus in range(places + 1) if abs(2 * (2 * plus - places)) <= 2 * error]
    return Fraction(sum(ways), 2**places)


@pytest.mark.parametrize("places", [1, 4, 9, 100, 401])
def test_random_signs_seldom_add_up_to_little(places: int) -> None:
    # Lemma 8.3, with l = 2 alpha for a window from -2 alpha to 2 alpha: exact, and the bound is met to a half.
    for error in range(1, 12):
        assert float(near_zero(places, error)) <= (2 * error + 1) / math.sqrt(places)


def worst_answers(signs: Bits, bits: Bits, other: Bits, error: float, garbage: int) -> Floats:
    """As near to the other database as the error allows, and its very answers where most is gained by garbage."""
    true, wanted = signed_answers(signs, bits), signed_answers(signs, other)
    answers = np.clip(wanted, true - error, true + error)
    lies = np.argsort(-np.abs(wanted - true), kind="stable")[:garbage]
    answers[lies] = wanted[lies]
    return answers


@pytest.mark.parametrize("error", [0, 1, 2])
@pytest.mark.parametrize("garbage", [0, 1, 3, 6, 7])  # sixteenths of all answers
def test_what_outvotes_the_worst_garbage_agrees_with_the_truth_on_twice_the_margin(
    garbage: int, error: int
) -> None:
    # Theorem 8.2 with all 2^8 questions, so that nothing is left to chance; against garbage in favour of one who is wrong
    # in so many places.
    margin, bits = Fraction(8 - garbage, 16), np.zeros(8, np.bool_)
    signs = np.array(list(product([False, True], repeat=8)))
    for places in range(9):
        other = np.arange(8) < places
        answers = worst_answers(signs, bits, other, error, garbage * len(signs) // 16)
        apart = distances(outvoting(signs, answers, error, float(margin)), bits)
        assert 0 in apart  # garbage below one half never rules the truth out
        assert all(near_zero(int(distance), error) >= 2 * margin for distance in apart)
        assert (places in apart) == (near_zero(places, error) >= 2 * margin)  # and the bound is met
        if error:
            assert apart.max() <= most_outvoting(error, float(margin))


def test_more_garbage_than_half_makes_a_false_database_win() -> None:
    signs, bits = np.array(list(product([False, True], repeat=8))), np.zeros(8, np.bool_)
    answers = worst_answers(signs, bits, ~bits, 1, 9 * len(signs) // 16)
    assert distances(outvoting(signs, answers, 1, 1 / 16), bits).tolist() == [8]


def test_exact_answers_do_not_rule_out_two_wrong_places_where_a_quarter_is_garbage() -> None:
    # Theorem 8.2 is for errors above 0: with alpha = 0 it would promise every bit.
    signs, bits = np.array(list(product([False, True], repeat=8))), np.zeros(8, np.bool_)
    answers = worst_answers(signs, bits, np.arange(8) < 2, 0, len(signs) // 4)
    assert set(distances(outvoting(signs, answers, 0, 0.25), bits)) == {0, 2}
    assert most_outvoting(0, 0.25) == 0


@pytest.mark.parametrize("share", [0.2, 0.3, 0.45])
def test_a_few_random_questions_give_twelve_bits_away_though_many_answers_are_garbage(share: float) -> None:
    # 4 n questions with answers within 1, and garbage that is uniform among possible answers.
    assert [outvoted_trial(12, 48, share, SeededSource(seed)) for seed in range(20)] == [0] * 20


def test_the_table_of_the_worst_garbage_is_that_of_the_documents() -> None:
    margins = [Fraction(50 - percent, 100) for percent in (5, 10, 20, 25, 30)]
    wrong = [max(k for k in range(13) if near_zero(k, 1) >= 2 * margin) for margin in margins]
    assert wrong == [1, 1, 5, 7, 11]


def test_questions_and_bits_are_multiplied_as_signs() -> None:
    signs, bits = np.array([[True, False, True], [False, False, False]]), np.array([True, True, False])
    assert signed_answers(signs, bits).tolist() == [1 - 1 - 1, -1 - 1 + 1]


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
        lambda: outvoting(np.ones((3, 13), np.bool_), np.zeros(3), 1, 0.1),
        lambda: outvoting(np.ones((3, 2), np.bool_), np.zeros(2), 1, 0.1),
        lambda: outvoting(np.ones((3, 2), np.bool_), np.zeros(3), 1, 0.0),
        lambda: hadamard(np.zeros(3)),
        lambda: recovered(np.zeros(2, np.bool_), np.zeros(3, np.bool_)),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
