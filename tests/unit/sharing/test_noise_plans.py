"""Noise plans: who adds what, and what it adds up to."""

import math

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import NoisePlan, ServerNoise, central_law
from tests.support.people import ONE


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_each_server_costs_a_factor_m_and_divided_costs_nothing(servers: int, sensitivity: int) -> None:
    central = central_law(ONE, sensitivity).variance()
    full = ServerNoise(NoisePlan.EACH_SERVER, ONE, sensitivity, servers)
    parts = ServerNoise(NoisePlan.DIVIDED, ONE, sensitivity, servers)
    assert full.total_variance == pytest.approx(servers * central, rel=1e-9)
    assert parts.total_variance == pytest.approx(central, rel=1e-9)


def test_central_noise_at_epsilon_one_is_that_of_the_book() -> None:
    law = central_law(ONE, 1)
    assert law.mean_absolute() == pytest.approx(0.85092, abs=1e-5)
    assert law.variance() == pytest.approx(1.84135, abs=1e-5)
    assert law.probability(0) == pytest.approx(0.46212, abs=1e-5)


def test_noise_grows_with_the_sensitivity() -> None:
    assert central_law(ONE, 1 << 16).variance() == pytest.approx(2 * (1 << 16) ** 2, rel=1e-3)


@pytest.mark.parametrize("plan", list(NoisePlan))
@pytest.mark.parametrize("sensitivity", [1, 1 << 16])
def test_a_draw_is_an_integer_of_the_right_size(plan: NoisePlan, sensitivity: int) -> None:
    noise = ServerNoise(plan, Epsilon.requested("0.5"), sensitivity, 2)
    source = SeededSource(11)
    draws = [noise.draw(source) for _ in range(200)]
    assert all(isinstance(draw, int) for draw in draws)
    # 200 draws beyond 40 standard deviations: never; all of them zero: never at these scales.
    assert 0 < max(abs(draw) for draw in draws) < 40 * math.sqrt(noise.law.variance())
