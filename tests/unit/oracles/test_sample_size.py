"""Sample sizes of the local model, both ways (section 12.1; Kasiviswanathan et al. 2008)."""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.sample_size import Bound, people_needed, tolerance_reached
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.hazmat import SeededSource

SIGNS = 2.0  # the width of values in [-1, 1]


@pytest.mark.parametrize(
    ("epsilon", "hoeffding", "normal", "laplace"),
    [
        (0.1, 1_182_410, 615_681, 1_230_849),
        (0.5, 49_198, 25_618, 50_710),
        (1.0, 13_820, 7_196, 13_830),
        (2.0, 5_088, 2_650, 4_610),
    ],
)
def test_the_table_for_signs_at_a_tolerance_of_5_percent(
    epsilon: float, hoeffding: int, normal: int, laplace: int
) -> None:
    bounds: list[tuple[Bound, int]] = [("hoeffding", hoeffding), ("normal", normal), ("laplace", laplace)]
    for bound, expected in bounds:
        # The source took 1.96 for the normal quantile.
        assert people_needed(0.05, epsilon, 0.05, bound=bound, width=SIGNS) == pytest.approx(
            expected, rel=1e-4
        )


@pytest.mark.parametrize("bound", ["hoeffding", "normal", "laplace"])
@pytest.mark.parametrize("queries", [1, 7])
def test_the_two_ways_are_inverse(bound: Bound, queries: int) -> None:
    people = people_needed(0.03, 0.7, 0.1, bound=bound, queries=queries)
    assert tolerance_reached(people, 0.7, 0.1, bound=bound, queries=queries) <= 0.03
    assert tolerance_reached(people - queries, 0.7, 0.1, bound=bound, queries=queries) > 0.03


def test_values_in_the_unit_interval_need_a_quarter_of_the_people_of_signs() -> None:
    assert people_needed(0.05, 1, width=1) == pytest.approx(people_needed(0.05, 1, width=2) / 4, abs=1)


def test_with_so_many_people_the_tolerance_fails_no_more_often_than_stated() -> None:
    # 2,000 rounds of 3,455 people at the hardest mean, one half.  Hoeffding's inequality promises at most 5 %; the
    # truth is about 0.7 %.  A count of people that forgot C**2 = 4.68 would fail in 21 % of the rounds.
    people = people_needed(0.05, 1, 0.05)
    randomizer = OneBitRandomizer(Epsilon.requested(1), 1)
    values = np.arange(people) % 2 == 0
    source, rounds = SeededSource(5), 2000
    estimates = [
        randomizer.estimate(randomizer.tally(randomizer.randomize(values, source))).value
        for _ in range(rounds)
    ]
    failed = np.count_nonzero(np.abs(np.array(estimates) - values.mean()) > 0.05)
    assert 0 < failed / rounds <= 0.05


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan")])
def test_a_tolerance_is_positive(tolerance: float) -> None:
    with pytest.raises(InvalidParameter):
        people_needed(tolerance, 1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        people_needed(0.1, 1, 0.0)
    with pytest.raises(InvalidParameter):
        people_needed(0.1, 0)
    with pytest.raises(InvalidParameter):
        tolerance_reached(3, 1, queries=4)
    with pytest.raises(InvalidParameter):
        people_needed(0.1, 1, bound="chebyshev")  # type: ignore[arg-type]
