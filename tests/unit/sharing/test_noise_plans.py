"""Noise plans: who adds what, what it adds up to, and what a plan is called."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import PLANS, NoisePlan, ServerNoise, central_law

ONE = Epsilon.requested(1)


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_each_server_costs_a_factor_m_and_divided_m_over_m_minus_t(servers: int, sensitivity: int) -> None:
    central = central_law(ONE, sensitivity).variance()
    full = ServerNoise(NoisePlan.EACH_SERVER, ONE, sensitivity, servers)
    assert full.total_variance == pytest.approx(servers * central, rel=1e-9)
    for tolerated in range(servers):
        parts = ServerNoise(NoisePlan.divided(tolerated), ONE, sensitivity, servers)
        assert parts.total_variance == pytest.approx(servers / (servers - tolerated) * central, rel=1e-9)
        assert parts.total_variance == pytest.approx(servers * parts.law.variance(), rel=1e-9)


def test_central_noise_at_epsilon_one_is_that_of_the_book() -> None:
    law = central_law(ONE, 1)
    assert law.mean_absolute() == pytest.approx(0.85092, abs=1e-5)
    assert law.variance() == pytest.approx(1.84135, abs=1e-5)
    assert law.probability(0) == pytest.approx(0.46212, abs=1e-5)


def test_noise_grows_with_the_sensitivity() -> None:
    assert central_law(ONE, 1 << 16).variance() == pytest.approx(2 * (1 << 16) ** 2, rel=1e-3)


@pytest.mark.parametrize("tolerated", [0, 1, 2])
def test_the_convolved_noises_of_all_servers_are_the_total(tolerated: int) -> None:
    noise = ServerNoise(NoisePlan.divided(tolerated), ONE, 1, 3)
    one = np.array([noise.law.probability(k) for k in range(-60, 61)])
    whole = np.convolve(np.convolve(one, one), one)
    exact = [noise.total.probability(k) for k in range(-20, 21)]
    assert whole[160:201] == pytest.approx(exact, rel=1e-9)


def test_divided_without_tolerance_is_exactly_the_central_law() -> None:
    total, central = ServerNoise(NoisePlan.DIVIDED, ONE, 3, 4).total, central_law(ONE, 3)
    assert total.shape == 1
    assert [total.probability(k) for k in range(30)] == pytest.approx(
        [central.probability(k) for k in range(30)], rel=1e-12
    )


def test_a_plan_that_tolerates_all_but_one_is_each_server_by_another_name() -> None:
    full, parts = (ServerNoise(plan, ONE, 1, 4) for plan in (NoisePlan.EACH_SERVER, NoisePlan.divided(3)))
    assert full.law == parts.law == DiscreteLaplace(Fraction(1))
    assert full.total == parts.total


def test_a_coalition_does_not_know_the_noises_of_the_others() -> None:
    noise = ServerNoise(NoisePlan.divided(1), ONE, 1, 3)
    left = noise.honest(2)
    assert left is not None and left.shape == Fraction(1, 2)
    assert noise.honest(3) is None
    with pytest.raises(InvalidParameter):
        noise.honest(4)


def test_joint_noise_is_the_central_one_and_two_of_three_servers_know_it() -> None:
    noise = ServerNoise(NoisePlan.JOINT, ONE, 2, 3)
    assert noise.total == noise.honest(1) == ServerNoise(NoisePlan.DIVIDED, ONE, 2, 3).total
    assert noise.honest(2) is None
    assert 0 < noise.delta(1) < noise.delta(65_536) < Fraction(1, 1 << 40)
    assert NoisePlan.JOINT.withstands(3) == 1
    with pytest.raises(InvalidParameter, match="no server has its own"):
        noise.draw(SeededSource(1), 1)


def test_joint_noise_is_refused_where_its_delta_would_be_large() -> None:
    ServerNoise(NoisePlan.JOINT, Epsilon.requested(14), 1, 3).require_drawable(1)
    with pytest.raises(InvalidParameter, match="delta would be above"):
        ServerNoise(NoisePlan.JOINT, Epsilon.requested(30), 1, 3).require_drawable(1)
    assert ServerNoise(NoisePlan.EACH_SERVER, Epsilon.requested(30), 1, 3).delta(65_536) == 0


@pytest.mark.parametrize("plan", [*PLANS, NoisePlan.divided(1)])
@pytest.mark.parametrize("sensitivity", [1, 1 << 16])
def test_a_draw_is_an_integer_of_the_right_size(plan: NoisePlan, sensitivity: int) -> None:
    noise = ServerNoise(plan, Epsilon.requested("0.5"), sensitivity, 2)
    draws = noise.draw(SeededSource(11), 200)
    # 200 draws beyond 40 standard deviations: never; all of them zero: never at these scales.
    assert 0 < np.abs(draws).max() < 40 * math.sqrt(noise.law.variance())


@pytest.mark.parametrize("plan", [*PLANS, NoisePlan.divided(1)])
def test_a_million_entries_get_independent_noises_at_once(plan: NoisePlan) -> None:
    """n = 2**20: mean and variance within 6 standard errors; neighbours uncorrelated within 6 / 1024."""
    noise = ServerNoise(plan, ONE, 2, 3)
    drawn = noise.draw(SeededSource(12), 1 << 20)
    assert drawn.dtype == np.int64 and drawn.shape == (1 << 20,)
    spread = math.sqrt(noise.law.variance())
    assert abs(drawn.mean()) < 6 * spread / 1024
    assert drawn.var() == pytest.approx(noise.law.variance(), rel=6 * 4 / 1024)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 6 / 1024


def test_no_entry_needs_no_noise() -> None:
    assert ServerNoise(NoisePlan.DIVIDED, ONE, 1, 2).draw(SeededSource(1), 0).shape == (0,)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("each-server", NoisePlan.EACH_SERVER),
        ("divided", NoisePlan.DIVIDED),
        ("divided(1)", NoisePlan.divided(1)),
        ("divided(254)", NoisePlan.divided(254)),
    ],
)
def test_a_plan_is_known_by_its_text(text: str, plan: NoisePlan) -> None:
    assert NoisePlan.parse(text) == plan
    assert plan.value == str(plan) == text


@given(st.integers(0, 254))
def test_every_text_is_read_back(tolerated: int) -> None:
    plan = NoisePlan.divided(tolerated)
    assert NoisePlan.parse(plan.value) == plan and hash(NoisePlan.parse(plan.value)) == hash(plan)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Divided",
        "divided(0)",
        "divided(01)",
        "divided(-1)",
        "divided(255)",
        "divided(999)",
        "divided(1",
        "divided (1)",
        "each-server(1)",
        "divided(1)\n",
        " divided",
        "divided(\u0661)",
        "divided(1)" * 1000,
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        NoisePlan.parse(text)


def test_a_plan_that_cannot_be_is_refused() -> None:
    for make in (
        lambda: NoisePlan.divided(-1),
        lambda: NoisePlan("each-server", 1),
        lambda: NoisePlan("whole"),  # type: ignore[arg-type]
        lambda: ServerNoise(NoisePlan.divided(2), ONE, 1, 2),
        lambda: ServerNoise(NoisePlan.DIVIDED, ONE, 0, 2),
        lambda: ServerNoise(NoisePlan.DIVIDED, ONE, 1, 0),
        lambda: ServerNoise(NoisePlan.DIVIDED, ONE, 1, 256),
    ):
        with pytest.raises(InvalidParameter):
            make()
