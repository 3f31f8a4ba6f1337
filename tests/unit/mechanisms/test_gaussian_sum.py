"""Gaussian sums: the delta of the rounded noise, number by number, and the errors of whoever adds up."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.mechanisms.gaussian_sum import GaussianSum
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.noise_plans import NoisePlan

ONE, DELTA = Epsilon.requested(1), Fraction(1, 10**6)


def curator(seed: int) -> Adder:
    return TrustedCurator(SeededSource(seed))


def shares(seed: int) -> Adder:
    return SharesInProcess(SeededSource(seed), 3)


def delta_of_rounded(variance: float, epsilon: float, shift: int = 1) -> float:
    """Of one whole sum, exactly: the mass by which one law exceeds e^epsilon times the other."""
    law, most = NormalDist(0, math.sqrt(variance)), int(12 * math.sqrt(variance)) + shift

    def mass(k: int) -> float:
        return law.cdf(k + 0.5) - law.cdf(k - 0.5)

    return math.fsum(max(0.0, mass(k) - math.exp(epsilon) * mass(k + shift)) for k in range(-most, most))


@pytest.mark.parametrize(
    ("epsilon", "delta", "variance"),
    [("1", 10**-6, 18), ("4", 10**-6, 2), ("0.5", 10**-6, 65), ("1", 10**-3, 7)],
)
def test_the_delta_of_the_noise_is_what_is_promised_and_less_noise_would_not_do(
    epsilon: str, delta: float, variance: int
) -> None:
    asked = GaussianSum(Epsilon.requested(epsilon), Fraction(str(delta)), 1, curator(1))
    assert asked.variance == variance < 256
    assert delta_of_rounded(variance, float(epsilon)) <= delta
    assert delta_of_rounded(variance / 2, float(epsilon)) > delta  # the broken twin


@pytest.mark.parametrize(("make", "factor"), [(curator, 1), (shares, 3)])
def test_measured_errors_are_those_of_all_who_add_noise(make: object, factor: int) -> None:
    # n = 4,000 sums: a variance deviates by sqrt(2/4000) = 2.3 %; four of these.
    adder = curator(2) if factor == 1 else shares(2)
    mechanism = GaussianSum(ONE, DELTA, 1, adder)
    rows = np.ones((5, 4000), np.int64)
    released = mechanism.release(rows)
    assert np.var(released) == pytest.approx(factor * (18 + 1 / 12), rel=0.09)
    assert mechanism.standard_error == pytest.approx(math.sqrt(factor * (18 + 1 / 12)))
    assert abs(released.mean() - 5) < 4 * mechanism.standard_error / math.sqrt(4000)
    assert mechanism.claim.delta == DELTA


def test_theorem_a_1_asks_for_more() -> None:
    printed = 2 * math.log(1.25 / float(DELTA))
    assert GaussianSum(ONE, DELTA, 1, curator(1)).variance < 0.65 * printed


def test_noise_that_is_divided_among_servers_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not divided"):
        GaussianSum(ONE, DELTA, 1, SharesInProcess(SeededSource(1), 3, NoisePlan.DIVIDED))
