"""The samplers as sampled laws, and the broken twins that the same check must catch.

One check (`check_law`): n = 200,000 draws on a fixed seed, four parts.

- chi-square over all integers at alpha = 1e-6, every bin counted, the tails pooled where fewer than 50
  draws are expected;
- the number of zeros, by the exact binomial test at alpha = 1e-6;
- the variance, two-sided, within 6 standard errors computed from the law's own fourth moment;
- no block of 1,000 draws seen twice.

Power: it sees an epsilon that is off by 2 % (`epsilon_off_by_two_percent`), a tail of 1 % folded onto its
edge (`tail_truncated`), a zero of twice its mass (`zero_counted_twice`), and any noise drawn twice or
forgotten.  It would miss an epsilon off by less than about 1 %, 1 % of the draws displaced near zero, and
anything in a tail of mass below 1e-4: those are exact claims, checked in tests/unit/randomness.
"""

from collections.abc import Callable
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.polya import PolyaDifference
from localdp.randomness.source import Integers

ALPHA = 1e-6
DRAWS = 200_000
FEWEST_EXPECTED = 50
STANDARD_ERRORS = 6.0
Law = DiscreteLaplace | PolyaDifference
Sampler = Callable[[Law, int], Integers]


class LawRefuted(AssertionError):
    """The draws do not follow the law."""


def _masses(law: Law, reach: int) -> tuple[Integers, np.ndarray]:
    k = np.arange(-reach, reach + 1)
    half = np.array([law.probability(int(x)) for x in range(reach + 1)])
    return k, np.concatenate([half[:0:-1], half])


def _reach(law: Law, share: float) -> int:
    """The largest k whose expected number of draws is at least `share`."""
    low, high = 0, 1
    while law.probability(high) * DRAWS >= share:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if law.probability(middle) * DRAWS >= share else (low, middle)
    return low


def _check_bins(law: Law, drawn: Integers) -> None:
    # Wide laws are counted in runs of `run` integers, so that every bin expects enough draws.
    run = max(1, int(4 * FEWEST_EXPECTED / DRAWS / law.probability(0)))
    k, masses = _masses(law, _reach(law, FEWEST_EXPECTED / run))
    edges = np.arange(k[0], k[-1] + 1, run)
    expected = np.add.reduceat(masses, edges - k[0]) * DRAWS
    inside = (drawn >= k[0]) & (drawn <= k[-1])
    counts = np.bincount((drawn[inside] - k[0]) // run, minlength=len(edges))
    tails = np.array([(drawn < k[0]).sum(), (drawn > k[-1]).sum()])
    tail = (1.0 - masses.sum()) / 2 * DRAWS
    statistic = ((counts - expected) ** 2 / expected).sum() + ((tails - tail) ** 2 / tail).sum()
    if chi2.sf(statistic, len(expected) + 1) < ALPHA:
        raise LawRefuted("chi-square")


def _check_variance(law: Law, drawn: Integers) -> None:
    k, masses = _masses(law, int(40 / law.epsilon) + 2)
    fourth = float((masses * k.astype(float) ** 4).sum())
    standard_error = sqrt((fourth - law.variance() ** 2) / DRAWS)
    if abs(float((drawn.astype(float) ** 2).mean()) - law.variance()) > STANDARD_ERRORS * standard_error:
        raise LawRefuted("variance")


def _check_zeros(law: Law, drawn: Integers) -> None:
    if binomtest(int((drawn == 0).sum()), DRAWS, law.probability(0)).pvalue < ALPHA:
        raise LawRefuted("zeros")


def _check_blocks(drawn: Integers) -> None:
    blocks = drawn.reshape(-1, 1000)
    if len(np.unique(blocks, axis=0)) < len(blocks):
        raise LawRefuted("a block of draws was seen twice")


def check_law(law: Law, sampler: Sampler) -> None:
    """Raise `LawRefuted` if the sampler's draws do not follow the law."""
    drawn = sampler(law, DRAWS)
    _check_blocks(drawn)
    _check_bins(law, drawn)
    _check_zeros(law, drawn)
    _check_variance(law, drawn)


def _with_epsilon(law: Law, epsilon: Fraction) -> Law:
    return (
        DiscreteLaplace(epsilon)
        if isinstance(law, DiscreteLaplace)
        else PolyaDifference(epsilon, law.parts)
    )


def honest(law: Law, count: int) -> Integers:
    """What the library draws."""
    return law.sample(SeededSource(2024), count)


def noise_twice(law: Law, count: int) -> Integers:
    """Twin: noise added by two layers."""
    source = SeededSource(2024)
    return law.sample(source, count) + law.sample(source, count)


def no_noise(law: Law, count: int) -> Integers:
    """Twin: noise forgotten."""
    return np.zeros(count, np.int64)


def epsilon_doubled(law: Law, count: int) -> Integers:
    """Twin: twice the epsilon that was asked for."""
    return _with_epsilon(law, law.epsilon * 2).sample(SeededSource(2024), count)


def epsilon_off_by_two_percent(law: Law, count: int) -> Integers:
    """Twin: an epsilon overspent by a little."""
    return _with_epsilon(law, law.epsilon * Fraction(102, 100)).sample(SeededSource(2024), count)


def seed_reused(law: Law, count: int) -> Integers:
    """Twin: the second half of the draws repeats the first."""
    half = law.sample(SeededSource(2024), count // 2)
    return np.concatenate([half, half])


def tail_truncated(law: Law, count: int) -> Integers:
    """Twin: the tail of mass 1 % is folded onto its edge."""
    edge = int(np.quantile(np.abs(honest(law, count)), 0.99))
    return np.clip(honest(law, count), -edge, edge)


def zero_counted_twice(law: Law, count: int) -> Integers:
    """Twin: a random sign on the one-sided law, which reaches zero from both sides."""
    drawn = honest(law, 3 * count)
    one_side = drawn[drawn >= 0][:count]
    return np.where(SeededSource(9).bernoulli(1 << 63, count), one_side, -one_side)


def one_sided(law: Law, count: int) -> Integers:
    """Twin: the sign is forgotten."""
    return np.abs(honest(law, count))


TWINS: list[Sampler] = [
    noise_twice,
    no_noise,
    epsilon_doubled,
    seed_reused,
    tail_truncated,
    zero_counted_twice,
    one_sided,
]
LAWS: dict[str, Law] = {
    "laplace-scale-1/3": DiscreteLaplace(Fraction(3)),
    "laplace-scale-1": DiscreteLaplace(Fraction(1)),
    "laplace-scale-10": DiscreteLaplace(Fraction(1, 10)),
    "laplace-scale-100": DiscreteLaplace(Fraction(1, 100)),
    "laplace-scale-1000-by-digits": DiscreteLaplace(Fraction(1, 1000)),
    "polya-scale-1-of-2": PolyaDifference(Fraction(1), 2),
    "polya-scale-10-of-3": PolyaDifference(Fraction(1, 10), 3),
    "polya-scale-200-of-2-compound": PolyaDifference(Fraction(1, 200), 2),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_draws_follow_the_law(name: str) -> None:
    check_law(LAWS[name], honest)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
@pytest.mark.parametrize("name", LAWS)
def test_the_check_catches_the_broken_twin(name: str, twin: Sampler) -> None:
    with pytest.raises(LawRefuted):
        check_law(LAWS[name], twin)


@pytest.mark.parametrize("name", [name for name in LAWS if name.startswith("laplace")])
def test_the_check_catches_an_epsilon_that_is_off_by_two_percent(name: str) -> None:
    with pytest.raises(LawRefuted):
        check_law(LAWS[name], epsilon_off_by_two_percent)


@pytest.mark.parametrize(
    ("epsilon", "parts"), [(Fraction(1), 2), (Fraction(1, 10), 5), (Fraction(1, 150), 2)]
)
def test_the_sum_of_all_parts_is_discrete_laplace(epsilon: Fraction, parts: int) -> None:
    def summed(law: Law, count: int) -> Integers:
        source, part = SeededSource(77), PolyaDifference(law.epsilon, parts)
        total = np.zeros(count, np.int64)
        for _ in range(parts):
            total += part.sample(source, count)
        return total

    check_law(DiscreteLaplace(epsilon), summed)


def test_a_part_forgotten_or_drawn_once_and_copied_is_caught() -> None:
    part = PolyaDifference(Fraction(1, 10), 2)

    def forgotten(law: Law, count: int) -> Integers:
        return part.sample(SeededSource(77), count)

    def copied(law: Law, count: int) -> Integers:
        return 2 * part.sample(SeededSource(77), count)

    for twin in (forgotten, copied):
        with pytest.raises(LawRefuted):
            check_law(DiscreteLaplace(Fraction(1, 10)), twin)


@pytest.mark.parametrize("scale", [10**6, 1 << 40])
def test_the_largest_scales_keep_their_moments(scale: int) -> None:
    """E|X| and E X^2 within 6 standard errors (0.6 % and 1.3 %): sees a digit that is lost or doubled."""
    law = DiscreteLaplace(Fraction(1, scale))
    drawn = law.sample(SeededSource(5), 1_000_000).astype(float)
    assert abs(np.abs(drawn).mean() / law.mean_absolute() - 1) < STANDARD_ERRORS / 1000
    assert abs((drawn**2).mean() / law.variance() - 1) < STANDARD_ERRORS * sqrt(5) / 1000
    assert abs(drawn.mean()) < STANDARD_ERRORS * sqrt(law.variance()) / 1000


@pytest.mark.parametrize(("scale", "parts"), [(655_360, 2), (1 << 40, 3)])
def test_the_largest_divided_noise_keeps_its_moments(scale: int, parts: int) -> None:
    """n = 50,000: E|X| within 6 standard errors of the law's own variance."""
    law = PolyaDifference(Fraction(1, scale), parts)
    drawn = law.sample(SeededSource(6), 50_000).astype(float)
    spread = sqrt(law.variance() - law.mean_absolute() ** 2)
    assert abs(np.abs(drawn).mean() - law.mean_absolute()) < STANDARD_ERRORS * spread / sqrt(50_000)
