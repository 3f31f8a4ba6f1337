"""Section 8.2: the packing bounds, against mechanisms at their best."""

import math
from itertools import product

import numpy as np
import pytest


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
