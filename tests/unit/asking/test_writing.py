"""Numbers as people read them."""

from __future__ import annotations

import pytest

from localdp.asking.writing import decimals_for, exact, number, percent, with_error, word_about


@pytest.mark.parametrize(
    ("error", "decimals"), [(133.0, 0), (10.0, 0), (8.0, 1), (1.0, 1), (0.13, 2), (0.004, 4), (0.0, 0)]
)
def test_an_error_is_shown_with_two_digits(error: float, decimals: int) -> None:
    assert decimals_for(error) == decimals


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        (904.4, 8.3, "904.4 ± 8.3"),
        (18710.2, 133.0, "18,710 ± 133"),
        (4.8312, 0.0412, "4.831 ± 0.041"),
        (-0.01, 12.0, "0 ± 12"),
        (3.0, 0.0, "3"),
    ],
)
def test_a_number_has_as_many_digits_as_its_error_allows(value: float, width: float, shown: str) -> None:
    assert with_error(value, width) == shown


def test_what_is_counted_is_whole() -> None:
    assert with_error(904.4, 8.3, whole=True) == "904 ± 8"


def test_units_stand_behind_both_numbers() -> None:
    assert with_error(4.83, 0.041, " %") == "4.830 % ± 0.041 %"


def test_zero_has_no_sign() -> None:
    assert number(-0.001, 2) == "0.00"
    assert number(-0.01, 2) == "-0.01"


def test_exact_numbers_are_as_short_as_they_are() -> None:
    assert (exact(1234.0), exact(0.5), exact(29.14354)) == ("1,234", "0.5", "29.1435")
    assert percent(0.95) == "95 %"


def test_a_word_is_said_outside_of_what_is_possible_and_nowhere_else() -> None:
    assert word_about(0.0, 0.0, 10.0) == word_about(10.0, 0.0, 10.0) == ""
    assert word_about(-1.0, 0.0, 10.0) == "below 0 because of the noise: read it as close to 0"
    assert word_about(11.0, 0.0, 10.0) == "above 10 because of the noise: read it as close to 10"
