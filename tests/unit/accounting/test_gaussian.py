"""The analytic Gaussian mechanism: known values, enclosures, and that a variance is neither too small nor too large."""

from fractions import Fraction
from math import exp, log, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_delta, gaussian_variance, normal_cdf
from localdp.errors import InvalidParameter

SCALE = 1 << 40  # D^2, so that the variance is fine-grained


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [("0.1", 5, 30.750), ("0.5", 5, 7.032), ("1", 5, 3.731), ("1", 6, 4.225), ("2", 6, 2.230)],
)
def test_the_known_standard_deviations(epsilon: str, delta: int, sigma: float) -> None:
    variance = gaussian_variance(Epsilon.requested(epsilon), Fraction(1, 10**delta), SCALE)
    assert sqrt(variance / SCALE) == pytest.approx(sigma, abs=1e-3)
    classical = sqrt(2 * log(1.25 * 10**delta)) / float(epsilon)
    assert sqrt(variance / SCALE) < classical


@settings(deadline=None)
@given(st.fractions(-20, 20))
def test_phi_is_enclosed(x: Fraction) -> None:
    low, high = normal_cdf(x)
    assert 0 <= low <= high <= 1 and high - low < Fraction(1, 1 << 150)
    assert float(high) == pytest.approx(norm.cdf(float(x)), rel=1e-9, abs=1e-50)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(["0.01", "0.3", "1", "5"]), st.integers(3, 20))
def test_the_variance_suffices_and_one_less_does_not(epsilon: str, exponent: int) -> None:
    delta, asked = Fraction(1, 10**exponent), Epsilon.requested(epsilon)
    variance = gaussian_variance(asked, delta, 10_000)
    assert gaussian_delta(asked, 10_000, variance) <= delta < gaussian_delta(asked, 10_000, variance - 1)


def test_delta_is_that_of_the_formula() -> None:
    for sigma, epsilon in ((1.0, 0.5), (3.0, 1.0), (4.0, 0.1)):
        formula = norm.cdf(1 / (2 * sigma) - epsilon * sigma) - exp(epsilon) * norm.cdf(
            -1 / (2 * sigma) - epsilon * sigma
        )
        exact = gaussian_delta(Epsilon.requested(epsilon), SCALE, int(sigma**2 * SCALE))
        assert float(exact) == pytest.approx(formula, rel=1e-8)


def test_the_discrete_gaussian_would_need_a_little_more_and_says_so_in_one_dimension_only() -> None:
    """Canonne, Kamath and Steinke (2020), Theorem 7, by summation: 4.231 where the rounded one has 4.225."""

    def delta(sigma: float) -> float:
        masses = {n: exp(-(n**2) / (2 * sigma**2)) for n in range(-200, 201)}
        total = sum(masses.values())
        tail = [sum(p for n, p in masses.items() if n > sigma**2 + side) / total for side in (-0.5, 0.5)]
        return tail[0] - exp(1) * tail[1]

    assert delta(4.2315) <= 1e-6 < delta(4.225)


def test_what_is_no_mechanism_is_refused() -> None:
    one = Epsilon.requested(1)
    for delta in (Fraction(0), Fraction(1), Fraction(1, 10**31)):
        with pytest.raises(InvalidParameter):
            gaussian_variance(one, delta, 1)
    for squared, variance in ((0, 1), (1, 0), (1 << 65, 1)):
        with pytest.raises(InvalidParameter):
            gaussian_delta(one, squared, variance)
