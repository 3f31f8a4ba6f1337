"""Poisson draws follow their law, whatever the mean, and their table encloses it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, poisson

from localdp.errors import InvalidParameter
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.poisson import LARGEST_MEAN, Poisson, _enclose

ALPHA = 1e-6


@pytest.mark.parametrize("mean", [Fraction(0), Fraction(1, 7), Fraction(5, 2), Fraction(63)])
def test_the_table_encloses_the_law(mean: Fraction) -> None:
    lower, upper = _enclose(mean, 64, 256)
    exact = poisson.cdf(np.arange(256), float(mean))
    assert np.abs(np.array(lower, float) / 2**64 - exact).max() < 1e-12
    assert all(0 <= high - low <= 2 for low, high in zip(lower, upper, strict=True))
    assert lower == sorted(lower)
    assert upper == sorted(upper)


@pytest.mark.parametrize("mean", [Fraction(1, 3), Fraction(17, 2), Fraction(200), Fraction(4743, 4)])
def test_draws_follow_the_law(mean: Fraction) -> None:
    """n = 40,000, about 30 bins of equal mass; sees a mean that is off by 3 % of a standard deviation, not less."""
    drawn = Poisson(mean).sample(SeededSource(5), 40_000)
    edges = np.unique(poisson.ppf(np.arange(1, 30) / 30, float(mean)))
    bins = np.searchsorted(edges, drawn, side="left")
    below = np.concatenate([[0.0], poisson.cdf(edges, float(mean)), [1.0]])
    assert (
        chisquare(np.bincount(bins, minlength=len(edges) + 1), np.diff(below) * len(drawn)).pvalue > ALPHA
    )


def test_a_mean_is_an_exact_fraction_within_bounds() -> None:
    for mean in (Fraction(-1), Fraction(LARGEST_MEAN + 1), 0.5):
        with pytest.raises(InvalidParameter, match="mean"):
            Poisson(mean)  # type: ignore[arg-type]


def test_no_people_draw_nothing_and_a_mean_of_nothing_is_nothing() -> None:
    assert Poisson(Fraction(3)).sample(SeededSource(1), 0).tolist() == []
    assert Poisson(Fraction(0)).sample(SeededSource(1), 3).tolist() == [0, 0, 0]
