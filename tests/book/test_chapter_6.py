"""Chapter 6, boosting for queries: how many rounds it takes, and what a sample costs."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

QUERIES, ETA = 448, 1 / 3
ALPHA = math.log((1 + 2 * ETA) / (1 - 2 * ETA)) / 2
PRINTED_ROUNDS = math.ceil(math.log(QUERIES) / ETA**2)
ROUNDS = math.floor(2 * math.log(QUERIES) / -math.log(1 - 4 * ETA**2)) + 1
K, EPSILON, DELTA = 50, 0.5, 5e-7  # samples a round, and what all samples may cost together


def hidden(weights: NDArray[np.float64], most: float, largest_first: bool) -> NDArray[np.bool_]:
    """The queries that a base generator is wrong about, of no more than this mass: the heaviest, or as many as possible."""
    order = np.argsort(-weights if largest_first else weights, kind="stable")
    wrong = np.zeros(len(weights), np.bool_)
    mass = 0.0
    for place in order:
        if mass + weights[place] <= most:
            wrong[place], mass = True, mass + weights[place]
    return wrong


def boosted(rounds: int, largest_first: bool) -> tuple[NDArray[np.int64], list[float]]:
    """The sum of the signs of each query, and the mass Z after each round, against a generator as bad as is allowed."""
    score, masses = np.zeros(QUERIES, np.int64), []
    for _ in range(rounds):
        unnormalised = np.exp(-ALPHA * score)
        wrong = hidden(unnormalised / unnormalised.sum(), 0.5 - ETA, largest_first)
        score += np.where(wrong, -1, 1)
        masses.append(float(np.exp(-ALPHA * score).sum()))
    return score, masses


@pytest.mark.parametrize("largest_first", [True, False])
def test_twenty_one_rounds_of_boosting_do_what_fifty_five_were_printed_for(largest_first: bool) -> None:
    assert (ROUNDS, PRINTED_ROUNDS) == (21, 55)
    score, masses = boosted(ROUNDS, largest_first)
    for number, mass in enumerate(masses, 1):  # the recurrence of Claim 6.3
        assert mass <= QUERIES * math.sqrt(1 - 4 * ETA**2) ** number * (1 + 1e-12)
    assert masses[-1] < 1 and score.min() > 0  # so the median of the answers is right for every query


def test_a_few_rounds_are_not_enough_so_the_count_is_not_vacuous() -> None:
    score, _ = boosted(3, largest_first=True)
    assert score.min() < 0


def sampling_loss(rounds: int, moved: float) -> float:
    """The largest log-ratio of a sample, over all ways in which one person moves each sign of each of 3 queries so far."""
    ways = np.array(list(product([-1, 0, 1], repeat=3))) * moved
    worst = 0.0
    for way in ways:
        weights = np.ones(3), np.exp(-ALPHA * rounds * way)
        first, second = (one / one.sum() for one in weights)
        worst = max(worst, float(np.abs(np.log(first / second)).max()))
    return worst


@pytest.mark.parametrize("rounds", [1, 2, 7, 20])
def test_a_sample_costs_what_the_rounds_before_it_can_have_moved(rounds: int) -> None:
    # Lemma 6.4 charges 4 alpha T rho / mu for every sample; after i rounds the scores have moved by 2 i rho / mu at most.
    moved = 2 / 10_000  # 2 rho / mu
    assert sampling_loss(rounds, moved) <= 2 * ALPHA * rounds * moved
    assert sampling_loss(rounds, moved) > 0.6 * 2 * ALPHA * rounds * moved  # with three queries
    assert sampling_loss(rounds, moved) < 0.4 * 2 * ALPHA * PRINTED_ROUNDS * moved


def test_with_its_own_rounds_and_costs_boosting_needs_fifteen_times_fewer_people() -> None:
    # As printed: k T samples at 4 alpha T / mu each, by Theorem 3.20 (equation 6.7), solved for mu.
    deviation = math.sqrt(2 * K * PRINTED_ROUNDS * math.log(1 / DELTA))
    samples = K * PRINTED_ROUNDS
    each = (math.sqrt(deviation**2 + 4 * samples * EPSILON) - deviation) / (2 * samples)
    printed = 4 * ALPHA * PRINTED_ROUNDS / each
    # Each sample at its own 4 alpha i / mu; the exponential mechanism is (eps^2 / 8)-zCDP.
    root = math.sqrt(math.log(1 / DELTA) + EPSILON) - math.sqrt(math.log(1 / DELTA))
    needed = math.sqrt(K * sum((4 * ALPHA * i) ** 2 for i in range(1, ROUNDS)) / 8) / root
    assert (round(printed, -1), round(needed, -1)) == (101_720, 6_620)


def test_the_base_generators_of_section_6_2_3_would_spend_twice_of_everything() -> None:
    # T eps_base is to be half of eps_boost, so 1 / eps_base = 2 T / eps_boost; printed is T / (2 eps_boost).
    rounds, boost = math.log(QUERIES) / ETA**2, 1.0
    derived, printed = 2 * rounds / boost, rounds / (2 * boost)
    assert rounds / derived == pytest.approx(boost / 2)
    assert rounds / printed == pytest.approx(2 * boost)
