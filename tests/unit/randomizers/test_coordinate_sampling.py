"""Coordinate sampling through every coin: its law over whole vectors, and its estimates of all coordinates."""

from itertools import product
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.coordinate_sampling import LARGEST_DIMENSION, CoordinateSampling
from localdp.randomizers.definition import Tally, Values
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
)

EPSILONS = ["0.01", "0.5", "1", "4", "10"]


def _sampling(epsilon: str, dimension: int, resolution: int = 2) -> CoordinateSampling:
    return CoordinateSampling(Epsilon.requested(epsilon), dimension, resolution)


def _moments(randomizer: CoordinateSampling, vector: Values) -> tuple[Values, Values]:
    """Mean and variance of the estimate from one report, under the exact law."""
    law = enumerate_law(lambda source: int(randomizer.randomize(vector[None, :], source)[0]))
    estimates = {output: randomizer.estimate(randomizer.tally(np.array([output]))).values for output in law}
    mean = sum(float(mass) * estimates[output] for output, mass in law.items())
    square = sum(float(mass) * estimates[output] ** 2 for output, mass in law.items())
    return np.asarray(mean), np.asarray(square - mean**2)


def _check_unbiased(randomizer: CoordinateSampling) -> None:
    for vector in product(range(randomizer.resolution + 1), repeat=randomizer.dimension):
        mean, _ = _moments(randomizer, np.array(vector))
        np.testing.assert_allclose(mean, np.array(vector) / randomizer.resolution, atol=1e-12, rtol=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("dimension", "resolution"), [(1, 1), (2, 2), (3, 1)])
def test_the_law_is_exact_and_spends_what_was_requested(
    epsilon: str, dimension: int, resolution: int
) -> None:
    check_exact_law(_sampling(epsilon, dimension, resolution))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_estimate_is_unbiased(dimension: int) -> None:
    _check_unbiased(_sampling("1", dimension))


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_variance_is_d_c_squared_less_t_squared(dimension: int) -> None:
    randomizer = _sampling("1", dimension, 4)
    vector = np.arange(dimension) % 5
    _, variance = _moments(randomizer, vector)
    c, t = (exp(1) + 1) / (exp(1) - 1), 2 * vector / 4 - 1
    np.testing.assert_allclose(4 * variance, dimension * c**2 - t**2, rtol=1e-6)
    stated = [randomizer.variance(x) for x in vector / 4]
    np.testing.assert_allclose(variance, stated, rtol=1e-9)


def test_ten_dimensions_meet_the_reference_number() -> None:
    assert 4 * _sampling("1", 10, 1024).variance(0.5) == pytest.approx(46.83, abs=0.01)


def test_the_stated_variance_bounds_the_true_one_and_is_met_when_all_agree() -> None:
    randomizer, people = _sampling("1", 3, 16), 30_000
    values = np.tile([0, 8, 16], (people, 1))
    estimate = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(1))))
    truth = [randomizer.variance(x) for x in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(estimate.variance_empirical * people, truth, rtol=0.02)
    np.testing.assert_allclose(estimate.values, [0, 0.5, 1], atol=4.5 * (truth[1] / people) ** 0.5)


def test_where_people_differ_the_stated_variance_is_above_the_true_one_by_how_far() -> None:
    randomizer, people, values = _sampling("1", 2, 16), 2**60, [(0, 4), (16, 4)]
    laws = [randomizer.law(first + 17 * second) for first, second in values]  # as digits
    counts = [int(sum(law[output] for law in laws) * people / 2) for output in range(randomizer.outputs)]
    estimate = randomizer.estimate(Tally(randomizer, people, np.array(counts)))
    true = [randomizer.variance(np.array(column) / 16) for column in zip(*values, strict=True)]
    np.testing.assert_allclose(estimate.variance_empirical * people - true, [0.25, 0.0], atol=1e-9)


def test_every_other_contract_holds() -> None:
    randomizer = _sampling("1", 3)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)
    check_people_independent(_sampling("1", 2), (0, 8))


def test_the_broken_twins_are_caught() -> None:
    sound = _sampling("1", 2)
    doubled = EpsilonDoubled(sound, _sampling("2", 2))
    kept = ItemKept(sound, lambda values, reports: reports // 2 * 2 + (values > 0).any(axis=1))
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(_check_unbiased, EpsilonDoubled(sound, _sampling("2", 2)))
    assert_caught(check_people_independent, SeedReused(sound))
    forgotten = DebiasForgotten(sound)
    assert_caught(
        lambda twin: np.testing.assert_allclose(
            twin.estimate(sound.tally(np.array([1]))).values,
            sound.estimate(sound.tally(np.array([1]))).values,
        ),
        forgotten,
    )


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3, np.int64),
        np.zeros((4, 2), np.int64),
        np.zeros((4, 3)),
        np.array([[0, 0, 3]]),
        np.array([[0, -1, 0]]),
    ],
)
def test_what_is_no_row_of_the_grid_is_refused(values: Values) -> None:
    with pytest.raises(InvalidParameter):
        _sampling("1", 3).randomize(values, SeededSource(0))


@pytest.mark.parametrize("dimension", [0, -1, LARGEST_DIMENSION + 1])
def test_a_dimension_out_of_bounds_is_refused(dimension: int) -> None:
    with pytest.raises(InvalidParameter):
        _sampling("1", dimension)


def test_an_output_beyond_the_alphabet_is_refused() -> None:
    randomizer = _sampling("1", 3)
    with pytest.raises(MalformedReport):
        randomizer.unpack(randomizer.pack(np.array([6])), 1)


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _sampling("1", 4), _sampling("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _sampling("1", 5), _sampling("1", 4, 4), _sampling("2", 4)}) == 4
