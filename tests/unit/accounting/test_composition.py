"""Basic, advanced and parallel composition, with the numbers of Example 3.7."""

import math
from fractions import Fraction

import pytest

from localdp.accounting.composition import (
    advanced,
    advanced_tight,
    basic,
    book_mean,
    epsilon_each_by_corollary,
    parallel,
    tight_mean,
)
from localdp.accounting.epsilon import Epsilon
from localdp.accounting.events import PrivacyEvent, exact_delta
from localdp.errors import InvalidParameter
from tests.unit.accounting.product_law import delta_of, nats

E_TO_MINUS_32 = exact_delta(math.exp(-32))
EXAMPLE_3_7 = [PrivacyEvent(Epsilon(10**9 // 801), 10_000)]


def close(bound: Epsilon | None, value: float, places: int) -> bool:
    return bound is not None and round(float(bound), places) == value


def test_epsilons_add_up() -> None:
    assert basic([PrivacyEvent(nats("0.1"), 50), PrivacyEvent(nats("0.5"), 5)]) == nats("7.5")
    assert basic([]) == Epsilon(0)


def test_example_3_7_is_over_one_as_printed() -> None:
    # The book says that 1/801 suffices for a total of 1: sqrt(2 k ln(1/delta')) is 800, and it rounds the rest away.
    assert close(advanced(EXAMPLE_3_7, E_TO_MINUS_32), 1.01435, 5)
    assert close(advanced_tight(EXAMPLE_3_7, E_TO_MINUS_32), 1.00654, 5)
    assert math.sqrt(2 * 10_000 * 32) == 800


@pytest.mark.parametrize("epsilon", ["0.000000001", "0.1", "1", "5", "30"])
def test_the_mean_losses_are_rounded_up_and_only_a_little(epsilon: str) -> None:
    x = float(epsilon)
    assert float(book_mean(nats(epsilon))) == pytest.approx(x * math.expm1(x), rel=1e-14)
    assert float(tight_mean(nats(epsilon))) == pytest.approx(x * math.tanh(x / 2), rel=1e-14)
    assert tight_mean(nats(epsilon)) <= book_mean(nats(epsilon)) / 2


def test_the_bounds_round_up_by_less_than_a_nanonat() -> None:
    root = 0.1 * math.sqrt(2 * 100 * math.log(1e6))
    bound = advanced_tight([PrivacyEvent(nats("0.1"), 100)], Fraction(1, 10**6))
    assert bound is not None
    assert 0 <= float(bound) - (root + 10 * math.tanh(0.05)) < 1.001e-9


def test_without_delta_there_is_no_advanced_composition() -> None:
    assert advanced(EXAMPLE_3_7, Fraction(0)) is None
    assert advanced_tight(EXAMPLE_3_7, Fraction(0)) is None
    assert advanced([PrivacyEvent(nats(5000))], Fraction(1, 2)) is None
    assert advanced_tight([PrivacyEvent(nats(5000))], Fraction(1, 2)) is not None


def test_corollary_3_21_gives_a_sixteen_hundredth() -> None:
    assert epsilon_each_by_corollary(nats("0.999999999"), 10_000, E_TO_MINUS_32) == Epsilon(624_999)


@pytest.mark.parametrize("delta", [Fraction(7, 8), Fraction(1, 2), Fraction(1, 10**6)])
@pytest.mark.parametrize("count", [1, 10, 10_000])
@pytest.mark.parametrize("total", ["0.999999999", "0.01"])
def test_corollary_3_21_holds_by_theorem_3_20_with_the_true_mean(
    total: str, count: int, delta: Fraction
) -> None:
    each = epsilon_each_by_corollary(nats(total), count, delta)
    bound = advanced_tight([PrivacyEvent(each, count)], delta)
    assert bound is not None
    assert bound <= nats(total)


@pytest.mark.parametrize(
    ("total", "count", "delta"), [("1", 1, 0.1), ("0.5", 0, 0.1), ("0.5", 1, 0.9), ("0.5", 1, 0)]
)
def test_corollary_3_21_is_refused_outside_of_its_range(total: str, count: int, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        epsilon_each_by_corollary(nats(total), count, exact_delta(delta))


def test_corollary_3_21_is_false_for_a_delta_near_one() -> None:
    total, delta = nats("0.999"), exact_delta(0.999)
    each = nats(0.999 / (2 * math.sqrt(2 * math.log(1 / 0.999))))
    assert float(each) > 11
    assert delta_of([each], total.exact) > exact_delta(0.9999) > delta


def test_fresh_people_cost_the_maximum() -> None:
    assert parallel([nats(1), nats(3), nats(2)]) == nats(3)
    assert parallel([]) == Epsilon(0)
