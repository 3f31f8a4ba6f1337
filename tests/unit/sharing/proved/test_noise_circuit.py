"""The circuit of noise: every coin and every sum of a small law, and the law itself from the exact thresholds.

Twins that must be caught: a sum without noise, with one more, and with noise of the other sign.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.sharing.digit_coins import GeometricCoins, LaplaceCoins
from localdp.sharing.prio3.batch.words import Mask, Words
from localdp.sharing.proved.lines import PlainBits, filled
from localdp.sharing.proved.noise_circuit import NoiseCircuit, bits_of
from localdp.sharing.proved.noise_proof import integers_of

P = 97
BITS, DIGITS = 4, 2


def small(bits: int = BITS, digits: int = DIGITS, epsilon: float = 1) -> NoiseCircuit:
    wanted = Epsilon.requested(epsilon)
    return NoiseCircuit(LaplaceCoins(wanted, 1, GeometricCoins(wanted.exact, digits, bits)), P)


class Checked(PlainBits):
    """Plain bits that do not follow the circuit, but are checked against it."""

    def __init__(self, fixed: Words, made: list[Words]) -> None:
        super().__init__(fixed)
        self._said: Iterator[Words] = iter(made)
        self.wrong = np.zeros(fixed.shape[1], np.uint64)

    def said(self, lanes: Words) -> Words:
        return next(self._said)

    def product(self, left: Words, right: Words) -> Words:
        row = next(self._said)
        self.require_product(left, right, row)
        return row

    def require_product(self, left: Words, right: Words, product: Words) -> None:
        self.wrong |= (left & right) ^ product


def all_coins(circuit: NoiseCircuit) -> Words:
    return filled(bits_of(range(1 << circuit.own_rows), circuit.own_rows))


def noises(circuit: NoiseCircuit, uniform: Words) -> list[int]:
    noise, carry = circuit.noise(PlainBits(uniform[:0]), list(uniform))
    return integers_of(noise, carry)


def exact_masses(circuit: NoiseCircuit) -> dict[int, Fraction]:
    """Of sign, coin for zero and digits, from the thresholds alone."""
    law = circuit.law
    zero = 1 - Fraction(law.nonzero.threshold, 1 << law.magnitude.bits)
    masses = {0: zero}
    for value, mass in law.magnitude.masses().items():
        for sign in (-1, 1):
            masses[sign * (1 + value)] = (1 - zero) * mass / 2
    return masses


@pytest.mark.parametrize(("bits", "digits", "epsilon"), [(4, 2, 1), (2, 3, 0.5), (6, 1, 2)])
def test_over_all_coins_the_noise_has_exactly_its_law(bits: int, digits: int, epsilon: float) -> None:
    circuit = small(bits, digits, epsilon)
    counted = Counter(noises(circuit, all_coins(circuit)))
    total = 1 << circuit.own_rows
    assert {value: Fraction(count, total) for value, count in counted.items()} == {
        value: mass for value, mass in exact_masses(circuit).items() if mass
    }


def test_whatever_is_public_the_noise_is_a_uniform_choice_of_coins_seen_from_either_side() -> None:
    """For fixed own coins all public ones give the law, and for fixed public ones all own coins do."""
    circuit = small(2, 2)
    coins, generator = all_coins(circuit), np.random.default_rng(5)
    for _ in range(5):
        fixed = filled(generator.integers(0, 2, (circuit.own_rows, 1)).astype(np.bool_))
        assert Counter(noises(circuit, coins ^ fixed)) == Counter(noises(circuit, coins))


def test_every_sum_with_every_noise_is_accepted_as_it_is_and_no_other_is() -> None:
    circuit = small()
    by_value = {noise: at for at, noise in enumerate(noises(circuit, all_coins(circuit)))}
    assert set(by_value) == set(range(-4, 5))
    coins, generator = all_coins(circuit), np.random.default_rng(6)
    cases = [(s, z) for s, z in product(range(1 << circuit.width), by_value)]  # integers beyond p as well
    lanes = len(cases)
    own = coins[:, [by_value[z] for _, z in cases]]
    public = generator.integers(0, 2, own.shape).astype(np.bool_)
    fixed = np.concatenate([own ^ filled(public), filled(bits_of((s for s, _ in cases), circuit.width))])
    right = [(s + z) % P for s, z in cases]

    def wrong(released: list[int]) -> Mask:
        plain = PlainBits(fixed)
        circuit.run(plain, public, right)
        assert len(plain.made) == circuit.made_rows
        wrongs = []
        above = len(plain.made) - 2
        for up, down in product((0, 1), (0, 1)):  # whatever the prover says about p
            made = [*plain.made]
            made[above] = filled(np.full(lanes, up, np.bool_))
            made[above + 1] = filled(np.full(lanes, down, np.bool_))
            checked = Checked(fixed, made)
            circuit.run(checked, public, released)
            wrongs.append(checked.wrong != 0)
        always: Mask = np.logical_and.reduce(wrongs)
        return always

    possible = np.array([s + z in (y - P, y, y + P) for (s, z), y in zip(cases, right, strict=True)])
    assert not wrong(right)[possible].any() and np.count_nonzero(possible) > 97 * 9
    for off in (1, P - 1, 5):
        assert wrong([(y + off) % P for y in right]).all()
    left_out = np.array([z != 0 for _, z in cases])
    assert wrong([s % P for s, _ in cases])[left_out].all()


def test_full_coins_take_so_many_rows_and_products() -> None:
    circuit = NoiseCircuit(LaplaceCoins.of(Epsilon.requested(1), 1), 2**64 - 2**32 + 1)
    assert (circuit.own_rows, circuit.fixed_rows, circuit.made_rows) == (449, 513, 443)
