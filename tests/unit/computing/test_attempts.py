"""One attempt, from nonces to a release: what is agreed, what is refused, and what the analyst reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.attempts import (
    HEADER_BYTES,
    ReleasedComponents,
    begun,
    combined_release,
    computation_name,
    in_attempt,
    released_sums,
)
from localdp.computing.dialogue import Carrier, Traffic, outcomes, run_together
from localdp.errors import ComputationAborted, InvalidParameter
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.batch.kernels import elements
from localdp.sharing.prio3.fields import FIELD64
from localdp.sharing.selection_law import SelectionLaw
from tests.support.computing import FIELD64_KERNEL, keys_of

LAW = LaplaceCoins.of(Epsilon.requested(1), 1)
SUMS = (100, 0, 7, 12345) * 16  # so many that all noises are zero with probability 2**-72
NAME = computation_name(b"collection", b"sealed", LAW, len(SUMS))


def ends(
    attempt: int, carry: Carrier | None = None, traffic: Traffic | None = None, name: bytes = NAME
) -> list[ReleasedComponents | ComputationAborted]:
    """What three servers with shares of SUMS end with."""
    shares = [
        elements(FIELD64_KERNEL, [value // 3 if s else value - 2 * (value // 3) for value in SUMS])[:, :, 0]
        for s in range(3)
    ]
    parts = [
        in_attempt(
            server,
            keys,
            name,
            bytes([attempt, server]) * 8,
            FIELD64_KERNEL,
            shares[server],
            lambda inputs: None,
            lambda seat, shared: released_sums(seat, shared, LAW),
        )
        for server, keys in enumerate(keys_of(8))
    ]
    return outcomes(parts, carry, traffic)


def released(attempt: int, name: bytes = NAME) -> list[ReleasedComponents]:
    return [end for end in ends(attempt, name=name) if isinstance(end, ReleasedComponents)]


def test_the_analyst_reads_sums_with_noise_and_every_attempt_has_the_same() -> None:
    first, second = released(1), released(2)
    noisy = combined_release(FIELD64, first)
    assert combined_release(FIELD64, second) == noisy
    assert {one.tag for one in first}.isdisjoint(one.tag for one in second)
    assert all(abs(value - exact) < 40 for value, exact in zip(noisy, SUMS, strict=True))
    assert noisy != list(SUMS)


def test_another_sealed_set_has_another_noise() -> None:
    other = computation_name(b"collection", b"another", LAW, len(SUMS))
    noises = [
        np.subtract(combined_release(FIELD64, released(1, name)), SUMS).tolist() for name in (NAME, other)
    ]
    assert noises[0] != noises[1]


def test_every_public_number_of_a_computation_is_in_its_name() -> None:
    two, half = Epsilon.requested(2), Epsilon.requested("0.5")
    laws: list[LaplaceCoins | SelectionLaw] = [
        LAW,
        LaplaceCoins.of(two, 1),
        LaplaceCoins.of(two, 2),
        SelectionLaw.of(half, 1),
        SelectionLaw.of(two, 1),
    ]
    names = {computation_name(b"c", b"s", law, count) for law in laws for count in (1, 2)}
    names |= {computation_name(b"d", b"s", LAW, 1), computation_name(b"c", b"t", LAW, 1)}
    assert len(names) == 12


def test_a_noisy_count_takes_18_rounds_from_nonces_to_verdicts() -> None:
    traffic = Traffic()
    ends(1, traffic=traffic)
    assert traffic.rounds == 18


def test_components_of_two_attempts_or_in_two_versions_are_not_combined() -> None:
    first, second = released(1), released(2)
    with pytest.raises(ComputationAborted, match="one attempt"):
        combined_release(FIELD64, [first[0], first[1], second[2]])
    with pytest.raises(ComputationAborted, match="one attempt"):
        combined_release(FIELD64, first[:2])
    lied = replace(first[1], own=bytes(len(first[1].own)))
    with pytest.raises(ComputationAborted, match="server 1 or server 0"):
        combined_release(FIELD64, [first[0], lied, first[2]])


def test_a_server_that_tells_two_nonces_is_noticed_in_the_next_round() -> None:
    def two_nonces(number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        return octets[:-1] + b"x" if (number, sender, receiver) == (0, 1, 0) else octets

    stopped = ends(1, two_nonces)
    assert all(isinstance(end, ComputationAborted) for end in stopped)
    checks = [end.check for end in stopped if isinstance(end, ComputationAborted)]
    assert "a message of another attempt" in checks
    assert all(1 in end.suspects for end in (stopped[0], stopped[2]) if isinstance(end, ComputationAborted))


@pytest.mark.parametrize("change", ["tag", "round", "length", "silence", "unasked"])
def test_a_message_of_another_attempt_round_or_length_is_refused_and_its_sender_named(change: str) -> None:
    def changed(number: int, sender: int, receiver: int, octets: bytes) -> bytes:
        if (
            (number, sender, receiver) != (3, 2, 1)
            if change != "unasked"
            else (number, sender, receiver) != (3, 2, 0)
        ):
            return octets
        return {
            "tag": bytes(32) + octets[32:],
            "round": octets[:32] + bytes(4) + octets[HEADER_BYTES:],
            "length": octets + b"\0",
            "silence": b"",
            "unasked": b"hello",
        }[change]

    victim = ends(1, changed)[0 if change == "unasked" else 1]
    assert isinstance(victim, ComputationAborted)
    assert 2 in victim.suspects
    assert victim.suspects == (2,) or change == "tag"


def test_a_nonce_of_another_length_is_refused() -> None:
    begin = [
        begun(server, keys, NAME, b"short", FIELD64_KERNEL, np.zeros((1, 1), np.uint64))
        for server, keys in enumerate(keys_of(1))
    ]
    with pytest.raises(InvalidParameter):
        run_together(begin)
