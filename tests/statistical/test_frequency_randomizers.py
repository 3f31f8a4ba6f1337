"""Sampled errors of the frequency oracles: the smoke alarm behind the exact laws of tests/unit/randomizers.

Every setting repeats a collection R = 20,000 times with n = 100 people: half of them hold item 0, the others item 1.
n times the mean squared error of one item has a relative standard error of sqrt(2 / R) = 1 %, so that the band 0.95 ..
1.05 is five standard errors wide (alpha below 1e-6 for each ratio).  It would miss an epsilon that is overspent by less
than about 2 %; the exact tests do not.  A bias is seen at 4.5 standard errors (alpha 7e-6 for each of 132 items).
Seeds are fixed: the tests are deterministic.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.definition import Frequencies, Tally
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, NoiseTwice, SeedReused
from tests.support.randomizer_checks import assert_caught

PEOPLE = 100
REPETITIONS = 20_000
COVERED_PEOPLE = 10_000
ORACLES: list[Any] = [
    KaryRandomizedResponse,
    OptimizedUnaryEncoding,
    SymmetricUnaryEncoding,
    SubsetSelection,
]


def _frequencies(inputs: int) -> NDArray[np.float64]:
    return np.array([0.5, 0.5] + [0.0] * (inputs - 2))


def _collect(randomizer: Any, people: int, repetitions: int, seed: int) -> Frequencies:
    """The estimates of all repetitions, a row for each."""
    once = np.repeat(np.arange(randomizer.inputs), (_frequencies(randomizer.inputs) * people).astype(int))
    block = max(1, 200_000 // people)
    source, sums = SeededSource(seed), []
    for start in range(0, repetitions, block):
        several = min(block, repetitions - start)
        reports = randomizer.randomize(np.tile(once, several), source)
        sums += [randomizer.tally(part).sums for part in np.split(reports, several)]
    estimates: Frequencies = randomizer.estimate(Tally(_sound(randomizer), people, np.array(sums)))
    return estimates


def _sound(randomizer: Any) -> Any:
    return getattr(randomizer, "sound", randomizer)


def _check_errors(randomizer: Any, people: int, repetitions: int) -> None:
    truth = _frequencies(randomizer.inputs)
    errors = _collect(randomizer, people, repetitions, seed=1).values - truth
    standard_errors = errors.std(axis=0) / np.sqrt(repetitions)
    assert (np.abs(errors.mean(axis=0)) <= 4.5 * standard_errors).all(), "the estimate is biased"
    measured = people * (errors**2).mean(axis=0)
    for items, frequency in ((truth == 0, 0.0), (truth == 0.5, 0.5)):
        ratio = measured[items].mean() / randomizer.variance(frequency)
        assert 0.95 <= ratio <= 1.05, f"the error at frequency {frequency} is {ratio:.3f} of the stated one"


def check_sampled_errors(randomizer: Any) -> None:
    """The small setting: bias and mean squared error at frequency 0 and at a heavy item."""
    _check_errors(randomizer, PEOPLE, REPETITIONS)


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_the_sampled_error_is_the_stated_one(oracle: Any, epsilon: str) -> None:
    check_sampled_errors(oracle(Epsilon.requested(epsilon), 8))


def test_the_sampled_error_of_a_channel_is_the_stated_one() -> None:
    weights = tuple(tuple(60 if x == y else 15 for y in range(4)) for x in range(4))
    check_sampled_errors(FiniteChannel(weights))


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_broken_twins_are_caught(oracle: Any) -> None:
    sound = oracle(Epsilon.requested("1"), 4)
    doubled = EpsilonDoubled(sound, oracle(Epsilon.requested("2"), 4))
    assert_caught(check_sampled_errors, doubled, DebiasForgotten(sound), SeedReused(sound))
    if oracle is KaryRandomizedResponse:
        assert_caught(check_sampled_errors, NoiseTwice(sound))


@pytest.mark.nightly
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_the_sampled_error_is_the_stated_one_at_1024_inputs(oracle: Any, epsilon: str) -> None:
    """n = 20,000 and R = 30; over 1022 items of frequency 0 the standard error of the ratio is below 1 %."""
    randomizer = oracle(Epsilon.requested(epsilon), 1024)
    errors = _collect(randomizer, 20_000, 30, seed=2).values - _frequencies(1024)
    assert 0.95 <= 20_000 * (errors[:, 2:] ** 2).mean() / randomizer.variance(0.0) <= 1.05


# The coverage of nominal 95 % intervals, n = 10,000 people, R = 20,000 repetitions.  The counts are drawn from their
# exact law, two binomials.  The standard error of a coverage is 0.0015, so that 0.94 .. 0.96 is 6.5 of them wide.

COVERED: list[Any] = [
    KaryRandomizedResponse(Epsilon.requested("1"), 2),
    KaryRandomizedResponse(Epsilon.requested("1"), 16),
    OptimizedUnaryEncoding(Epsilon.requested("1"), 16),
    SymmetricUnaryEncoding(Epsilon.requested("1"), 16),
    SubsetSelection(Epsilon.requested("1"), 16),
]


def _supporting(own: float, other: float, holders: Any, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    kept = generator.binomial(holders, own, REPETITIONS)
    return np.asarray(kept + generator.binomial(COVERED_PEOPLE - holders, other, REPETITIONS), np.int64)


@pytest.mark.parametrize("randomizer", COVERED, ids=lambda randomizer: randomizer.canonical)
@pytest.mark.parametrize("frequency", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("population", [False, True])
def test_intervals_cover_the_truth_as_often_as_they_say(
    randomizer: Any, frequency: float, population: bool
) -> None:
    holders: Any = int(frequency * COVERED_PEOPLE)
    if population:
        holders = np.random.default_rng(7).binomial(COVERED_PEOPLE, frequency, REPETITIONS)
    own, other = float(randomizer.support.own), float(randomizer.support.other)
    counts = _supporting(own, other, holders, seed=11)
    low, high = randomizer.support.estimate(counts, COVERED_PEOPLE).intervals(0.95, population=population)
    assert 0.94 <= ((low <= frequency) & (frequency <= high)).mean() <= 0.96


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_intervals_of_binary_randomized_response_cover_the_truth(share: float) -> None:
    randomizer = binary_randomized_response(1.0)
    flipped = randomizer.flip / 2**64
    counts = _supporting(1 - flipped, flipped, int(share * COVERED_PEOPLE), seed=13)
    covered = 0
    for count in counts:
        estimate = randomizer.estimate(Tally(randomizer, COVERED_PEOPLE, np.array([count])))
        low, high = estimate.interval(0.95)
        covered += low <= share <= high
    assert 0.94 <= covered / REPETITIONS <= 0.96
