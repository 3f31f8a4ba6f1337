"""Amplification of two-level reports is an upper bound: against every histogram of few people; and what it is worth."""

import math
from collections import defaultdict
from functools import lru_cache
from itertools import combinations_with_replacement, product

import pytest

from localdp.accounting import shuffling
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import Shuffled, largest_likely, largest_local
from localdp.errors import InvalidParameter
from localdp.randomness.source import Floats

ONE = Epsilon.requested(1)
Histogram = tuple[int, ...]
Values = tuple[int, ...]
ROUNDING = 1e-12

LOCALS, PARTS = (0.5, 1.0, 2.0, 4.0), (0.05, 0.2, 0.5, 0.8)
# How many people, how many values there are, and how many of these are likely: one is k-ary randomized response.
SIZES = [
    (2, 3, 1),
    (4, 3, 1),
    (6, 3, 1),
    (3, 4, 1),
    (5, 4, 1),
    (4, 6, 1),
    (2, 9, 1),
    (3, 6, 2),
    (3, 5, 2),
    (4, 4, 2),
]


@lru_cache(maxsize=4096)
def mixed(values: Values, size: int, width: int, ratio: float) -> dict[Histogram, float]:
    """The law of the histogram of reports; a value v likes reports v, .., v + width - 1, around the circle."""
    if not values:
        return {(0,) * size: 1.0}
    least, law = 1 / (width * ratio + size - width), defaultdict[Histogram, float](float)
    for before, mass in mixed(values[1:], size, width, ratio).items():
        for report in range(size):
            likely = (report - values[0]) % size < width
            after = (*before[:report], before[report] + 1, *before[report + 1 :])
            law[after] += mass * least * (ratio if likely else 1.0)
    return law


def exact(people: int, size: int, width: int, local: float, epsilon: float) -> float:
    """The largest hockey-stick divergence over every database and every other value of its first person."""
    growth, worst = math.exp(epsilon), 0.0
    for others in combinations_with_replacement(range(size), people - 1):
        above = mixed((0, *others), size, width, math.exp(local))
        for value in range(1, size):
            below = mixed((value, *others), size, width, math.exp(local))
            worst = max(worst, sum(max(0.0, above[place] - growth * below[place]) for place in above))
    return worst


def compared(people: int, size: int, width: int) -> list[tuple[float, float]]:
    """The exact delta and the bound, in every setting."""
    return [
        (
            exact(people, size, width, local, part * local),
            Shuffled(people, local, "any", width / size).delta(part * local),
        )
        for local, part in product(LOCALS, PARTS)
    ]


@pytest.mark.parametrize(("people", "size", "width"), SIZES)
def test_it_bounds_every_database_and_every_neighbour(people: int, size: int, width: int) -> None:
    assert all(found <= bound + ROUNDING for found, bound in compared(people, size, width))


def test_where_little_epsilon_is_asked_for_it_is_reached() -> None:
    """By others who all have third values: they hide nobody but by what they send uniformly, and so the bound has it."""
    for people, size in ((2, 3), (3, 4), (4, 6)):
        bound = Shuffled(people, 2.0, "any", 1 / size).delta(0.1)
        assert bound == pytest.approx(exact(people, size, 1, 2.0, 0.1), rel=1e-3)


def _all_hide(trials: int, share: float) -> list[tuple[int, float]]:
    """The twin: whoever sends neither of two reports sends a uniform one, not only in a blanket."""
    return [(trials, 1.0)]


@pytest.mark.parametrize("name", ["all others hide", "no report is anywhere else"])
def test_a_broken_twin_is_caught(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def half(masses: Floats, keep: float, flip: float) -> tuple[Floats, Floats]:
        return sums(masses, keep, 2 * flip)

    sums = shuffling._shifted_sums
    if name == "all others hide":
        monkeypatch.setattr(shuffling, "_rests", _all_hide)
    else:
        monkeypatch.setattr(shuffling, "_shifted_sums", half)
    shuffling._clone_laws.cache_clear()
    try:
        assert any(found > bound + ROUNDING for found, bound in compared(3, 4, 1))
    finally:
        shuffling._clone_laws.cache_clear()


def test_a_half_is_what_holds_of_any_report() -> None:
    assert Shuffled(1000, 3.0, "any", 0.5).delta(0.7) == Shuffled(1000, 3.0).delta(0.7)


@pytest.mark.parametrize(
    ("people", "values", "part"),
    [(1000, 16, 0.75), (1000, 64, 0.47), (10_000, 64, 0.85), (10_000, 256, 0.62)],
)
def test_of_many_values_a_part_of_epsilon_is_saved(people: int, values: int, part: float) -> None:
    """At the eps0 that mixing any reports turns into 1; Wang et al. and Su et al. speak of up to 30 %."""
    local = float(largest_local(people, ONE, 1e-6))
    assert float(Shuffled(people, local, "any", 1 / values).epsilon(1e-6)) == pytest.approx(part, abs=0.015)


@pytest.mark.parametrize(("people", "values"), [(1000, 16), (10_000, 64)])
def test_the_largest_local_epsilon_is_enough_and_hardly_more_is(people: int, values: int) -> None:
    local = float(largest_likely(people, ONE, 1e-6, lambda _: 1 / values))
    assert Shuffled(people, local, "any", 1 / values).delta(1.0) <= 1e-6
    assert Shuffled(people, local + 0.0011, "any", 1 / values).delta(1.0) > 1e-6
    assert local > float(largest_local(people, ONE, 1e-6)) + 0.1


def test_a_share_that_is_none_is_refused() -> None:
    for likely in (0.0, 0.51, -1.0):
        with pytest.raises(InvalidParameter):
            Shuffled(10, 1.0, "any", likely)
