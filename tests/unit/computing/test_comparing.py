"""Comparisons: all numbers of few bits, and 64 bits at their edges; gates and rounds as counted."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.computing.comparing import all_zero, greater_than, less_than
from localdp.computing.dialogue import Traffic, run_together
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import bit_rows, numbers_in, run, seats, secret_words, shared_words


def row(words: Words, count: int) -> list[int]:
    return numbers_in(words[None], count, most_significant_first=True)


@pytest.mark.parametrize("bits", [2, 4, 6])
def test_less_than_each_public_bound_for_all_numbers(bits: int) -> None:
    numbers = list(range(1 << bits))
    bounds = list(range(1 << bits))
    rows = bit_rows(numbers, bits, most_significant_first=True)
    held = shared_words(np.repeat(rows[:, None], len(bounds), axis=1), 1)
    made = secret_words(run(seats(1), lambda s: less_than(s, held[s.server], bounds)))
    for place, bound in enumerate(bounds):
        assert row(made[place], len(numbers)) == [int(number < bound) for number in numbers]


def test_64_bits_at_the_edges_of_bounds_take_89_gates_and_6_rounds() -> None:
    bounds = [0, 1, 2**63, 2**64 - 1, 0xFFFFFFFF00000001]
    numbers = sorted({(bound + step) % 2**64 for bound in bounds for step in (-1, 0, 1)})
    rows = bit_rows(numbers, 64, most_significant_first=True)
    held = shared_words(np.repeat(rows[:, None], len(bounds), axis=1), 2)
    seated, traffic = seats(2), Traffic()
    made = run_together([less_than(s, held[s.server], bounds) for s in seated], traffic=traffic)
    for place, bound in enumerate(bounds):
        assert row(secret_words(made)[place], len(numbers)) == [int(number < bound) for number in numbers]
    assert traffic.rounds == 6
    assert seated[0].transcript.gates == 89 * 64 * len(bounds)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_greater_for_all_pairs(bits: int) -> None:
    pairs = [(a, b) for a in range(1 << bits) for b in range(1 << bits)]
    x, y = (
        shared_words(bit_rows([pair[side] for pair in pairs], bits, most_significant_first=True), 3 + side)
        for side in (0, 1)
    )
    made = run(seats(3), lambda s: greater_than(s, x[s.server], y[s.server]))
    assert row(secret_words(made), len(pairs)) == [int(a > b) for a, b in pairs]


@pytest.mark.parametrize("bits", [1, 3, 4])
def test_all_zero_for_all_numbers(bits: int) -> None:
    held = shared_words(bit_rows(list(range(1 << bits)), bits, most_significant_first=False), 5)
    made = run(seats(4), lambda s: all_zero(s, held[s.server]))
    assert row(secret_words(made), 1 << bits) == [1] + [0] * ((1 << bits) - 1)
