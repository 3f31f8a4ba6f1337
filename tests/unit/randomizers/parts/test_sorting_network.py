"""The network sorts: by the 0-1 principle (Knuth) it is enough that it sorts all columns of bits."""

from itertools import product

import numpy as np
import pytest

from localdp.randomizers.parts.sorting_network import sort_columns


@pytest.mark.parametrize("height", [1, 2, 4, 8, 16])
def test_all_columns_of_bits_are_sorted(height: int) -> None:
    table = np.array(list(product((0, 1), repeat=height)), np.uint16).T.copy()
    expected = np.sort(table, axis=0)
    sort_columns(table)
    assert (table == expected).all()


def test_a_high_table_is_sorted() -> None:
    table = np.random.default_rng(0).integers(0, 4096, (512, 30)).astype(np.uint16)
    expected = np.sort(table, axis=0)
    sort_columns(table)
    assert (table == expected).all()
