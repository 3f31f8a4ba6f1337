"""Crowds: every prefix, slice and count of them is the one of their list, repeated."""

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.crowd import CYCLE, Crowd

LAWS = [(2, "0.3"), (2, "1"), (5, "uniform"), (1024, "zipf"), (2, "zipf")]


@pytest.mark.parametrize(("inputs", "law"), LAWS)
def test_a_cycle_has_the_frequencies_of_its_law_to_within_half_a_place(inputs: int, law: str) -> None:
    weights = np.array(
        [1 - float(law), float(law)]
        if law[0] in "01"
        else np.arange(1.0, inputs + 1) ** (-1.2 if law == "zipf" else 0)
    )
    expected = weights / weights.sum() * CYCLE
    assert (np.abs(Crowd.by_law(CYCLE, inputs, law).counts() - expected) <= 1).all()


@pytest.mark.parametrize(("inputs", "law"), LAWS)
def test_also_the_first_people_of_a_crowd_are_typical(inputs: int, law: str) -> None:
    few, whole = (Crowd.by_law(people, inputs, law).counts() / people for people in (1000, CYCLE))
    assert np.abs(np.cumsum(few - whole)).max() < 0.01  # 1,000 that were drawn would be off by 0.04


@pytest.mark.parametrize("people", [1, 6, 7, 8, 20, 21])
def test_people_of_a_table_come_again_when_more_are_wanted(people: int) -> None:
    table = np.array([3, 1, 4, 1, 5, 2, 0])
    crowd = Crowd.of_table(table, 6, people)
    expected = np.resize(table, people)
    np.testing.assert_array_equal(crowd.counts(), np.bincount(expected, minlength=6))
    for start in range(people):
        for size in (1, 3, 100):
            parts = list(crowd.slices(start, people, size))
            np.testing.assert_array_equal(np.concatenate(parts), expected[start:])
            assert all(len(part) <= size for part in parts)


def test_without_a_number_the_table_is_asked_as_it_is() -> None:
    assert Crowd.of_table(np.arange(4), 4).people == 4


@pytest.mark.parametrize(
    ("people", "inputs", "law", "why"),
    [
        (0, 2, "uniform", "people"),
        (10, 1, "uniform", "inputs"),
        (10, 3, "0.2", "two inputs"),
        (10, 2, "1.2", "between 0 and 1"),
        (10, 2, "bell", "a law is"),
    ],
)
def test_crowds_that_there_are_not_are_refused(people: int, inputs: int, law: str, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        Crowd.by_law(people, inputs, law)


def test_a_table_of_vectors_or_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="vector"):
        Crowd.of_table(np.zeros((3, 2), np.int64), 2)
    with pytest.raises(InvalidParameter, match="at least one row"):
        Crowd.of_table(np.zeros(0, np.int64), 2, 5)
