"""The two fields of Prio3: their constants and their bytes."""

import pytest

from localdp.errors import InvalidParameter, MalformedReport
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

FIELDS = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])


def test_the_moduli_are_those_of_the_draft() -> None:
    assert FIELD64.modulus == 2**32 * 4294967295 + 1
    assert FIELD128.modulus == 2**66 * 4611686018427387897 + 1


@FIELDS
def test_the_generator_has_exactly_the_order_that_is_claimed(field: PrimeField) -> None:
    assert pow(field.generator, field.two_power, field.modulus) == 1
    assert pow(field.generator, field.two_power // 2, field.modulus) == field.modulus - 1


@FIELDS
@pytest.mark.parametrize("size", [1, 2, 16])
def test_roots_of_unity_are_distinct_and_begin_with_one(field: PrimeField, size: int) -> None:
    roots = field.roots(size)
    assert roots[0] == 1
    assert len(set(roots)) == size
    assert all(pow(root, size, field.modulus) == 1 for root in roots)


@FIELDS
def test_a_size_that_is_no_power_of_two_has_no_roots(field: PrimeField) -> None:
    with pytest.raises(InvalidParameter):
        field.roots(3)


@FIELDS
def test_elements_survive_the_wire_in_little_endian(field: PrimeField) -> None:
    vector = [0, 1, 258, field.modulus - 1]
    data = field.pack(vector)
    assert data[field.encoded_bytes : 2 * field.encoded_bytes] == b"\1" + bytes(field.encoded_bytes - 1)
    assert field.unpack(data) == vector


@FIELDS
def test_what_is_not_reduced_or_not_whole_is_refused(field: PrimeField) -> None:
    with pytest.raises(MalformedReport):
        field.unpack(field.modulus.to_bytes(field.encoded_bytes, "little"))
    with pytest.raises(MalformedReport):
        field.unpack(b"\xff" * field.encoded_bytes)
    with pytest.raises(MalformedReport):
        field.unpack(bytes(field.encoded_bytes + 1))


@FIELDS
def test_vectors_are_added_and_subtracted_element_by_element(field: PrimeField) -> None:
    p = field.modulus
    assert field.subtract([0, 5], [1, 3]) == [p - 1, 2]
    assert field.total([[p - 1, 1], [1, 1], [1, 1]], 2) == [1, 3]
    assert field.total([], 2) == [0, 0]
    assert field.dot([p - 1, 2], [1, 3]) == 5
