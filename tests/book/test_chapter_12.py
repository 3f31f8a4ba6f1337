"""Chapter 12: the coins of the pan-private density, the intervals of the counter of Figure 12.1, and a bound for any."""

import math
from fractions import Fraction
from itertools import product

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.hazmat import SeededSource


def largest_loss(absent: Fraction, present: Fraction) -> float:
    """Of one bit of the state, which is 1 with one of these probabilities."""
    ratios = [
        absent / present,
        present / absent,
        (1 - absent) / (1 - present),
        (1 - present) / (1 - absent),
    ]
    return max(math.log(ratio) for ratio in ratios)


def mean_estimate(elements: int, appeared: int, absent: Fraction, present: Fraction) -> Fraction:
    """The mean number of ones in the state."""
    return (elements - appeared) * absent + appeared * present


def test_the_coins_of_the_density_cost_more_than_is_claimed_and_are_biased() -> None:
    # Section 12.2: a bit starts fair, and is 1 with 1/2 + epsilon once its element has appeared.
    epsilon, half = Fraction(1, 4), Fraction(1, 2)
    assert largest_loss(half, half + epsilon) == pytest.approx(-math.log(1 - 2 * epsilon))
    assert largest_loss(half, half + epsilon) > 0.69 > epsilon
    for elements, appeared in product([10], range(11)):
        ones = mean_estimate(elements, appeared, half, half + epsilon)
        estimate = 2 * (ones - Fraction(elements, 2)) / elements
        assert estimate == 2 * epsilon * Fraction(appeared, elements)  # and not the density


def test_coins_about_a_half_cost_epsilon_and_give_the_density_back() -> None:
    odds = Fraction(math.exp(0.25))
    absent, present = 1 / (1 + odds), odds / (1 + odds)
    assert largest_loss(absent, present) == pytest.approx(0.25)
    for appeared in range(11):
        ones = mean_estimate(10, appeared, absent, present)
        assert (ones - 10 * absent) / (10 * (present - absent)) == Fraction(appeared, 10)


def intervals(levels: int, *, root: bool) -> list[range]:
    """Of the binary tree over 2^levels steps, as Figure 12.1 numbers them, by 1 to log2 T bits, or with its root."""
    sizes = [1 << (levels - bits) for bits in range(0 if root else 1, levels + 1)]
    return [range(start, start + size) for size in sizes for start in range(0, 1 << levels, size)]


@pytest.mark.parametrize("levels", [1, 3, 6])
def test_noise_for_log_t_intervals_is_enough_without_the_root_and_too_little_with_it(levels: int) -> None:
    # Noise of scale log2(T) / epsilon on each of k intervals that an event lies in costs k epsilon / log2(T).
    for root, most in ((False, levels), (True, levels + 1)):
        lying_in = [sum(step in one for one in intervals(levels, root=root)) for step in range(1 << levels)]
        assert set(lying_in) == {most}
    # The count after the last step needs the two halves where there is no root, and is the root where there is one.
    halves = [one for one in intervals(levels, root=False) if len(one) == 1 << (levels - 1)]
    assert sorted(step for one in halves for step in one) == list(range(1 << levels))


@pytest.mark.parametrize("steps", [1 << 12, 1 << 16, 1 << 20])
def test_a_counter_below_the_bound_of_theorem_12_6_would_have_more_than_all_probability(steps: int) -> None:
    # T / k streams with k = log2(T) / 4 events each, one after another.  Whoever is less than k / 2 off at every step, with
    # probability 2/3, tells them apart; any two are 2 k events apart, and epsilon = 1.
    events = int(math.log2(steps) / 4)
    assert 2 / 3 * (1 + (steps // events - 1) * math.exp(-2 * events)) > 1
    counter = TreeCounter(steps, Epsilon.requested(1), TrustedCurator(SeededSource(1)))
    assert counter.root_mean_square > events / 2
