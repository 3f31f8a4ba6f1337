"""Contributions in parts: everybody once, parties whole where they are small, and no crumbs of a large one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.cohorts import Cohort, Split
from localdp.oracles.collecting import run_collection
from parties.shares import collector
from parties.shares.collector import pieces
from tests.support.federations import ONE, collection_of, parties_of, people, served


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
    st.integers(1, 15),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_the_parts_are_the_whole_and_none_is_too_large(
    sizes: list[int], most: int, one: int, other: int
) -> None:
    total = sum(sizes)
    start, stop = sorted((min(one, total), min(other, total)))
    parts = list(pieces(Cohort(start, stop), sizes, most))
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(start, stop))
    assert all(0 < part.stop - part.start <= most for part in parts)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(4, 15))
def test_a_party_that_is_cut_is_cut_evenly_and_others_stay_whole(sizes: list[int], most: int) -> None:
    first = 0
    parts = list(pieces(Cohort(0, sum(sizes)), sizes, most))
    for size in sizes:
        own = [
            min(part.stop, first + size) - max(part.start, first)
            for part in parts
            if part.start < first + size and part.stop > first
        ]
        assert sum(own) == size
        assert len(own) == -(-size // most) and max(own) - min(own) <= 1
        first += size


def test_a_split_stays_with_the_parts() -> None:
    split = Split(bytes(16), 2, 1)
    assert {part.split for part in pieces(Cohort(0, 30, split), [30], 7)} == {split}


@pytest.mark.parametrize("cohort", [Cohort(0, 60), Cohort(5, 55, Split(bytes(16), 2, 1))])
def test_a_contribution_in_parts_is_the_contribution(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for blocks in (64, 1):
        monkeypatch.setattr(collector, "BLOCKS_PER_CALL", blocks)
        monkeypatch.setattr(collector, "people_per_block", lambda collection: 7)
        with served(parties_of(people(60), 3)) as federation:
            collection = collection_of(federation.parties)
            sums, reports = run_collection(federation.shared, collection, cohort)
            spent = np.concatenate([party.ledger.spent() for party in federation.parties])
            results.append((sums.tolist(), reports, spent.tolist()))
    assert results[0] == results[1]
    assert set(results[0][2]) <= {0, ONE.nanonats}
