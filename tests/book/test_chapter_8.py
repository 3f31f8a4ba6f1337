"""Chapters 8, 12.3.2 and appendix A: lower bounds and a bound for Gaussian noise, against mechanisms at their best."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_delta, gaussian_variance
from localdp.mechanisms.adder import TrustedCurator
from localdp.mechanisms.tree_counter import TreeCounter
from localdp.randomness.hazmat import SeededSource


@pytest.mark.parametrize("coordinates", [2, 5, 10])
@pytest.mark.parametrize("apart", [1, 3])
def test_the_best_answer_among_many_databases_needs_the_epsilon_of_the_packing_lemma(
    coordinates: int, apart: int
) -> None:
    # Lemma 8.4: 2^s databases within `apart`, answers right half of the time.  The best that epsilon allows is the right
    # database with exp(epsilon apart) times the probability of each other one.
    lemma = math.log(2) * (coordinates - 1) / apart
    needed = math.log(2**coordinates - 1) / apart
    right = math.exp(needed * apart) / (math.exp(needed * apart) + 2**coordinates - 1)
    assert right == pytest.approx(0.5)
    assert lemma <= needed <= lemma + math.log(2) / apart  # the lemma holds, and is not far from the truth


def test_marginals_within_half_of_the_people_need_as_many_people_as_theorem_8_7_says() -> None:
    # Databases of n equal rows of k bits: all 2^k of them are n apart, and no two have marginals within n / 2 of the same.
    for bits in (1, 3):
        rows = np.array(list(product([0, 1], repeat=bits)))
        for first, second in product(rows, repeat=2):
            assert (first == second).all() or np.abs(first - second).max() == 1
    # Laplace noise for k sums, each within n / 2 with probability 1/2 together: never with fewer people than the bound.
    for bits, epsilon in product((1, 10, 100, 1000), (0.1, 1.0)):
        each = 1 - 0.5 ** (1 / bits)
        laplace = 2 * bits * math.log(1 / each) / epsilon
        assert laplace >= math.log(2) * (bits - 1) / epsilon


@pytest.mark.parametrize("steps", [1 << 12, 1 << 16, 1 << 20])
def test_a_counter_below_the_bound_of_theorem_12_6_would_have_more_than_all_probability(steps: int) -> None:
    # T / k streams with k = log2(T) / 4 events each, one after another.  Whoever is less than k / 2 off at every step, with
    # probability 2/3, tells them apart; any two are 2 k events apart, and epsilon = 1.
    events = int(math.log2(steps) / 4)
    assert 2 / 3 * (1 + (steps // events - 1) * math.exp(-2 * events)) > 1
    counter = TreeCounter(steps, Epsilon.requested(1), TrustedCurator(SeededSource(1)))
    assert counter.root_mean_square > events / 2


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "0.99"])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**6)])
def test_gaussian_noise_of_theorem_a_1_is_private_and_more_than_enough(
    epsilon: str, delta: Fraction
) -> None:
    scale = 2 * math.log(1.25 / delta) / float(epsilon) ** 2  # the variance at sensitivity 1
    sensitivity = 1000  # so that a whole number is fine enough
    variance = math.ceil(scale * sensitivity**2)
    assert gaussian_delta(Epsilon.requested(epsilon), sensitivity**2, variance) <= delta
    assert gaussian_variance(Epsilon.requested(epsilon), delta, sensitivity**2) < variance  # ours
