"""What theory predicts for one count of n bits under each trust model: E|error|, in people.

Neighbours differ in one person's bit (replace one); epsilon is the privacy loss of one count, in nats.
Write e for exp(epsilon) and a for exp(-epsilon).

    local    sqrt(2n/pi) sqrt(e)/(e-1)  randomized response (Warner 1965); no epsilon-local protocol,
                                        interactive or not, has a smaller constant as n grows
                                        (Kairouz, Oh and Viswanath 2015)
    local    sqrt(2n/pi) sqrt(e)/(e+1)  lower bound in the manner of Theorem 9.2 (Beimel, Nissim and
                                        Omri 2008; Chan, Shi and Song 2012): for uniform bits each
                                        posterior stays in [1/(1+e), e/(1+e)], so that the count keeps
                                        the variance n e/(1+e)^2
    shuffled sqrt(2n/pi) sqrt(e0)/(e0-1)  randomized response at eps0, the largest local epsilon that mixing
                                        n reports turns into (epsilon, delta): `shuffled_local_epsilon`
    curator  2a/(1-a^2)                 discrete Laplace, optimal for counts (Ghosh, Roughgarden and
                                        Sundararajan 2009)
    shared   E|sum of m of those|       every server adds full noise: `each_server_error`
    shared   2a/(1-a^2)                 the servers divide the noise: the curator's law, exactly

The formulas with n are leading terms, good once n a is large.  All are predictions, so they are
floats; no draw and no privacy claim is made from them.  `BitNoise` is the whole law of a count from reports, as far as an
interval needs it: its variance is exact, for every n and whatever the bits are.
Checked against exact laws in tests/unit/oracles/test_bounds.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, Epsilon
from localdp.accounting.shuffling import largest_local
from localdp.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class BitNoise:
    """What randomized response adds to a count of n bits."""

    epsilon: float  # of one report, in nats
    people: int

    def variance(self) -> float:
        """n e/(e-1)^2: each report, debiased, has the same variance about its bit, be it 0 or 1."""
        return _counted(self.people) / (2.0 * math.sinh(_checked(self.epsilon) / 2.0)) ** 2

    def half_width(self, level: float) -> float:
        """How far the count is off at most, with a probability of about `level`: by the central limit theorem."""
        return NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt(self.variance())


def randomized_response_error(epsilon: float, people: int) -> float:
    """E|error| of randomized response on n bits: also the best constant of the local model."""
    return _half_normal_mean(people) / (2.0 * math.sinh(_checked(epsilon) / 2.0))


def local_lower_bound(epsilon: float, people: int) -> float:
    """What no epsilon-local protocol beats on average over uniform bits (Theorem 9.2)."""
    return _half_normal_mean(people) / (2.0 * math.cosh(_checked(epsilon) / 2.0))


def shuffled_local_epsilon(epsilon: Epsilon, delta: Fraction, people: int) -> Epsilon:
    """eps0 of one bit: the largest that mixing so many turns into (epsilon, delta), by the exact binary accounting.

    Few people hide nobody: then it is epsilon itself.
    """
    return max(epsilon, largest_local(people, epsilon, float(delta), "binary"))


def curator_error(epsilon: float) -> float:
    """E|X| of the discrete Laplace law at sensitivity 1: 2a/(1-a^2) = 1/sinh(epsilon)."""
    return 1.0 / math.sinh(_checked(epsilon))


def each_server_error(epsilon: float, servers: int) -> float:
    """E|S| for S a sum of m independent discrete Laplace noises, exactly.

    S is a difference of two negative binomials of shape m.  |k| is the mean of (1 - cos kt)/(1 - cos t)
    over the circle, and S has the characteristic function r(t)^m, r = (1-a)^2/(1+a^2-2a cos t).  As
    1 - r^m = (1-r)(1 + r + ... + r^(m-1)), every term is Laplace's integral of a Legendre polynomial P_j,
    which gives, with s = tanh(epsilon/2),

        E|S| = (1/sinh epsilon) * sum over j < m of s^j P_j(coth epsilon).

    q_j = s^j P_j obeys Bonnet's recurrence, here with (1+s^2)/2 = s coth epsilon, and stays within [0, 1].
    """
    if servers < 1:
        raise InvalidParameter(f"a sum of noises needs at least one server; got {servers}")
    squared = math.tanh(_checked(epsilon) / 2.0) ** 2
    previous, current, total = 0.0, 1.0, 0.0
    for j in range(servers):
        total += current
        following = ((2 * j + 1) * (1.0 + squared) / 2.0 * current - j * squared * previous) / (j + 1)
        previous, current = current, following
    return total * curator_error(epsilon)


def _half_normal_mean(people: int) -> float:
    return math.sqrt(2.0 * _counted(people) / math.pi)


def _counted(people: int) -> int:
    if people < 1:
        raise InvalidParameter(f"a count needs at least one person; got {people}")
    return people


def _checked(epsilon: float) -> float:
    if not 0.0 < epsilon <= LARGEST_EPSILON_NATS:
        raise InvalidParameter(
            f"epsilon must be positive and at most {LARGEST_EPSILON_NATS}; got {epsilon}"
        )
    return epsilon
