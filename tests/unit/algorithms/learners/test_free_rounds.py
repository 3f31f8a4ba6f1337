"""Rounds are free where they divide people, and cost accuracy where they divide epsilon."""

import pytest

from localdp.algorithms.learners.free_rounds import rounds_are_free
from localdp.oracles.adversarial import AdversarialOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from tests.support.bit_tables import bit_records, curator_oracle, local_oracle, random_rows

ROWS = random_rows(2000, 3, 1)
PEOPLE = bit_records(ROWS, ROWS[:, 0])


@pytest.mark.parametrize(
    ("oracle", "free"),
    [
        (local_oracle(PEOPLE, 1), True),
        (curator_oracle(PEOPLE, 1), False),
        (ExactOracle(PEOPLE), False),  # there is nothing to average
        (AdversarialOracle(PEOPLE, 0.1), False),  # who errs alike in every round
    ],
)
def test_the_plan_tells_whether_rounds_are_free(oracle: StatisticalQueryOracle, free: bool) -> None:
    assert rounds_are_free(oracle, ["x0", "x1"], 10) == free
    assert oracle.cost.rounds == 0
