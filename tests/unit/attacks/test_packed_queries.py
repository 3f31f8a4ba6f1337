"""Theorem 8.8 on a code of eight bits: what its queries tell, and what privacy they leave."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from localdp.attacks.packed_queries import PackedQueries, greedy_code
from localdp.errors import InvalidParameter
from localdp.randomness.hazmat import SeededSource

CODE = greedy_code(8, 4)


def packed(height: int = 10) -> PackedQueries:
    return PackedQueries.drawn(CODE, height, 8, SeededSource(1))


def test_the_code_is_that_of_hamming() -> None:
    assert len(CODE) == 16
    assert min(int((a ^ b).sum()) for a, b in product(CODE, repeat=2) if (a != b).any()) == 4


def test_one_record_moves_no_query_by_more_than_one() -> None:
    # Every histogram near a database, every record that comes or goes; and random walks between databases.
    queries = PackedQueries.drawn(greedy_code(3, 2), 4, 3, SeededSource(2))
    worst = 0
    for histogram in product(range(6), repeat=3):
        here = queries.answers(np.array(histogram))
        for kind in range(3):
            there = queries.answers(np.array(histogram) + np.eye(3, dtype=np.int64)[kind])
            worst = max(worst, int(np.abs(here - there).max()))
    assert worst == 1


def test_balls_that_meet_would_have_queries_of_a_larger_sensitivity() -> None:
    sound = PackedQueries.drawn(greedy_code(3, 2), 4, 3, SeededSource(2))
    broken = PackedQueries(sound.databases, 6, np.ones_like(sound.signs))
    steps = [
        np.abs(broken.answers(np.array(one)) - broken.answers(np.array(one) + np.array([1, 0, 0]))).max()
        for one in product(range(6), repeat=3)
    ]
    assert max(steps) > 1


def test_answers_within_the_radius_give_the_database_away() -> None:
    queries = packed()
    rng = np.random.default_rng(3)
    for place, database in enumerate(queries.databases):
        exact = queries.answers(database)
        assert (np.abs(exact) == queries.radius).all()
        for _ in range(20):
            assert queries.nearest(exact + rng.uniform(-0.99, 0.99, 8) * queries.radius) == place


@pytest.mark.parametrize("height", [5, 10, 40])
def test_the_best_private_answer_needs_the_epsilon_of_the_lemma(height: int) -> None:
    # The best that epsilon allows: the right database with exp(epsilon D) times the chance of each other one.
    queries = packed(height)
    furthest = max(int(np.abs(a - b).sum()) for a, b in product(queries.databases, repeat=2))
    needed = math.log(len(CODE) - 1) / furthest  # then the right one has one half
    assert queries.epsilon_at_least() <= needed
    # The product of epsilon and radius does not depend on the height: noise is of order 1 / epsilon.
    assert queries.epsilon_at_least() * (3 * queries.radius + 2) == pytest.approx(
        math.log(2) * 3 * 4 / 8, rel=0.25
    )


def test_what_cannot_be_packed_is_refused() -> None:
    for code, height, count in ((CODE, 1, 8), (CODE, 10, 3)):
        with pytest.raises(InvalidParameter):
            PackedQueries.drawn(code, height, count, SeededSource(1))
    with pytest.raises(InvalidParameter):
        greedy_code(13, 2)
