"""Projected Laplace: the sensitivity, the claim, and an error that hardly grows with the number of queries."""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms import projected_laplace
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.mechanisms.projected_laplace import ProjectedLaplace, widest_distance
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import NoisePlan

ONE = Epsilon.requested(1)
PEOPLE, TYPES, RUNS = 200, 64, 12


def error(queries: int, adder: Adder, runs: int = RUNS) -> tuple[float, float, float]:
    """Root mean square errors: projected, of the noise alone, and predicted."""
    rng = np.random.default_rng(queries)
    squares, noises, predicted = [], [], []
    for _ in range(runs):
        matrix, types = rng.integers(0, 2, (queries, TYPES)), rng.integers(0, TYPES, PEOPLE)
        mechanism = ProjectedLaplace(matrix, ONE, adder)
        truth = matrix[:, types].sum(axis=1)
        squares.append(((mechanism.release(types).answers - truth) ** 2).mean())
        noises.append(mechanism.noise.variance())
        predicted.append(mechanism.predicted_error(PEOPLE))
    return float(np.sqrt(np.mean(squares))), float(np.sqrt(np.mean(noises))), float(np.mean(predicted))


@pytest.mark.parametrize(
    "adder", [TrustedCurator(SeededSource(1)), SharesInProcess(SeededSource(2), 2, NoisePlan.DIVIDED)]
)
def test_the_error_is_below_half_the_people_and_nearly_flat_in_the_number_of_queries(adder: Adder) -> None:
    """n = 200 people of 64 types, epsilon = 1, 12 runs each: within 40 % of their mean from 200 to 4,000 queries."""
    measured = {queries: error(queries, adder) for queries in (200, 1000, 4000)}
    projected = np.array([row[0] for row in measured.values()])
    assert (projected <= PEOPLE / 2).all()
    assert np.abs(projected / projected.mean() - 1).max() < 0.4
    for found, noise, predicted in measured.values():
        assert found < noise / 4
        assert predicted / 5 < found < predicted


def test_the_sensitivity_is_the_widest_distance_of_two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(1).integers(0, 5, (30, 8))
    widest = max(int(np.abs(matrix[:, x] - matrix[:, y]).sum()) for x in range(8) for y in range(8))
    assert (
        widest_distance(matrix)
        == ProjectedLaplace(matrix, ONE, TrustedCurator(SeededSource(1))).sensitivity
        == widest
    )
    monkeypatch.setattr(projected_laplace, "_MOST_COMPARISONS", 1)
    assert widest <= widest_distance(matrix) <= 4 * 30


def test_the_answers_belong_to_people() -> None:
    mechanism = ProjectedLaplace(np.eye(4, dtype=np.int64), ONE, TrustedCurator(SeededSource(2)))
    released = mechanism.release(np.array([0] * 90 + [1] * 10))
    assert released.weights.sum() == pytest.approx(100) and released.weights.min() >= 0
    assert released.answers == pytest.approx(released.weights)
    assert mechanism.claim.epsilon == ONE and mechanism.sensitivity == 2


def test_what_are_no_queries_or_types_is_refused() -> None:
    curator = TrustedCurator(SeededSource(1))
    for queries in (
        np.zeros(3, np.int64),
        np.zeros((2, 2)),
        np.zeros((0, 2), np.int64),
        -np.ones((2, 2), np.int64),
    ):
        with pytest.raises(InvalidParameter):
            ProjectedLaplace(queries, ONE, curator)
    with pytest.raises(InvalidParameter):
        ProjectedLaplace(np.zeros((1, 4097), np.int64), ONE, curator)
    for types in (np.array([2]), np.array([-1]), np.array([0.0]), np.array([[0]])):
        with pytest.raises(InvalidRecord):
            ProjectedLaplace(np.eye(2, dtype=np.int64), ONE, curator).release(types)


def test_the_error_exceeds_its_bound_as_seldom_as_is_said() -> None:
    """Theorem 12.8: 40 releases of 300 queries, failure 0.05; five or more failures have a chance of 0.05."""
    rng, failed, ratios = np.random.default_rng(8), 0, []
    adders: list[Adder] = [TrustedCurator(SeededSource(5)), SharesInProcess(SeededSource(6), 2)]
    for run in range(40):
        matrix, types = rng.integers(0, 2, (300, 16)), rng.integers(0, 16, 20_000)
        mechanism = ProjectedLaplace(matrix, ONE, adders[run % 8 == 0])
        off = mechanism.release(types).answers - matrix[:, types].sum(axis=1)
        ratios.append(float(np.sqrt((off**2).mean())) / mechanism.error_bound(20_000, 0.05))
        failed += ratios[-1] > 1
        assert mechanism.error_bound(20_000, 0.05) < mechanism.error_bound(20_000, 0.001)
    assert failed < 5 and max(ratios) > 0.01


def test_what_is_not_projected_is_beyond_the_bound() -> None:
    """The broken twin: noisy answers as they are.  At n = 20 the bound is below the noise of 20,000 queries."""
    matrix = np.random.default_rng(2).integers(0, 2, (20_000, 8))
    mechanism = ProjectedLaplace(matrix, ONE, TrustedCurator(SeededSource(5)))
    assert np.sqrt(mechanism.noise.variance()) > mechanism.error_bound(20, 0.05)
    types = np.arange(20) % 8
    off = mechanism.release(types).answers - matrix[:, types].sum(axis=1)
    assert float(np.sqrt((off**2).mean())) <= mechanism.error_bound(20, 0.05)


@pytest.mark.parametrize("failure", [0.0, 1.0])
def test_a_failure_is_a_probability(failure: float) -> None:
    mechanism = ProjectedLaplace(np.eye(4, dtype=np.int64), ONE, TrustedCurator(SeededSource(5)))
    with pytest.raises(InvalidParameter):
        mechanism.error_bound(100, failure)
