"""Chapter 10, games: what a lie can gain, by every profile of a few players."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.registry import REGISTRY

Law = NDArray[np.float64]
ONE = Epsilon.requested(1)
PRIVATE = ("k-ary", "one-bit", "local-discrete-laplace", "subset-selection", "symmetric-unary")


def chosen(exponents: Law) -> Law:
    """Of the exponential mechanism: probabilities in proportion to the exponentials."""
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def largest_loss(law: Callable[[tuple[int, ...]], Law], values: int, players: int) -> float:
    """Over all profiles and all replacements of the first player's value."""
    worst = 0.0
    for others in product(range(values), repeat=players - 1):
        logs = [np.log(law((own, *others))) for own in range(values)]
        worst = max(worst, *(float((a - b).max()) for a, b in product(logs, repeat=2)))
    return worst


@pytest.mark.parametrize("name", PRIVATE)
def test_an_expected_utility_changes_by_a_factor_of_at_most_exp_epsilon(name: str) -> None:
    # Definition 10.1.  The worst utility is 1 for what is likelier on one side and 0 for the rest.
    randomizer = REGISTRY[name].examples(ONE)[0]
    laws = [randomizer.law(value) for value in (0, randomizer.inputs - 1)]
    outputs = sorted(set(laws[0]) | set(laws[1]), key=str)
    masses = np.array([[float(law.get(output, 0)) for output in outputs] for law in laws])
    source = np.random.default_rng(1)
    utilities = [*np.eye(len(outputs)), *source.random((100, len(outputs)))]
    for first, second in (masses, masses[::-1]):
        assert all(
            first @ one <= math.exp(float(randomizer.epsilon)) * (second @ one) * (1 + 1e-12)
            for one in utilities
        )


@pytest.mark.parametrize("name", PRIVATE)
def test_a_lie_gains_at_most_tanh_of_half_epsilon_and_not_twice_epsilon(name: str) -> None:
    # Proposition 10.1 has 2 epsilon; a utility in [0, 1] changes by the distance in total variation at most.
    randomizer = REGISTRY[name].examples(ONE)[0]
    laws = [randomizer.law(value) for value in (0, randomizer.inputs - 1)]
    gain = sum(max(0.0, float(laws[0].get(one, 0) - laws[1].get(one, 0))) for one in laws[0])
    bound = math.tanh(float(randomizer.epsilon) / 2)
    assert gain <= bound + 1e-12 and bound == pytest.approx(0.462, abs=0.001)
    if name == "one-bit":
        assert gain == pytest.approx(bound)  # randomized response reaches it


PRICES = np.arange(1, 21) / 20


def revenue(bids: tuple[int, ...]) -> Law:
    values = np.array(bids) / 20
    return np.asarray(PRICES * (values[None, :] >= PRICES[:, None] - 1e-9).sum(axis=1))


@pytest.mark.parametrize(("factor", "promised"), [(1.0, 1.0), (0.5, 0.5)])
def test_an_auction_is_private_without_the_factor_two(factor: float, promised: float) -> None:
    # Section 10.2.1 prints exp(epsilon Rev / 2).  A higher bid raises revenues or leaves them, so numerators and their sum
    # move the same way, and exp(epsilon Rev) is epsilon-private; printed, half of epsilon is left unspent.
    loss = largest_loss(lambda bids: chosen(factor * revenue(bids)), 21, 2)
    assert 0.9 * promised < loss <= promised


def welfare(profile: tuple[int, ...]) -> Law:
    """The mean utility of three outcomes, of players who like one of them, or one and half of another."""
    liked = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.5, 0]])
    return np.asarray(liked[list(profile)].mean(axis=0))


def test_the_exponential_mechanism_of_a_mean_needs_the_number_of_players() -> None:
    # Section 10.3.1 prints exp(epsilon F / 2n) for a mean F; its sensitivity is 1 / n, so it is exp(epsilon n F / 2).
    players = 4

    def printed(profile: tuple[int, ...]) -> Law:
        return chosen(welfare(profile) / (2 * players))

    def right(profile: tuple[int, ...]) -> Law:
        return chosen(players * welfare(profile) / 2)

    assert 0.5 < largest_loss(right, 4, players) <= 1
    assert largest_loss(printed, 4, players) <= 1 / players**2
    # And it is the law that has most of welfare and 2 / (epsilon n) of entropy, as the section goes on to say.
    for profile in product(range(4), repeat=players):
        reached = {
            name: float(law @ welfare(profile) - 2 / players * (law @ np.log(law)))
            for name, law in (("printed", printed(profile)), ("right", right(profile)))
        }
        best = 2 / players * math.log(np.exp(players * welfare(profile) / 2).sum())
        assert reached["right"] == pytest.approx(best)
        assert reached["printed"] < best or np.ptp(welfare(profile)) < 1e-9


def wins(lead: float, scale: float) -> float:
    """That an outcome with this lead has the larger of two sums with Laplace noise: the law of a difference of two."""
    tail = (1 + abs(lead) / (2 * scale)) * math.exp(-abs(lead) / scale) / 2
    return 1 - tail if lead > 0 else tail


def test_noise_on_each_of_two_sums_costs_twice_epsilon() -> None:
    # Section 10.3.3: who is replaced can take 1 from one sum and give 1 to the other.
    def loss(scale: float) -> float:
        leads = range(-400, 399)
        return max(abs(math.log(wins(lead, scale) / wins(lead + 2, scale))) for lead in leads)

    assert loss(1.0) == pytest.approx(1.995, abs=0.001)  # 1 is claimed
    assert 0.98 < loss(2.0) <= 1


class Facilities:
    """Players on the line 0, 1/m, .., 1, and k facilities: each goes to the nearest, or to where its report says."""

    def __init__(self, steps: int, facilities: int) -> None:
        self.steps, self.types = steps, steps + 1
        self.outcomes = list(product(range(self.types), repeat=facilities))
        # The utility of (type, outcome) when reacting as (report): -|type - facility nearest to the report|.
        self.utility = np.array(
            [[[-abs(own - self._nearest(told, o)) / steps for o in self.outcomes] for told in range(self.types)]
             for own in range(self.types)]
        )  # fmt: skip

    @staticmethod
    def _nearest(place: int, outcome: tuple[int, ...]) -> int:
        return min(outcome, key=lambda facility: (abs(place - facility), facility))

    def private(self, profile: tuple[int, ...], epsilon: float) -> Law:
        """The exponential mechanism of the mean utility, everybody reacting freely."""
        total = sum(self.utility[told, told] for told in profile)
        return chosen(epsilon * np.asarray(total) / 2)

    def gap(self) -> float:
        """gamma: the least that a lie costs at the outcome where it costs most."""
        pairs = [(own, told) for own, told in product(range(self.types), repeat=2) if own != told]
        return min(float((self.utility[own, own] - self.utility[own, told]).max()) for own, told in pairs)

    def least_loss_by_lying(self, epsilon: float, punishing: float, players: int = 2) -> float:
        """Over all profiles and lies: what a player has with the truth above what it has with the lie."""
        least = math.inf
        for others in product(range(self.types), repeat=players - 1):
            laws = [self.private((told, *others), epsilon) for told in range(self.types)]
            for own, told in product(range(self.types), repeat=2):
                if own != told:
                    free = float((laws[own] - laws[told]) @ self.utility[own, own])
                    forced = float((self.utility[own, own] - self.utility[own, told]).mean())
                    least = min(least, (1 - punishing) * free + punishing * forced)
        return least


def test_with_one_facility_nobody_can_be_punished_and_theorem_10_5_is_false() -> None:
    game = Facilities(4, 1)
    assert game.gap() == 0.0  # there is only one place to go to; the theorem has 1 / m
    assert all(game.least_loss_by_lying(0.5, punishing) <= 0 for punishing in (0.0, 0.5, 0.99))
    assert game.least_loss_by_lying(0.5, 0.5) < -1e-4  # a lie pays


def test_with_two_facilities_the_punishing_mechanism_is_strictly_truthful() -> None:
    game, punishing = Facilities(4, 2), 0.5
    assert game.gap() == pytest.approx(1 / 4)
    epsilon = punishing * game.gap() / (2 * len(game.outcomes))  # Theorem 10.3
    assert game.least_loss_by_lying(epsilon, punishing) > 0
    # Less punishment is enough, with tanh(epsilon / 2) for 2 epsilon and the exact least of what a lie costs.
    lies = [game.utility[a, a] - game.utility[a, b] for a, b in product(range(5), repeat=2) if a != b]
    least, gain = min(float(lie.mean()) for lie in lies), math.tanh(epsilon / 2)
    enough = gain / (gain + least)
    assert enough < punishing / 3
    assert game.least_loss_by_lying(epsilon, enough) >= 0
