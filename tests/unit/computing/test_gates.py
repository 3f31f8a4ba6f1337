"""Every gate, on all small inputs and in both fields, gives a sharing of what it says."""

from __future__ import annotations

from itertools import product as every

import numpy as np
import pytest

from localdp.computing.dialogue import Dialogue, Traffic, outcomes, run_together
from localdp.computing.gates import (
    choice,
    conjunction,
    lanes,
    opened_words,
    product,
    to_field,
)
from localdp.computing.seat import Seat, SharedWords
from localdp.errors import ComputationAborted
from localdp.sharing.field import PRIME
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel, elements
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import (
    FIELD64_KERNEL,
    bit_rows,
    reshared,
    run,
    seats,
    secret_elements,
    secret_words,
    shared_elements,
    shared_words,
)

FIELDS = [FIELD64_KERNEL, NumpyField128()]
ALL_COMPONENTS = list(every((0, 1), repeat=6))  # of x and y


def sharings_of_all_components() -> tuple[list[SharedWords], list[SharedWords]]:
    """One lane for each way in which the components of two bits can be."""
    parts = bit_rows(
        [sum(bit << place for place, bit in enumerate(row)) for row in ALL_COMPONENTS],
        6,
        most_significant_first=False,
    )
    x = [SharedWords(np.stack([parts[i], parts[(i + 1) % 3]])) for i in range(3)]
    y = [SharedWords(np.stack([parts[3 + i], parts[3 + (i + 1) % 3]])) for i in range(3)]
    return x, y


def test_a_conjunction_is_right_for_all_components_of_its_inputs() -> None:
    x, y = sharings_of_all_components()
    traffic = Traffic()
    made = run_together([conjunction(s, x[s.server], y[s.server]) for s in seats(1)], traffic=traffic)
    assert (secret_words(made) == secret_words(x) & secret_words(y)).all()
    assert (traffic.rounds, traffic.octets) == (1, (8, 8, 8))  # 64 gates, one bit each


def test_a_choice_takes_either_side() -> None:
    condition, x, y = (
        shared_words(np.array([[value]], np.uint64), value) for value in (0b0011, 0b0101, 0b1100)
    )
    made = run(seats(1), lambda s: choice(s, condition[s.server][0], x[s.server], y[s.server]))
    assert secret_words(made).tolist() == [[0b1101]]


@pytest.mark.parametrize("kernel", FIELDS)
def test_bits_become_field_elements_for_all_components(kernel: Kernel) -> None:
    x, _ = sharings_of_all_components()
    made = run(seats(2, kernel), lambda s: to_field(s, x[s.server][None], 64))
    expected = lanes(secret_words(x)[None], 64)
    assert secret_elements(made, kernel)[0].tolist() == expected.tolist()
    assert not secret_elements(made, kernel)[1:].any()


@pytest.mark.parametrize("kernel", FIELDS)
def test_products_are_those_of_the_field(kernel: Kernel) -> None:
    modulus = kernel.field.modulus
    values = [0, 1, 2, modulus - 1, modulus // 2, 12345678901234567890 % modulus]
    left, right = zip(*every(values, repeat=2), strict=True)
    x, y = (
        shared_elements(elements(kernel, list(side))[:, :, 0], kernel, place)
        for place, side in enumerate((left, right))
    )
    made = run(seats(3, kernel), lambda s: product(s, x[s.server], y[s.server]))
    expected = elements(kernel, [a * b % modulus for a, b in zip(left, right, strict=True)])[:, :, 0]
    assert (secret_elements(made, kernel) == expected).all()


@pytest.mark.parametrize("kernel", FIELDS)
def test_additive_shares_enter_without_being_opened_and_alike_in_every_attempt(kernel: Kernel) -> None:
    additive = [elements(kernel, [10 + server, kernel.field.modulus - 1])[:, :, 0] for server in range(3)]
    first, second = (
        run(seats(4, kernel, attempt=attempt), lambda s: reshared(s, additive[s.server]))
        for attempt in (1, 2)
    )
    expected = elements(kernel, [33, kernel.field.modulus - 3])[:, :, 0]
    assert (secret_elements(first, kernel) == expected).all()
    assert all((a.both == b.both).all() for a, b in zip(first, second, strict=True))


def test_what_was_opened_is_known_to_all_three() -> None:
    secret = np.array([[3, 1 << 63]], np.uint64)
    held = shared_words(secret, 5)
    assert all(
        (opened == secret).all() for opened in run(seats(5), lambda s: opened_words(s, held[s.server]))
    )


def test_an_opening_in_two_versions_is_refused_and_both_others_are_suspected() -> None:
    held = shared_words(np.array([[3]], np.uint64), 5)

    def lie(_round: int, sender: int, receiver: int, octets: bytes) -> bytes:
        return bytes([octets[0] ^ 1]) + octets[1:] if (sender, receiver) == (1, 0) else octets

    ends = outcomes([opened_words(s, held[s.server]) for s in seats(5)], lie)
    assert isinstance(ends[0], ComputationAborted)
    assert ends[0].suspects == (2, 1)
    assert "two versions" in ends[0].check


def test_what_is_not_verified_is_not_opened() -> None:
    x, y = sharings_of_all_components()

    def hasty(seat: Seat) -> Dialogue[Words]:
        made = yield from conjunction(seat, x[seat.server], y[seat.server])
        return (yield from opened_words(seat, made))

    with pytest.raises(ComputationAborted, match="not verified"):
        run(seats(1), hasty)


def test_an_element_of_the_prime_or_above_is_refused_and_its_sender_is_named() -> None:
    def too_large(_round: int, sender: int, _receiver: int, octets: bytes) -> bytes:
        return PRIME.to_bytes(8, "little") if sender == 2 and octets else octets

    additive = np.array([[1]], np.uint64)
    ends = outcomes([reshared(s, additive) for s in seats(6)], too_large)
    assert isinstance(ends[1], ComputationAborted)
    assert ends[1].suspects == (2,)
