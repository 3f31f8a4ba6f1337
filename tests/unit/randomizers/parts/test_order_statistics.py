"""The entry of a rank stands where a stable sort by falling size puts it."""

import numpy as np
import pytest

from localdp.randomizers.parts.order_statistics import places_of_ranks


@pytest.mark.parametrize("width", [1, 2, 3, 64, 255, 256, 1024])
def test_places_are_those_of_a_stable_sort(width: int) -> None:
    rows = np.random.default_rng(width).normal(size=(9, width)).astype(np.float32)
    order = np.argsort(-np.abs(rows), axis=1, kind="stable")
    for rank in {0, 1 % width, width // 2, width - 1}:
        assert (places_of_ranks(rows, np.full(9, rank)) == order[:, rank]).all()


def test_every_row_has_its_own_rank_and_equal_sizes_count_from_left_to_right() -> None:
    row = np.array([1, -1, 0, 2, -0.0, 1, -2, np.inf], np.float32)
    order = np.argsort(-np.abs(row), kind="stable")
    assert (places_of_ranks(np.tile(row, (8, 1)), np.arange(8)) == order).all()
