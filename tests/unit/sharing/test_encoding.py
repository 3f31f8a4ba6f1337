"""Encodings: the shapes that there are, and how far one person moves a sum, by trying all pairs."""

from itertools import product

import pytest

from localdp.errors import InvalidParameter
from localdp.sharing.encoding import LARGEST_BOUND, LARGEST_LENGTH, Encoding


def answers(encoding: Encoding) -> list[tuple[int, ...]]:
    """Every answer of a small encoding."""
    rows = product(range(encoding.bound + 1), repeat=encoding.length)
    if encoding.kind == "histogram":
        return [row for row in rows if sum(row) == 1]
    if encoding.kind == "multihot":
        return [row for row in rows if sum(row) <= encoding.weight]
    return list(rows)


@pytest.mark.parametrize(
    "encoding",
    [
        Encoding.count(),
        Encoding.sum(5),
        Encoding.histogram(4),
        Encoding.multihot(5, 2),
        Encoding.multihot(5, 3),
        Encoding.multihot(4, 4),
        Encoding.vector(3, 2, 6),
    ],
    ids=str,
)
def test_the_sensitivity_is_the_largest_distance_of_two_answers(encoding: Encoding) -> None:
    rows = answers(encoding)
    distances = {sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in rows for y in rows}
    assert max(distances) == encoding.sensitivity


def test_a_sum_of_bits_is_a_count() -> None:
    assert Encoding.sum(1) == Encoding.count()


def test_a_vector_says_itself_how_far_apart_its_values_are() -> None:
    assert Encoding.vector(9, 5, 7).sensitivity == 7


@pytest.mark.parametrize(
    "wrong",
    [
        ("median", 1, 1, 1),
        ("count", 2, 1, 1),
        ("count", 1, 2, 2),
        ("count", 1, 1, 1, 1),
        ("sum", 1, 5, 4),
        ("sum", 2, 5, 5),
        ("sum", 1, LARGEST_BOUND + 1, LARGEST_BOUND + 1),
        ("histogram", 1, 1, 1),
        ("histogram", 4, 1, 1),
        ("histogram", 4, 2, 2),
        ("histogram", LARGEST_LENGTH + 1, 1, 2),
        ("multihot", 5, 1, 4),
        ("multihot", 5, 1, 4, 6),
        ("multihot", 5, 1, 5, 2),
        ("multihot", 5, 2, 4, 2),
        ("vector", 0, 1, 1),
        ("vector", 3, 0, 1),
        ("vector", 3, 2, 0),
        ("vector", 3, 2, 7),
        ("vector", 3, 2, 6, 1),
    ],
    ids=str,
)
def test_a_shape_that_is_none_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises(InvalidParameter):
        Encoding(*wrong)  # type: ignore[arg-type]
