"""How many replacements move a gap between order statistics past a bound: against all data of small size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import pytest

from localdp.mechanisms.order_distances import moves_to_grow, moves_to_shrink

VALUES, PEOPLE = 6, 6  # values 0 .. 5
LOW, HIGH = 1, 4
DATA = list(combinations_with_replacement(range(VALUES), PEOPLE))
Data = tuple[int, ...]


def replaced(one: Data, other: Data) -> int:
    """How many records have to be replaced to make one of the other."""
    counts = np.bincount(one, minlength=VALUES) - np.bincount(other, minlength=VALUES)
    return int(np.maximum(counts, 0).sum())


def gap(data: Data) -> int:
    return data[HIGH] - data[LOW]


def nearest(data: Data, held: Callable[[Data], bool]) -> int:
    return min((replaced(data, other) for other in DATA if held(other)), default=PEOPLE + 1)


@pytest.mark.parametrize("width", range(8))
def test_the_distances_are_exact(width: int) -> None:
    for data in DATA[::3]:
        ordered = np.array(data, np.int64)
        grow = moves_to_grow(ordered, LOW, HIGH, width, 0, VALUES - 1)
        shrink = moves_to_shrink(ordered, LOW, HIGH, width)
        assert grow == nearest(data, lambda other: gap(other) >= width)
        assert shrink == nearest(data, lambda other: gap(other) < width)


def test_a_distance_that_forgets_one_side_would_be_found() -> None:
    """The broken twin: everybody who is moved is moved upwards."""

    def upwards(ordered: np.ndarray[tuple[int], np.dtype[np.int64]], width: int) -> int:
        tops = [*ordered[HIGH:], VALUES - 1]
        moves = [number for number, top in enumerate(tops) if top - ordered[LOW] >= width]
        return min(moves, default=PEOPLE + 1)

    wrong = [
        data for data in DATA if upwards(np.array(data), 4) != nearest(data, lambda other: gap(other) >= 4)
    ]
    assert wrong
