"""The punishing exponential mechanism: truthful by every profile and lie, and what it is worth to everybody."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.punishing import (
    Environment,
    PunishingMechanism,
    best_epsilon,
    facilities_on_a_line,
)
from localdp.errors import InvalidParameter
from localdp.randomness.hazmat import SeededSource

TOWN = facilities_on_a_line(4, 2)
WORTH = np.array(
    [[4, 3, 0], [4, 0, 0], [0, 4, 1]]
)  # the first type has reason to say that it is the second


def vote() -> Environment:
    """Three outcomes, of which the types think so much; to react as another one costs 1 of 4."""
    reacting = 1 - np.eye(3, dtype=np.int64)
    return Environment(np.maximum(WORTH[:, None, :] - reacting[:, :, None], 0), 4, ("a", "b", "c"))


def least_loss(mechanism: PunishingMechanism, players: int, punishing: Fraction) -> Fraction:
    """Over all profiles, players and lies: what the truth has above a lie, exactly."""
    town, least = mechanism.environment, []
    types = len(town.utilities)
    own, lies = town.truthful, town.losses
    for others in product(range(types), repeat=players - 1):
        laws = []
        for told in range(types):
            drawn = mechanism.law(np.bincount([told, *others], minlength=types))
            laws.append([Fraction(weight, drawn.total) for weight in drawn.weights])
        for one, told in product(range(types), repeat=2):
            if one != told:
                free = sum(
                    (a - b) * int(u) for a, b, u in zip(laws[one], laws[told], own[one], strict=True)
                )
                forced = Fraction(int(lies[one, told].sum()), town.outcomes)
                least.append(((1 - punishing) * free + punishing * forced) / town.scale)
    return min(least)


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "2"])
@pytest.mark.parametrize("environment", [TOWN, vote()], ids=["town", "vote"])
def test_no_lie_pays_in_any_profile(environment: Environment, epsilon: str) -> None:
    mechanism = PunishingMechanism(environment, Epsilon.requested(epsilon))
    punishing = Fraction(mechanism.threshold, 1 << 64)
    assert least_loss(mechanism, 3, punishing) >= 0
    # Theorem 10.3 asks for more punishment than that.
    printed = 2 * float(mechanism.epsilon) * environment.outcomes / float(environment.gap)
    assert mechanism.punishing < printed


def test_without_punishment_a_lie_pays() -> None:
    assert least_loss(PunishingMechanism(vote(), Epsilon.requested(2)), 3, Fraction(0)) < -Fraction(1, 50)


def test_a_lie_costs_the_least_punishment_where_everybody_has_to_react_as_told() -> None:
    """Lemma 10.2, with what is exact in the place of gamma / |O|."""
    town = facilities_on_a_line(10, 2)
    assert town.outcomes == 121 and town.gap == Fraction(1, 10)
    assert float(town.least_punishment) == pytest.approx(0.001653, abs=1e-6)
    assert float(town.gap / town.outcomes) == pytest.approx(0.000826, abs=1e-6)
    assert town.least_punishment >= town.gap / town.outcomes


def test_with_one_facility_nothing_is_punished() -> None:
    with pytest.raises(InvalidParameter, match="nothing is punished"):
        PunishingMechanism(facilities_on_a_line(4, 1), Epsilon.requested(1))


@pytest.mark.parametrize(("people", "least", "most"), [(100_000, 0.825, 0.835), (1_000_000, 0.845, 0.857)])
def test_everybody_has_nearly_what_they_could(people: int, least: float, most: float) -> None:
    town = facilities_on_a_line(10, 2)
    counts = np.bincount(np.random.default_rng(1).integers(0, 11, people), minlength=11)
    best = float(town.scores(counts).max()) / (people * town.scale)
    mechanism = PunishingMechanism(town, best_epsilon(town, people))
    assert best == pytest.approx(0.8636, abs=0.001)
    assert least <= mechanism.expected(counts) <= min(most, best)
    missed = 2 * math.log(town.outcomes) / (float(mechanism.epsilon) * people)
    assert mechanism.expected(counts) >= (1 - mechanism.punishing) * (best - missed)  # Theorem 10.4


def test_outcomes_are_drawn_as_often_as_they_should_be() -> None:
    """2,000 draws at q = 0.95; a chance of a false alarm of 1e-9 at five standard deviations."""
    mechanism, source = PunishingMechanism(TOWN, Epsilon.requested(2)), SeededSource(1)
    told = [mechanism.announced(np.array([5, 0, 0, 0, 5]), source) for _ in range(2000)]
    often, q = sum(one.committed for one in told), mechanism.punishing
    assert abs(often - 2000 * q) <= 6 * math.sqrt(2000 * q * (1 - q))
    assert len({one.name for one in told if one.committed}) == TOWN.outcomes


@pytest.mark.parametrize(
    "utilities", [np.zeros((2, 3, 2), np.int64), np.full((2, 2, 2), 5), np.array([[[0], [1]], [[1], [0]]])]
)
def test_what_is_no_environment_is_refused(utilities: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        Environment(utilities, 4, tuple(range(utilities.shape[2])))
