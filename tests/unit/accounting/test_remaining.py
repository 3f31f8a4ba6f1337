"""What people have left, in steps: never more than is left, and nobody is told apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.accounting.remaining import STEPS, Step, remaining

LIMIT = Epsilon.requested(12)
Telling = Callable[[np.ndarray, Epsilon, int], tuple[Step, ...]]


def spent(*nats: float) -> np.ndarray:
    return np.array([round(one * NANONATS_PER_NAT) for one in nats], np.int64)


def test_the_steps_are_those_of_the_contract_and_count_who_has_just_enough() -> None:
    assert [float(step) for step in STEPS] == [10, 3, 1, 0.3, 0.1, 0]
    told = remaining(spent(2, 2.000000001, 9, 11.7, 12, 14), LIMIT)
    assert tuple(step.at_least for step in told) == STEPS
    assert [step.people for step in told] == [1, 3, 3, 4, 4, 6]


def by_itself(amounts: np.ndarray, limit: Epsilon, fewest: int) -> tuple[Step, ...]:
    """Broken: every group is shown, however small."""
    return remaining(amounts, limit)


def upwards(amounts: np.ndarray, limit: Epsilon, fewest: int) -> tuple[Step, ...]:
    """Broken: a group that is too small is counted with those who have more."""
    counts = [step.people for step in remaining(amounts, limit)]
    for place in reversed(range(len(counts) - 1)):
        if counts[place + 1] - counts[place] < fewest:
            counts[place] = counts[place + 1]
    return tuple(Step(step, count) for step, count in zip(STEPS, counts, strict=True))


def faults(telling: Telling) -> set[str]:
    """What is wrong with what is told of made-up people, for cohorts of every size."""
    found, chance = set(), np.random.default_rng(1)
    for people in (1, 7, 60):
        for fewest in (1, 2, 5, 30, 61):
            amounts = spent(*chance.choice([0, 1, 5, 9, 11.2, 11.8, 11.95, 12, 13], people))
            told = [step.people for step in telling(amounts, LIMIT, fewest)]
            true = [step.people for step in remaining(amounts, LIMIT)]
            if any(one > other for one, other in zip(told, true, strict=True)) or told[-1] != people:
                found.add("more than is left")
            groups = [after - before for before, after in pairwise((0, *told))]
            if people >= fewest and any(0 < group < fewest for group in groups):
                found.add("a small group")
            if people < fewest and any(told[:-1]):
                found.add("a small party")
    return found


def test_no_group_below_the_minimum_is_shown_and_nobody_is_richer_than_they_are() -> None:
    assert faults(remaining) == set()


@pytest.mark.parametrize(("twin", "fault"), [(by_itself, "a small group"), (upwards, "more than is left")])
def test_the_checks_see_broken_twins(twin: Telling, fault: str) -> None:
    assert fault in faults(twin)
