"""Plans of floods: their delta is used up and not exceeded, their errors are near the curator's, their noise fits."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import Flooded, FloodPlan, planned
from localdp.accounting.flood_room import room
from localdp.accounting.flooding import Flood, Moved
from localdp.errors import InvalidParameter, LocalDpError
from localdp.sharing.summed_noise import SummedNoise

ONE, DELTA = Epsilon.requested(1), Fraction(1, 10**6)
HISTOGRAM = Flooded(16, Moved(1, 1, 1), 1)
SUMS = Flooded(1, Moved(15), 15)


def _error(plan: FloodPlan) -> float:
    return SummedNoise(plan.flood.rate, Fraction(1)).mean_absolute()


def _curator(units: int, epsilon: Epsilon = ONE) -> float:
    return SummedNoise(epsilon.exact / units, Fraction(1)).mean_absolute()


def test_a_count_of_a_million_is_off_by_0_91_for_1_012_messages_a_person() -> None:
    plan = planned(ONE, DELTA, Flooded(), 10**6)
    assert _error(plan) < 0.911
    assert 4 * plan.size(250_000) / 10**6 < 1.0115


def test_a_histogram_of_16_bins_is_within_a_tenth_of_the_curator_for_1_16_messages() -> None:
    plan = planned(ONE, DELTA, HISTOGRAM, 10**6)
    assert _error(plan) < 1.06 * _curator(2)
    assert 4 * plan.size(250_000) / 10**6 < 1.16


@pytest.mark.nightly
def test_sums_to_15_are_within_a_tenth_of_the_curator() -> None:
    plan = planned(ONE, DELTA, SUMS, 10**6)
    assert _error(plan) < 1.09 * _curator(15)
    assert 4 * plan.size(250_000) / 10**6 < 15 + 0.85


@pytest.mark.parametrize(
    ("epsilon", "delta", "flooded", "people", "honest"),
    [
        *((one, DELTA, Flooded(), 10**5, None) for one in ("0.2", "1", "3")),
        ("1", Fraction(1, 10**9), Flooded(), 10**5, 90_000),
        ("1", DELTA, HISTOGRAM, 10**5, None),
        ("1", DELTA, Flooded(1, Moved(3), 3), 10**5, 50_000),
        ("2", DELTA, Flooded(8, Moved(1, 4), 8), 10**6, None),
    ],
)
def test_delta_is_used_up_and_not_exceeded(
    epsilon: str, delta: Fraction, flooded: Flooded, people: int, honest: int | None
) -> None:
    plan = planned(Epsilon.requested(epsilon), delta, flooded, people, honest)
    assert Fraction(9, 10) * delta <= plan.achieved <= delta
    assert plan.honest == (honest or people)


def test_the_same_noise_for_fewer_honest_people_means_more_from_each() -> None:
    whole, some = planned(ONE, DELTA, Flooded(), 10**6), planned(ONE, DELTA, Flooded(), 10**6, 900_000)
    assert whole.flood == some.flood
    assert some.share(250_000) == whole.share(250_000) * Fraction(10, 9)
    assert some.size(250_000) > whole.size(250_000)


def test_few_people_send_more_messages_and_a_count_of_them_is_no_worse() -> None:
    plans = [planned(ONE, DELTA, Flooded(), people) for people in (100, 1000, 10_000)]
    assert len({plan.flood for plan in plans}) == 1
    assert all(9_000 < plan.size(plan.people) - plan.people < 11_000 for plan in plans)


def test_more_sums_of_few_people_get_a_smaller_part_of_epsilon() -> None:
    errors = [_error(planned(ONE, DELTA, HISTOGRAM, people)) for people in (1000, 10_000, 10**6)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < 1.4 * _curator(2)


@pytest.mark.parametrize(("rate", "pairs"), [("0.95", 40), ("0.3", 300)])
def test_noise_fits_its_room_but_for_the_failure(rate: str, pairs: int) -> None:
    """The exact tail of Z+ + Z- + 2 F: never above what was asked for, and the room is not wasteful."""
    flood = Flood(Fraction(rate), pairs)
    for share, failure in product((Fraction(1), Fraction(1, 4), Fraction(1, 1000)), (1e-3, 1e-6, 1e-9)):
        found = room(flood, 1, share, Fraction(failure))
        counts = np.arange(6000)
        geometric = nbinom.pmf(counts, 2 * float(share), -np.expm1(-float(rate)))
        doubled = np.zeros(6000)
        doubled[::2] = poisson.pmf(counts[:3000], pairs * float(share))
        tails = 1 - np.cumsum(np.convolve(geometric, doubled)[:6000])
        assert tails[found] <= failure
        if share * pairs > 5:  # of a few messages the bound is a poor one
            assert found < 1.3 * np.argmax(tails <= failure) + 3 / float(rate)


def test_the_size_of_a_batch_is_a_function_of_the_number_of_people() -> None:
    plan = planned(ONE, DELTA, Flooded(), 10**5)
    sizes = [plan.size(people) for people in (0, 1, 2, 1000, 25_000, 100_000)]
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert all(plan.size(people) == people + plan.room(people) for people in (1, 1000, 100_000))


def test_a_plan_that_hides_less_than_it_says_is_refused() -> None:
    good = planned(ONE, DELTA, Flooded(), 10**5)
    few = Flood(good.flood.rate, good.flood.pairs * 9 // 10)
    with pytest.raises(InvalidParameter, match="hides less"):
        FloodPlan(ONE, DELTA, Flooded(), few, 10**5, 10**5)


def test_what_cannot_be_planned_is_refused() -> None:
    for epsilon, delta, flooded, people, honest in (
        (ONE, Fraction(0), Flooded(), 100, None),
        (ONE, DELTA, Flooded(), 1, None),
        (ONE, DELTA, Flooded(), 100, 101),
        (ONE, DELTA, Flooded(), 100, 1),
        (Epsilon.requested("0.00001"), DELTA, Flooded(), 10**6, None),
    ):
        with pytest.raises(LocalDpError):
            planned(epsilon, delta, flooded, people, honest)
    for entries, messages in ((0, 1), (1, 0), (1 << 17, 1)):
        with pytest.raises(InvalidParameter):
            Flooded(entries, Moved(), messages)
