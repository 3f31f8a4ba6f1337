"""Field arithmetic against Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.errors import MalformedReport
from localdp.sharing import field
from localdp.sharing.field import PRIME

EDGES = [0, 1, 2, (1 << 32) - 1, 1 << 32, PRIME // 2, PRIME // 2 + 1, PRIME - 2, PRIME - 1]
elements = st.lists(st.one_of(st.sampled_from(EDGES), st.integers(0, PRIME - 1)), max_size=50)


def test_the_order_of_the_field_is_the_prime_of_the_draft() -> None:
    assert PRIME == 2**64 - 2**32 + 1
    assert pow(7, PRIME - 1, PRIME) == 1
    assert pow(7, (PRIME - 1) // 2, PRIME) != 1


@pytest.mark.parametrize("left", EDGES)
def test_differences_are_reduced(left: int) -> None:
    difference = field.subtract(np.full(len(EDGES), left, np.uint64), np.array(EDGES, np.uint64))
    assert [int(element) for element in difference] == [(left - right) % PRIME for right in EDGES]


@given(elements)
def test_sums_are_those_of_python_integers(values: list[int]) -> None:
    assert field.total(np.array(values, np.uint64)) == sum(values) % PRIME


def test_a_sum_of_many_large_elements_does_not_wrap() -> None:
    assert field.total(np.full(100_000, PRIME - 1, np.uint64)) == -100_000 % PRIME


@given(st.integers(-(PRIME // 2), PRIME // 2))
def test_a_centred_element_is_the_integer_that_was_meant(value: int) -> None:
    assert field.centred(value % PRIME) == value


@given(elements)
def test_elements_survive_the_wire(values: list[int]) -> None:
    array = np.array(values, np.uint64)
    assert (field.unpack(field.pack(array)) == array).all()
    assert len(field.pack(array)) == 8 * len(values)


@pytest.mark.parametrize("value", [PRIME, PRIME + 1, 2**64 - 1])
def test_what_is_not_reduced_is_refused(value: int) -> None:
    with pytest.raises(MalformedReport):
        field.unpack(value.to_bytes(8, "little"))


def test_part_of_an_element_is_refused() -> None:
    with pytest.raises(MalformedReport):
        field.unpack(bytes(12))


@given(
    st.lists(st.lists(st.integers(0, PRIME - 1) | st.just(PRIME - 1), min_size=3, max_size=3), max_size=20)
)
def test_sums_of_columns_are_those_of_python_integers(rows: list[list[int]]) -> None:
    matrix = np.array(rows, np.uint64).reshape(len(rows), 3)
    assert field.totals(matrix) == [sum(column) % PRIME for column in zip(*rows, strict=True)] or not rows
    assert field.totals(matrix[:, :1]) == [sum(row[0] for row in rows) % PRIME]


def test_rows_with_one_element_that_is_not_reduced_are_found() -> None:
    matrix = np.array([[0, PRIME - 1], [PRIME, 0], [0, 2**64 - 1], [1, 1]], np.uint64)
    assert field.reduced(matrix).tolist() == [True, False, False, True]
    assert field.reduced(matrix[:1]).tolist() == [True]
    assert field.reduced(matrix[:0]).tolist() == []
