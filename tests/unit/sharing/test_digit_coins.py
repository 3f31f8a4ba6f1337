"""Thresholds and delta of joint noise: certain to the last bit, and above what enumeration finds at few coin bits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import exp_above, exp_below
from localdp.errors import InvalidParameter
from localdp.sharing.digit_coins import LARGEST_DELTA, GeometricCoins, LaplaceCoins, coin_of, delta_of
from tests.support.computing import laplace_masses

ONE = Epsilon.requested(1)


def few(epsilon: str, sensitivity: int, digits: int, bits: int) -> LaplaceCoins:
    amount = Epsilon.requested(epsilon)
    return LaplaceCoins(amount, sensitivity, GeometricCoins(amount.exact / sensitivity, digits, bits))


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 10), Fraction(1, 1000), Fraction(7, 3)])
@pytest.mark.parametrize("doubled", [False, True])
def test_a_threshold_is_the_nearest_integer_and_its_error_is_known(rate: Fraction, doubled: bool) -> None:
    with localcontext() as context:
        context.prec = 80
        a = (Decimal(-rate.numerator) / Decimal(rate.denominator)).exp()
        probability = (2 if doubled else 1) * a / (1 + a)
        coin = coin_of(rate, doubled, 64)
        assert coin.threshold == int((probability * 2**64).to_integral_value())
        assert (
            Fraction(1, 2**65)
            >= coin.error
            >= abs(Fraction(probability) - Fraction(coin.threshold, 2**64)) - Fraction(1, 2**120)
        )


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "digits"),
    [("1", 1, 6), ("0.5", 1, 7), ("0.1", 1, 9), ("1", 2, 7), ("0.001", 1, 16)],
)
def test_digits_reach_as_far_as_coins_can_tell(epsilon: str, sensitivity: int, digits: int) -> None:
    law = LaplaceCoins.of(Epsilon.requested(epsilon), sensitivity)
    assert law.magnitude.digits == digits
    assert law.magnitude.tail <= Fraction(1, 2**64)
    shorter = GeometricCoins(law.magnitude.rate, digits - 1)
    assert shorter.tail > Fraction(1, 2**64)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1", 1), ("1", 2), ("0.1", 1), ("0.001", 5)])
def test_delta_of_a_histogram_of_65536_bins_is_below_two_to_the_minus_40(
    epsilon: str, sensitivity: int
) -> None:
    law = LaplaceCoins.of(Epsilon.requested(epsilon), sensitivity)
    assert law.delta(65_536) < LARGEST_DELTA
    assert law.delta(65_536) == 65_536 * law.delta(1)
    assert -62 < math.log2(law.delta(1)) < -59  # a bound that says something


def hockey_stick(masses: dict[int, Fraction], shift: int, factor: Fraction) -> Fraction:
    """The exact delta of a sum that moves by `shift`, at exp(epsilon) = factor."""
    return sum(
        (
            max(Fraction(0), mass - factor * masses.get(value - shift, Fraction(0)))
            for value, mass in masses.items()
        ),
        Fraction(0),
    )


FEW = [
    ("1", 1, 3, 8),
    ("1", 2, 4, 10),
    ("0.5", 1, 4, 12),
    ("0.25", 1, 5, 16),
    ("1", 1, 4, 20),
    ("2", 3, 3, 8),
]


@pytest.mark.parametrize(("epsilon", "sensitivity", "digits", "bits"), FEW)
def test_the_enumerated_delta_is_below_the_derived_one(
    epsilon: str, sensitivity: int, digits: int, bits: int
) -> None:
    law = few(epsilon, sensitivity, digits, bits)
    masses = laplace_masses(law)
    assert sum(masses.values()) == 1
    found = max(
        hockey_stick(masses, shift, exp_below(law.epsilon.exact)) for shift in (sensitivity, -sensitivity)
    )
    assert 0 < found <= law.delta(1)
    assert law.delta(1) < 300 * found


@pytest.mark.parametrize(("epsilon", "sensitivity", "digits", "bits"), FEW)
def test_the_enumerated_distance_is_below_the_derived_one(
    epsilon: str, sensitivity: int, digits: int, bits: int
) -> None:
    law = few(epsilon, sensitivity, digits, bits)
    masses, rate = laplace_masses(law), law.magnitude.rate
    a, upper = exp_below(-rate), exp_above(-rate)
    reach = max(masses)
    ideal = {
        z: (1 - upper) / (1 + upper) * a ** abs(z) for z in range(-reach, reach + 1)
    }  # at most the law's
    distance = sum((max(Fraction(0), masses[z] - ideal[z]) for z in masses), Fraction(0))
    assert distance <= law.distance + Fraction(1, 2**60)


def test_a_forgotten_digit_is_caught_by_enumeration() -> None:
    """The twin with one digit less has more delta than what is derived for all of them."""
    whole, twin = few("0.5", 1, 5, 16), few("0.5", 1, 4, 16)
    found = hockey_stick(laplace_masses(twin), 1, exp_below(whole.epsilon.exact))
    assert found > whole.delta(1)


def test_one_sided_noise_has_independent_digits_of_a_geometric_law() -> None:
    coins = GeometricCoins(Fraction(1, 2), 5, 20)
    masses = coins.masses()
    assert sum(masses.values()) == 1
    ratio = exp_above(-coins.rate)
    assert all(abs(masses[g + 1] / masses[g] - ratio) < Fraction(1, 2**8) for g in range(20))
    assert delta_of(ONE, 3, coins.distance) == 3 * delta_of(ONE, 1, coins.distance)


def test_noise_that_nobody_can_draw_is_refused() -> None:
    for digits, bits in ((0, 8), (3, 7), (3, 0)):
        with pytest.raises(InvalidParameter):
            GeometricCoins(Fraction(1), digits, bits)
    with pytest.raises(InvalidParameter):
        LaplaceCoins.of(ONE, 0)
    with pytest.raises(InvalidParameter):
        LaplaceCoins(ONE, 1, GeometricCoins(Fraction(1, 2), 3, 8))
