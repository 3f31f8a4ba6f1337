"""One server's whole view, over every coin that it does not hold: one law for all inputs, noises and coins of the others.

Exactly, in fields of three and five elements and with coins of two bits.  What stands between that and the real thing
are the keystreams, which are pseudorandom, and the proof, whose views are enumerated in test_proof.py.  The broken
twins are caught by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.comparing import less_than
from localdp.computing.dialogue import Dialogue, Exchange
from localdp.computing.gates import MASK, conjunction, octets_of, product, to_field, words_in
from localdp.computing.joint_noise import NOISE, joint_noise
from localdp.computing.seat import Seat, SharedElements, SharedWords, joined
from localdp.sharing.digit_coins import GeometricCoins, LaplaceCoins
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import FIVE, THREE, reshared, secret_elements
from tests.support.enumerated_coins import AllCoins, laws_of_views, packed, view_of

Part = Callable[[Seat], Dialogue[object]]
SERVERS = pytest.mark.parametrize("watching", [0, 1, 2])


def unknown_bits(
    coins: AllCoins, watching: int, rows: int
) -> tuple[list[Words], Callable[[Seat], SharedWords]]:
    """Shared bits of which the watching server's components are fixed and the third runs through all values."""
    secrets = [coins.digit(("input", row), 2) for row in range(rows)]
    known = np.zeros((rows, coins.instances // 64), np.uint64)
    known[0] = ~known[0]
    components = {(watching + 2) % 3: np.stack([packed(secret) for secret in secrets])}

    def held(seat: Seat) -> SharedWords:
        return SharedWords(np.stack([components.get((seat.server + place) % 3, known) for place in (0, 1)]))

    return secrets, held


@SERVERS
@pytest.mark.parametrize("gate", ["and", "to field", "both"])
def test_no_gate_tells_a_server_anything_about_bits(watching: int, gate: str) -> None:
    coins = AllCoins((1 << 6) * 5**4)
    secrets, held = unknown_bits(coins, watching, 2)

    def part(seat: Seat) -> Dialogue[object]:
        bits = held(seat)
        if gate in ("and", "both"):
            bits = joined([(yield from conjunction(seat, bits[:1], bits[1:])), bits[:1]])
        if gate in ("to field", "both"):
            yield from to_field(seat, bits, coins.instances)
        return None

    view, _ = view_of(watching, FIVE, coins, part)
    assert len(laws_of_views(view, secrets)) == 1


@SERVERS
def test_no_gate_tells_a_server_anything_about_field_elements(watching: int) -> None:
    coins = AllCoins(64 * 5**5)
    secrets = [coins.digit(("input", row), 5) for row in range(2)]

    def part(seat: Seat) -> Dialogue[object]:
        share = secrets[0] if seat.server == (watching + 2) % 3 else np.full_like(secrets[0], 3)
        x = yield from reshared(seat, share[None])
        y = yield from reshared(
            seat, secrets[1][None] if seat.server == (watching + 1) % 3 else share[None]
        )
        yield from product(seat, x, y)
        return None

    view, _ = view_of(watching, FIVE, coins, part)
    assert len(laws_of_views(view, secrets[:1])) == 1


EPSILON = Epsilon.requested(1)
SMALL = LaplaceCoins(EPSILON, 1, GeometricCoins(EPSILON.exact, 1, 2))
INSTANCES = (1 << 8) * 3**7


def noise(seat: Seat) -> Dialogue[SharedElements]:
    return (yield from joint_noise(seat, SMALL, INSTANCES))


def noise_coins(coins: AllCoins, watching: int) -> list[Words]:
    """All coins of the others of which the noise is made."""
    unknown = (watching + 2) % 3
    return [coins.digit(name, 2) for name in coins.weights if name[:2] == (unknown, NOISE)]


@SERVERS
def test_one_servers_view_of_joint_noise_is_independent_of_the_noise_and_of_the_others_coins(
    watching: int,
) -> None:
    coins = AllCoins(INSTANCES)
    view, results = view_of(watching, THREE, coins, noise)
    assert (
        len(np.unique(secret_elements(results, THREE))) == 3
    )  # the noise is a function of these coins, and varies
    assert len(noise_coins(coins, watching)) == 5
    assert len(laws_of_views(view, noise_coins(coins, watching))) == 1


def with_reused_pads(seat: Seat, x: SharedWords, y: SharedWords) -> Dialogue[SharedWords]:
    """Twin: every conjunction is masked with the first words of the stream."""
    seat._streams.pop(b"fresh " + MASK, None)
    return (yield from conjunction(seat, x, y))


def with_reused_pad(seat: Seat, bits: SharedWords) -> Dialogue[object]:
    yield from with_reused_pads(seat, bits[:1], bits[1:])
    yield from with_reused_pads(seat, bits[:1], bits[:1])
    return None


def with_unmasked_opening(seat: Seat, bits: SharedWords) -> Dialogue[object]:
    """Twin: what a server computed of a conjunction is sent as it is."""
    x, y = bits.both[:, 0], bits.both[:, 1]
    plain = octets_of((x[0] & y[0]) ^ (x[0] & y[1]) ^ (x[1] & y[0]))
    received = yield Exchange(to_previous=plain, from_next=len(plain))
    return words_in(received.next, x[0].shape)


@SERVERS
@pytest.mark.parametrize("twin", [with_reused_pad, with_unmasked_opening])
def test_a_reused_pad_and_an_unmasked_opening_are_caught(
    watching: int, twin: Callable[[Seat, SharedWords], Dialogue[object]]
) -> None:
    coins = AllCoins(1 << 8)
    secrets, held = unknown_bits(coins, watching, 2)
    view, _ = view_of(watching, FIVE, coins, lambda seat: twin(seat, held(seat)))
    assert len(laws_of_views(view, secrets)) > 1


@SERVERS
def test_a_sign_that_shows_in_the_number_of_digits_is_caught(watching: int) -> None:
    """Twin: a noise of zero is opened as such, to save the work of its digits."""
    coins = AllCoins(INSTANCES)

    def part(seat: Seat) -> Dialogue[object]:
        uniform = SharedWords(seat.lasting(NOISE).words(2, 2, INSTANCES // 64))
        flipped = yield from less_than(seat, uniform, SMALL.thresholds)
        own = octets_of(flipped.both[1][:1])
        yield Exchange(
            to_previous=own, from_next=len(own)
        )  # the component that the previous server has not got
        return None

    view, _ = view_of(watching, THREE, coins, part)
    assert len(laws_of_views(view, noise_coins(coins, watching))) > 1
