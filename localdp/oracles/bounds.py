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
    flooded  2b/(1-b^2), b = exp(-p epsilon)  discrete Laplace of the part p of epsilon that the sum has: `flooded_noise`
    curator  2a/(1-a^2)                 discrete Laplace, optimal for counts (Ghosh, Roughgarden and
                                        Sundararajan 2009)
    shared   E|sum of m of those|       every server adds full noise: `each_server_error`
    shared   2a/(1-a^2)                 the servers divide the noise: the curator's law, exactly

For k counts at once, each within n/2 with probability one half (section 8.2, Theorem 8.7): how many people that takes.

    any pure mechanism        ln 2 (k-1) / epsilon     packing: 2^k databases of n equal rows are n apart (Lemma 8.4)
    discrete Laplace noise    2 k H_k / epsilon        on average; H_k is the harmonic number
    Gaussian noise, delta     2 sigma sqrt(2 ln k)     at most; sigma = sqrt(k) times that of one count

For a running count over T steps (section 12.3):

    any counter               k/2                      some step is off by that much with probability more than 1/3, for
                                                       the largest k with k exp(k epsilon) < 2 T: T/k streams of k events
                                                       each, one after another, are told apart (Theorem 12.6)

From k = 2,303 on at epsilon = 1 and delta = 1e-6 the last line is below the first: pure and approximate privacy separate.

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
from localdp.accounting.flood_plan import Flooded, rate_of
from localdp.accounting.gaussian import gaussian_variance
from localdp.accounting.shuffling import largest_local
from localdp.errors import InvalidParameter
from localdp.sharing.summed_noise import SummedNoise


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


def flooded_noise(
    epsilon: Epsilon, delta: Fraction, people: int, honest: Fraction, extra: Fraction
) -> SummedNoise:
    """The law of a flooded count's error: the discrete Laplace law of the part of epsilon that is the sum's, or a
    little wider.

    If everybody is there, n / (h n) of the noise is drawn that is enough.  Nobody is asked alone.
    """
    rate = rate_of(epsilon, delta, Flooded(), max(1, math.ceil(honest * people)), extra)
    return SummedNoise(max(rate, Fraction(1, 10**9)), 1 / honest)


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


def packing_people(epsilon: float, counts: int) -> float:
    """What no epsilon-private mechanism does without, for k counts within n/2 with probability one half (Theorem 8.7)."""
    return math.log(2.0) * (_counted(counts) - 1) / _checked(epsilon)


def counter_error(epsilon: float, steps: int) -> float:
    """By how much every counter is off at some step, with probability more than 1/3 (Theorem 12.6)."""
    events = 0
    while (
        _counted(steps) >= events + 1
        and 2 * (steps // (events + 1)) * math.exp(-_checked(epsilon) * (events + 1)) > 1
    ):
        events += 1
    return events / 2


def laplace_people(epsilon: float, counts: int) -> float:
    """Twice the largest of k Laplace noises for as many counts, on average: so many people put it at n/2."""
    harmonic = sum(1.0 / place for place in range(1, _counted(counts) + 1))
    return 2.0 * counts * harmonic / _checked(epsilon)


def gaussian_people(epsilon: Epsilon, delta: Fraction, counts: int) -> float:
    """Twice what the largest of k Gaussian noises for as many counts stays below, more often than not."""
    deviation = math.sqrt(gaussian_variance(epsilon, delta, _counted(counts)))
    return 2.0 * deviation * math.sqrt(2.0 * math.log(counts))


def pure_and_approximate_separate(epsilon: Epsilon, delta: Fraction) -> int:
    """The least number of counts for which Gaussian noise does with fewer people than any pure mechanism."""
    high = 2
    while packing_people(float(epsilon), high) <= gaussian_people(epsilon, delta, high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        apart = packing_people(float(epsilon), middle) > gaussian_people(epsilon, delta, middle)
        low, high = (low, middle) if apart else (middle, high)
    return high


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
