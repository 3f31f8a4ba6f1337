"""The tent: at all edges what it says, of slope at most one on the whole cycle, and as cheap as counted."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.computing.dialogue import Traffic, run_together
from localdp.computing.seat import SharedElements
from localdp.computing.tent import sliced, tent
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel, elements
from localdp.sharing.selection import SHIFTS
from tests.support.computing import FIELD64_KERNEL, numbers_in, run, seats, secret_words, shared_elements

KERNELS: list[Kernel] = [FIELD64_KERNEL, NumpyField128()]
both_fields = pytest.mark.parametrize("kernel", KERNELS, ids=["64", "128"])
SHIFT = SHIFTS["largest"]


def edges(kernel: Kernel) -> list[int]:
    p, size = kernel.field.modulus, 64 * kernel.limbs
    turns = [0, 2**31, 2**32, 2**63, 2 ** (size - 1), p - 1, 2**size - p, p - 2**33, SHIFT]
    return sorted({(turn - SHIFT + step) % p for turn in turns for step in range(-3, 4)})


def tent_of(score: int, kernel: Kernel, shift: int = SHIFT) -> int:
    x = (score + shift) % kernel.field.modulus
    return x if x < 2**31 else max(0, 2**32 - 1 - x)


def tents(scores: list[int], seed: int, kernel: Kernel, shift: int = SHIFT) -> list[int]:
    whole = elements(kernel, [score % kernel.field.modulus for score in scores])[:, :, 0]
    held = shared_elements(whole, kernel, seed)
    made = run(seats(seed, kernel), lambda s: tent(s, held[s.server], len(scores), shift))
    return numbers_in(secret_words(made), len(scores), most_significant_first=False)


@both_fields
@pytest.mark.parametrize("seed", range(3))
def test_at_all_edges_it_is_what_it_says_for_every_sharing(seed: int, kernel: Kernel) -> None:
    scores = edges(kernel)
    assert tents(scores, seed, kernel) == [tent_of(score, kernel) for score in scores]


@both_fields
def test_components_at_the_edges_of_the_field_add_up(kernel: Kernel) -> None:
    """Sums of components just below and above p and 2p: all combinations of zero, one, p - 1 and p // 2."""
    p = kernel.field.modulus
    values = [0, 1, p - 1, p // 2]
    triples = [(a, b, c) for a in values for b in values for c in values]
    parts = [elements(kernel, [triple[i] for triple in triples])[:, :, 0] for i in range(3)]
    held = [SharedElements(np.stack([parts[i], parts[(i + 1) % 3]])) for i in range(3)]
    made = run(seats(5, kernel), lambda s: tent(s, held[s.server], len(triples), SHIFT))
    found = numbers_in(secret_words(made), len(triples), most_significant_first=False)
    assert found == [tent_of(sum(triple), kernel) for triple in triples]


@both_fields
def test_neighbours_on_the_cycle_are_at_most_one_apart(kernel: Kernel) -> None:
    p, scores = kernel.field.modulus, edges(kernel)
    around = sorted({(score + step) % p for score in scores for step in (0, 1)})
    found = dict(zip(around, tents(around, 6, kernel), strict=True))
    assert all(abs(found[score] - found[(score + 1) % p]) <= 1 for score in scores)


@both_fields
@pytest.mark.parametrize("shift", sorted(set(SHIFTS.values())))
def test_on_the_allowed_scores_it_only_shifts(shift: int, kernel: Kernel) -> None:
    scores = [-shift, -1, 0, 1, 12345, 2**31 - shift - 1]
    assert tents(scores, 7, kernel, shift) == [score + shift for score in scores]


@pytest.mark.parametrize(("kernel", "rounds", "gates"), [(KERNELS[0], 29, 1066), (KERNELS[1], 34, 2406)])
def test_what_it_takes(kernel: Kernel, rounds: int, gates: int) -> None:
    held = shared_elements(np.zeros((kernel.limbs, 64), np.uint64), kernel, 1)
    seated, traffic = seats(1, kernel), Traffic()
    run_together([tent(s, held[s.server], 64, SHIFT) for s in seated], traffic=traffic)
    assert (traffic.rounds, seated[0].transcript.gates) == (rounds, 64 * gates)


def test_bits_of_words_become_rows_of_lanes() -> None:
    values = [5, 2**63, 0, 2**64 - 1]
    rows = sliced(np.array(values, np.uint64), 128)
    assert rows.shape == (64, 2)
    assert numbers_in(rows, 4, most_significant_first=False) == values
