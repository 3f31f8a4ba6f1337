"""Chapter 5: the constants of Theorem 5.7, from the theorems that it is put together from."""

import math
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.curators import IterationBudget

PEOPLE, QUERIES, GAMMA = 100_000, 448, 0.001


def least_alpha(each: float) -> float:
    """Of Theorem 5.6: 8 F(epsilon0), with F of the exponential mechanism (Theorem 5.5)."""
    return 8 * 2 / (PEOPLE * each) * math.log(QUERIES / GAMMA)


@pytest.mark.parametrize("rounds", [1, 20, 300])
def test_theorem_5_7_has_constants_four_times_as_large_as_printed(rounds: int) -> None:
    one, delta = Epsilon.requested(1), Fraction(1, 10**6)
    pure = IterationBudget(one, rounds).each_by_the_book
    approximate = IterationBudget(one, rounds, delta).each_by_the_book
    unit = math.log(QUERIES / GAMMA) / PEOPLE
    assert least_alpha(pure) == pytest.approx(32 * rounds * unit)  # printed: 8 T
    assert least_alpha(approximate) == pytest.approx(64 * math.sqrt(rounds * math.log(10**6)) * unit)  # 16
    # At the printed alpha no epsilon0 that Theorem 5.3 allows is enough for Theorem 5.6.
    assert least_alpha(pure) > 8 * rounds * unit
