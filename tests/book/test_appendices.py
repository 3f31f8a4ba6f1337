"""Appendix A: the Gaussian noise of Theorem A.1, against the least that suffices."""

import math
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.gaussian import gaussian_delta, gaussian_variance


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "0.99"])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**6)])
def test_gaussian_noise_of_theorem_a_1_is_private_and_more_than_enough(
    epsilon: str, delta: Fraction
) -> None:
    scale = 2 * math.log(1.25 / delta) / float(epsilon) ** 2  # the variance at sensitivity 1
    sensitivity = 1000  # so that a whole number is fine enough
    variance = math.ceil(scale * sensitivity**2)
    assert gaussian_delta(Epsilon.requested(epsilon), sensitivity**2, variance) <= delta
    assert gaussian_variance(Epsilon.requested(epsilon), delta, sensitivity**2) < variance  # ours
