"""Plans: what a round would yield, in numbers and in words."""

from statistics import NormalDist

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.plans import Plan, PlannedQuery


def plan(*rows: PlannedQuery) -> Plan:
    return Plan("local", rows, 1000, Epsilon.requested(1))


def test_a_tolerance_divides_the_failure_over_queries_and_entries() -> None:
    rows = PlannedQuery("a", 1, "", 10, 0.1), PlannedQuery("b", 5, "", 10, 0.2)
    expected = 0.2 * NormalDist().inv_cdf(1 - 0.05 / 2 / 2 / 5)
    assert plan(*rows).tolerance(0.05) == pytest.approx(expected)


def test_the_error_of_a_vector_adds_up_the_squares() -> None:
    assert plan(PlannedQuery("a", 4, "", 10, 0.5)).vector_error == 1.0


def test_a_signal_below_the_tolerance_is_refused_with_both_numbers() -> None:
    noisy = plan(PlannedQuery("a", 1, "", 10, 0.1))
    noisy.require(0.5, "a difference")
    with pytest.raises(SignalTooWeak, match=r"a difference of 0.1 would drown .* 0.196"):
        noisy.require(0.1, "a difference")


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
        plan(PlannedQuery("a", 1, "", 10, 0.1)).tolerance(failure)
