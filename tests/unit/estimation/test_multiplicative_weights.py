"""Fits of distributions to noisy parities, against an optimiser, their certificates and their bounds."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from localdp.errors import InvalidParameter
from localdp.estimation.multiplicative_weights import (
    divergence,
    fit_least_squares,
    fit_worst_first,
    stepped,
)
from localdp.estimation.sign_transform import sign_transform
from localdp.randomizers.marginals import parity_masks

Floats = NDArray[np.float64]
BITS = 4
MASKS = parity_masks(BITS, 2).astype(np.int64)
UNIFORM = np.full(1 << BITS, 0.5**BITS)


def noisy_means(seed: int, noise: float) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    masses = generator.dirichlet(np.full(1 << BITS, 0.3))
    return masses, sign_transform(masses)[MASKS] + generator.normal(0, noise, len(MASKS))


def objective(masses: Floats, means: Floats, pull: float, start: Floats) -> float:
    squares = ((sign_transform(masses)[MASKS] - means) ** 2).mean() / 2
    return float(squares + pull * divergence(masses, start))


def best_by_a_general_optimiser(means: Floats, pull: float, start: Floats) -> float:
    """The objective over softmax parameters: no constraint is left."""

    def softmax(parameters: Floats) -> Floats:
        weights = np.exp(parameters - parameters.max())
        return np.asarray(weights / weights.sum())

    runs = [
        minimize(
            lambda p: objective(softmax(p), means, pull, start),
            np.random.default_rng(seed).normal(0, 1, 16),
        )
        for seed in range(2)
    ]
    return min(float(run.fun) for run in runs)


@pytest.mark.parametrize("pull", [0.0, 0.01])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_fit_is_the_best_one_and_says_how_far_it_may_be_from_it(seed: int, pull: float) -> None:
    _, means = noisy_means(seed, 0.3)
    start = np.random.default_rng(9).dirichlet(np.ones(16))
    fit = fit_least_squares(start, MASKS, means, pull=pull, most_steps=20_000, least_gap=1e-7)
    best = best_by_a_general_optimiser(means, pull, start)
    assert objective(fit.masses, means, pull, start) <= best + 1e-6
    rough = fit_least_squares(start, MASKS, means, pull=pull, most_steps=20, least_gap=0.0)
    assert objective(rough.masses, means, pull, start) - best <= rough.gap + 1e-9


def test_exact_parities_are_fitted_and_a_stronger_pull_stays_nearer_to_the_start() -> None:
    _, means = noisy_means(3, 0.0)
    fit = fit_least_squares(UNIFORM, MASKS, means, most_steps=5000, least_gap=1e-12)
    np.testing.assert_allclose(sign_transform(fit.masses)[MASKS], means, atol=1e-4)
    pulled = [
        divergence(fit_least_squares(UNIFORM, MASKS, means, pull=pull).masses, UNIFORM)
        for pull in (1e-3, 0.1, 10)
    ]
    assert pulled[0] > pulled[1] > pulled[2] and pulled[2] < 0.01


def test_weights_decide_which_of_two_contradicting_parities_is_believed() -> None:
    masks, means = np.array([1, 2, 3]), np.array([1.0, 1.0, -1.0])  # both bits 0, and yet different
    for weights, believed in (([1e6, 1e6, 1.0], [0, 1]), ([1.0, 1e6, 1e6], [1, 2])):
        fit = fit_least_squares(
            np.ones(4), masks, means, np.array(weights), most_steps=3000, least_gap=1e-12
        )
        np.testing.assert_allclose(sign_transform(fit.masses)[masks][believed], means[believed], atol=1e-2)


def test_what_the_start_excludes_stays_excluded() -> None:
    _, means = noisy_means(4, 0.2)
    start = np.array([0.0, 1.0] * 8)
    for fit in (fit_least_squares(start, MASKS, means), fit_least_squares(start, MASKS, means, pull=0.1)):
        assert (fit.masses[::2] == 0).all() and fit.masses.sum() == pytest.approx(1)
    assert (fit_worst_first(start, MASKS, means, 0.5).masses[::2] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_first_fit_ends_within_its_bound_and_its_tolerance(seed: int) -> None:
    # Every step takes gap**2 / 2 off an entropy of at most ln 16, whatever the (exact) means are.
    _, means = noisy_means(seed, 0.0)
    fit = fit_worst_first(UNIFORM, MASKS, means, 0.05)
    assert np.abs(sign_transform(fit.masses)[MASKS] - means).max() == fit.gap <= 0.05
    assert 1 <= fit.steps <= 2 * np.log(16) / 0.05**2


@pytest.mark.parametrize("seed", range(5))
def test_a_step_takes_off_the_entropy_what_hoeffding_says(seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth, guess = generator.dirichlet(np.ones(30)), generator.dirichlet(np.ones(30))
    query = generator.random(30)
    gap = float(query @ (truth - guess))
    for rate in (0.1, 1.0, 4 * abs(gap)):
        moved = stepped(guess, np.sign(gap) * rate * query)
        assert divergence(truth, guess) - divergence(truth, moved) >= rate * abs(gap) - rate**2 / 8 - 1e-12


def test_a_step_survives_exponents_beyond_every_double() -> None:
    moved = stepped(np.array([0.0, 0.5, 0.5]), np.array([5000.0, -4000.0, -4001.0]))
    np.testing.assert_allclose(moved, [0, 1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1))])


@pytest.mark.parametrize(
    ("start", "masks", "means"),
    [
        (np.ones(3), [1], [0.0]),
        (-np.ones(4), [1], [0.0]),
        (np.zeros(4), [1], [0.0]),
        (np.ones(4), [4], [0.0]),
        (np.ones(4), [1, 1], [0.0, 0.0]),
        (np.ones(4), [1, 2], [0.0]),
        (np.ones(4), [1], [float("nan")]),
    ],
)
def test_what_is_no_problem_is_refused(start: Floats, masks: list[int], means: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        fit_least_squares(start, np.array(masks), np.array(means))
    with pytest.raises(InvalidParameter):
        fit_worst_first(start, np.array(masks), np.array(means), 0.1)


def test_a_tolerance_is_positive_and_a_pull_not_negative() -> None:
    with pytest.raises(InvalidParameter):
        fit_worst_first(UNIFORM, MASKS, np.zeros(len(MASKS)), 0.0)
    with pytest.raises(InvalidParameter):
        fit_least_squares(UNIFORM, MASKS, np.zeros(len(MASKS)), pull=-1.0)
