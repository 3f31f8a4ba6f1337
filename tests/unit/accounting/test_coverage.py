"""Which people some cohorts cover together: as a set of people would say, in any order of adding and asking."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from localdp.accounting.coverage import MOST_SPLITS, Coverage
from localdp.cohorts import Cohort, Split

PEOPLE = 24
EVERYBODY = Cohort(0, PEOPLE)


def cohort(choice: random.Random, split: float) -> Cohort:
    """A range, now and then empty, or a part of a split of one."""
    start, stop = sorted(choice.choices(range(PEOPLE + 1), k=2))
    if choice.random() >= split:
        return Cohort(start, stop)
    return Cohort(start, stop, Split(choice.randbytes(16), 3, choice.randrange(3)))


@pytest.mark.parametrize("split", [0.0, 0.3, 1.0], ids=["ranges", "some splits", "splits"])
@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_set_of_people(seed: int, split: float) -> None:
    choice = random.Random(seed)  # noqa: S311 - it chooses cohorts
    coverage, covered = Coverage(), set[int]()
    for _ in range(3 * MOST_SPLITS):
        asked = cohort(choice, split)
        people = [int(person) for person in asked.lanes()]
        missing = [person for person in people if person not in covered]
        assert coverage.missing(asked).tolist() == missing
        assert coverage.covers(asked) == (not missing)
        added = cohort(choice, split)
        coverage.add(added)
        covered.update(int(person) for person in added.lanes())
        assert coverage.covers(added)


def test_ranges_that_touch_are_one() -> None:
    coverage = Coverage()
    for person in [3, 1, 2, 0, 7, 5, 6, 4]:
        coverage.add(Cohort(person, person + 1))
    assert coverage._edges == [0, 8]
    assert coverage.missing(EVERYBODY).tolist() == list(range(8, PEOPLE))


def test_nobody_is_covered_at_first_and_an_empty_cohort_always() -> None:
    assert Coverage().missing(EVERYBODY).tolist() == list(range(PEOPLE))
    assert Coverage().covers(Cohort(3, 3)) and not Coverage().covers(Cohort(3, 4))


def test_what_one_more_person_takes_does_not_grow_with_how_many_there_are() -> None:
    def seconds(people: int) -> float:
        coverage, began = Coverage(), time.perf_counter()
        for person in np.random.default_rng(1).permutation(people).tolist():
            coverage.missing(Cohort(person, person + 1))
            coverage.add(Cohort(person, person + 1))
        return time.perf_counter() - began

    few, many = (min(seconds(people) for _ in range(3)) for people in (1_000, 16_000))
    assert many < 6 * 16 * few  # quadratic work would take 256 times as long, this some 18 times
