"""Clopper-Pearson intervals against exact binomial tails; scipy only where it is itself accurate."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from time import perf_counter

import numpy as np
import pytest
from scipy.stats import beta

from localdp.errors import InvalidParameter
from localdp.estimation.intervals import clopper_pearson, epsilon_lower_bound, surprising_count

CONFIDENCES = (0.01, 0.5, 0.95, 0.999999, 1 - 1e-12)


def upper_tail(successes: int, trials: int, p: Fraction) -> Fraction:
    masses = (math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(successes, trials + 1))
    return sum(masses, Fraction(0))


def assert_brackets(tail: Callable[[Fraction], Fraction], end: float, alpha: Fraction) -> None:
    """The tail, which rises, passes alpha within 1e-12 of the end."""
    below, above = Fraction(end) * (1 - Fraction(1, 10**12)), Fraction(end) * (1 + Fraction(1, 10**12))
    assert tail(below) < alpha < tail(above)


@pytest.mark.parametrize("trials", [1, 2, 7, 40])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_ends_have_their_exact_tails(trials: int, confidence: float) -> None:
    alpha = (1 - Fraction(confidence)) / 2
    for successes in range(trials + 1):
        low, high = clopper_pearson(successes, trials, confidence)
        if successes:
            assert_brackets(partial(upper_tail, successes, trials), low, alpha)
        if successes < trials:
            assert_brackets(partial(upper_tail, successes + 1, trials), high, 1 - alpha)


@pytest.mark.parametrize("successes", [0, 1, 3])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_few_successes_in_many_trials_lose_no_digits(successes: int, confidence: float) -> None:
    trials = 10**8
    _, high = clopper_pearson(successes, trials, confidence)
    with localcontext() as context:
        context.prec = 60
        alpha = (1 - Decimal(confidence)) / 2

        def lower_tail(p: Decimal) -> Decimal:
            masses = (math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(successes + 1))
            return sum(masses, Decimal(0))

        gap = Decimal("1e-12")
        assert lower_tail(Decimal(high) * (1 - gap)) > alpha > lower_tail(Decimal(high) * (1 + gap))


@pytest.mark.parametrize("trials", [100, 10**4, 10**6, 10**8])
def test_the_middle_agrees_with_scipy(trials: int) -> None:
    for successes in (trials // 10, trials // 3, trials // 2, trials - trials // 5):
        for confidence in (0.5, 0.95, 0.999999):
            low, high = clopper_pearson(successes, trials, confidence)
            tail = (1 - confidence) / 2
            assert low == pytest.approx(beta.ppf(tail, successes, trials - successes + 1), rel=1e-12)
            assert high == pytest.approx(beta.isf(tail, successes + 1, trials - successes), rel=1e-12)


def test_the_interval_covers_at_least_as_often_as_it_says() -> None:
    trials, confidence = 30, 0.9
    intervals = [clopper_pearson(k, trials, confidence) for k in range(trials + 1)]
    coverages = []
    for p in np.linspace(0.001, 0.999, 199):
        masses = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        coverages.append(
            sum(m for m, (low, high) in zip(masses, intervals, strict=True) if low <= p <= high)
        )
    assert min(coverages) >= confidence
    assert np.mean(coverages) < 0.97  # and it is not vacuous


def test_all_and_nothing_have_closed_forms() -> None:
    none, everything = clopper_pearson(0, 50, 0.95), clopper_pearson(50, 50, 0.95)
    assert none[0] == 0.0 and none[1] == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-13)
    assert everything[0] == pytest.approx(0.025 ** (1 / 50), rel=1e-13) and everything[1] == 1.0


def test_mirrored_counts_have_mirrored_intervals() -> None:
    low, high = clopper_pearson(37, 1000, 0.99)
    mirrored = clopper_pearson(963, 1000, 0.99)
    assert 1 - mirrored[1] == pytest.approx(low, rel=1e-12)
    assert 1 - mirrored[0] == pytest.approx(high, rel=1e-12)


def test_a_hundred_million_trials_take_no_time() -> None:
    # Generous by a factor of fifty; a sum over the terms of the tail would take minutes.
    start = perf_counter()
    clopper_pearson(5 * 10**7, 10**8, 0.999999)
    assert perf_counter() - start < 1.0


def test_the_bound_on_epsilon_is_the_ratio_of_the_ends() -> None:
    low, _ = clopper_pearson(7311, 10**4, 0.99)
    _, high = clopper_pearson(2689, 10**4, 0.99)
    bound = epsilon_lower_bound(7311, 2689, 10**4, 0.99)
    assert bound == math.log(low / high)
    assert 0.9 < bound < 1.0  # randomized response at epsilon = 1, seen 10**4 times


def test_more_trials_bring_the_bound_closer_to_epsilon() -> None:
    kept = math.e / (1 + math.e)
    bounds = [
        epsilon_lower_bound(round(kept * n), round((1 - kept) * n), n, 1 - 1e-6)
        for n in (10**3, 10**5, 10**8)
    ]
    assert bounds == sorted(bounds)
    # At 10**8 the normal approximation holds: z = 4.89 standard errors of each logarithm are lost.
    errors = math.sqrt((1 - kept) / kept) + math.sqrt(kept / (1 - kept))
    assert 1 - bounds[-1] == pytest.approx(4.8916 * errors / 10**4, rel=1e-2)


def test_no_evidence_bounds_nothing() -> None:
    assert epsilon_lower_bound(0, 0, 100) == 0.0
    assert epsilon_lower_bound(50, 50, 100) == 0.0
    assert epsilon_lower_bound(10, 90, 100) == 0.0


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"),
    [(-1, 10, 0.9), (11, 10, 0.9), (0, 0, 0.9), (1, 10, 0.0), (1, 10, 1.0), (1, 10, math.nan)],
)
def test_impossible_counts_are_refused(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(InvalidParameter):
        clopper_pearson(successes, trials, confidence)


@pytest.mark.parametrize(
    ("trials", "share"), [(1, Fraction(1, 3)), (30, Fraction(1, 8)), (60, Fraction(1, 2))]
)
@pytest.mark.parametrize("tail", [0.5, 1e-2, 3.4e-6])
def test_a_surprising_count_is_the_first_beyond_the_tail(trials: int, share: Fraction, tail: float) -> None:
    count = surprising_count(trials, float(share), tail)
    allowed = [k for k in range(trials + 2) if upper_tail(k, trials, share) <= Fraction(tail)]
    # Counts at the mean or below it are never surprising, whatever the tail.
    assert count == max(allowed[0], min(math.ceil(trials * share) + 1, trials + 1))


@pytest.mark.parametrize(
    ("trials", "share", "tail"), [(0, 0.5, 0.1), (9, 0.0, 0.1), (9, 1.0, 0.1), (9, 0.5, 0.6)]
)
def test_an_impossible_tail_is_refused(trials: int, share: float, tail: float) -> None:
    with pytest.raises(InvalidParameter):
        surprising_count(trials, share, tail)
