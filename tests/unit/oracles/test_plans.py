"""Plans: what a round would yield, in numbers and in words."""

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.plans import Plan, PlannedQuery, Resizing


def plan(*rows: PlannedQuery) -> Plan:
    return Plan("local", rows, 1000, Epsilon.requested(1))


def test_a_tolerance_divides_the_failure_over_queries_and_entries() -> None:
    rows = PlannedQuery("a", 1, "", 1000, 0.1), PlannedQuery("b", 5, "", 1000, 0.2)
    expected = 0.2 * NormalDist().inv_cdf(1 - 0.05 / 2 / 2 / 5)
    assert plan(*rows).tolerance(0.05) == pytest.approx(expected)


def test_the_error_of_a_vector_adds_up_the_squares() -> None:
    assert plan(PlannedQuery("a", 4, "", 1000, 0.5)).vector_error == 1.0


def test_a_signal_below_the_tolerance_is_refused_with_both_numbers() -> None:
    noisy = plan(PlannedQuery("a", 1, "", 1000, 0.1))
    noisy.require(0.5, "a difference")
    with pytest.raises(SignalTooWeak, match=r"a difference of 0.1 would drown .* 0.196"):
        noisy.require(0.1, "a difference")


def halved(people: int, times: float) -> Plan:
    """Errors that fall with the root of the people, and with epsilon."""
    return plan(PlannedQuery("a", 1, "", 1000, 0.1 / math.sqrt(people / 1000) / times))


def test_a_refusal_names_the_sizes_that_are_enough_with_a_margin() -> None:
    resizing = Resizing(Epsilon.requested(2), halved)
    noisy = replace(plan(PlannedQuery("a", 1, "", 1000, 0.1)), resizing=resizing)
    with pytest.raises(SignalTooWeak, match=r"epsilon 2\): needs 7,100 people or epsilon 5.3$"):
        noisy.require(
            0.1, "a difference"
        )  # off by 0.196: 2.646 times too much with the margin, 7.0 in people


def test_sizes_that_no_number_reaches_are_not_named() -> None:
    stubborn = replace(
        plan(PlannedQuery("a", 1, "", 1000, 0.1)),
        resizing=Resizing(
            Epsilon.requested(1), lambda people, times: plan(PlannedQuery("a", 1, "", 1000, 0.1))
        ),
    )
    with pytest.raises(SignalTooWeak, match=r"epsilon 1\)$"):
        stubborn.require(0.1, "a difference")


def test_a_plan_that_is_kept_keeps_no_oracle() -> None:
    kept = replace(halved(10, 1.0), resizing=Resizing(Epsilon.requested(1), halved)).kept()
    assert kept.resizing is None and kept == halved(10, 1.0)


def test_a_plan_reads_as_a_table() -> None:
    text = str(
        plan(PlannedQuery("smoker", 1, "one-bit", 500, 0.03), PlannedQuery("x" * 99, 3, "noise", 500, 0.1))
    )
    assert "1000 people, epsilon 1 each, 2 queries" in text
    assert "smoker  ->  1 entries by one-bit, 500 reports, standard error 0.03" in text
    assert max(map(len, text.splitlines())) < 140


@pytest.mark.parametrize("failure", [0, 1, -3])
def test_a_failure_is_a_probability(failure: float) -> None:
    with pytest.raises(InvalidParameter):
        plan(PlannedQuery("a", 1, "", 1000, 0.1)).tolerance(failure)
