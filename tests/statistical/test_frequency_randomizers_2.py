"""Measured variances of the Hadamard, projective, hashing and sketching oracles against their formulas.

Each test averages normalised squared errors over m nearly independent items and R runs, on fixed seeds: the ratio of
measured to stated variance has the relative standard error sqrt(2 / (m R)) (measured up to 1.3 times that at
epsilon = 4, where few reports support an item and the errors are not yet normal).
- items that nobody holds: m R >= 19,000, standard error 1.03 % or less, band 0.95 .. 1.05 (4.9 standard errors,
  two-sided alpha 1e-6).  It sees noise that is off by 5 %; an epsilon off by 2.5 % at epsilon <= 1.
- one item that half of the people hold: R = 2000, standard error 3.2 %, band 0.85 .. 1.15 (4.7 standard errors,
  alpha 3e-6).
The exact tests of tests/unit/randomizers see far smaller faults; these see what enumeration cannot: large parameters,
the keystream, and hash functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.rappor import BasicRappor, BloomRappor, symmetric_rounds
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import EpsilonDoubled, SeedFixed, SeedReused
from tests.support.frequency_twins import DebiasForgotten, NoiseTwice
from tests.support.randomizer_checks import assert_caught

Make = Callable[[Epsilon, int], Any]
CLOSED: dict[str, Make] = {
    "hadamard": HadamardResponse,
    "recursive": RecursiveHadamardResponse,
    "projective": ProjectiveGeometryResponse,
    "rappor": lambda epsilon, inputs: BasicRappor(symmetric_rounds(epsilon * 2, epsilon), inputs),
}
BAND, HEAVY_BAND = 0.05, 0.15


def _ratio_at_zero(randomizer: Any, people: int, runs: int) -> float:
    """Measured over stated variance of the items that nobody holds: all but the first sixteen."""
    held = np.arange(people) % 16
    errors = [
        randomizer.estimate(randomizer.tally(randomizer.randomize(held, SeededSource(run)))).values[16:]
        for run in range(runs)
    ]
    return float(np.mean(np.square(errors))) * people / float(randomizer.variance(0.0))


def _check_zero(randomizer: Any, people: int = 3000, runs: int = 80) -> None:
    assert abs(_ratio_at_zero(randomizer, people, runs) - 1) < BAND


def _check_heavy(randomizer: Any, people: int = 400, runs: int = 2000) -> None:
    """Bias and variance of the item that half of the people hold."""
    held = np.arange(people) % 2 * np.arange(people) % randomizer.inputs
    errors = np.array([
        randomizer.estimate(randomizer.tally(randomizer.randomize(held, SeededSource(run)))).values[0]
        - np.count_nonzero(held == 0) / people
        for run in range(runs)
    ])  # fmt: skip
    stated = randomizer.variance(np.count_nonzero(held == 0) / people) / people
    assert abs(errors.mean()) < 4.5 * np.sqrt(stated / runs)
    assert abs(np.mean(errors**2) / stated - 1) < HEAVY_BAND


@pytest.mark.parametrize("name", CLOSED)
def test_the_variance_at_frequency_zero_is_the_formula(name: str) -> None:
    _check_zero(CLOSED[name](Epsilon.requested(1), 256))


@pytest.mark.parametrize("name", ["hadamard", "recursive", "projective"])
def test_a_heavy_item_is_unbiased_with_its_own_variance(name: str) -> None:
    _check_heavy(CLOSED[name](Epsilon.requested(1), 32))


def test_the_broken_twins_are_caught() -> None:
    for make in (HadamardResponse, RecursiveHadamardResponse, ProjectiveGeometryResponse):
        sound, small = make(Epsilon.requested(1), 256), make(Epsilon.requested(1), 32)
        doubled = EpsilonDoubled(small, _same_reports_at_twice_the_epsilon(small))
        assert_caught(_check_heavy, doubled)
        assert_caught(_check_zero, SeedReused(sound), DebiasForgotten(sound))
    # A fixed seed repeats one error in every run: seen in the one heavy item, not in an average over many items.
    assert_caught(_check_heavy, NoiseTwice(small), DebiasForgotten(small), SeedFixed(small))


def _same_reports_at_twice_the_epsilon(small: Any) -> Any:
    two = Epsilon.requested(2)
    if isinstance(small, RecursiveHadamardResponse):
        return RecursiveHadamardResponse(two, small.inputs, small.bits)
    if isinstance(small, ProjectiveGeometryResponse):
        return ProjectiveGeometryResponse(two, small.inputs, small.field_order, small.dimension)
    return HadamardResponse(two, small.inputs)


@pytest.mark.parametrize("buckets", [None, 2])
def test_local_hashing_has_the_variance_of_universal_hashing(buckets: int | None) -> None:
    randomizer, people, runs = OptimalLocalHashing(Epsilon.requested(1), buckets), 4000, 20
    held = np.arange(people) % 16
    estimates = [
        randomizer.estimate(randomizer.randomize(held, SeededSource(run)), np.arange(16 + 960)).values
        for run in range(runs)
    ]
    errors = np.array(estimates) - np.repeat([1 / 16, 0.0], [16, 960])
    ratio = np.mean(np.square(errors[:, 16:])) * people / randomizer.variance(0.0)
    assert abs(ratio - 1) < BAND
    z_scores = errors.mean(axis=0) / np.sqrt(randomizer.variance(1 / 32) / people / runs)
    assert np.abs(z_scores).max() < 6.5  # 976 items: alpha 1e-7


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
def test_a_sketch_has_the_variance_of_its_noise_and_collisions(
    kind: type[CountMeanSketch] | type[HadamardCountMeanSketch],
) -> None:
    # Fresh hash functions in every run; errors of different items share collisions, so the band is 10 %.
    people, runs = 8000, 40
    weights = np.arange(1, 513) ** -1.2
    counts = np.random.default_rng(0).multinomial(people, weights / weights.sum())
    held, truth = np.repeat(np.arange(512), counts), counts / people
    second_moment = float(np.sum(truth**2))
    ratios = []
    for run in range(runs):
        sketch = kind(Epsilon.requested(1), 64, 128, run)
        estimate = sketch.estimate(
            sketch.tally(sketch.randomize(held, SeededSource(run))), np.arange(512), second_moment
        )
        ratios.append(np.mean((estimate.values - truth) ** 2) / estimate.variance_empirical[0])
    assert abs(np.mean(ratios) - 1) < 0.10


def test_bloom_filters_decode_without_bias_and_with_the_stated_errors() -> None:
    # 24 candidates, 60 runs: the standard deviation of the scores has a standard error of 1.9 %.
    randomizer = BloomRappor(symmetric_rounds(Epsilon.requested(8), Epsilon.requested(4), 2), 32, 2, 8)
    held, truth = np.arange(4000) % 12, np.repeat([1 / 12, 0.0], 12)
    scores = []
    for run in range(60):
        tally = randomizer.tally(randomizer.randomize(held, SeededSource(run)))
        estimate = randomizer.estimate(tally, np.arange(24))
        scores.append((estimate.values - truth) / np.sqrt(estimate.variance_population))
    assert (
        abs(np.mean(scores)) < 4.5 / np.sqrt(len(scores) * 24) * 3
    )  # items share columns: thrice the usual room
    assert 0.85 < np.std(scores) < 1.15


@pytest.mark.nightly
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_the_variance_is_the_formula_at_full_size(name: str, epsilon: str) -> None:
    _check_zero(CLOSED[name](Epsilon.requested(epsilon), 1024), people=20_000, runs=30)


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", ["0.5", "2", "4"])
@pytest.mark.parametrize("name", ["hadamard", "recursive", "projective"])
def test_heavy_items_are_unbiased_at_every_epsilon(name: str, epsilon: str) -> None:
    _check_heavy(CLOSED[name](Epsilon.requested(epsilon), 100))
