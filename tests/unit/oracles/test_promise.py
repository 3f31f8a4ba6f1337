"""What a shuffler promises: whom it counts on, what mixing has to achieve, and what a request costs."""

from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import largest_local
from localdp.errors import InvalidParameter, TooFewReports
from localdp.oracles.promise import Promise
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from tests.support.people import ONE

BIT = OneBitRandomizer(ONE, 1)
PROMISE = Promise(ONE, Fraction(1, 10**6))


def test_a_promise_admits_what_mixing_achieves_and_no_more() -> None:
    # n = 2,000: 4.11 for bits by the exact law, and less for any randomizer.
    PROMISE.require(2000, binary_randomized_response("4.1"))
    with pytest.raises(TooFewReports):
        PROMISE.require(2000, binary_randomized_response("4.2"))
    with pytest.raises(TooFewReports):
        PROMISE.require(1000, binary_randomized_response("4.1"))
    with pytest.raises(TooFewReports):
        PROMISE.require(2000, KaryRandomizedResponse(Epsilon.requested("4.1"), 4))
    PROMISE.require(2000, KaryRandomizedResponse(Epsilon.requested("3.5"), 4))


@pytest.mark.parametrize("people", [100, 101, 1 << 30])
def test_a_report_that_is_private_by_itself_may_be_mixed_with_however_few_there_must_be(
    people: int,
) -> None:
    PROMISE.require(people, BIT)


@pytest.mark.parametrize(("minimum", "people"), [(100, 0), (100, 1), (100, 99), (2, 1), (2000, 1999)])
def test_no_request_is_about_fewer_than_the_minimum_however_private_it_is(
    minimum: int, people: int
) -> None:
    with pytest.raises(TooFewReports, match=f"at least {minimum} people"):
        Promise(ONE, minimum_cohort=minimum).require(people, BIT)


@pytest.mark.parametrize(
    ("colluding", "hiding"), [(0, 10_000), (1, 4000), (2, 1000), (3, 0), (4, 0), (1000, 0)]
)
def test_the_largest_parties_are_not_counted_on(colluding: int, hiding: int) -> None:
    promise = Promise(ONE, colluding=colluding)
    sizes = [("a", 3000), ("b", 6000), ("c", 1000)]
    assert promise.hiding(sizes) == promise.hiding(reversed(sizes)) == hiding


def test_the_parties_of_one_operator_collude_together() -> None:
    sizes = [("solo", 1), *((f"clinic/{number}", 190) for number in range(10))]
    assert Promise(ONE, colluding=1).hiding(sizes) == 1


def test_a_refusal_says_that_colluding_parties_were_not_counted() -> None:
    with pytest.raises(TooFewReports, match="not counting the 2 largest parties"):
        Promise(ONE, colluding=2).require(99, BIT)
    with pytest.raises(TooFewReports, match="not counting the 1 largest parties"):
        Promise(ONE, colluding=1).require(200, binary_randomized_response("4.1"))


def test_a_request_costs_the_promise_or_a_single_report_if_that_reveals_less() -> None:
    half = binary_randomized_response("0.5")
    assert PROMISE.cost(half) == (half.epsilon, Fraction(0))
    local = largest_local(2000, ONE, 1e-6, "binary")
    assert PROMISE.cost(OneBitRandomizer(local)) == (ONE, Fraction(1, 10**6))


def test_all_requests_together_cost_so_many_times_the_promise() -> None:
    promise = Promise(ONE, Fraction(1, 10**7), requests=7)
    assert (promise.epsilon_total, promise.delta_total) == (ONE * 7, Fraction(7, 10**7))
    # What is counted is in units of 1e-12, rounded up: so is the total.
    assert Promise(ONE, Fraction(1, 3 * 10**11), requests=2).delta_total == Fraction(8, 10**12)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(1, 10**13)])
def test_a_promise_has_a_delta_that_can_be_computed(delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        Promise(ONE, delta)


@pytest.mark.parametrize(
    "named",
    [
        {"colluding": -1},
        {"colluding": 1 << 17},
        {"requests": 0},
        {"requests": 10**10},
        {"minimum_cohort": 1},
        {"minimum_cohort": 1 << 27},
    ],
    ids=str,
)
def test_nonsense_is_not_promised(named: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        Promise(ONE, **named)  # type: ignore[arg-type]
