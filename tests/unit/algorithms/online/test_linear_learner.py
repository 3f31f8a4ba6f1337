"""LinearLearner finds the best corner of the simplex, with every kind of majority."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.online.linear_learner import LinearLearner, excess_loss, losses_of
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
