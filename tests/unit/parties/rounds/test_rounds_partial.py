"""What the answers of some say about all: standard errors that are true, for those who answered and for everybody."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import Answer
from localdp.randomizers.definition import Tally
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.source import WORD_RANGE
from parties.rounds.partial import RoundResult
from parties.rounds.plan import Headcount

PEOPLE, ANSWERED, SMOKERS = 1200, 840, 360  # 30 parties of 40, of whom 9 are missing
# At epsilon = 4 a report has less noise than people differ: there a wrong sampling term shows.
RANDOMIZER = OneBitRandomizer(Epsilon.requested(4))
QUANTILE = 1.959964


def result_of(sums: list[int], reports: int = ANSWERED, people: int = PEOPLE) -> RoundResult:
    tally = Tally(RANDOMIZER, reports, np.array(sums, dtype=np.int64))
    return RoundResult("r", "smoker", people, tally, Headcount(30, people), Headcount(21, reports), {})


def simulated(rounds: int) -> list[tuple[RoundResult, float]]:
    """Rounds in which a random part answers: each with the true mean of those who did."""
    coins = np.random.default_rng(12061)
    flipped = RANDOMIZER.flip / WORD_RANGE
    smokers = coins.hypergeometric(SMOKERS, PEOPLE - SMOKERS, ANSWERED, rounds)
    ones = coins.binomial(smokers, 1 - flipped) + coins.binomial(ANSWERED - smokers, flipped)
    return [(result_of([int(n)]), float(m) / ANSWERED) for n, m in zip(ones, smokers, strict=True)]


def covered(answer: Answer, variance: float, truth: float) -> bool:
    return abs(answer.value - truth) <= QUANTILE * math.sqrt(variance)


def test_intervals_cover_the_mean_of_everybody_and_of_those_who_answered_as_often_as_they_say() -> None:
    # 4,000 rounds with fixed coins: the share of hits has a standard error of 0.0035, so the band of 0.015 is left by a
    # true interval with probability 1e-5.  Would miss a standard error that is wrong by 5 %.
    everybody, answered, noise_only, no_correction = [], [], [], []
    for result, mean in simulated(4000):
        about_all, about_some = result.answer, result.answer_of_answered
        truth = SMOKERS / PEOPLE
        everybody.append(covered(about_all, about_all.variance_empirical, truth))
        answered.append(covered(about_some, about_some.variance_empirical, mean))
        noise_only.append(covered(about_all, about_some.variance_empirical, truth))
        no_correction.append(covered(about_all, about_all.variance_population, truth))
    assert abs(np.mean(everybody) - 0.95) < 0.015
    assert abs(np.mean(answered) - 0.95) < 0.015
    # The broken twins: the noise of those who answered taken for all, and a finite population taken for an infinite one.
    assert np.mean(noise_only) < 0.75
    assert np.mean(no_correction) > 0.99


def test_the_estimate_is_the_same_for_both_and_says_of_how_many() -> None:
    result = result_of([300])
    assert result.answer.value == result.answer_of_answered.value
    assert (result.answer.people, result.answer.reports) == (PEOPLE, ANSWERED)
    assert (result.answer_of_answered.people, result.answer_of_answered.reports) == (ANSWERED, ANSWERED)
    assert result.answer.standard_error > result.answer_of_answered.standard_error
    assert not result.complete


def test_a_complete_round_needs_no_assumption() -> None:
    result = result_of([300], reports=PEOPLE)
    assert result.answer == result.answer_of_answered


@pytest.mark.parametrize("ones", [0, ANSWERED])
def test_the_standard_error_is_never_below_the_noise_even_where_the_estimate_is_out_of_range(
    ones: int,
) -> None:
    result = result_of([ones])
    assert not 0 <= result.answer.value <= 1
    assert result.answer.variance_empirical == result.answer_of_answered.variance_empirical > 0


def test_frequencies_are_extrapolated_the_same_way() -> None:
    randomizer = KaryRandomizedResponse(Epsilon.requested(4), 4)
    tally = Tally(randomizer, 100, np.array([40, 30, 20, 10], dtype=np.int64))
    result = RoundResult("r", "region", 200, tally, Headcount(2, 200), Headcount(1, 100), {})
    own, about_all = result.estimate, result.frequencies
    assert np.array_equal(about_all.values, own.values)
    middle = (own.variance_empirical + own.variance_population) / 2
    assert about_all.variance_empirical == pytest.approx(middle)
    with pytest.raises(InvalidParameter, match="no mean"):
        _ = result.answer
    with pytest.raises(InvalidParameter, match="no frequencies"):
        _ = result_of([300]).frequencies
