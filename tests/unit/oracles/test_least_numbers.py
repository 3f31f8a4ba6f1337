"""The least number of few digits that is enough."""

import pytest

from localdp.oracles.least_numbers import least


@pytest.mark.parametrize(("digits", "found"), [(1, 3000.0), (2, 2400.0), (3, 2350.0)])
def test_it_is_rounded_up_to_so_many_digits(digits: int, found: float) -> None:
    assert least(10, 1e6, lambda number: number >= 2341, digits) == found


def test_the_ends_of_the_range_count() -> None:
    assert least(123.4, 1e6, lambda number: True, 2) == 123.4
    assert least(1, 55.5, lambda number: number >= 55.5, 2) == 55.5
    assert least(1, 55.5, lambda number: number > 56, 2) is None
