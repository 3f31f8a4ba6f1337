"""The factorised counter: its factors, its sensitivity, its errors and its claim."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_delta
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms.adder import Adder, Rows, SharesInProcess, TrustedCurator
from localdp.mechanisms.factorised_counter import (
    GRID,
    FactorisedCounter,
    left_factor,
    right_factor,
    square_root_coefficients,
    whole_convolution,
)
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Integers
from localdp.sharing.noise_plans import NoisePlan

ONE, DELTA = Epsilon.requested(1), Fraction(1, 10**6)
CURATOR = TrustedCurator(SeededSource(1))


class Silent(TrustedCurator):
    """A curator who forgets the noise."""

    def gaussian_sums(self, rows: Rows, variance: int) -> Integers:
        assert isinstance(rows, np.ndarray)
        sums: Integers = rows.sum(axis=0)
        return sums


@pytest.mark.parametrize(("exponent", "largest"), [(10, 3.2726), (16, 4.5964), (20, 5.4790)])
def test_the_square_root_has_the_known_norm(exponent: int, largest: float) -> None:
    assert (square_root_coefficients(1 << exponent) ** 2).sum() == pytest.approx(largest, abs=1e-4)


@pytest.mark.parametrize(
    ("exponent", "largest", "mean"), [(10, 13.83, 13.14), (16, 19.42, 18.73), (20, 23.15, 22.46)]
)
def test_the_errors_of_the_reference(exponent: int, largest: float, mean: float) -> None:
    errors = FactorisedCounter(1 << exponent, ONE, DELTA, CURATOR).standard_errors
    assert errors.max() == errors[-1] == pytest.approx(largest, rel=1.5e-3)
    assert np.sqrt((errors**2).mean()) == pytest.approx(mean, rel=1.5e-3)


@pytest.mark.parametrize("steps", [1, 2, 3, 100])
def test_the_product_of_the_factors_is_the_running_count(steps: int) -> None:
    matrices = [
        np.array([[factor[i - j] if i >= j else 0 for j in range(steps)] for i in range(steps)])
        for factor in (left_factor(steps), right_factor(steps))
    ]
    assert matrices[0] @ matrices[1] == pytest.approx(np.tril(np.ones((steps, steps))), abs=1e-9)


def test_the_sensitivity_is_the_largest_column_norm_of_the_whole_factor() -> None:
    counter = FactorisedCounter(32, ONE, DELTA, CURATOR, bound=3)
    rho = right_factor(32)
    columns = np.array([[rho[i - j] if i >= j else 0 for j in range(32)] for i in range(32)])
    assert counter.squared_sensitivity == int(((3 * columns) ** 2).sum(axis=0).max())
    assert rho[0] == GRID and rho.dtype == np.int64


def test_the_claim_is_what_the_variance_gives() -> None:
    counter = FactorisedCounter(1024, ONE, DELTA, CURATOR)
    assert gaussian_delta(ONE, counter.squared_sensitivity, counter.variance) <= DELTA
    assert gaussian_delta(ONE, counter.squared_sensitivity, counter.variance - 1) > DELTA
    assert np.sqrt(counter.variance / counter.squared_sensitivity) == pytest.approx(4.225, abs=1e-3)
    assert (counter.claim.epsilon, counter.claim.delta) == (ONE, DELTA)


@pytest.mark.parametrize("steps", [7, 1024, 3000])
def test_without_noise_the_counts_are_right_both_ways(steps: int) -> None:
    counter = FactorisedCounter(steps, ONE, DELTA, Silent(SeededSource(1)), bound=9)
    stream = np.random.default_rng(4).integers(0, 10, steps)
    assert counter.release(stream) == pytest.approx(np.cumsum(stream), abs=1e-5)
    running = counter.start()
    stepwise = [running.update(stream[step : step + 1]) for step in range(min(steps, 500))]
    assert stepwise == pytest.approx(np.cumsum(stream)[:500], abs=1e-5)


def test_long_convolutions_are_exact() -> None:
    rng = np.random.default_rng(5)
    stream = rng.integers(0, 1 << 38, 5000)
    assert (
        whole_convolution(right_factor(5000), stream) == np.convolve(right_factor(5000), stream)[:5000]
    ).all()
    largest = np.full(1 << 16, (1 << 38) - 1)
    assert (
        whole_convolution(right_factor(1 << 16), largest)
        == np.cumsum(right_factor(1 << 16)) * ((1 << 38) - 1)
    ).all()


@pytest.mark.nightly
def test_the_longest_convolution_is_exact() -> None:
    largest = np.full(1 << 20, (1 << 38) - 1)
    assert (
        whole_convolution(right_factor(1 << 20), largest)
        == np.cumsum(right_factor(1 << 20)) * ((1 << 38) - 1)
    ).all()


@pytest.mark.parametrize("adder", [TrustedCurator(SeededSource(8)), SharesInProcess(SeededSource(9))])
def test_the_measured_error_is_the_predicted_one(adder: Adder) -> None:
    """n = 400 streams of 64 steps: the spread at the first, the middle and the last step within 15 %."""
    counter, stream = FactorisedCounter(64, ONE, DELTA, adder), np.ones(64, np.int64)
    errors = np.array([counter.release(stream) - np.cumsum(stream) for _ in range(400)])
    for step in (0, 31, 63):
        assert errors[:, step].std() == pytest.approx(counter.standard_errors[step], rel=0.15)
    assert abs(errors.mean()) < 1.5


def test_what_cannot_be_counted_is_refused() -> None:
    for steps, bound in ((0, 1), ((1 << 20) + 1, 1), (8, 0), (8, (1 << 16) + 1)):
        with pytest.raises(InvalidParameter):
            FactorisedCounter(steps, ONE, DELTA, CURATOR, bound)
    with pytest.raises(InvalidParameter):
        FactorisedCounter(8, ONE, Fraction(0), CURATOR)
    with pytest.raises(InvalidParameter, match="not divided"):
        FactorisedCounter(8, ONE, DELTA, SharesInProcess(SeededSource(1), 2, NoisePlan.DIVIDED))
    running = FactorisedCounter(2, ONE, DELTA, CURATOR).start()
    with pytest.raises(InvalidRecord):
        running.update(np.array([2]))
