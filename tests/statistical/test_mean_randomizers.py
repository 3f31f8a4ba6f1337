"""Sampled errors of the randomizers for means, vectors and distributions, against their formulas.

Each test draws single reports of people who all have one value, and debiases them with the real estimator.  Mean and
variance must lie within 4.5 standard errors of the formula (alpha = 7e-6 each), at n = 200,000.  The standard error of
a variance comes from the fourth moment of the exact law: 0.2 % at epsilon = 1, 2 % at epsilon = 8, where a report that is
far off is rare and its square large.  Power: an epsilon of 1 that is
overspent by 6 % biases the mean at an end of the range by 7.2 standard errors, and is seen with probability 0.997;
at 3 % it would mostly be missed here.  The exact tests of tests/unit/randomizers see every slip.
"""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.definition import MeanRandomizer
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.square_wave import SquareWave
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, NoiseTwice
from tests.support.randomizer_checks import assert_caught

PEOPLE = 200_000
STANDARD_ERRORS = 4.5
WIDEST_BAND = 0.15  # a band around a variance that is wider would hardly say anything

Floats = NDArray[np.float64]


def _debiased(randomizer: Any, reports: NDArray[Any]) -> Floats:
    """Each report's own estimate."""
    outputs, place = np.unique(reports, return_inverse=True)
    estimates = [randomizer.estimate(randomizer.tally(np.array([output]))) for output in outputs]
    single = [estimate.values if hasattr(estimate, "values") else estimate.value for estimate in estimates]
    return np.array(single)[place]


def _band(randomizer: Any, value: int) -> float:
    """4.5 relative standard errors of the variance of the debiased reports, from their exact law."""
    law = randomizer.law(value)
    masses = np.array([float(law[output]) for output in range(len(law))])
    errors = _debiased(randomizer, np.arange(len(law))) - value / randomizer.resolution
    second, fourth = float(masses @ errors**2), float(masses @ errors**4)
    return STANDARD_ERRORS * sqrt((fourth - second**2) / PEOPLE) / second


def _check_mean_and_variance(randomizer: Any, value: int, seed: int) -> None:
    reports = randomizer.randomize(np.full(PEOPLE, value), SeededSource(seed))
    debiased, truth = _debiased(randomizer, reports), value / randomizer.resolution
    stated = randomizer.variance(truth)
    assert abs(debiased.mean() - truth) < STANDARD_ERRORS * sqrt(stated / PEOPLE)
    ratio, band = ((debiased - truth) ** 2).mean() / stated, _band(randomizer, value)
    assert band < WIDEST_BAND and ratio == pytest.approx(1, abs=band)
    together = randomizer.estimate(randomizer.tally(reports))
    assert together.value == pytest.approx(debiased.mean(), rel=1e-9, abs=1e-9)


def _means(epsilon: str) -> list[MeanRandomizer]:
    requested = Epsilon.requested(epsilon)
    return [
        PiecewiseRandomizer(requested, 256),
        HybridRandomizer(requested, 256),
        LocalDiscreteLaplace(requested, 256),
    ]


@pytest.mark.parametrize("value", [0, 128, 256])
@pytest.mark.parametrize("epsilon", ["1", "4"])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["piecewise", "hybrid", "laplace"])
def test_a_mean_has_the_variance_of_its_formula(which: int, epsilon: str, value: int) -> None:
    _check_mean_and_variance(_means(epsilon)[which], value, seed=value)


@pytest.mark.nightly
@pytest.mark.parametrize("value", [0, 100, 1024])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4", "8"])
@pytest.mark.parametrize("kind", [PiecewiseRandomizer, HybridRandomizer, LocalDiscreteLaplace])
def test_a_mean_on_a_fine_grid_has_the_variance_of_its_formula(kind: Any, epsilon: str, value: int) -> None:
    _check_mean_and_variance(kind(Epsilon.requested(epsilon), 1024), value, seed=value + 1)


def test_the_broken_twins_of_a_mean_are_caught() -> None:
    sound, other = _means("1")[2], _means("2")[2]

    def check(twin: Any) -> None:
        _check_mean_and_variance(twin, 200, seed=3)

    check(sound)
    assert_caught(check, EpsilonDoubled(sound, other), NoiseTwice(sound), DebiasForgotten(sound))


def test_an_epsilon_that_is_overspent_by_six_percent_is_caught() -> None:
    sound, other = _means("1")[2], LocalDiscreteLaplace(Epsilon.requested("1.06"), 256)
    assert_caught(lambda twin: _check_mean_and_variance(twin, 256, 4), EpsilonDoubled(sound, other))


def _check_coordinates(randomizer: Any, people: int) -> None:
    vector = np.arange(randomizer.dimension) * randomizer.resolution // (randomizer.dimension - 1)
    reports = randomizer.randomize(np.tile(vector, (people, 1)), SeededSource(11))
    debiased, truth = _debiased(randomizer, reports), vector / randomizer.resolution
    stated = np.array([randomizer.variance(x) for x in truth])
    assert (np.abs(debiased.mean(axis=0) - truth) < STANDARD_ERRORS * np.sqrt(stated / people)).all()
    ratios = ((debiased - truth) ** 2).mean(axis=0) / stated
    assert ratios.mean() == pytest.approx(1, abs=0.005)
    # The square is nearly a coin of probability 1 / d: its mean has a relative error of sqrt(d / n).
    assert np.abs(ratios - 1).max() < STANDARD_ERRORS * sqrt(randomizer.dimension / people)


def test_every_coordinate_has_the_variance_of_its_formula() -> None:
    _check_coordinates(CoordinateSampling(Epsilon.requested("1"), 10, 256), PEOPLE)


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_every_one_of_many_coordinates_has_the_variance_of_its_formula(epsilon: str) -> None:
    _check_coordinates(CoordinateSampling(Epsilon.requested(epsilon), 256), 100_000)


def test_the_broken_twins_of_a_vector_are_caught() -> None:
    sound, other = (CoordinateSampling(Epsilon.requested(epsilon), 10, 256) for epsilon in ("1", "2"))

    def check(twin: Any) -> None:
        _check_coordinates(twin, PEOPLE)

    assert_caught(check, EpsilonDoubled(sound, other))


def _vector(randomizer: PrivUnit, kind: str) -> NDArray[np.int64]:
    """A unit vector along one axis, along all of them, or one of half the length."""
    radius, dimension = randomizer.resolution, randomizer.dimension
    if kind == "sparse":
        return np.array([radius] + [0] * (dimension - 1), np.int64)
    length = radius if kind == "dense" else radius // 2
    entry = int(length / sqrt(dimension))
    return np.array([entry, -entry] * dimension, np.int64)[:dimension]


def _check_priv_unit(randomizer: PrivUnit, kind: str, people: int, scale: float | None = None) -> None:
    """The debiased reports have mean x, and the mean squared error of the formula.

    The squared error of a report is about its mean times (1 +- sqrt(2 / d)), so that its mean over n reports has a
    relative standard error of sqrt(2 / (d n)), and a little more from the length of the report along x.
    """
    vector = _vector(randomizer, kind)
    reports = randomizer.randomize(np.tile(vector, (people, 1)), SeededSource(21))
    truth = vector / randomizer.resolution
    debiased = randomizer.decoded(reports) * (scale or randomizer.scores.scale)
    squared_norm = float(truth @ truth)
    stated = randomizer.mean_squared_error(squared_norm)
    along = debiased @ truth / squared_norm
    assert abs(along.mean() - 1) < STANDARD_ERRORS * along.std() / sqrt(people)
    bias = ((debiased.mean(axis=0) - truth) ** 2).sum() / (stated / people)
    assert abs(bias - 1) < STANDARD_ERRORS * sqrt(2 / randomizer.dimension) * 1.5
    measured = ((debiased - truth) ** 2).sum(axis=1).mean()
    assert measured / stated == pytest.approx(1, abs=0.01)
    estimate = randomizer.estimate(randomizer.tally(reports))
    np.testing.assert_allclose(estimate.values, debiased.mean(axis=0), atol=1e-4 * sqrt(stated))
    assert estimate.variance_empirical.sum() * people == pytest.approx(stated, rel=0.02)


@pytest.mark.parametrize("kind", ["sparse", "dense", "short"])
def test_a_unit_vector_is_estimated_with_the_stated_error(kind: str) -> None:
    # 20,000 reports of 20 coordinates: the relative standard error of the mean squared error is 0.25 %.
    _check_priv_unit(PrivUnit(Epsilon.requested("1"), 20, candidates=32), kind, 20_000)


def test_at_epsilon_four_it_is_as_stated() -> None:
    _check_priv_unit(PrivUnit(Epsilon.requested("4"), 20, candidates=64), "sparse", 20_000)


def test_a_hundred_dimensions_reach_the_error_of_the_reference_within_three_percent() -> None:
    # 10,000 reports: relative standard error 0.15 %, and PrivUnitG itself has 633.
    randomizer, people = PrivUnit(Epsilon.requested("1"), 100), 10_000
    vectors = np.random.default_rng(5).normal(size=(people, 100))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = np.trunc(vectors * randomizer.resolution).astype(np.int64)
    debiased = randomizer.decoded(randomizer.randomize(values, SeededSource(6))) * randomizer.scores.scale
    error = ((debiased - values / randomizer.resolution) ** 2).sum(axis=1).mean()
    assert error / 633.0 == pytest.approx(1, abs=0.03)
    assert error / randomizer.mean_squared_error() == pytest.approx(1, abs=0.01)


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
@pytest.mark.parametrize("kind", ["sparse", "dense", "short"])
def test_a_hundred_dimensions_are_estimated_with_the_stated_error(epsilon: str, kind: str) -> None:
    _check_priv_unit(PrivUnit(Epsilon.requested(epsilon), 100), kind, 20_000)


def test_a_unit_vector_that_is_not_debiased_is_caught() -> None:
    randomizer = PrivUnit(Epsilon.requested("1"), 20, candidates=32)
    assert_caught(lambda twin: _check_priv_unit(twin, "dense", 20_000, scale=1.0), randomizer)


def _wasserstein(epsilon: str, truth: Floats, buckets: int, smoothing: bool = True) -> float:
    randomizer = SquareWave(Epsilon.requested(epsilon), buckets)
    values = np.minimum((truth * buckets).astype(np.int64), buckets - 1)
    tally = randomizer.tally(randomizer.randomize(values, SeededSource(31)))
    estimate = randomizer.estimate(tally, smoothing=smoothing)
    true = np.bincount(values, minlength=buckets) / len(values)
    return float(np.abs(estimate.cumulative - np.cumsum(true)).sum() / buckets)


def test_the_square_wave_finds_a_beta_distribution() -> None:
    truth = stats.beta(5, 2).rvs(100_000, random_state=1)
    smooth = _wasserstein("1", truth, 256)
    assert smooth <= 0.009
    # Not vacuous: the uniform distribution, where the iteration starts, is 0.214 away.
    assert _wasserstein("0.01", truth, 256) > 0.05


@pytest.mark.nightly
@pytest.mark.parametrize(("epsilon", "limit"), [("0.5", 0.016), ("1", 0.009), ("2", 0.005)])
def test_the_square_wave_finds_a_beta_distribution_on_fine_buckets(epsilon: str, limit: float) -> None:
    truth = stats.beta(5, 2).rvs(100_000, random_state=2)
    assert _wasserstein(epsilon, truth, 1024) <= limit
