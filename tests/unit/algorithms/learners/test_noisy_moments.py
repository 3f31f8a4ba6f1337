"""Noisy second moments: nothing changes without noise, and with noise of a known size what is known is used."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.algorithms.learners.noisy_moments import (
    Regressors,
    combined,
    mean_weight,
    shortened,
    shrunk,
    symmetric,
    wigner,
)
from localdp.oracles.exact import ExactOracle
from tests.support.number_tables import matrix_of, table_of

Floats = NDArray[np.float64]


def _noise(size: int, error: float, seed: int) -> Floats:
    entries = np.random.default_rng(seed).normal(size=size * (size + 1) // 2)
    return symmetric(error * entries, size)


def test_the_matrix_is_that_of_the_moments_that_a_query_asks_for() -> None:
    records = table_of(np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3)), 0.5)
    answer = ExactOracle(records).answer_vectors(["moments(ball(x0, x1, x2))"])[0]
    features = matrix_of(records)
    np.testing.assert_allclose(symmetric(answer.values, 3), features.T @ features / 50, atol=1e-12)


def test_the_size_of_the_noise_is_as_said() -> None:
    # 40 matrices of 60 rows: the mean square has a relative standard error of 0.5 %, the largest eigenvalue 1 %.
    noises = [_noise(60, 0.01, seed) for seed in range(40)]
    square = np.mean([np.square(noise).sum() for noise in noises])
    assert square == pytest.approx(0.01**2 * 60 * 61 / 2, rel=0.025)
    largest = np.mean([np.linalg.eigvalsh(noise)[-1] for noise in noises])
    assert largest == pytest.approx(wigner(0.01, 60), rel=0.05)


def test_without_noise_nothing_is_drawn_anywhere() -> None:
    matrix = np.diag([3.0, 1.0, 0.5])
    assert np.array_equal(shrunk(matrix, 0.0)[0], matrix)
    assert np.array_equal(shrunk(np.eye(2), 0.0)[0], np.eye(2))
    assert shortened(np.array([1.0, -2.0]), 0.0).tolist() == [1.0, -2.0]
    assert shortened(np.zeros(2), 0.0).tolist() == [0.0, 0.0]


def test_what_may_be_noise_alone_is_drawn_to_the_middle() -> None:
    kept = [shrunk(0.1 * np.eye(20) + _noise(20, 0.01, seed), 0.01)[1] for seed in range(20)]
    assert np.mean(kept) < 0.1
    assert shortened(np.array([0.3, -0.4]), 1.0).tolist() == [0.0, 0.0]
    assert np.linalg.norm(shortened(np.array([3.0, -4.0]), 1.0)) == pytest.approx(5 * (1 - 2 / 25))


def test_drawing_towards_the_middle_brings_noisy_matrices_closer_to_the_truth() -> None:
    for truth in (np.eye(12) / 12, np.diag(np.linspace(0.05, 0.12, 12)), np.diag([0.5] + [0.05] * 11)):
        away = [truth + _noise(12, 0.02, seed) for seed in range(20)]
        raw = np.mean([np.square(noisy - truth).sum() for noisy in away])
        drawn = np.mean([np.square(shrunk(noisy, 0.02)[0] - truth).sum() for noisy in away])
        assert drawn < raw


@pytest.mark.parametrize(("bias", "least"), [(0.0, 2.0), (0.3, 0.8), (3.0, 0.95)])
def test_a_right_solution_gains_from_a_clear_one_and_loses_hardly_anything(
    bias: float, least: float
) -> None:
    # The mean square over 300 draws has a relative standard error of about 3 %.
    second, clear, truth = np.diag(np.geomspace(1.0, 0.05, 11)), 0.02, np.linspace(1.0, 2.0, 11)
    raw, drawn = [], []
    for seed in range(300):
        draws = np.random.default_rng(seed)
        noise = draws.normal(size=(2, 11)) @ np.linalg.inv(second)
        off = truth + bias * draws.normal(size=11) @ np.sqrt(np.linalg.inv(second)) + clear * noise[0]
        right = truth + 3 * clear * noise[1]
        found = combined(off, right, second, clear**2, 9 * clear**2)
        raw.append((right - truth) @ second @ (right - truth))
        drawn.append((found - truth) @ second @ (found - truth))
    assert np.mean(raw) / np.mean(drawn) >= least


def test_without_noise_the_right_solution_is_kept() -> None:
    right = np.array([1.0, -2.0, 0.5, 3.0])
    kept = combined(np.array([1.0, -1.0, 0.0, 0.0]), right, np.diag([1.0, 0.5, 0.2, 1.0]), 1e-12, 1e-12)
    np.testing.assert_allclose(kept, right, atol=1e-5)


def test_least_squares_by_exact_moments_are_least_squares() -> None:
    generator = np.random.default_rng(5)
    features = generator.normal(size=(400, 4)) @ generator.normal(size=(4, 4)) + [1.0, 0.0, -2.0, 0.5]
    target = features @ [1.0, -2.0, 0.0, 0.25] + 3 + generator.normal(size=400)
    regressors = Regressors.of(features.T @ features / 400, features.mean(axis=0), 0.0, 0.0)
    weights, constant = regressors.solve(features.T @ target / 400, float(target.mean()))
    expected = np.linalg.lstsq(np.column_stack([features, np.ones(400)]), target, rcond=None)[0]
    np.testing.assert_allclose([*weights, constant], expected, atol=1e-8)


def test_no_eigenvalue_of_the_inverse_exceeds_what_the_noise_allows() -> None:
    steep = np.diag([0.6, 0.2, 1e-3, 1e-4])
    regressors = Regressors.of(steep + _noise(4, 0.01, 3), np.zeros(4), 0.01, 0.01)
    assert np.linalg.eigvalsh(regressors.inverse)[-1] <= 1 / (0.8 * wigner(0.01, 4))
    assert math.isfinite(regressors.solve(np.ones(4), 0.0)[1])


def test_the_weight_of_people_is_one_unless_noise_cannot_explain_it() -> None:
    assert mean_weight(0.9, 0.05) == 1 and mean_weight(0.8, 0.05) == 0.8
    assert mean_weight(0.97, 0.0) == 0.97 and mean_weight(-0.2, 0.01) == 1 and mean_weight(1.3, 0.01) == 1


def test_moments_that_are_all_noise_make_small_steps() -> None:
    regressors = Regressors.of(_noise(4, 0.01, 8) - 0.05 * np.eye(4), np.zeros(4), 0.01, 0.01)
    assert np.linalg.eigvalsh(regressors.inverse)[-1] <= 2 / 0.01
    nothing = Regressors.of(np.zeros((4, 4)), np.zeros(4), 0.0, 0.0)
    weights, constant = nothing.solve(np.zeros(4), 0.5)
    assert weights.tolist() == [0.0] * 4 and constant == 0.5
