"""The rounded Gaussian: its cells, its coins, its law, and the twins that the same check must catch.

The check of a law: n = 200,000 draws on a fixed seed, a chi-square test over bins of equal probability, every bin
counted, at alpha = 1e-6.  It sees a variance that is off by 3 %; it would miss one that is off by less than 1 %.
"""

from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from localdp.errors import InvalidParameter
from localdp.randomness import rounded_gaussian
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.rounded_gaussian import Careful, RoundedGaussian
from localdp.randomness.source import Bits, Integers, RandomSource

ALPHA = 1e-6
DRAWS = 200_000
BINS = 60
VARIANCES = [100, 256, 257, 1023, 10**4, 12_345_678, 1 << 40, 1 << 55]


def follows(drawn: Integers, variance: int) -> bool:
    """Whether the draws pass the chi-square test; the edges of the bins lie between whole numbers."""
    edges = np.unique(np.floor(norm.ppf(np.arange(1, BINS) / BINS) * sqrt(variance)) + 0.5)
    masses = np.diff(norm.cdf(edges / sqrt(variance)), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(masses))
    return bool(chisquare(counts, masses * len(drawn)).pvalue > ALPHA)


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_draws_follow_the_law(variance: int) -> None:
    drawn = RoundedGaussian(variance).sample(SeededSource(41), DRAWS)
    assert follows(drawn, variance)
    assert drawn.var() == pytest.approx(variance + 1 / 12, rel=6 * sqrt(2 / DRAWS))
    assert abs(drawn.mean()) < 6 * sqrt(variance / DRAWS)
    assert not follows(RoundedGaussian(variance * 103 // 100).sample(SeededSource(41), DRAWS), variance)
    assert not follows(np.abs(drawn), variance)


def test_proposals_that_are_never_rejected_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(law: RoundedGaussian, source: RandomSource, start: Integers, low: Integers) -> Bits:
        return np.ones(len(low), np.bool_)

    monkeypatch.setattr(RoundedGaussian, "_accept", always)
    assert not follows(RoundedGaussian(10**4).sample(SeededSource(42), DRAWS), 10**4)


def one_by_one(drawn: Integers, variance: int) -> bool:
    """Whether every whole number within three standard deviations has its probability, and all others together."""
    law, reach = RoundedGaussian(variance), max(2, round(3 * sqrt(variance)))
    numbers = np.arange(-reach, reach + 1)
    expected = np.array([law.probability(int(n)) for n in numbers]) * DRAWS
    counts = np.bincount(drawn[np.abs(drawn) <= reach] + reach, minlength=len(numbers))
    outside = DRAWS - expected.sum()
    return bool(chisquare([*counts, DRAWS - counts.sum()], [*expected, outside]).pvalue > ALPHA)


@pytest.mark.parametrize("variance", [1, 2, 4, 18, 63, 255, 256])
def test_every_whole_number_has_its_probability_at_small_variances(variance: int) -> None:
    drawn = RoundedGaussian(variance).sample(SeededSource(43), DRAWS)
    assert one_by_one(drawn, variance)
    coarse = np.rint(RoundedGaussian(variance * 4).sample(SeededSource(43), DRAWS) / 2)
    assert not one_by_one(coarse.astype(np.int64), variance)  # rounded twice: a twin


def test_the_probabilities_are_those_of_the_rounded_gaussian() -> None:
    law = RoundedGaussian(300)
    assert sum(law.probability(n) for n in range(-400, 401)) == pytest.approx(1, abs=1e-12)
    assert law.probability(7) == pytest.approx(
        norm.cdf(7.5 / sqrt(300)) - norm.cdf(6.5 / sqrt(300)), rel=1e-9
    )


@pytest.mark.parametrize("variance", [256, 1000, 1023, 1 << 30])
def test_the_cells_have_their_weights(variance: int) -> None:
    lower, upper = rounded_gaussian._enclose_cells(variance, 64, 200)
    width = 1 << rounded_gaussian._cell_bits(variance)
    assert sqrt(variance) / 32 < width <= sqrt(variance) / 16
    weights = np.exp(-((np.arange(2000) * width) ** 2) / (2 * variance))
    exact = np.cumsum(weights)[:200] / weights.sum()
    assert np.array(lower) / 2**64 == pytest.approx(exact, abs=1e-12)
    assert max(high - low for low, high in zip(lower, upper, strict=True)) <= 2
    assert lower == sorted(lower) and upper == sorted(upper)


def _few_bits(count: int) -> Callable[[RoundedGaussian], int]:
    return lambda law: count


@pytest.mark.parametrize("bits", [1, 3])
def test_draws_that_few_bits_do_not_decide_have_the_same_law(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so few bits at first one comparison in 30 goes on in Python integers, instead of one in 2**30."""
    monkeypatch.setattr(RoundedGaussian, "fraction_bits", property(_few_bits(bits)))
    assert follows(RoundedGaussian(256).sample(SeededSource(44), 40_000), 256)


@pytest.mark.parametrize(("start", "low"), [(0, 0), (160, 3), (5000, 1), (50_000, 1), (90_000, 1)])
def test_the_careful_coin_falls_with_its_probability(start: int, low: int) -> None:
    """n = 4,000 coins of exp(-gamma), y uniform in its quarter: within 5 standard errors; also where gamma > 1."""
    variance, trials = 10_000, 4000
    coins = [
        Careful(source, start, low, 2, 2 * variance).accepted()
        for source in [SeededSource(7)]
        for _ in range(trials)
    ]
    y = (low + (np.arange(1000) + 0.5) / 1000) / 4
    expected = float(np.mean([exp(-point * (2 * start + point) / (2 * variance)) for point in y]))
    assert np.mean(coins) == pytest.approx(
        expected, abs=5 * sqrt(expected * (1 - expected) / trials) + 1e-3
    )


@pytest.mark.parametrize("offset", [0, 1, 5, 7])
def test_the_coins_of_a_whole_array_fall_with_their_probability(offset: int) -> None:
    """n = 100,000 coins with gamma up to 0.98, in the last cell before 16 sigma: within 5 standard errors."""
    law, count = RoundedGaussian(1 << 14), 100_000  # sigma = 128, cells of 8
    start = 8 * 254
    low = np.full(count, offset << law.fraction_bits, np.int64)
    gamma = offset * (2 * start + offset) / (2 << 14)
    accepted = law._accept(SeededSource(45), np.full(count, start, np.int64), low).mean()
    assert accepted == pytest.approx(
        exp(-gamma), abs=5 * sqrt(exp(-gamma) * (1 - exp(-gamma)) / count) + 1e-6
    )


def test_cells_beyond_sixteen_sigma_are_handled() -> None:
    law = RoundedGaussian(1024)
    start, low = np.full(500, 2 * 1024, np.int64), np.zeros(500, np.int64)
    accepted = law._accept(SeededSource(3), start, low)
    assert accepted.any()  # gamma is next to nothing at the lower edge of a cell
    assert not law._accept(SeededSource(3), start, low + (2 << law.fraction_bits) - 1).all()


def test_variances_out_of_range_are_refused_and_nothing_is_drawn_of_none() -> None:
    for variance in (0, -1, (1 << 56) + 1):
        with pytest.raises(InvalidParameter):
            RoundedGaussian(variance)
    assert RoundedGaussian(256).sample(SeededSource(1), 0).shape == (0,)
