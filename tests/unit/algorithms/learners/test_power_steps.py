"""Turning a first component towards its people, where the law of the noise is known."""

import numpy as np

from localdp.algorithms.learners.noisy_moments import symmetric
from localdp.algorithms.learners.pca import principal_axes
from localdp.algorithms.learners.power_steps import Turning

SIZE, STEPS, NOISE = 10, 34, 0.05
SPREADS = np.geomspace(1.5, 0.3, SIZE)


def step(axis: np.ndarray) -> np.ndarray:
    """What a step tells of normal people with these spreads, up to its length: S a / |a|."""
    answer: np.ndarray = 0.4 * SPREADS**2 * axis / SPREADS[0] ** 2
    return answer


def turned(generator: np.random.Generator, *, plainly: bool = False) -> float:
    """The squared cosine with the first axis after all steps; or of the power method, which forgets where it asked."""
    triangle = np.diag(SPREADS**2 / np.square(SPREADS).sum())[np.triu_indices(SIZE)]
    noisy = symmetric(triangle + generator.normal(0, NOISE / np.sqrt(18), triangle.shape), SIZE)
    turning = Turning.of(*principal_axes(noisy), worth=14.0)
    total, axis = np.zeros(SIZE), turning.axis
    for _ in range(STEPS):
        answer = step(axis) + generator.normal(0, NOISE, SIZE)
        turning.add(answer)
        total += answer
        axis = total / np.linalg.norm(total) if plainly else turning.axis
    return float(axis[0] ** 2)


def test_without_steps_the_axis_is_the_first_one() -> None:
    turning = Turning.of(np.array([2.0, 1.0]), np.eye(2), worth=1.0)
    assert turning.axis.tolist() == [1.0, 0.0]


def test_answers_without_noise_leave_the_true_axis_where_it_is() -> None:
    turning = Turning.of(SPREADS**2, np.eye(SIZE), worth=1.0)
    for _ in range(3):
        turning.add(step(turning.axis))
    assert turning.axis[0] == 1.0


def test_a_wrong_first_axis_is_turned_back() -> None:
    """By nearly all of it with each step, if the first axis counts for nothing."""
    askew = np.linalg.qr(np.eye(SIZE) + 0.1 * np.ones((SIZE, SIZE)))[0].T
    turning = Turning.of(SPREADS**2, askew, worth=1e-9)
    before = turning.axis[0] ** 2
    for _ in range(8):
        turning.add(step(turning.axis))
    assert turning.axis[0] ** 2 > 1 - (1 - before) / 20


def test_noise_turns_it_less_than_the_power_method() -> None:
    """400 of each: means differ by 10 standard errors; the twin is the method that carries early noise along."""
    generator = np.random.default_rng(5)
    ours = np.array([turned(generator) for _ in range(400)])
    twin = np.array([turned(generator, plainly=True) for _ in range(400)])
    error = np.sqrt((ours.var() + twin.var()) / 400)
    assert ours.mean() - twin.mean() > 4 * error
    assert ours.mean() > 0.975
