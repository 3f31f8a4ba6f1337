"""Joint noise: exactly its law through every coin of few bits, the same in every attempt, and as cheap as counted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.dialogue import Dialogue, Traffic, run_together
from localdp.computing.joint_noise import joint_noise, noisy_sums
from localdp.computing.proof import as_integers
from localdp.computing.seat import Seat, SharedElements
from localdp.computing.verification import verified
from localdp.errors import InvalidParameter
from localdp.sharing.digit_coins import GeometricCoins, LaplaceCoins
from localdp.sharing.prio3.batch.field128 import NumpyField128
from localdp.sharing.prio3.batch.kernels import Kernel, elements
from localdp.sharing.prio3.batch.words import Words
from tests.support.computing import FIELD64_KERNEL, laplace_masses, reshared, run, seats, secret_elements
from tests.support.enumerated_coins import AllCoins, view_of

ONE = Epsilon.requested(1)
LAW = LaplaceCoins.of(ONE, 1)
FIELDS: list[Kernel] = [FIELD64_KERNEL, NumpyField128()]


def centred(kernel: Kernel, values: list[int]) -> list[int]:
    half = kernel.field.modulus // 2
    return [value - kernel.field.modulus if value > half else value for value in values]


def test_over_all_coins_it_has_exactly_the_law_of_its_thresholds() -> None:
    """Two digits and coins of four bits: 2**13 assignments of server 2's component; masks are left at one value."""
    few = LaplaceCoins(ONE, 1, GeometricCoins(ONE.exact, 2, 4))

    class OnlyNoise(AllCoins):
        def digit(self, name: tuple[object, ...], base: int) -> Words:
            return super().digit(name, base) if b"noise" in name else np.zeros(self.instances, np.uint64)

    coins = OnlyNoise(1 << 13)
    _, results = view_of(0, FIELD64_KERNEL, coins, lambda seat: joint_noise(seat, few, coins.instances))
    assert coins.used == coins.instances
    values = centred(FIELD64_KERNEL, as_integers(secret_elements(results, FIELD64_KERNEL)))
    counted = {value: Fraction(count, coins.instances) for value, count in Counter(values).items()}
    assert counted == {value: mass for value, mass in laplace_masses(few).items() if mass}


def with_noise(seat: Seat, additive: Words, law: LaplaceCoins = LAW) -> Dialogue[SharedElements]:
    return (yield from noisy_sums(seat, (yield from reshared(seat, additive)), law))


@pytest.mark.parametrize("kernel", FIELDS)
def test_noise_is_added_to_what_the_servers_hold_shares_of(kernel: Kernel) -> None:
    count = 70
    additive = [elements(kernel, [1000 * server] * count)[:, :, 0] for server in range(3)]
    noises = run(seats(3, kernel), lambda s: joint_noise(s, LAW, count))
    noisy = run(seats(3, kernel, attempt=9), lambda s: with_noise(s, additive[s.server]))
    drawn = centred(kernel, as_integers(secret_elements(noises, kernel)))
    sums = as_integers(secret_elements(noisy, kernel))
    assert [value - 3000 for value in sums] == drawn  # another attempt, the same noise
    assert len(set(drawn)) > 3
    assert max(abs(value) for value in drawn) < 30


def test_both_fields_have_the_same_noise() -> None:
    drawn = []
    for kernel in FIELDS:
        held = run(seats(4, kernel), lambda s: joint_noise(s, LAW, 64))
        drawn.append(centred(kernel, as_integers(secret_elements(held, kernel))))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "gates"), [("1", 1, 629), ("0.5", 1, 719), ("0.1", 1, 899), ("1", 2, 719)]
)
def test_gates_and_rounds_are_as_counted(epsilon: str, sensitivity: int, gates: int) -> None:
    law = LaplaceCoins.of(Epsilon.requested(epsilon), sensitivity)
    seated, traffic = seats(5), Traffic()
    run_together([joint_noise(seat, law, 64) for seat in seated], traffic=traffic)
    assert seated[0].transcript.gates == 64 * gates
    assert traffic.rounds == 10


def test_one_noisy_count_takes_17_rounds_with_its_proof_after_its_input() -> None:
    def part(seat: Seat) -> Dialogue[SharedElements]:
        made = yield from with_noise(seat, np.array([[5]], np.uint64))
        yield from verified(seat)
        return made

    traffic = Traffic()
    run_together([part(seat) for seat in seats(6)], traffic=traffic)
    assert traffic.rounds == 1 + 17
    assert max(traffic.octets) < 9000


def test_a_release_whose_delta_would_be_large_is_refused_before_anything_is_sent() -> None:
    large = LaplaceCoins.of(Epsilon.requested(20), 1)
    with pytest.raises(InvalidParameter, match="delta"):
        run(seats(7), lambda s: with_noise(s, np.zeros((1, 1), np.uint64), large))
