"""Cohorts: a few numbers that name any number of people."""

import numpy as np
import pytest

from localdp.cohorts import LARGEST_INDEX, Cohort, Split
from localdp.errors import InvalidParameter

SEED = bytes(range(16))


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (4, 3), (0, LARGEST_INDEX + 1)])
def test_a_cohort_is_a_range_within_bounds(start: int, stop: int) -> None:
    with pytest.raises(InvalidParameter):
        Cohort(start, stop)


@pytest.mark.parametrize(
    ("seed", "parts", "part"), [(b"short", 2, 0), (SEED, 0, 0), (SEED, 2, 2), (SEED, 1 << 17, 0)]
)
def test_a_split_has_a_seed_and_numbered_parts(seed: bytes, parts: int, part: int) -> None:
    with pytest.raises(InvalidParameter):
        Split(seed, parts, part)


def test_the_parts_of_a_split_are_a_partition() -> None:
    people = np.concatenate(
        [np.asarray(Cohort(10, 1000, Split(SEED, 7, part)).selection()) for part in range(7)]
    )
    assert sorted(people) == list(range(10, 1000))


def test_who_is_in_a_part_does_not_depend_on_the_range_asked_for() -> None:
    split = Split(SEED, 3, 1)
    whole = np.asarray(Cohort(0, 1000, split).lanes())
    part = np.asarray(Cohort(400, 700, split).lanes())
    assert (part == whole[(whole >= 400) & (whole < 700)]).all()


def test_the_parts_of_a_split_are_of_nearly_equal_size() -> None:
    # Binomial(60,000, 1/3): six standard deviations are 693; a fair split fails once in 5 * 10**8 seeds.
    sizes = [Cohort(0, 60_000, Split(SEED, 3, part)).size() for part in range(3)]
    assert sum(sizes) == 60_000
    assert max(abs(size - 20_000) for size in sizes) < 693


def test_parties_split_their_people_with_different_coins() -> None:
    split = Split(SEED, 2, 0)
    first, second = (Cohort(0, 64, split.at_party(number)) for number in (0, 1))
    assert list(first.lanes()) != list(second.lanes())
