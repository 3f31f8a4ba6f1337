"""The slopes of the losses, and an exponential that is the same everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localdp.queries.losses import exponential, sigmoid, slope
from localdp.queries.vectors import LOSSES, Loss

MARGINS = np.concatenate([np.linspace(-8, 8, 4001), [-1e30, -750.0, 750.0, 1e30, 5e-324, 0.0]])


def test_the_exponential_is_right_to_about_a_unit_in_the_last_place() -> None:
    x = -np.concatenate([np.linspace(0, 699, 200_003), np.geomspace(1e-300, 1, 20_000)])
    exact = np.array([math.exp(value) for value in x.tolist()])
    assert np.abs(exponential(x) / exact - 1).max() < 5e-16
    assert exponential(np.array([0.0, -1e9])).tolist() == [1.0, exponential(np.array([-700.0]))[0]]
    assert exponential(x).max() <= 1


def test_the_exponential_of_one_value_does_not_depend_on_its_neighbours() -> None:
    x = -np.linspace(0, 30, 1001)
    assert [float(exponential(x[place : place + 1])[0]) for place in range(1001)] == exponential(x).tolist()


def test_the_sigmoid_is_symmetric_and_between_zero_and_one() -> None:
    found = sigmoid(MARGINS)
    assert found.min() >= 0 and found.max() <= 1
    assert np.abs(found + sigmoid(-MARGINS) - 1).max() < 1e-15


def loss_of(loss: Loss, m: float, t: float) -> float:
    """The losses themselves, where their slopes are not cut off."""
    s = 2 * t - 1
    if loss == "logistic":
        return math.log1p(math.exp(-s * m))
    if loss == "hinge":
        return max(0.0, 1 - s * m)
    if loss == "squared":
        away = abs(m - t)
        return away**2 / 2 if away <= 1 else away - 0.5
    return 1 - s * m if s * m <= 0 else math.exp(-s * m)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_a_slope_is_the_derivative_of_its_loss_and_at_most_one(loss: Loss, target: float) -> None:
    margins = np.linspace(-4, 4, 797) + 1e-3  # no kink among them
    found = slope(loss, margins, np.full(len(margins), target))
    step = 1e-5
    numeric = [
        (loss_of(loss, m + step, target) - loss_of(loss, m - step, target)) / (2 * step)
        for m in margins.tolist()
    ]
    np.testing.assert_allclose(found, numeric, atol=1e-5)
    everywhere = slope(loss, MARGINS, np.full(len(MARGINS), target))
    assert np.isfinite(everywhere).all() and np.abs(everywhere).max() <= 1


def test_the_squared_loss_takes_labels_between_minus_one_and_one() -> None:
    labels = np.array([-1.0, -0.25, 0.5])
    assert slope("squared", np.zeros(3), labels).tolist() == [1.0, 0.25, -0.5]
