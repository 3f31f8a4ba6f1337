"""Joint noise of three servers against the central discrete Laplace law.

2**15 noises by day at epsilon = 1 (2**17 by night at 1, 1/2, 1/10 and sensitivity 1 and 2), drawn on shares through
every gate:

- chi-square over the values within four standard deviations, every bin counted and the tails pooled, at alpha = 1e-4;
- the variance within 6 % of the central one (5 standard errors), by night within 3 %;
- as many positive as negative values, at alpha = 1e-6.

The check must catch an epsilon that is off by a tenth, a digit that is left out, and noise that is never negative.
It would miss an epsilon that is off by less than about 3 % (nightly 1 %).  Keys are fixed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.computing.joint_noise import joint_noise
from localdp.randomness.source import Integers
from localdp.sharing.digit_coins import GeometricCoins, LaplaceCoins
from localdp.sharing.field import PRIME
from tests.support.computing import FIELD64_KERNEL, run, seats, secret_elements

ALPHA = 1e-4
DAY, NIGHT = 1 << 15, 1 << 17
LAWS = [("1", 1), ("0.5", 1), ("0.1", 1), ("1", 2), ("0.5", 2), ("0.1", 2)]


def law_of(epsilon: str, sensitivity: int = 1) -> LaplaceCoins:
    return LaplaceCoins.of(Epsilon.requested(epsilon), sensitivity)


def drawn(law: LaplaceCoins, count: int, seed: int) -> Integers:
    held = run(seats(seed), lambda seat: joint_noise(seat, law, count))
    values = secret_elements(held, FIELD64_KERNEL)[0]
    return np.asarray(np.where(values > PRIME // 2, values - np.uint64(PRIME), values).astype(np.int64))


def central_variance(law: LaplaceCoins) -> float:
    a = float(np.exp(-float(law.magnitude.rate)))
    return 2 * a / (1 - a) ** 2


def follows(noises: Integers, law: LaplaceCoins) -> bool:
    """Chi-square against the central law of `law`, tails pooled."""
    a, reach = np.exp(-float(law.magnitude.rate)), int(4 * central_variance(law) ** 0.5)
    values = np.arange(-reach, reach + 1)
    expected = (1 - a) / (1 + a) * a ** np.abs(values)
    tail = a ** (reach + 1) / (1 + a)
    expected[[0, -1]] += tail
    observed = np.bincount(np.clip(noises, -reach, reach) + reach, minlength=len(values))
    return bool(stats.chisquare(observed, expected * len(noises)).pvalue > ALPHA)


def is_fair(noises: Integers) -> bool:
    positive, negative = int((noises > 0).sum()), int((noises < 0).sum())
    return bool(stats.binomtest(positive, positive + negative).pvalue > 1e-6)


def check(law: LaplaceCoins, count: int, seed: int, tolerance: float) -> None:
    noises = drawn(law, count, seed)
    assert follows(noises, law)
    assert is_fair(noises)
    assert abs(noises.var() / central_variance(law) - 1) < tolerance


def test_noises_have_the_central_law() -> None:
    check(law_of("1"), DAY, 11, 0.06)


@pytest.mark.nightly
@pytest.mark.parametrize(("epsilon", "sensitivity"), LAWS)
def test_many_noises_have_the_central_law_to_three_percent(epsilon: str, sensitivity: int) -> None:
    check(law_of(epsilon, sensitivity), NIGHT, 12, 0.03)


def test_another_epsilon_and_a_digit_left_out_are_caught() -> None:
    assert not follows(drawn(law_of("1.1"), DAY, 13), law_of("1"))
    short = replace(law_of("0.5"), magnitude=GeometricCoins(law_of("0.5").magnitude.rate, 2))
    assert not follows(drawn(short, DAY, 14), law_of("0.5"))


def test_noise_that_is_never_negative_is_caught() -> None:
    noises = np.abs(drawn(law_of("1"), DAY, 15))
    assert not is_fair(noises)
    assert not follows(noises, law_of("1"))
