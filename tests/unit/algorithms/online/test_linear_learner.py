"""LinearLearner finds the best corner of the simplex, with every kind of majority."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.online.linear_learner import LinearLearner, excess_bound, excess_loss, losses_of
from localdp.algorithms.online.weighted_majority import (
    RESOLUTION,
    ChosenMajority,
    CountedMajority,
    LocalMajority,
)
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import SharesInProcess, TrustedCurator
from localdp.randomness.hazmat import SeededSource

MUCH, DELTA = Epsilon.requested(20), Fraction(1, 10**6)


def examples(count: int = 400) -> np.ndarray:
    generator = np.random.default_rng(5)
    table = generator.uniform(-1, 1, (count, 4)) * 0.5
    table[:, 2] -= 0.5
    return table


MAJORITIES: dict[str, ChosenMajority | CountedMajority | LocalMajority] = {
    "the book's": ChosenMajority(400, MUCH, DELTA, "optimal"),
    "by counting": CountedMajority(400, 4, MUCH, DELTA, TrustedCurator(SeededSource(1))),
    "by counting on shares": CountedMajority(400, 4, MUCH, DELTA, SharesInProcess(SeededSource(1))),
    "local": LocalMajority(4, MUCH),
}


@pytest.mark.parametrize("name", MAJORITIES)
def test_theta_is_on_the_simplex_and_nearly_the_best_corner(name: str) -> None:
    learner = LinearLearner(MAJORITIES[name]).fit(examples(), SeededSource(2))
    assert learner.theta_.sum() == pytest.approx(1)
    assert learner.theta_.min() >= 0
    assert int(learner.theta_.argmax()) == 2
    assert excess_loss(learner.theta_, examples()) < 0.25  # a uniform theta has 0.37
    assert learner.claim_.epsilon == MUCH


def test_losses_lie_in_the_unit_interval_so_that_one_example_moves_a_sum_by_one() -> None:
    losses = losses_of(np.array([[-1.0, 0.0, 1.0]]))
    assert losses.tolist() == [[0, RESOLUTION // 2, RESOLUTION]]


@pytest.mark.parametrize("table", [np.array([1.0]), np.array([[2.0]]), np.array([[np.nan]])])
def test_what_are_no_examples_is_refused(table: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        losses_of(table)


def drawn(rounds: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Examples of independent signs with these means."""
    generator = np.random.default_rng(seed)
    return np.where(generator.random((rounds, 4)) < (1 + POPULATION) / 2, 1.0, -1.0)


POPULATION = np.array([0.2, 0.0, -0.4, 0.1])


def test_the_loss_on_examples_to_come_is_below_the_bound_but_for_its_failure() -> None:
    """Theorem 11.6: 30 samples of 1,000 examples, failure 0.05; five or more failures have a chance of 0.02."""
    failed, worst = 0, 0.0
    for run in range(30):
        chosen = ChosenMajority(1000, MUCH, DELTA, "optimal")
        learner = LinearLearner(chosen).fit(drawn(1000, run), SeededSource(run))
        excess = float(learner.theta_ @ POPULATION - POPULATION.min())
        bound = excess_bound(chosen.eta, 1000, 4, 0.05)
        failed += excess > bound
        worst = max(worst, excess / bound)
    assert failed < 5 and worst > 0.05
    assert bound < 0.6 < POPULATION.max() - POPULATION.min() + 0.1


def test_whoever_follows_the_worst_corner_is_beyond_the_bound() -> None:
    """The broken twin: losses with the wrong sign."""
    chosen = ChosenMajority(4000, MUCH, DELTA, "optimal")
    learner = LinearLearner(chosen).fit(-drawn(4000, 1), SeededSource(1))
    excess = float(learner.theta_ @ POPULATION - POPULATION.min())
    assert excess > excess_bound(chosen.eta, 4000, 4, 0.05)


def test_a_bound_grows_with_certainty_and_with_what_sums_are_off() -> None:
    assert excess_bound(0.01, 1000, 4, 0.001) > excess_bound(0.01, 1000, 4, 0.05)
    assert excess_bound(0.01, 1000, 4, 0.05, off=5) > excess_bound(0.01, 1000, 4, 0.05)
    with pytest.raises(InvalidParameter):
        excess_bound(0.01, 1000, 4, 0.0)
