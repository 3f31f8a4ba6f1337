"""The discrete Laplace law: its cumulative distribution, moments and refusals."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace, _enclose_sign, _enclose_zigzag
from localdp.randomness.hazmat import SeededSource

EPSILONS = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5)]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_enclosed_distribution_is_that_of_the_formula(epsilon: Fraction) -> None:
    law = DiscreteLaplace(epsilon)
    masses = np.diff(np.array([0, *_enclose_zigzag(epsilon, 64, 401)[0]], float)) / 2**64
    for index in range(401):
        k = (index + 1) // 2 * (1 if index % 2 else -1)
        assert masses[index] == pytest.approx(law.probability(k), abs=1e-15)


def test_neighbouring_probabilities_differ_by_exactly_epsilon() -> None:
    # Over integers: the enclosures of a * Pr[k] and Pr[k + 1] overlap to the last bits, for positive k.
    epsilon, bits = Fraction(1, 3), 256
    lower, upper = _enclose_zigzag(epsilon, bits, 201)
    for k in range(1, 99):
        here = Fraction(lower[2 * k - 1] - upper[2 * k - 2]), Fraction(upper[2 * k - 1] - lower[2 * k - 2])
        there = Fraction(lower[2 * k + 1] - upper[2 * k]), Fraction(upper[2 * k + 1] - lower[2 * k])
        assert float(there[0] / here[1]) == pytest.approx(exp(-1 / 3), rel=1e-15)
        assert float(there[1] / here[0]) == pytest.approx(exp(-1 / 3), rel=1e-15)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_moments_are_those_of_the_probabilities(epsilon: Fraction) -> None:
    law = DiscreteLaplace(epsilon)
    reach = int(60 / epsilon) + 2
    k = np.arange(-reach, reach + 1)
    masses = np.array([law.probability(int(x)) for x in k])
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert law.mean_absolute() == pytest.approx(float((masses * np.abs(k)).sum()), rel=1e-11)
    assert law.variance() == pytest.approx(float((masses * k**2).sum()), rel=1e-11)


def test_the_sign_of_a_large_scale_has_the_mass_of_zero_and_is_symmetric() -> None:
    epsilon = Fraction(1, 10**6)
    lower, _ = _enclose_sign(epsilon, 64, 3)
    zero, plus, minus = np.diff(np.array([0, *lower], dtype=object)) / 2**64
    assert zero == pytest.approx(DiscreteLaplace(epsilon).probability(0), rel=1e-9)
    assert plus == pytest.approx(minus, rel=1e-15)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(65), Fraction(1, 1 << 41), 0.1])
def test_an_epsilon_that_is_not_served_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        DiscreteLaplace(epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 1000)])
def test_a_negative_count_is_refused_and_none_is_none(epsilon: Fraction) -> None:
    law = DiscreteLaplace(epsilon)
    assert law.sample(SeededSource(1), 0).shape == (0,)
    with pytest.raises(InvalidParameter):
        law.sample(SeededSource(1), -1)
