"""The estimator of pure protocols, against exact arithmetic on all supports of a few people."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomizers.parts.pure_protocol import Support

SUPPORT = Support(Fraction(3, 5), Fraction(1, 4))


def _moments(holders: int, people: int) -> tuple[Fraction, Fraction]:
    """Exact mean and variance of the estimate when `holders` of the people hold the item."""
    mean = square = Fraction(0)
    for bits in product((0, 1), repeat=people):
        mass = Fraction(1)
        for person, bit in enumerate(bits):
            one = SUPPORT.own if person < holders else SUPPORT.other
            mass *= one if bit else 1 - one
        estimate = (Fraction(sum(bits), people) - SUPPORT.other) / (SUPPORT.own - SUPPORT.other)
        mean += mass * estimate
        square += mass * estimate**2
    return mean, square - mean**2


@pytest.mark.parametrize("holders", range(6))
def test_the_estimate_is_exactly_unbiased_with_the_stated_variance(holders: int) -> None:
    mean, variance = _moments(holders, 5)
    assert mean == Fraction(holders, 5)
    assert SUPPORT.variance(holders / 5) == pytest.approx(float(5 * variance), rel=1e-12)


def test_the_estimates_are_the_debiased_shares() -> None:
    estimates = SUPPORT.estimate(np.array([25, 60, 39]), 100)
    np.testing.assert_allclose(estimates.values, [0.0, 1.0, 0.4], atol=1e-12)
    assert estimates.reports == 100


def test_the_two_variances_differ_by_the_sampling_term() -> None:
    estimates = SUPPORT.estimate(np.array([25, 39, 46, 60]), 100)
    sampling = estimates.values * (1 - estimates.values) / 100
    np.testing.assert_allclose(
        estimates.variance_population - estimates.variance_empirical, sampling, atol=1e-12
    )


def test_the_empirical_variance_is_that_of_the_stated_formula_at_the_clipped_estimate() -> None:
    estimates = SUPPORT.estimate(np.array([0, 39, 100]), 100)
    for value, variance in zip([0.0, 0.4, 1.0], estimates.variance_empirical, strict=True):
        assert variance == pytest.approx(SUPPORT.variance(value) / 100)


def test_no_reports_give_no_estimate() -> None:
    with pytest.raises(InvalidParameter):
        SUPPORT.estimate(np.array([0, 0]), 0)


def test_sums_of_shards_estimate_as_their_union_does() -> None:
    shards = np.random.default_rng(0).integers(0, 50, (7, 3))
    whole = SUPPORT.estimate(shards.sum(axis=0), 350)
    parts = [SUPPORT.estimate(shard, 50).values for shard in shards]
    np.testing.assert_allclose(np.mean(parts, axis=0), whole.values, atol=1e-12)
