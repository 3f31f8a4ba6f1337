"""The field of 2^64 elements, against Python integers."""

import numpy as np

from localdp.sharing.proved.binary_field import dot, multiplied, products

FULL = 1 << 64 | 0b11011


def by_hand(left: int, right: int) -> int:
    product = 0
    for place in range(64):
        product ^= (left << place) * (right >> place & 1)
    for place in reversed(range(64, 127)):
        product ^= (FULL << place - 64) * (product >> place & 1)
    return product


def test_products_and_their_sum_are_those_of_integers() -> None:
    generator = np.random.default_rng(64)
    left, right = (generator.integers(0, 1 << 64, 5000, dtype=np.uint64) for _ in range(2))
    left[:3], right[:3] = (1 << 64) - 1, [(1 << 64) - 1, 1 << 63, 0]
    wanted = [by_hand(int(a), int(b)) for a, b in zip(left, right, strict=True)]
    assert products(left, right).tolist() == wanted
    assert [multiplied(int(a), int(b)) for a, b in zip(left, right, strict=True)] == wanted
    assert dot(left, right) == int(np.bitwise_xor.reduce(np.array(wanted, np.uint64)))


def test_every_element_but_zero_has_an_inverse_where_the_polynomial_is_irreducible() -> None:
    element = inverse = 0x1234_5678_9ABC_DEF1
    for _ in range(62):  # to the power 2^64 - 2
        inverse = multiplied(multiplied(inverse, inverse), element)
    inverse = multiplied(inverse, inverse)
    assert multiplied(inverse, element) == 1
