"""A search in fixed work finds what `numpy.searchsorted` finds, at and around every bound."""

from itertools import accumulate

import numpy as np
import pytest

from localdp.randomness.fixed_search import FixedSearch, law_search
from localdp.randomness.source import WORD_RANGE, IntegerLaw, Words

LAWS = {
    "one outcome": (7,),
    "a single integer": (1,),
    "a coin": (1, 1),
    "impossible outcomes": (0, 0, 5, 0, 1, 0),
    "crowded at the low end": (*[1] * 500, WORD_RANGE - 500),
    "crowded at the high end": (WORD_RANGE - 500, *[1] * 500),
    "crowded in the middle": (1 << 62, *[3] * 300, 1 << 63, 1),
    "all words": (1 << 63, 1 << 63),
    "even": (WORD_RANGE // 1000,) * 1000,
}


def _tried(bounds: list[int], total: int) -> Words:
    near = {bound + step for bound in (0, *bounds, total) for step in (-2, -1, 0, 1, 2)}
    return np.array(sorted(u for u in near if 0 <= u < total), np.uint64)


@pytest.mark.parametrize("weights", LAWS.values(), ids=list(LAWS))
def test_a_law_is_found_at_and_around_every_bound(weights: tuple[int, ...]) -> None:
    law = IntegerLaw(weights)
    bounds = list(law.cumulative[:-1])
    tried = _tried(bounds, law.total)
    expected = np.searchsorted(np.array(bounds, np.uint64), tried, side="right")
    assert (law_search(law).steps(tried) == expected).all()


def test_each_row_is_searched_by_itself() -> None:
    generator = np.random.default_rng(0)
    total = (1 << 64) - 3
    rows = [sorted(generator.integers(0, 1 << size, 40).tolist()) for size in (4, 20, 50, 63)]
    search = FixedSearch(rows, total)
    for number, row in enumerate(rows):
        tried = _tried(row, total)
        expected = np.searchsorted(np.array(row, np.uint64), tried, side="right")
        assert (search.steps(tried, np.full(len(tried), number)) == expected).all()


def test_many_draws_of_mixed_rows_are_those_of_single_ones() -> None:
    generator = np.random.default_rng(1)
    rows = [list(accumulate(generator.integers(1, 9, 30).tolist())) for _ in range(5)]
    search = FixedSearch(rows, 300)
    tried, numbers = generator.integers(0, 300, 20_000).astype(np.uint64), generator.integers(0, 5, 20_000)
    found = search.steps(tried, numbers)
    for number, row in enumerate(rows):
        chosen = numbers == number
        assert (found[chosen] == np.searchsorted(row, tried[chosen], side="right")).all()
