"""What adaptive questions make one believe: exactly where it is finite, and as parties answer them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from localdp.attacks.overfitting import (
    asked_vote,
    believed,
    expected_belief,
    labelled_people,
    most_believed,
    vote,
)
from localdp.errors import InvalidParameter
from localdp.experiments.attack_overfitting import belief, fresh, people
from localdp.oracles.exact import ExactOracle
from localdp.queries.statistical import StatisticalQuery
from localdp.randomness.hazmat import SeededSource


def test_the_vote_is_the_majority_of_bits_as_they_were_turned() -> None:
    bits = np.array(list(product([0, 1], repeat=4)), np.bool_)
    records = labelled_people(bits[:, :3], bits[:, 3])
    for turned in product([True, False], repeat=3):
        query = StatisticalQuery.parse(vote(["b0", "b1", "b2"], list(turned)), records.schema)
        votes = (bits[:, :3] == np.array(turned)).sum(axis=1) >= 2
        assert (query.evaluate(records) == (votes == bits[:, 3])).all()


def test_exact_answers_deceive_as_predicted_and_fresh_people_do_not() -> None:
    # The mean of 20 votes of 1,000 people has a standard deviation of 0.0035; five of them.
    seen = [believed(ExactOracle(people(100, SeededSource(seed)))) for seed in range(20)]
    assert np.mean(seen) == pytest.approx(expected_belief(100, 1000), abs=0.0175)
    assert np.mean([fresh(100, SeededSource(seed)) for seed in range(20)]) == pytest.approx(0.5, abs=0.0175)


def test_private_answers_deceive_hardly() -> None:
    # Noise of half of epsilon on the last count moves the mean of 20 by 0.0006; 0.5 + 0.02 is expected at most.
    seen = [belief("curator", "1", 100, SeededSource(seed)) for seed in range(20)]
    assert np.mean(seen) < expected_belief(100, 1000) - 0.05


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_what_private_questions_find_is_bounded_and_the_bound_is_reached(epsilon: float) -> None:
    # One person with a fair bit; the analyst sees it through randomized response, the best there is, and asks for it.
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    asked = truth  # how often the question that was chosen is true of the person who was asked
    assert asked == pytest.approx(0.5 + math.tanh(epsilon / 2) / 2)
    assert asked <= most_believed(epsilon) <= 1


def test_the_questions_are_two_rounds_of_statistical_queries() -> None:
    oracle = ExactOracle(people(5, SeededSource(1)))
    believed(oracle)
    assert oracle.cost.rounds == 2 and oracle.cost.queries == 6
    assert asked_vote(oracle).startswith("not parity(")


def test_rows_and_labels_are_of_the_same_people() -> None:
    with pytest.raises(InvalidParameter):
        labelled_people(np.zeros((3, 2), np.bool_), np.zeros(2, np.bool_))
