"""Sums of binary numbers: all pairs and triples of few bits, and long carries."""

from __future__ import annotations

import pytest

from localdp.computing.adding import added, carry_save, widened
from localdp.computing.dialogue import Traffic, run_together
from localdp.computing.seat import SharedWords
from tests.support.computing import bit_rows, numbers_in, run, seats, secret_words, shared_words


def held_numbers(values: list[int], bits: int, seed: int) -> list[SharedWords]:
    return shared_words(bit_rows(values, bits, most_significant_first=False), seed)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_sums_of_all_pairs(bits: int) -> None:
    pairs = [(a, b) for a in range(1 << bits) for b in range(1 << bits)]
    x, y = (held_numbers([pair[side] for pair in pairs], bits, side) for side in (0, 1))
    made = secret_words(run(seats(1), lambda s: added(s, x[s.server], y[s.server])))
    assert numbers_in(made, len(pairs), most_significant_first=False) == [
        (a + b) % (1 << bits) for a, b in pairs
    ]


@pytest.mark.parametrize("bits", [32, 64, 66])
def test_long_carries_in_few_rounds(bits: int) -> None:
    top = (1 << bits) - 1
    pairs = [
        (top, 1),
        (top, top),
        (1 << bits - 1, 1 << bits - 1),
        (top // 3, top - top // 3),
        (0, top),
        (12345, 67890),
    ]
    x, y = (held_numbers([pair[side] for pair in pairs], bits, side) for side in (0, 1))
    traffic = Traffic()
    made = secret_words(
        run_together([added(s, x[s.server], y[s.server]) for s in seats(2)], traffic=traffic)
    )
    assert numbers_in(made, len(pairs), most_significant_first=False) == [
        (a + b) % (1 << bits) for a, b in pairs
    ]
    assert traffic.rounds <= 1 + (bits - 1).bit_length()


def test_three_numbers_become_two() -> None:
    triples = [(a, b, c) for a in range(8) for b in range(8) for c in range(8)]
    x, y, z = (held_numbers([triple[side] for triple in triples], 3, side) for side in (0, 1, 2))
    made = run(seats(3), lambda s: carry_save(s, x[s.server], y[s.server], z[s.server]))
    sums, carries = (
        numbers_in(secret_words([pair[side] for pair in made]), len(triples), most_significant_first=False)
        for side in (0, 1)
    )
    assert [a + b for a, b in zip(sums, carries, strict=True)] == [sum(triple) for triple in triples]


def test_a_wider_number_is_the_same_and_a_cut_one_its_remainder() -> None:
    x = held_numbers([5, 6], 3, 1)
    for bits, expected in ((6, [5, 6]), (2, [1, 2])):
        wide = secret_words([widened(part, bits) for part in x])
        assert numbers_in(wide, 2, most_significant_first=False) == expected
