"""The tent: at all edges what it says, of slope at most one on the whole cycle, and as cheap as counted."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.computing.dialogue import Traffic, run_together
from localdp.computing.seat import SharedElements
from localdp.computing.tent import LARGEST_SCORE, SHIFT, SMALLEST_SCORE, sliced, tent
from localdp.errors import InvalidParameter
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.field128 import NumpyField128
from tests.support.computing import FIELD64_KERNEL, numbers_in, run, seats, secret_words, shared_elements

TURNS = [0, 2**31, 2**32, 2**63, PRIME - 1, 2**64 - 2**33]
EDGES = sorted({(turn - SHIFT + step) % PRIME for turn in [*TURNS, SHIFT] for step in range(-3, 4)})


def tent_of(score: int) -> int:
    x = (score + SHIFT) % PRIME
    return x if x < 2**31 else max(0, 2**32 - 1 - x)


def tents(scores: list[int], seed: int) -> list[int]:
    held = shared_elements(np.array([scores], np.uint64), FIELD64_KERNEL, seed)
    made = run(seats(seed), lambda s: tent(s, held[s.server], len(scores)))
    return numbers_in(secret_words(made), len(scores), most_significant_first=False)


@pytest.mark.parametrize("seed", range(4))
def test_at_all_edges_it_is_what_it_says_for_every_sharing(seed: int) -> None:
    assert tents(EDGES, seed) == [tent_of(score) for score in EDGES]


def test_components_at_the_edges_of_the_field_add_up() -> None:
    """Sums of components just below and above p and 2p: all combinations of zero, one, p - 1 and p // 2."""
    values = [0, 1, PRIME - 1, PRIME // 2]
    triples = [(a, b, c) for a in values for b in values for c in values]
    parts = np.array(triples, np.uint64).T
    held = [SharedElements(np.stack([parts[i], parts[(i + 1) % 3]])[:, None]) for i in range(3)]
    made = run(seats(5), lambda s: tent(s, held[s.server], len(triples)))
    found = numbers_in(secret_words(made), len(triples), most_significant_first=False)
    assert found == [tent_of(sum(triple)) for triple in triples]


def test_neighbours_on_the_cycle_are_at_most_one_apart() -> None:
    around = sorted({(score + step) % PRIME for score in EDGES for step in (0, 1)})
    found = dict(zip(around, tents(around, 6), strict=True))
    assert all(abs(found[score] - found[(score + 1) % PRIME]) <= 1 for score in EDGES)


def test_on_the_allowed_scores_it_only_shifts() -> None:
    scores = [SMALLEST_SCORE, -1, 0, 1, 12345, LARGEST_SCORE]
    assert tents([score % PRIME for score in scores], 7) == [score + SHIFT for score in scores]


def test_it_takes_29_rounds_and_1066_gates_a_score() -> None:
    held = shared_elements(np.zeros((1, 64), np.uint64), FIELD64_KERNEL, 1)
    seated, traffic = seats(1), Traffic()
    run_together([tent(s, held[s.server], 64) for s in seated], traffic=traffic)
    assert (traffic.rounds, seated[0].transcript.gates) == (29, 64 * 1066)


def test_bits_of_words_become_rows_of_lanes() -> None:
    values = [5, 2**63, 0, 2**64 - 1]
    rows = sliced(np.array(values, np.uint64), 128)
    assert rows.shape == (64, 2)
    assert numbers_in(rows, 4, most_significant_first=False) == values


def test_scores_of_another_field_are_refused() -> None:
    kernel = NumpyField128()
    held = shared_elements(np.zeros((2, 1), np.uint64), kernel, 1)
    with pytest.raises(InvalidParameter):
        run(seats(1, kernel), lambda s: tent(s, held[s.server], 1))
