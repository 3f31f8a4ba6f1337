"""Proofs of all gates: honest ones hold, false ones abort with two suspects, and nothing else is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from localdp.computing import verification
from localdp.computing.dialogue import Carrier, Dialogue, Traffic, others, outcomes, run_together
from localdp.computing.gates import conjunction, opened_words, product, to_field
from localdp.computing.seat import Seat
from localdp.computing.verification import batches, verified
from localdp.errors import ComputationAborted
from localdp.sharing.prio3.batch.engine import WITHOUT_NUMBA
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import FIELD64_KERNEL, seats, shared_words

GENERATOR = np.random.default_rng(7)
X, Y = (GENERATOR.integers(0, 1 << 64, (3, 4), np.uint64) for _ in range(2))
HELD_X, HELD_Y = shared_words(X, 1), shared_words(Y, 2)
Change = Callable[[Seat], None]


def untouched(_seat: Seat) -> None:
    """An honest server."""


def computed(seat: Seat, change: Change = untouched) -> Dialogue[Words]:
    """Every kind of gate, then the proof, then an opening; a dishonest server changes what it remembers."""
    made = yield from conjunction(seat, HELD_X[seat.server], HELD_Y[seat.server])
    bits = yield from to_field(seat, made, 100)
    yield from product(seat, bits, bits)
    change(seat)
    yield from verified(seat)
    return (yield from opened_words(seat, made))


def all_ends(
    kernel: Kernel, change: Change = untouched, carry: Carrier | None = None
) -> list[Words | ComputationAborted]:
    return outcomes([computed(seat, change) for seat in seats(1, kernel)], carry)


@pytest.mark.parametrize("kernel", [FIELD64_KERNEL, NumpyField128()])
def test_honest_gates_are_accepted_and_opened(kernel: Kernel) -> None:
    assert all((opened == X & Y).all() for opened in run_together([computed(s) for s in seats(1, kernel)]))


def test_with_and_without_compiled_code_the_same_octets_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[bytes]] = [[], []]
    for without, heard in enumerate(sent):
        monkeypatch.setenv(WITHOUT_NUMBA, str(without))

        def note(
            _round: int, _sender: int, _receiver: int, octets: bytes, heard: list[bytes] = heard
        ) -> bytes:
            heard.append(octets)
            return octets

        all_ends(FIELD64_KERNEL, carry=note)
    assert sent[0] == sent[1] != []


def change_a_conjunction(seat: Seat) -> None:
    seat.transcript.words[0].e[0, 0] ^= np.uint64(1)


def change_a_factor(seat: Seat, place: int) -> None:
    gates = seat.transcript.products[place]
    alpha = gates.alpha.copy()
    alpha[0, 0, 0] ^= np.uint64(1)
    seat.transcript.products[place] = replace(gates, alpha=alpha)


FALSE_GATES: dict[str, Change] = {
    "a bit of a conjunction": change_a_conjunction,
    "a bit in the field": lambda seat: change_a_factor(seat, 0),
    "a factor of a product": lambda seat: change_a_factor(seat, 1),
}


@pytest.mark.parametrize("what", FALSE_GATES)
@pytest.mark.parametrize("cheat", [0, 1, 2])
def test_a_prover_that_proves_something_else_is_caught_by_both_verifiers(what: str, cheat: int) -> None:
    def change(seat: Seat) -> None:
        if seat.server == cheat:
            FALSE_GATES[what](seat)

    ends = all_ends(FIELD64_KERNEL, change)
    for server, end in enumerate(ends):
        assert isinstance(end, ComputationAborted)
        assert end.suspects == others(server)
        if server != cheat:
            assert end.check == f"the proof of server {cheat} does not hold"


def test_a_flipped_bit_of_a_conjunction_is_caught() -> None:
    def flip(number: int, sender: int, _receiver: int, octets: bytes) -> bytes:
        return bytes([octets[0] ^ 1]) + octets[1:] if (number, sender) == (0, 2) and octets else octets

    assert all(isinstance(end, ComputationAborted) for end in all_ends(FIELD64_KERNEL, carry=flip))


def test_a_verifier_that_tells_another_point_is_stopped_before_the_next_message() -> None:
    """What server 1 tells server 0 in the round after the first level; server 0 goes no further."""
    rounds: list[int] = []

    def other_point(number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        if (sender, receiver) == (0, 1) and octets:
            rounds.append(number)
        is_point = (number, sender, receiver) == (5, 1, 0)
        return bytes([octets[0] ^ 1]) + octets[1:] if is_point else octets

    ends = all_ends(FIELD64_KERNEL, carry=other_point)
    assert isinstance(ends[0], ComputationAborted)
    assert ends[0].check == "the verifiers of a proof told two challenges"
    assert max(rounds) == 4


def test_batches_have_all_gates_in_order_and_are_all_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "WORDS_OF_A_BATCH", 5)
    sizes: list[int] = []

    def look(seat: Seat) -> None:
        found = list(batches(seat))
        sizes[:] = [words.x.shape[1] for words, _ in found]
        assert (np.concatenate([words.x for words, _ in found], axis=1) == seat.transcript.words[0].x).all()
        assert [len(products) for _, products in found] == [0, 0, 2]

    assert all(isinstance(end, np.ndarray) for end in all_ends(FIELD64_KERNEL, look))
    assert sizes == [5, 5, 2]

    def change_the_last_batch(seat: Seat) -> None:
        if seat.server == 1:
            seat.transcript.words[0].e[0, -1] ^= np.uint64(1 << 63)

    assert all(
        isinstance(end, ComputationAborted) for end in all_ends(FIELD64_KERNEL, change_the_last_batch)
    )


def test_nothing_to_verify_is_one_round_of_verdicts() -> None:
    traffic = Traffic()
    run_together([verified(seat) for seat in seats(1)], traffic=traffic)
    assert traffic.rounds == 1
