"""Scores on shares: what the definition says at all edges, and never further apart than what they are made of.

The twin that must be caught takes -x_j where it is negative and x_{j+1} elsewhere, without comparing the two: right for
what honest servers hold, and not for what a dishonest one can make of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import get_args

import numpy as np
import pytest

from localdp.computing.shared_scores import lanes_at, scored
from localdp.sharing.selection import SelectionRule
from tests.support.computing import bit_rows, numbers_in, run, seats, secret_words, shared_words

MIDDLE, MOST = 1 << 30, (1 << 31) - 1
EDGES = [0, 1, 2, MIDDLE - 2, MIDDLE - 1, MIDDLE, MIDDLE + 1, MIDDLE + 2, MOST - 1, MOST]


def defined(rule: SelectionRule, before: int, upto: int) -> int:
    if rule == "largest":
        return before
    if rule == "furthest":
        return abs(before - MIDDLE)
    return MIDDLE + min(MIDDLE - before, upto - MIDDLE, 0)


def on_shares(rule: SelectionRule, values: list[int], places: list[int]) -> list[int]:
    held = shared_words(bit_rows(values, 31, most_significant_first=False), len(values))
    made = run(seats(1), lambda s: scored(s, held[s.server], rule, np.array(places)))
    numbers, one_more = (secret_words([pair[part] for pair in made]) for part in (0, 1))
    low = numbers_in(numbers, len(places), most_significant_first=False)
    return [
        a + b
        for a, b in zip(low, numbers_in(one_more, len(places), most_significant_first=False), strict=True)
    ]


@pytest.mark.parametrize("rule", ["largest", "furthest"])
def test_a_score_of_one_number_is_what_the_definition_says(rule: SelectionRule) -> None:
    assert on_shares(rule, EDGES, list(range(len(EDGES)))) == [defined(rule, v, 0) for v in EDGES]


def test_a_score_of_two_numbers_is_what_the_definition_says_in_every_order_of_them() -> None:
    pairs = list(product(EDGES, EDGES))
    values = [value for pair in pairs for value in pair]
    found = on_shares("quantile", values, list(range(0, len(values), 2)))
    assert found == [defined("quantile", *pair) for pair in pairs]


def steepest(score: Callable[[int, int], int]) -> int:
    """How far a score moves where each of its numbers moves by one at most."""
    near = [value for value in EDGES if value < MOST]
    moves = product(near, near, (0, 1), (0, 1))
    return max(abs(score(a, b) - score(a + i, b + j)) for a, b, i, j in moves)


def test_no_score_moves_further_than_its_numbers() -> None:
    def not_compared(before: int, upto: int) -> int:
        return MIDDLE + min(MIDDLE - before if before > MIDDLE else upto - MIDDLE, 0)

    for rule in get_args(SelectionRule):
        assert steepest(partial(defined, rule)) == 1
    assert steepest(not_compared) > 1 << 29


def test_lanes_are_taken_in_any_order() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9] * 9
    places = np.random.default_rng(1).integers(0, len(values), 200)
    held = [
        lanes_at(part, places)
        for part in shared_words(bit_rows(values, 4, most_significant_first=False), 2)
    ]
    found = numbers_in(secret_words(held), len(places), most_significant_first=False)
    assert found == [values[place] for place in places]
