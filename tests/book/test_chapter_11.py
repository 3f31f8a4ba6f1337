"""Chapter 11: losses of both signs cost twice what losses between 0 and 1 do (Algorithm 17)."""

import math
from itertools import product

import pytest


def largest_loss(eta: float, losses: tuple[float, float]) -> float:
    """Of one action of weighted majority with two experts, over what came before and all replacements of one example."""
    worst = 0.0
    for before in range(
        math.ceil(-10 / eta), 1
    ):  # the difference of the two totals; the other sign is the same
        chances = []
        for first, second in product(losses, repeat=2):
            odds = math.exp(-eta * (before + first - second))
            chances.append((odds / (1 + odds), 1 / (1 + odds)))
        for one, other in product(chances, repeat=2):
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(one, other, strict=True)))
    return worst


@pytest.mark.parametrize("eta", [0.01, 0.1, 1.0])
def test_losses_between_minus_one_and_one_cost_twice_of_what_theorem_11_2_counts(eta: float) -> None:
    counted, fed = largest_loss(eta, (0, 1)), largest_loss(eta, (-1, 1))
    assert 1.99 * eta < counted <= 2 * eta  # what Theorem 11.2 composes
    assert 3.98 * eta < fed <= 4 * eta * (1 + 1e-12)
