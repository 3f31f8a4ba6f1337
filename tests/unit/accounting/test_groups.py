"""Group privacy."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.groups import group_privacy, group_privacy_of_the_book
from localdp.errors import InvalidParameter
from tests.unit.accounting.product_law import delta_of, exponential, nats

MILLIONTH = Fraction(1, 10**6)


def test_a_pure_guarantee_degrades_linearly() -> None:
    assert group_privacy(nats("0.1"), 5).epsilon == nats("0.5")
    assert group_privacy(nats("0.1"), 5).delta == 0


def test_five_people_at_a_tenth_and_a_millionth() -> None:
    exact, book = (f(nats("0.1"), 5, MILLIONTH) for f in (group_privacy, group_privacy_of_the_book))
    assert exact.epsilon == book.epsilon == nats("0.5")
    assert float(exact.delta) == pytest.approx(6.168e-6, abs=5e-10)
    assert float(book.delta) == pytest.approx(7.459e-6, abs=5e-10)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 3 * 10**9),
    st.integers(0, 40),
    st.fractions(0, Fraction(999, 1000), max_denominator=10**9),
)
def test_the_geometric_delta_lies_between_the_true_sum_and_the_book(
    nanonats: int, size: int, delta: Fraction
) -> None:
    epsilon = Epsilon(nanonats)
    exact, book = (f(epsilon, size, delta).delta for f in (group_privacy, group_privacy_of_the_book))
    true = delta * sum((exponential(epsilon.exact * i) for i in range(size)), Fraction(0))
    assert min(Fraction(1), true) <= exact <= book <= 1
    assert exact <= true * (1 + Fraction(1, 10**25))


def test_a_group_of_one_or_none_changes_nothing() -> None:
    assert (
        group_privacy(nats(1), 1, MILLIONTH).delta
        == group_privacy_of_the_book(nats(1), 1, MILLIONTH).delta
        == MILLIONTH
    )
    assert group_privacy(nats(1), 0, MILLIONTH).delta == 0


def test_the_delta_of_a_huge_group_is_one() -> None:
    assert group_privacy(nats(1), 10**6, Fraction(1, 10**900)).delta == 1
    assert group_privacy_of_the_book(nats(1), 10**6, Fraction(1, 10**900)).delta == 1


def test_the_gain_of_composition_does_not_apply_to_groups() -> None:
    # A group of 8 behind one randomized response at 8 epsilon: the delta of 8 separate ones would be far smaller.
    apart, together = [nats("0.1")] * 8, [nats("0.8")]
    assert delta_of(together, Fraction(1, 2)) > 5 * delta_of(apart, Fraction(1, 2))


@pytest.mark.parametrize(
    ("size", "delta"), [(-1, Fraction(0)), (1.5, Fraction(0)), (2, Fraction(1)), (2, Fraction(-1))]
)
def test_what_is_no_group_is_refused(size: int, delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        group_privacy(nats(1), size, delta)
