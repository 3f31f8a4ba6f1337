"""Optimal composition of unequal mechanisms, enclosed."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting import convolution
from localdp.accounting.composition import basic
from localdp.accounting.convolution import heterogeneous, heterogeneous_above
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent
from localdp.accounting.optimal import Bracket, homogeneous
from localdp.accounting.renyi import renyi
from tests.unit.accounting.product_law import is_enclosed, nats

MILLIONTH = Fraction(1, 10**6)
MIXED = [
    PrivacyEvent(nats("0.01234567"), 1000),
    PrivacyEvent(nats("0.2345678"), 30),
    PrivacyEvent(nats("1.1111"), 2),
]


def solved(events: Sequence[PrivacyEvent], delta: Fraction = MILLIONTH) -> Bracket:
    bracket = heterogeneous(events, delta)
    assert bracket is not None
    assert bracket.high == heterogeneous_above(events, delta)
    return bracket


def width(bracket: Bracket) -> int:
    return bracket.high.nanonats - bracket.low.nanonats


def test_fifty_small_and_five_large_ones() -> None:
    bracket = solved([PrivacyEvent(nats("0.1"), 50), PrivacyEvent(nats("0.5"), 5)])
    assert round(float(bracket.high), 3) == 5.328
    assert width(bracket) <= 2  # one grid holds every loss, so that nothing is rounded
    # dp-accounting 0.6.0, randomized response composed in a loop, step 1e-5, optimistic and pessimistic.
    assert float(bracket.low) > 5.327849 and float(bracket.high) < 5.328399


def test_losses_on_no_common_grid_are_split_and_the_excess_is_small() -> None:
    bracket = solved(MIXED)
    # dp-accounting 0.6.0 as above, step 1e-6: 8.459754 optimistic, 8.460786 pessimistic.
    assert 8.459754 < float(bracket.high) < 8.460786
    assert bracket.low < bracket.high and width(bracket) < 2 * 10**6


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(10**6, 3 * 10**9), min_size=1, max_size=6),
    st.fractions(Fraction(1, 10**9), Fraction(9, 10)),
)
def test_the_bracket_holds_the_total_of_the_full_product_law(nanonats: list[int], delta: Fraction) -> None:
    epsilons = [Epsilon(amount) for amount in nanonats]
    bracket = solved([PrivacyEvent(epsilon) for epsilon in epsilons], delta)
    assert is_enclosed(epsilons, delta, bracket.low, bracket.high)


@pytest.mark.parametrize(
    ("epsilon", "count"), [("0.01", 100), ("0.1", 100), ("1", 1000), ("30", 10), ("0.01", 10**4)]
)
@pytest.mark.parametrize("delta", [MILLIONTH, Fraction(1, 10**30), Fraction(1, 3)])
def test_equal_mechanisms_give_the_homogeneous_optimum(epsilon: str, count: int, delta: Fraction) -> None:
    exact = homogeneous(nats(epsilon), count, delta)
    bracket = solved([PrivacyEvent(nats(epsilon), count)], delta)
    assert exact is not None
    assert bracket.low <= exact.high and exact.low <= bracket.high
    assert width(bracket) <= 3


@pytest.mark.parametrize("step", [1, 7])
def test_nearly_equal_mechanisms_are_next_to_the_homogeneous_optimum(step: int) -> None:
    # No useful grid holds epsilons that are a nanonat apart; all are at most the largest and at least the smallest.
    bracket = solved([PrivacyEvent(Epsilon(10**8 + step * i), 10) for i in range(10)])
    low, high = (
        homogeneous(Epsilon(10**8), 100, MILLIONTH),
        homogeneous(Epsilon(10**8 + 9 * step), 100, MILLIONTH),
    )
    assert low is not None and high is not None
    assert bracket.low <= high.high and low.low <= bracket.high
    assert float(bracket.high) - float(high.high) < 1e-4


def test_on_a_coarse_grid_the_ends_are_visibly_apart_and_still_on_their_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolution, "_CELLS_AT_LEAST", 24)
    monkeypatch.setattr(convolution, "_CELLS_AT_MOST", 24)
    draw, widths = random.Random(1), []  # noqa: S311
    for denominator in (5, 10, 20, 100) * 3:
        epsilons = [Epsilon(draw.randrange(10**8, 10**9)) for _ in range(6)]
        bracket = solved([PrivacyEvent(epsilon) for epsilon in epsilons], Fraction(1, denominator))
        assert is_enclosed(epsilons, Fraction(1, denominator), bracket.low, bracket.high)
        widths.append(width(bracket))
    # Where only the largest loss matters nothing is rounded; elsewhere six groups on steps of 0.2 are far apart.
    assert sum(amount > 10**8 for amount in widths) >= 6


def test_the_order_of_events_and_how_they_are_grouped_do_not_matter() -> None:
    parts = [PrivacyEvent(event.epsilon, event.count // 2) for event in MIXED] * 2
    random.Random(1).shuffle(parts)  # noqa: S311
    assert solved(parts) == solved(MIXED) == solved(MIXED[::-1])


def test_it_beats_every_simpler_bound_on_many_different_mechanisms() -> None:
    events = [PrivacyEvent(Epsilon(5 * 10**7 + 1_234_567 * i)) for i in range(100)]
    high, other = solved(events).high, renyi(events, MILLIONTH)
    assert other is not None
    assert high < other < basic(events)


@pytest.mark.parametrize("delta", [Fraction(1, 10**199), Fraction(1, 2), Fraction(99, 100)])
def test_tiny_and_large_deltas(delta: Fraction) -> None:
    bracket = solved(MIXED, delta)
    assert bracket.low <= bracket.high <= basic(MIXED)


def test_where_it_says_nothing() -> None:
    assert heterogeneous(MIXED, Fraction(0)) is None
    assert heterogeneous(MIXED, Fraction(1, 10**201)) is None
    assert heterogeneous([], MILLIONTH) is None
    assert heterogeneous([PrivacyEvent(nats(100)), PrivacyEvent(nats(1))], MILLIONTH) is None
    assert heterogeneous([PrivacyEvent(nats(60), 10**12), PrivacyEvent(nats(1))], MILLIONTH) is None
    assert heterogeneous([PrivacyEvent(nats("0.1"), 10**15), PrivacyEvent(nats(1))], MILLIONTH) is None
