"""Weighted majority: its regret bound, the exact law of the book's private version, and what it may cost."""

import math
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.accountant import total_epsilon
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.algorithms.online.weighted_majority import (
    RESOLUTION,
    ChosenMajority,
    CountedMajority,
    LocalMajority,
    before,
    best_rate,
    followed,
    regret,
    regret_bound,
    regret_of_actions,
)
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import TrustedCurator
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from tests.support.people import ONE

DELTA = Fraction(1, 10**6)


def worst_losses(rounds: int, experts: int) -> np.ndarray:
    """An adversary: the expert that is followed most loses, the others do not."""
    losses = np.zeros((rounds, experts), np.int64)
    totals = np.zeros(experts)
    for number in range(rounds):
        losses[number, int(np.argmin(totals))] = RESOLUTION
        totals += losses[number] / RESOLUTION
    return losses


def test_no_losses_make_the_regret_larger_than_theorem_11_1_allows() -> None:
    rounds, experts = 500, 8
    generator = np.random.default_rng(1)
    tables = [
        worst_losses(rounds, experts),
        generator.integers(0, RESOLUTION + 1, (rounds, experts)),
        np.tile([0] + [RESOLUTION] * 7, (rounds, 1)),
    ]
    for eta in (0.01, best_rate(rounds, experts), 0.5):
        for losses in tables:
            found = regret(losses, followed(before(losses), eta))
            assert found <= regret_bound(eta, rounds, experts)
    assert regret(tables[0], followed(before(tables[0]), 0.5)) > 0.01  # and the adversary is not idle


def test_the_best_rate_gives_twice_the_root() -> None:
    assert regret_bound(best_rate(20_000, 16), 20_000, 16) == pytest.approx(0.0235, abs=1e-4)


def test_the_two_forms_of_the_algorithm_follow_the_same_experts() -> None:
    # Algorithm 15 multiplies weights round by round; Algorithm 16 takes the exponential of the sum.
    losses = np.random.default_rng(2).integers(0, RESOLUTION + 1, (50, 4))
    weights, told = np.ones(4), []
    for row in losses:
        told.append(weights / weights.sum())
        weights = weights * np.exp(-0.3 * row / RESOLUTION)
    assert np.allclose(followed(before(losses), 0.3), told, rtol=1e-12)


def action_law(losses: np.ndarray, majority: ChosenMajority) -> dict[tuple[int, ...], Fraction]:
    return dict(enumerate_law(lambda source: tuple(majority.actions(losses, source).tolist())))


def test_the_exact_law_of_all_actions_moves_by_no_more_than_its_rounds_allow() -> None:
    # Three rounds, two experts; the first round is replaced, so two later actions can tell.
    majority = ChosenMajority(3, Epsilon.requested(2), Fraction(1, 10))
    rest = [[0, RESOLUTION], [RESOLUTION, 0]]
    here = action_law(np.array([[0, RESOLUTION], *rest]), majority)
    there = action_law(np.array([[RESOLUTION, 0], *rest]), majority)
    worst = max(here[actions] / there[actions] for actions in here)
    assert Epsilon.of_ratio(worst) <= majority.epsilon_per_round * 2
    # Between two experts at even odds an action tells eta, half of what it may; two actions really tell.
    assert Epsilon.of_ratio(worst).nanonats > 0.9 * majority.epsilon_per_round.nanonats


def test_the_rate_of_theorem_11_2_composes_to_its_epsilon_and_the_accountant_allows_four_times_as_much() -> (
    None
):
    book, optimal = ChosenMajority(1000, ONE, DELTA), ChosenMajority(1000, ONE, DELTA, "optimal")
    assert book.eta == pytest.approx(1 / math.sqrt(32 * 1000 * math.log(10**6)), rel=1e-5)
    for majority in (book, optimal):
        draws = PrivacyEvent(majority.epsilon_per_round, 1000, bounded_range=True)
        assert total_epsilon([draws], DELTA).epsilon <= ONE
    assert total_epsilon([PrivacyEvent(optimal.epsilon_per_round, 1000)], DELTA).epsilon > ONE
    assert optimal.eta / book.eta == pytest.approx(4.64, abs=0.01)


def test_counted_totals_are_right_up_to_their_noise() -> None:
    losses = np.random.default_rng(3).integers(0, RESOLUTION + 1, (256, 4))
    # With an epsilon of 30 the noise has a standard deviation of about 1, and none of 1,024 is beyond 6.
    sure = CountedMajority(256, 4, Epsilon.requested(30), DELTA, TrustedCurator(SeededSource(1)))
    assert np.abs(sure.totals(losses) - before(losses)).max() < 6
    noisy = CountedMajority(256, 4, ONE, DELTA, TrustedCurator(SeededSource(1)))
    spread = (noisy.totals(losses) - before(losses))[1:]
    # Sensitivity sqrt(4), standard deviation 4.22 at (1, 1e-6), and the factor of the counter, 2.6 at most.
    assert 5 < float(spread.std()) < 2 * 4.23 * 2.8


def test_local_totals_are_unbiased_for_every_loss() -> None:
    local = LocalMajority(2, ONE)
    for loss in (0, RESOLUTION // 4, RESOLUTION):
        values = np.tile([loss, RESOLUTION - loss], (2, 1))
        expected = np.zeros(2)
        number = loss * 1 + (RESOLUTION - loss) * (RESOLUTION + 1)
        for output, mass in local.randomizer.law(number).items():
            totals = local.totals(np.array([output, output], np.int64))
            expected += float(mass) * totals[1]
        assert expected == pytest.approx(values[0] / RESOLUTION, abs=1e-12)


def test_actions_and_probabilities_have_the_same_regret_on_average() -> None:
    losses = np.tile([0, RESOLUTION], (40, 1))
    probabilities = np.tile([0.25, 0.75], (40, 1))
    actions = np.array([1, 1, 1, 0] * 10)
    assert regret(losses, probabilities) == regret_of_actions(losses, actions) == 0.75


@pytest.mark.parametrize("beta", [0.5, 0.1, 0.001])
@pytest.mark.parametrize("rate", ["best", "private"])
def test_actions_keep_to_theorem_11_4_but_for_beta(rate: str, beta: float) -> None:
    # Exact: given the losses, rounds are independent, and with losses of 0 and 1 their sum has a law of few points.
    rounds, experts = 400, 4
    eta = best_rate(rounds, experts) if rate == "best" else ChosenMajority(rounds, ONE, DELTA, "book").eta
    losses = worst_losses(rounds, experts)
    chances = (followed(before(losses), eta) * (losses / RESOLUTION)).sum(axis=1)
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    regrets = (np.arange(rounds + 1) - (losses / RESOLUTION).sum(axis=0).min()) / rounds
    bound = regret_bound(eta, rounds, experts) + np.sqrt(np.log(experts / beta) / rounds)
    assert law.sum() == pytest.approx(1) and law @ regrets == pytest.approx(
        regret(losses, followed(before(losses), eta))
    )
    assert law[regrets > bound].sum() <= beta
    # It is no empty promise: without the last term, and the slack of the first, the rest is passed half of the time.
    assert law[regrets > law @ regrets].sum() > 0.4


@pytest.mark.parametrize(
    "losses",
    [
        np.zeros((3, 1), np.int64),
        np.zeros((0, 3), np.int64),
        np.zeros((3, 3)),
        np.full((2, 2), RESOLUTION + 1),
    ],
)
def test_what_are_no_losses_is_refused(losses: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        ChosenMajority(3, ONE, DELTA).actions(losses, SeededSource(1))


def test_more_rounds_than_epsilon_was_divided_over_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        ChosenMajority(3, ONE, DELTA).actions(np.zeros((4, 2), np.int64), SeededSource(1))
