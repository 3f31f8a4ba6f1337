"""Subsets that are filled up from a stream: always of the right size, and uniform.

Sampled, because the work depends on the coins: n = 60,000 sets of 20 kinds, alpha = 1e-6.  The chi-square statistic of 19
degrees of freedom sees a kind that is 12 % too rare; the broken twin, which fills up from the left, is far beyond that.
"""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from localdp.randomizers import subsets
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits, Integers
from localdp.randomness.stream import StreamSource

PEOPLE = 60_000
ALPHA = 1e-6


def _small(monkeypatch: pytest.MonkeyPatch, *, kept: bool) -> float:
    """The chi-square p-value of sets of 4 (with the truth) or 3 (without) out of 7, given the truth."""
    monkeypatch.setattr(subsets, "_FEWEST_INPUTS_FOR_FILLING", 2)
    truth, size = np.full(PEOPLE, 2), 4 if kept else 3
    sets = subsets.transposed_subsets(truth, np.full(PEOPLE, kept), 7, size, SeededSource(5))
    kinds = dict.fromkeys(combinations([0, 1, 3, 4, 5, 6], 3), 0)
    for row in sets.tolist():
        kinds[tuple(item for item in row if item != 2)] += 1
        assert (2 in row) == kept
    expected = PEOPLE / len(kinds)
    statistic = sum((count - expected) ** 2 / expected for count in kinds.values())
    return float(chi2.sf(statistic, len(kinds) - 1))


@pytest.mark.parametrize("kept", [False, True])
def test_all_sets_are_equally_likely(monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    assert _small(monkeypatch, kept=kept) > ALPHA


def test_a_twin_that_fills_up_from_the_left_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_the_left(marks: Bits, wanted: Integers, lacking: Integers, source: StreamSource) -> None:
        for row, missing in zip(marks, lacking.tolist(), strict=True):
            row[np.flatnonzero(~row[:-1])[:missing]] = True

    monkeypatch.setattr(subsets, "_fill_up", from_the_left)
    assert _small(monkeypatch, kept=True) < ALPHA


@pytest.mark.parametrize(("inputs", "size"), [(192, 1), (193, 2), (200, 199), (1024, 275), (2047, 1500)])
def test_sets_are_sorted_and_of_the_right_size_and_hold_the_truth_if_it_is_kept(
    inputs: int, size: int
) -> None:
    source, people = SeededSource(7), 300
    truth: NDArray[np.int64] = np.arange(people) % inputs
    kept = source.bernoulli(1 << 63, people)
    sets = subsets.transposed_subsets(truth, kept, inputs, size, source).astype(np.int64)
    assert sets.shape == (people, size)
    assert (np.diff(sets, axis=1) > 0).all()
    assert sets.min() >= 0 and sets.max() < inputs
    assert ((sets == truth[:, None]).any(axis=1) == kept).all()


def test_sizes_are_counted_in_rows_of_any_width() -> None:
    for columns in (1, 7, 8, 9, 1000, 4096):
        marks = SeededSource(columns).bernoulli(1 << 63, 5 * columns).reshape(5, columns)
        assert (subsets._sizes(marks) == marks.sum(axis=1)).all()
        assert (subsets._sizes(np.ones((2, columns), np.bool_)) == columns).all()
