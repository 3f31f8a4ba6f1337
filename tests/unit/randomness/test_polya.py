"""Divided noise: the parts convolve to the discrete Laplace law, and both ways of drawing agree."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, logser, nbinom, poisson

from localdp.errors import InvalidParameter
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.negative_binomial import (
    NegativeBinomial,
    _enclose_poisson,
    _enclose_whole,
    sample_logarithmic,
)
from localdp.randomness.polya import PolyaDifference

ALPHA = 1e-6
LAWS = [(Fraction(1), 2), (Fraction(1, 2), 3), (Fraction(1, 5), 5), (Fraction(3), 7)]


@pytest.mark.parametrize(("epsilon", "parts"), LAWS, ids=str)
def test_the_parts_convolve_to_the_discrete_laplace(epsilon: Fraction, parts: int) -> None:
    part, whole = PolyaDifference(epsilon, parts), DiscreteLaplace(epsilon)
    reach = int(40 / epsilon) + 2
    masses = np.array([part.probability(k) for k in range(-reach, reach + 1)])
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    total = masses
    for _ in range(parts - 1):
        total = np.convolve(total, masses)
    centre = len(total) // 2
    for k in range(-reach, reach + 1):
        assert abs(total[centre + k] - whole.probability(k)) < 1e-12


@pytest.mark.parametrize(("epsilon", "parts"), LAWS, ids=str)
def test_moments_are_those_of_the_probabilities(epsilon: Fraction, parts: int) -> None:
    law = PolyaDifference(epsilon, parts)
    k = np.arange(-int(60 / epsilon) - 2, int(60 / epsilon) + 3)
    masses = np.array([law.probability(int(x)) for x in k])
    assert law.variance() == pytest.approx(float((masses * k**2).sum()), rel=1e-10)
    assert law.mean_absolute() == pytest.approx(float((masses * np.abs(k)).sum()), rel=1e-9)


@pytest.mark.parametrize("epsilon", [Fraction(64), Fraction(1), Fraction(1, 1000), Fraction(1, 1 << 40)])
def test_one_part_has_the_mean_absolute_value_and_variance_of_the_discrete_laplace(
    epsilon: Fraction,
) -> None:
    part, whole = PolyaDifference(epsilon, 1), DiscreteLaplace(epsilon)
    assert part.mean_absolute() == pytest.approx(whole.mean_absolute(), rel=1e-9)
    assert part.variance() == pytest.approx(whole.variance(), rel=1e-9)


def test_the_enclosed_half_is_the_negative_binomial_of_the_textbooks() -> None:
    masses = (
        np.diff(np.array([0, *_enclose_whole(Fraction(1, 4), Fraction(1, 3), 64, 150)[0]], float)) / 2**64
    )
    assert np.abs(masses - nbinom.pmf(np.arange(150), 1 / 3, -np.expm1(-0.25))).max() < 1e-13


def test_the_enclosed_number_of_terms_is_poisson() -> None:
    masses = (
        np.diff(np.array([0, *_enclose_poisson(Fraction(1, 1000), Fraction(1, 2), 64, 40)[0]], float))
        / 2**64
    )
    mean = -np.log(-np.expm1(-0.001)) / 2
    assert np.abs(masses - poisson.pmf(np.arange(40), mean)).max() < 1e-13


def test_logarithmic_draws_follow_their_law() -> None:
    """n = 200,000, 61 bins; sees a bin that is off by a few percent, not less."""
    drawn = sample_logarithmic(Fraction(1, 20), SeededSource(11), 200_000)
    assert int(drawn.min()) == 1
    counts = np.bincount(np.minimum(drawn, 61), minlength=62)[1:]
    masses = logser.pmf(np.arange(1, 61), np.exp(-0.05))
    expected = np.append(masses, 1 - masses.sum()) * len(drawn)
    assert chisquare(counts, expected).pvalue > ALPHA


@pytest.mark.parametrize("compound", [False, True])
@pytest.mark.parametrize("parts", [1, 3])
def test_table_and_compound_form_draw_one_law(compound: bool, parts: int) -> None:
    """n = 100,000, 31 bins; sees a bin that is off by a few percent, not less."""
    half = NegativeBinomial(Fraction(1, 10), parts)
    source = SeededSource(12)
    drawn = half.sample_compound(source, 100_000) if compound else half.sample(source, 100_000)
    counts = np.bincount(np.minimum(drawn, 30), minlength=31)
    masses = nbinom.pmf(np.arange(30), 1 / parts, -np.expm1(-0.1))
    expected = np.append(masses, 1 - masses.sum()) * len(drawn)
    assert chisquare(counts, expected).pvalue > ALPHA


@pytest.mark.parametrize("compound", [False, True])
@pytest.mark.parametrize(("shape", "parts"), [(2, 3), (10, 9), (5, 1)])
def test_an_agent_draws_the_parts_of_all_its_people_at_once(compound: bool, shape: int, parts: int) -> None:
    """n = 100,000, up to 61 bins; sees a bin that is off by a few percent, not less."""
    law, source = NegativeBinomial(Fraction(1, 4), parts, shape), SeededSource(21)
    drawn = law.sample_compound(source, 100_000) if compound else law.sample(source, 100_000)
    masses = nbinom.pmf(np.arange(60), shape / parts, -np.expm1(-0.25))
    masses = masses[: int(np.argmax(masses[5:] < 1e-3)) + 5]
    counts = np.bincount(np.minimum(drawn, len(masses)), minlength=len(masses) + 1)
    expected = np.append(masses, 1 - masses.sum()) * len(drawn)
    assert chisquare(counts, expected).pvalue > ALPHA


def test_an_exponent_is_positive_and_not_too_large() -> None:
    for shape, parts in ((0, 1), (-1, 2), (65, 1), (129, 2)):
        with pytest.raises(InvalidParameter, match="exponent"):
            NegativeBinomial(Fraction(1), parts, shape)


def test_what_is_not_served_is_refused() -> None:
    for epsilon, parts in ((Fraction(0), 2), (Fraction(1), 0), (Fraction(1), 1 << 21), (Fraction(65), 2)):
        with pytest.raises(InvalidParameter):
            PolyaDifference(epsilon, parts)
    with pytest.raises(InvalidParameter):
        PolyaDifference(Fraction(1, 1 << 17), 2).probability(0)
