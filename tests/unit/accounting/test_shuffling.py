"""Amplification by shuffling: the published numbers, exact sums at small sizes, and bounds on the safe side."""

import math
from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import Shuffled, ShuffledAs, closed_form, largest_local
from localdp.errors import InvalidParameter

ONE = Epsilon.requested(1)


@pytest.mark.parametrize(
    ("people", "local", "formula", "clones", "binary"),
    [
        (10**4, 1, 0.2140, 0.0432, 0.0357),
        (10**5, 1, 0.0726, 0.0124, 0.0101),
        (10**6, 1, 0.0235, 0.0035, 0.0029),
        (10**5, 2, 0.1862, 0.0332, 0.0247),
        (10**5, 4, 0.5346, 0.1182, 0.0847),
    ],
)
def test_the_published_table(
    people: int, local: float, formula: float, clones: float, binary: float
) -> None:
    told = closed_form(people, local, 1e-6)
    assert told == pytest.approx(formula, rel=0.01)
    # The table has three or four digits, so one unit in the last of them is up to 3 %.
    assert float(Shuffled(people, local).epsilon(1e-6)) == pytest.approx(clones, abs=6e-5)
    assert float(Shuffled(people, local, "binary").epsilon(1e-6)) == pytest.approx(binary, abs=6e-5)


@pytest.mark.parametrize(("people", "binary"), [(10**4, 5.69), (10**5, 7.99), (10**6, 10.29)])
def test_the_largest_local_epsilon_for_a_count_gives_the_same_error_for_every_number_of_people(
    people: int, binary: float
) -> None:
    local = float(largest_local(people, ONE, 1e-6, "binary"))
    assert local == pytest.approx(binary, abs=0.01)
    assert math.sqrt(2 * people / math.pi * math.exp(local)) / math.expm1(local) == pytest.approx(
        4.66, abs=0.01
    )
    for_any = float(largest_local(people, ONE, 1e-6))
    assert math.sqrt(2 * people / math.pi * math.exp(for_any)) / math.expm1(for_any) == pytest.approx(
        5.2, abs=0.05
    )


def exact_binary_delta(people: int, keep: Fraction, growth: Fraction) -> Fraction:
    """By rational arithmetic, over every count, and every number of ones among the others."""
    return max(_delta_with(ones, people - 1 - ones, keep, growth) for ones in range(people))


def _delta_with(ones: int, zeros: int, keep: Fraction, growth: Fraction) -> Fraction:
    lie, law = 1 - keep, [Fraction(1)]
    for likely in [keep] * ones + [lie] * zeros:
        law = [
            (law[k] if k < len(law) else 0) * (1 - likely) + (law[k - 1] * likely if k else 0)
            for k in range(len(law) + 1)
        ]
    padded = [Fraction(0), *law, Fraction(0)]
    pairs = [
        (keep * padded[k] + lie * padded[k + 1], lie * padded[k] + keep * padded[k + 1])
        for k in range(len(law) + 1)
    ]
    forth = sum((max(a - growth * b, Fraction(0)) for a, b in pairs), Fraction(0))
    back = sum((max(b - growth * a, Fraction(0)) for a, b in pairs), Fraction(0))
    return max(forth, back)


def test_the_worst_neighbours_are_not_those_with_everybody_else_alike() -> None:
    keep, growth = Fraction(2, 3), Fraction(11, 10)
    assert _delta_with(0, 2, keep, growth) == Fraction(2, 15)
    assert _delta_with(1, 1, keep, growth) == Fraction(13, 90)
    ours = Shuffled(3, math.log(2), "binary").delta(math.log(1.1))
    assert 13 / 90 <= ours <= 13 / 90 + 1e-6


@pytest.mark.parametrize("people", [2, 5, 40, 70])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
def test_the_binary_delta_is_the_exact_sum_rounded_up(people: int, epsilon: float) -> None:
    keep = Fraction(731, 1000)
    exact = float(exact_binary_delta(people, keep, Fraction(round(1000 * math.exp(epsilon)), 1000)))
    ours = Shuffled(people, math.log(731 / 269), "binary").delta(
        math.log(round(1000 * math.exp(epsilon)) / 1000)
    )
    # From 33 ones on the grid has steps of two, so that one report is shown: 2 % of them.
    slack = 1e-5 if people <= 40 else 0.05
    assert exact <= ours <= exact * (1 + slack) + 2e-13


def exact_clones_delta(people: int, local: float, epsilon: float) -> float:
    """Over every number of clones and every count."""
    share, keep, growth, total = (
        2 / (math.exp(local) + 1),
        1 / (1 + math.exp(-local)),
        math.exp(epsilon),
        0.0,
    )
    for clones in range(people):
        mass = math.comb(people - 1, clones) * share**clones * (1 - share) ** (people - 1 - clones)
        law = [0.0, *(math.comb(clones, k) / 2**clones for k in range(clones + 1)), 0.0]
        for k in range(clones + 2):
            one, zero = keep * law[k] + (1 - keep) * law[k + 1], (1 - keep) * law[k] + keep * law[k + 1]
            total += mass * max(one - growth * zero, 0.0)
    return total


@pytest.mark.parametrize("people", [2, 10, 60])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.8])
def test_the_clones_delta_is_the_sum_over_all_clones(people: int, epsilon: float) -> None:
    exact, ours = exact_clones_delta(people, 1.0, epsilon), Shuffled(people, 1.0).delta(epsilon)
    assert exact * (1 - 1e-9) <= ours <= exact * (1 + 1e-4) + 1e-14


@pytest.mark.parametrize("kind", ["binary", "any"])
def test_a_bound_is_kept_and_hardly_anything_is_given_away(kind: ShuffledAs) -> None:
    shuffled = Shuffled(1000, 1.5, kind)
    epsilon = shuffled.epsilon(1e-6)
    assert shuffled.delta(float(epsilon)) <= 1e-6
    assert shuffled.delta(float(epsilon) * 0.999) > 1e-6


def test_shuffling_never_makes_it_worse_and_more_people_hide_better() -> None:
    assert Shuffled(2, 0.5).delta(0.5) == 0
    found = [float(Shuffled(people, 1.0).epsilon(1e-6)) for people in (50, 500, 5000)]
    assert found == sorted(found, reverse=True)
    assert all(epsilon <= 1.0 for epsilon in found)


def test_the_closed_form_says_where_it_does_not_hold() -> None:
    assert closed_form(1000, 8.0, 1e-6) is None


@pytest.mark.parametrize(("people", "local"), [(1, 1.0), (10, 0.0), (10, 31.0), (1 << 27, 1.0)])
def test_nonsense_is_refused(people: int, local: float) -> None:
    with pytest.raises(InvalidParameter):
        Shuffled(people, local)
    with pytest.raises(InvalidParameter):
        Shuffled(10, 1.0).epsilon(0.0)


def bisected(people: int, epsilon: Epsilon, delta: float) -> Epsilon:
    """By the definition: every step of the bisection looks at the whole grid."""
    low, high = (
        epsilon.nanonats // 1000,
        min(30_000_000, int((float(epsilon) + math.log(people) + 3) * 1e6)),
    )
    while low < high:
        middle = (low + high + 1) // 2
        fits = Shuffled(people, middle / 1e6, "binary").delta(float(epsilon)) <= delta
        low, high = (middle, high) if fits else (low, middle - 1)
    return Epsilon(low * 1000)


@pytest.mark.parametrize("people", [2, 3, 17, 300, 2000])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "4"])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_looking_at_the_worst_points_alone_finds_what_a_bisection_finds(
    people: int, epsilon: str, delta: float
) -> None:
    asked = Epsilon.requested(epsilon)
    assert largest_local(people, asked, delta, "binary") == bisected(people, asked, delta)
