"""The truncated geometric mechanism through every coin: its law, its epsilon, its unbiased ends."""

from fractions import Fraction
from itertools import accumulate
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import Tally
from localdp.randomizers.local_laplace import LARGEST_RESOLUTION, LocalDiscreteLaplace
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, NoiseTwice, SeedReused
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]


def _laplace(epsilon: str, resolution: int) -> LocalDiscreteLaplace:
    return LocalDiscreteLaplace(Epsilon.requested(epsilon), resolution)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1, 2, 5, 16])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, resolution: int) -> None:
    check_exact_law(_laplace(epsilon, resolution))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1, 2, 16])
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, resolution: int) -> None:
    check_unbiased(_laplace(epsilon, resolution), tolerance=1e-12 * max(1, 2 / float(epsilon)))
    check_variance(_laplace(epsilon, resolution))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1 << 10, LARGEST_RESOLUTION])
def test_a_fine_grid_spends_what_was_requested(epsilon: str, resolution: int) -> None:
    randomizer = _laplace(epsilon, resolution)
    assert 0 <= randomizer.requested.nanonats - randomizer.epsilon.nanonats <= 1


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
def test_the_rounding_of_the_tails_biases_a_fine_grid_by_less_than_the_stated_bound(epsilon: str) -> None:
    resolution = 1 << 10
    randomizer = _laplace(epsilon, resolution)
    power = Fraction(exp_enclosure(randomizer.requested.exact / resolution, 256)[0], 1 << 256)
    beyond = 1 / (power - 1)
    # Noise of at least k = 1 .. R, in units of 2**-64; E[min(noise+, m)] is the sum of the first m of them.
    tails = list(accumulate(randomizer.noise.weights[:resolution]))[::-1]
    reached = [0, *accumulate(tails)]
    upper = [2**64 - tails[0], *tails]
    gain = [reached[m] + beyond * upper[m] for m in range(resolution + 1)]
    worst = max(abs(gain[resolution - j] - gain[j]) for j in range(resolution + 1)) / (resolution * 2**64)
    assert worst <= (1 + 1 / randomizer.requested.exact) / 2**63


def test_on_the_coarsest_grid_it_is_randomized_response() -> None:
    law = _laplace("1", 1).law(1)
    assert float(law[1]) == pytest.approx(exp(1) / (1 + exp(1)), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_clamping_takes_variance_away_and_halves_it_for_a_small_epsilon(epsilon: str) -> None:
    randomizer = _laplace(epsilon, 1 << 10)
    unclamped = DiscreteLaplace(randomizer.requested.exact / 1024).variance() / 1024**2
    assert all(randomizer.variance(x) < unclamped for x in (0.0, 0.3, 0.5, 1.0))
    if epsilon == "0.1":
        assert randomizer.variance(0.5) == pytest.approx(unclamped / 2, rel=0.06)


PEOPLE_WHO_DIFFER = [(0, 0, 0, 1), (0, 16), (3, 3, 9, 12, 16), tuple(range(17))]


@pytest.mark.parametrize("values", PEOPLE_WHO_DIFFER)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_variance_of_people_who_differ_is_exactly_the_average_of_theirs(
    epsilon: str, values: tuple[int, ...]
) -> None:
    randomizer = _laplace(epsilon, 16)
    single = [randomizer.estimate(randomizer.tally(np.array([point]))).value for point in range(17)]
    exact = np.mean(
        [
            sum(float(mass) * (single[int(str(point))] - value / 16) ** 2 for point, mass in law.items())
            for value, law in ((value, randomizer.law(value)) for value in values)
        ]
    )
    assert randomizer.variance(np.array(values) / 16) == pytest.approx(exact, rel=1e-9)


def test_people_at_both_ends_have_an_eighth_less_variance_than_their_mean_says() -> None:
    # What was stated for them once, the variance at their mean, is an upper bound: the variance is concave.
    randomizer = _laplace("2", 64)
    assert randomizer.variance((0, 1)) == pytest.approx(randomizer.variance(0.5) * 0.8752, rel=1e-4)


@pytest.mark.parametrize("values", PEOPLE_WHO_DIFFER)
def test_the_stated_variance_of_an_estimate_is_right_on_average(values: tuple[int, ...]) -> None:
    # It is linear in how many reports lie on an end, so its mean over all reports is that at the mean number.
    randomizer, people = _laplace("1", 16), 10**12
    laws = [randomizer.law(value) for value in values]
    masses = [sum(law[point] for law in laws) / len(laws) for point in range(17)]
    moments = [sum(masses[point] * point**power for point in range(17)) for power in (1, 2)]
    sums = np.array([round(part * people) for part in (masses[0], masses[16], *moments)])
    estimate = randomizer.estimate(Tally(randomizer, people, sums))
    shares = np.array(values) / 16
    assert estimate.value == pytest.approx(shares.mean(), abs=1e-9)
    assert estimate.variance_empirical * people == pytest.approx(randomizer.variance(shares), rel=1e-8)
    sampling = (estimate.variance_population - estimate.variance_empirical) * people
    assert sampling == pytest.approx(shares.var(), abs=1e-8)


def test_both_variances_of_an_estimate_follow_from_the_tally() -> None:
    randomizer, people = _laplace("2", 64), 100_000
    values = np.where(np.arange(people) % 2, 64, 0)
    estimate = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(3))))
    true = randomizer.variance((0, 1)) + 0.25
    assert estimate.variance_population * people == pytest.approx(true, rel=0.03)
    assert estimate.variance_empirical * people == pytest.approx(randomizer.variance((0, 1)), rel=0.01)


@pytest.mark.parametrize("resolution", [1, 5, 1000])
def test_every_other_contract_holds(resolution: int) -> None:
    randomizer = _laplace("1", resolution)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


@pytest.mark.parametrize(
    "reports", [0, 1, 1023, 1024, 1025, (1 << 17) - 1, 1 << 17, (1 << 17) + 1, 300_000]
)
def test_the_tally_of_the_finest_grid_is_exact_however_many_reports_there_are(reports: int) -> None:
    randomizer = LocalDiscreteLaplace(Epsilon.requested(8), LARGEST_RESOLUTION)
    points = np.random.default_rng(7).integers(0, randomizer.inputs, reports)
    points[::3] = LARGEST_RESOLUTION  # the largest squares
    ends = [np.count_nonzero(points == 0), np.count_nonzero(points == LARGEST_RESOLUTION)]
    assert randomizer.tally(points).sums.tolist() == [*ends, points.sum(), (points**2).sum()]


def test_people_are_independent() -> None:
    check_people_independent(_laplace("1", 3), (0, 3, 1))


def test_the_broken_twins_are_caught() -> None:
    sound = _laplace("1", 3)
    doubled = EpsilonDoubled(sound, _laplace("2", 3))
    kept = ItemKept(sound, lambda values, reports: values.astype(reports.dtype))
    twice = NoiseTwice(sound)
    assert_caught(check_exact_law, doubled, kept, twice)
    assert_caught(check_unbiased, doubled, kept, twice, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


@pytest.mark.parametrize("resolution", [0, -1, LARGEST_RESOLUTION + 1])
def test_a_resolution_out_of_bounds_is_refused(resolution: int) -> None:
    with pytest.raises(InvalidParameter):
        _laplace("1", resolution)


def test_an_epsilon_that_the_integers_cannot_hold_is_refused_or_spent_soundly() -> None:
    for epsilon in ("1e-9", "1e-7", "20", "30"):
        for resolution in (1, 64, 1 << 12):
            try:
                randomizer = _laplace(epsilon, resolution)
            except InvalidParameter:
                continue
            assert randomizer.epsilon <= randomizer.requested


def test_a_point_beyond_the_grid_is_refused() -> None:
    with pytest.raises(MalformedReport):
        _laplace("1", 4).unpack(_laplace("1", 4).pack(np.array([5])), 1)


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _laplace("1", 4), _laplace("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _laplace("1", 8), _laplace("2", 4)}) == 3
