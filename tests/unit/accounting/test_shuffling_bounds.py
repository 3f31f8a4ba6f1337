"""Amplification by shuffling is an upper bound: against the same two laws in decimals of 60 digits, up to eps0 = 30.

Every number of people from 2 to 28 and every local epsilon of a grid, at epsilons that are far from it and next to it:
there the two laws differ by less than a float of 1 can hold.  With so few people nothing is cut off and no report is
shown, so that the bound exceeds the exact delta by no more than the errors of the masses.
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
import pytest

from localdp.accounting import shuffling
from localdp.accounting.shuffling import Shuffled, ShuffledAs
from localdp.randomness.source import Floats

DIGITS = 60
PEOPLE = range(2, 29)
LOCALS = (0.1, 0.7, 1.5, 3.0, 6.0, 10.0, 15.0, 20.0, 25.0, 28.461, 29.9, 30.0)
PARTS = (0.0, 0.3, 0.9, 0.999, 0.99999, 0.9999965, 1 - 1e-7, 1 - 1e-11, 1 - 1e-13)  # of the local epsilon

Law = list[Decimal]


def _binomial(trials: int, share: Decimal) -> Law:
    return [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]


def _sum_of(left: Law, right: Law) -> Law:
    total = [Decimal(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            total[i + j] += a * b
    return total


def _with_one_more(law: Law, keep: Decimal) -> tuple[Law, Law]:
    return _sum_of(law, [1 - keep, keep]), _sum_of(law, [keep, 1 - keep])


def _excess(above: Law, below: Law, growth: Decimal) -> Decimal:
    pairs = zip(above, below, strict=True)
    return sum((max(a - growth * b, Decimal(0)) for a, b in pairs), Decimal(0))


@lru_cache(maxsize=4)
def _laws(people: int, local: float, kind: ShuffledAs) -> list[tuple[Decimal, Law, Law]]:
    """A weight and two laws: for each number of ones among the others, or for each number of clones."""
    ratio = Decimal(local).exp()
    keep = ratio / (1 + ratio)
    if kind == "any":
        weights = _binomial(people - 1, 2 / (ratio + 1))
        halves = [_binomial(clones, Decimal("0.5")) for clones in range(people)]
        return [(w, *_with_one_more(h, keep)) for w, h in zip(weights, halves, strict=True)]
    # k ones among the others and n - 1 - k of them are the same with both directions taken.
    others = [
        _sum_of(_binomial(k, keep), _binomial(people - 1 - k, 1 - keep)) for k in range((people + 1) // 2)
    ]
    return [(Decimal(1), *_with_one_more(law, keep)) for law in others]


def exact_delta(people: int, local: float, epsilon: float, kind: ShuffledAs) -> Decimal:
    """To 60 digits less the 14 that exp(30) takes."""
    with localcontext(prec=DIGITS):
        growth, laws = Decimal(epsilon).exp(), _laws(people, local, kind)
        if kind == "any":
            return sum((w * _excess(one, zero, growth) for w, one, zero in laws), Decimal(0))
        return max(max(_excess(one, zero, growth), _excess(zero, one, growth)) for _, one, zero in laws)


def _violations(kind: ShuffledAs, people: range | tuple[int, ...]) -> list[tuple[int, float, float]]:
    return [
        (n, local, local * part)
        for n in people
        for local in LOCALS
        for part in PARTS
        if Decimal(Shuffled(n, local, kind).delta(local * part)) < exact_delta(n, local, local * part, kind)
    ]


@pytest.mark.parametrize("kind", ["binary", "any"])
def test_no_delta_is_below_the_exact_one(kind: ShuffledAs) -> None:
    assert not _violations(kind, PEOPLE)


@pytest.mark.parametrize("kind", ["binary", "any"])
def test_next_to_the_largest_local_epsilon_the_bound_is_of_the_size_of_delta(kind: ShuffledAs) -> None:
    # With 1 - p in floats this came out as 1e-13 and 2e-16.
    exact = float(exact_delta(27, 28.461, 28.4609, kind))
    assert 5e-5 < exact < Shuffled(27, 28.461, kind).delta(28.4609) < 1.0001 * exact


@pytest.mark.parametrize("kind", ["binary", "any"])
@pytest.mark.parametrize(("local", "epsilon"), [(0.7, 0.3), (3.0, 1.0), (10.0, 9.0), (25.0, 20.0)])
def test_a_bound_gives_hardly_anything_away(kind: ShuffledAs, local: float, epsilon: float) -> None:
    for people in (2, 8, 27):
        exact = float(exact_delta(people, local, epsilon, kind))
        assert exact <= Shuffled(people, local, kind).delta(epsilon) <= exact * (1 + 1e-6) + 1e-11


def _flip_by_subtraction(local: float) -> float:
    return 1 - 1 / (1 + math.exp(-local))


def _levels_by_subtraction(local: float, likely: float) -> tuple[float, float]:
    keep = 1 / (1 + math.exp(-local))
    return keep, 1 - keep


def _excess_enlarged_afterwards(above: Floats, below: Floats, growth: float, error: float) -> float:
    return float(np.maximum(above - growth * below, 0.0).sum()) * (1 + error)


@pytest.mark.parametrize(
    ("name", "broken", "kind"),
    [
        ("_flip", _flip_by_subtraction, "binary"),
        ("_levels", _levels_by_subtraction, "any"),
        # Of clones the masses are so few and so nearly exact here that the tails cover their errors.
        ("_excess", _excess_enlarged_afterwards, "binary"),
    ],
)
def test_a_broken_twin_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., object], kind: ShuffledAs
) -> None:
    _forget()
    monkeypatch.setattr(shuffling, name, broken)
    try:
        assert _violations(kind, (3, 27))
    finally:
        _forget()


def _forget() -> None:
    shuffling._binary_laws.cache_clear()
    shuffling._clone_laws.cache_clear()


@pytest.mark.parametrize("number", [0, 1, 255, 256, 257, 1000, 65_537, 10**6, 1 << 26])
def test_a_log_factorial_is_good_to_a_few_units_in_the_last_place(number: int) -> None:
    (ours,) = shuffling._log_factorial(np.array([number], np.int64))
    exact = _exact_log_factorial(number)
    assert abs(Decimal(float(ours)) - exact) <= exact * Decimal(2) ** -51


def _exact_log_factorial(number: int) -> Decimal:
    """By the product, or by Stirling's series between two of its partial sums that differ in the 40th digit."""
    with localcontext(prec=DIGITS):
        if number <= 1000:
            return Decimal(math.factorial(number)).ln()
        x = Decimal(number)
        terms = [1 / (12 * x), -1 / (360 * x**3), 1 / (1260 * x**5), -1 / (1680 * x**7)]
        two_pi = Decimal("6.28318530717958647692528676655900576839433879875021")
        return (x + Decimal("0.5")) * x.ln() - x + two_pi.ln() / 2 + sum(terms, Decimal(0))
