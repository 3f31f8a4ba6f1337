"""Compiled arithmetic against Python integers, at the edges and in between."""

from typing import Any

import numpy as np
import pytest

from localdp.sharing.prio3.batch.compiled.arithmetic import (
    accumulate,
    accumulate_element,
    add,
    collapse,
    is_reduced,
    lift,
    load,
    multiply,
    nothing,
    store,
    subtract,
)
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, element
from localdp.sharing.prio3.batch.compiled.toolchain import entry, types
from localdp.sharing.prio3.batch.compiled.words import add_carry, multiply_add, put_word, subtract_borrow
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField

FIELDS = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])
WORD = (1 << 64) - 1


def pairwise(like: Any, left: Any, right: Any, out: Any) -> None:
    """Every operation on two elements."""
    for row in range(len(left)):
        a, b = load(left, row, 0, like), load(right, row, 0, like)
        store(out, row, 0, add(a, b))
        store(out, row, 1, subtract(a, b))
        store(out, row, 2, multiply(lift(a), b))
        store(out, row, 3, collapse(accumulate(nothing(like), lift(a), b), like))
        store(out, row, 4, collapse(accumulate_element(nothing(like), a), like))


def dot(like: Any, left: Any, right: Any, out: Any) -> None:
    """The first row of one matrix times the first row of the other, and the sum of the second row."""
    products, plain = nothing(like), nothing(like)
    for i in range(left.shape[1] // out.shape[1]):
        products = accumulate(products, lift(load(left, 0, i, like)), load(right, 0, i, like))
        plain = accumulate_element(plain, load(right, 1, i, like))
    store(out, 0, 0, collapse(products, like))
    store(out, 1, 0, collapse(plain, like))


def judge(like: Any, words: Any, _unused: Any, out: Any) -> None:
    """One where the words are an element."""
    for row in range(len(words)):
        out[row, 0] = is_reduced(load(words, row, 0, like))


def collapse_one(_like: Any, sums: Any, _unused: Any, out: Any) -> None:
    """Accumulators of Field64, given by their words."""
    for row in range(len(sums)):
        store(out, row, 0, collapse((sums[row, 0], sums[row, 1], sums[row, 2]), _like))


def collapse_two(_like: Any, sums: Any, _unused: Any, out: Any) -> None:
    """Accumulators of Field128, given by their words."""
    for row in range(len(sums)):
        s = (sums[row, 0], sums[row, 1], sums[row, 2], sums[row, 3], sums[row, 4])
        store(out, row, 0, collapse(s, _like))


def on_words(given: Any, _unused: Any, out: Any) -> None:
    """The instructions on words."""
    for row in range(len(given)):
        a, b, c, d = given[row, 0], given[row, 1], given[row, 2], given[row, 3]
        out[row, 0], out[row, 1] = multiply_add(a, b, c, d)
        out[row, 2], out[row, 3] = add_carry(a, b, c & np.uint64(1))
        out[row, 4], out[row, 5] = subtract_borrow(a, b, c & np.uint64(1))


def at_octet(words: Any, octet: Any, word: Any) -> None:
    """A word at any byte."""
    put_word(words, octet, word)


def limbs(field: PrimeField) -> int:
    return field.encoded_bytes // 8


def words_of(values: list[int], width: int) -> Words:
    data = b"".join(value.to_bytes(8 * width, "little") for value in values)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(len(values), width)


def run(
    function: Any, field: PrimeField, left: Words, right: Words, rows: int, columns: int
) -> list[list[int]]:
    """Calls a compiled function that takes an element, two matrices and a matrix for its results."""
    kind, size = element(limbs(field)), limbs(field)
    out = np.zeros((rows, columns * size), np.uint64)
    zero: Any = np.uint64(0) if size == 1 else (np.uint64(0), np.uint64(0))
    entry(function, types.void(kind, GIVEN, GIVEN, MATRIX))(zero, left, right, out)
    weights = [1 << 64 * limb for limb in range(size)]
    return [
        [
            sum(w * x for w, x in zip(weights, row[at : at + size], strict=True))
            for at in range(0, len(row), size)
        ]
        for row in out.tolist()
    ]


def edges(field: PrimeField) -> list[int]:
    p, near = field.modulus, [-2, -1, 0, 1, 2]
    words = [
        0,
        1 << 32,
        1 << 63,
        1 << 64,
        1 << 66,
        1 << 96,
        1 << 127,
        p // 2,
        p - (1 << 32),
        p - (1 << 64),
        p,
    ]
    found = sorted({(word + step) % p for word in words for step in near})
    generator = np.random.default_rng(5)
    return found + [int.from_bytes(generator.bytes(16), "little") % p for _ in range(20)]


@FIELDS
def test_all_operations_at_all_pairs_of_edges(field: PrimeField) -> None:
    p, values = field.modulus, edges(field)
    pairs = [(x, y) for x in values for y in values]
    left, right = (words_of([pair[i] for pair in pairs], limbs(field)) for i in (0, 1))
    found = run(pairwise, field, left, right, len(pairs), 5)
    assert found == [[(x + y) % p, (x - y) % p, x * y % p, x * y % p, x] for x, y in pairs]


@FIELDS
@pytest.mark.parametrize("count", [1, 2, 1000])
def test_long_sums_are_reduced_once_and_right(field: PrimeField, count: int) -> None:
    p = field.modulus
    values = [p - 1 - i % 3 for i in range(count)]
    row = words_of(values, limbs(field)).reshape(1, -1)
    both = np.concatenate([row, row])
    found = run(dot, field, both, both, 2, 1)
    assert found == [[sum(value * value for value in values) % p], [sum(values) % p]]


@FIELDS
def test_accumulators_hold_as_many_products_as_they_claim(field: PrimeField) -> None:
    """Given by their words, with the top word at the bound: 2**31 products in Field64, 2**32 in Field128."""
    p, size = field.modulus, limbs(field)
    top = (1 << 31) - 1 if size == 1 else (1 << 32) - 1
    ends = [0, 1, 27, 28, 29, 1 << 32, WORD - 28, WORD - 1, WORD]
    lower = [[x, y, x, y][: 2 * size] for x in ends for y in ends] + [[WORD] * (2 * size)]
    rows = [[*low, t] for low in lower for t in (0, 1, 2, top)]
    value = [sum(word << 64 * i for i, word in enumerate(row)) for row in rows]
    inverse = 1 if size == 1 else pow(1 << 128, -1, p)
    function = collapse_one if size == 1 else collapse_two
    matrix = np.array(rows, np.uint64)
    assert run(function, field, matrix, matrix, len(rows), 1) == [[v * inverse % p] for v in value]


@FIELDS
def test_words_of_the_modulus_or_above_are_no_elements(field: PrimeField) -> None:
    p, end = field.modulus, 1 << 64 * limbs(field)
    values = [0, 1, p - 1, p, p + 1, end - (1 << 64), end - (1 << 64) + 1, end - 1]
    values = [value for value in values if value < end]
    matrix = words_of(values, limbs(field))
    assert [row[0] for row in run(judge, field, matrix, matrix, len(values), 1)] == [
        int(value < p) for value in values
    ]


def test_carries_and_products_of_words_are_those_of_integers() -> None:
    ends = [0, 1, 2, 1 << 32, 1 << 63, WORD - 1, WORD]
    rows = [[a, b, c, d] for a in ends for b in ends for c in ends for d in ends]
    out = np.zeros((len(rows), 6), np.uint64)
    given = np.array(rows, np.uint64)
    entry(on_words, types.void(GIVEN, GIVEN, MATRIX))(given, given, out)
    for (a, b, c, d), found in zip(rows, out.tolist(), strict=True):
        product, total, difference = a * b + c + d, a + b + (c & 1), a - b - (c & 1)
        assert found == [
            product & WORD,
            product >> 64,
            total & WORD,
            total >> 64,
            difference & WORD,
            int(difference < 0),
        ]


def test_a_word_is_put_at_any_byte_and_nowhere_else() -> None:
    put = entry(at_octet, types.void(types.Array(types.uint64, 1, "C"), types.int64, types.uint64))
    for octet in range(17):
        words = np.frombuffer(b"\xaa" * 24, np.uint64).copy()
        put(words, octet, np.uint64(0x0807060504030201))
        expected = bytearray(b"\xaa" * 24)
        expected[octet : octet + 8] = bytes(range(1, 9))
        assert words.tobytes() == expected
