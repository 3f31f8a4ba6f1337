"""Fingerprints of whole numbers, computed for all of them at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localdp.domains.columns import LARGEST_INTEGER
from localdp.randomizers.parts.decimal_fingerprints import MOST_DIGITS, decimal_fingerprints
from localdp.randomizers.parts.universal_hash import fingerprints

POWERS = [10**power + step for power in range(MOST_DIGITS) for step in (-1, 0, 1)]
EDGES = [*POWERS, LARGEST_INTEGER, 10**MOST_DIGITS - 1]


def expected(numbers: list[int]) -> list[int]:
    return [int(one) for one in fingerprints(str(number) for number in numbers)]


def test_every_length_and_sign_has_the_fingerprint_of_its_text() -> None:
    numbers = [*EDGES, *(-number for number in EDGES)]
    assert decimal_fingerprints(np.array(numbers)).tolist() == expected(numbers)


@given(st.lists(st.integers(-LARGEST_INTEGER, LARGEST_INTEGER), max_size=40))
def test_any_number_of_a_domain_has_the_fingerprint_of_its_text(numbers: list[int]) -> None:
    assert decimal_fingerprints(np.array(numbers, np.int64)).tolist() == expected(numbers)


def test_numbers_beyond_one_stretch_are_not_lost() -> None:
    numbers = list(range(-1500, 1500))
    assert decimal_fingerprints(np.array(numbers)).tolist() == expected(numbers)


def test_nobody_has_no_fingerprint() -> None:
    assert decimal_fingerprints(np.zeros(0, np.int64)).tolist() == []
