"""The predictions of localdp/oracles/bounds.py against exact laws and against sections D1 and E2."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from localdp.errors import InvalidParameter
from localdp.oracles.bounds import (
    curator_error,
    each_server_error,
    local_lower_bound,
    randomized_response_error,
)

EPSILONS = (0.05, 0.1, 0.5, 1.0, 2.0, 5.0)


def randomized_response_error_exact(epsilon: float, people: int) -> float:
    """E|error| of randomized response when all n bits are equal, exactly.

    De Moivre (1730): E|B - np| = 2 v (1-p) P[B = v] for B binomial(n, p) and v = floor(np) + 1.  For other
    counts only terms of lower order change.
    """
    n, keep = people, 1.0 / (1.0 + math.exp(-epsilon))
    flip = keep * math.exp(-epsilon)
    v = min(math.floor(n * keep) + 1, n)
    log_choose = math.lgamma(n + 1) - math.lgamma(v + 1) - math.lgamma(n - v + 1)
    log_mass = log_choose + v * math.log1p(-flip) + (n - v) * math.log(flip)
    deviation = 2.0 * v * flip * math.exp(log_mass)
    return deviation / math.tanh(epsilon / 2.0)


@pytest.mark.parametrize(
    ("epsilon", "people", "error"),
    [
        (1.0, 10**4, 76.56),
        (1.0, 10**6, 765.58),
        (1.0, 10**8, 7655.8),
        (0.5, 10**4, 157.9),
        (0.5, 10**6, 1579.3),
        (0.5, 10**8, 15793),
        (0.1, 10**4, 797.55),
        (0.1, 10**6, 7975.5),
        (0.1, 10**8, 79755),
    ],
)
def test_randomized_response_has_the_errors_of_section_d1(
    epsilon: float, people: int, error: float
) -> None:
    assert randomized_response_error(epsilon, people) == pytest.approx(error, rel=5e-4)


@pytest.mark.parametrize(("epsilon", "error"), [(1.0, 0.85092), (0.5, 1.91903), (0.1, 9.98335)])
def test_the_curator_has_the_errors_of_section_d1(epsilon: float, error: float) -> None:
    assert curator_error(epsilon) == pytest.approx(error, abs=5e-6)


def test_the_lower_bound_has_the_constant_of_section_d1_and_no_factor_of_one_over_epsilon() -> None:
    assert local_lower_bound(1.0, 1) == pytest.approx(0.3538, abs=5e-5)
    for epsilon, gap in ((1.0, 2.164), (0.1, 20.02)):
        ratio = randomized_response_error(epsilon, 100) / local_lower_bound(epsilon, 100)
        assert ratio == pytest.approx(gap, rel=5e-4)
        assert ratio == pytest.approx((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("servers", [1, 2, 3, 7, 20])
def test_each_server_error_is_the_mean_of_the_exact_law(epsilon: float, servers: int) -> None:
    """E|X - Y| = 2 sum F(1 - F) for independent X, Y of one law: here negative binomials of shape m."""
    k = np.arange(int(100 * servers / epsilon) + 200)
    law = stats.nbinom(servers, -math.expm1(-epsilon))
    direct = 2.0 * float(np.sum(law.cdf(k) * law.sf(k)))
    assert each_server_error(epsilon, servers) == pytest.approx(direct, rel=1e-10)


def test_two_servers_have_the_error_of_section_e2() -> None:
    # Section E2 prints 1.368, from a simulation; the exact value is 1.36723.
    assert each_server_error(1.0, 2) == pytest.approx(1.368, abs=1e-3)
    assert each_server_error(1.0, 2) == pytest.approx(1.3672349400319, abs=1e-12)
    assert each_server_error(1.0, 2) / curator_error(1.0) == pytest.approx(1.61, abs=5e-3)


def test_each_server_error_tends_to_the_laplace_and_to_the_normal_limit() -> None:
    continuous = 2 * 3 * math.comb(6, 3) / 4**3  # three Laplace variables of scale 1
    assert each_server_error(1e-6, 3) * 1e-6 == pytest.approx(continuous, rel=1e-9)
    variance = 1000 * 2 * math.exp(-1) / math.expm1(-1) ** 2
    assert each_server_error(1.0, 1000) == pytest.approx(math.sqrt(2 * variance / math.pi), rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("people", [1, 2, 10, 501])
def test_the_exact_error_of_randomized_response_is_that_of_its_binomial(
    epsilon: float, people: int
) -> None:
    keep = 1 / (1 + math.exp(-epsilon))
    ones = np.arange(people + 1)
    error = np.abs(ones - people * keep) / (2 * keep - 1)
    direct = float(np.sum(stats.binom(people, keep).pmf(ones) * error))
    assert randomized_response_error_exact(epsilon, people) == pytest.approx(direct, rel=1e-9)


def test_the_leading_term_is_the_exact_error_for_many_people() -> None:
    ratio = randomized_response_error_exact(1.0, 10**6) / randomized_response_error(1.0, 10**6)
    assert ratio == pytest.approx(1.0, abs=1e-5)


def test_what_is_not_an_epsilon_a_crowd_or_a_server_is_refused() -> None:
    for epsilon in (0.0, -1.0, 31.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            curator_error(epsilon)
    with pytest.raises(InvalidParameter, match="person"):
        randomized_response_error(1.0, 0)
    with pytest.raises(InvalidParameter, match="server"):
        each_server_error(1.0, 0)
