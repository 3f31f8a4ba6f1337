"""Subsets that are filled up from a stream: always of the right size, and uniform.

Sampled, because the work depends on the coins: n = 60,000 sets of 20 kinds, alpha = 1e-6.  The chi-square statistic of 19
degrees of freedom sees a kind that is 12 % too rare; the broken twins are far beyond that.  The odds of the independent
items are given, because at this size those that are chosen are zero.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from localdp.randomizers.parts import subsets
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits, Integers, Words
from localdp.randomness.stream import StreamSource
from tests.support.scripted import ScriptedSource

PEOPLE = 60_000
ALPHA = 1e-6


ODDS = [(0, 0), (1, 2), (3, 3), (1, 1)]


def _small(monkeypatch: pytest.MonkeyPatch, *, kept: bool, odds: tuple[int, int] = (1, 2)) -> float:
    """The chi-square p-value of sets of 4 (with the truth) or 3 (without) out of 7, given the truth."""
    monkeypatch.setattr(subsets, "_FEWEST_INPUTS_FOR_FILLING", 2)
    monkeypatch.setattr(subsets, "_odds", lambda inputs, size: odds)
    truth, size = np.full(PEOPLE, 2), 4 if kept else 3
    sets = subsets.drawn_bitmaps(truth, np.full(PEOPLE, kept), 7, size, SeededSource(5))
    kinds = dict.fromkeys(combinations([0, 1, 3, 4, 5, 6], 3), 0)
    for row in subsets.items_of(sets, 7, size).tolist():
        kinds[tuple(item for item in row if item != 2)] += 1
        assert (2 in row) == kept
    expected = PEOPLE / len(kinds)
    statistic = sum((count - expected) ** 2 / expected for count in kinds.values())
    return float(chi2.sf(statistic, len(kinds) - 1))


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("kept", [False, True])
def test_all_sets_are_equally_likely(
    monkeypatch: pytest.MonkeyPatch, kept: bool, odds: tuple[int, int]
) -> None:
    assert _small(monkeypatch, kept=kept, odds=odds) > ALPHA


def test_a_twin_that_fills_up_from_the_left_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_the_left(marks: Bits, wanted: Integers, lacking: Integers, source: StreamSource) -> None:
        for row, missing in zip(marks, lacking.tolist(), strict=True):
            row[np.flatnonzero(~row)[:missing]] = True

    monkeypatch.setattr(subsets, "_fill_up", from_the_left)
    assert _small(monkeypatch, kept=True) < ALPHA


def test_a_twin_that_thins_from_the_left_instead_of_starting_again_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def thinned(
        truth: NDArray[Any], wanted: Integers, odds: tuple[int, int], inputs: int, source: StreamSource
    ) -> tuple[Words, Integers]:
        words = subsets._independent(truth, odds, inputs, source)
        lacking = wanted - subsets._ones(words)
        marks = np.unpackbits(words.view(np.uint8), axis=1)
        for person in np.flatnonzero(lacking < 0).tolist():
            items = np.flatnonzero(marks[person])
            marks[person, items[items != truth[person]][: -lacking[person]]] = 0
        return np.packbits(marks, axis=1).view(np.uint64), np.maximum(lacking, 0)

    monkeypatch.setattr(subsets, "_unfilled", thinned)
    assert _small(monkeypatch, kept=True, odds=(1, 1)) < ALPHA


def test_a_twin_whose_truth_is_not_marked_meanwhile_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It loses an item where somebody took the truth, or has one too many: the size is wrong."""
    sound = subsets._independent

    def unmarked(truth: NDArray[Any], odds: tuple[int, int], inputs: int, source: StreamSource) -> Words:
        words = sound(truth, odds, inputs, source)
        own = np.uint8(0x80) >> (truth & 7).astype(np.uint8)
        words.view(np.uint8)[np.arange(len(truth)), truth >> 3] &= ~own
        return words

    monkeypatch.setattr(subsets, "_independent", unmarked)
    sets = subsets.drawn_bitmaps(np.full(300, 5), np.full(300, False), 200, 50, SeededSource(1))
    assert (np.bitwise_count(sets).sum(axis=1) != 50).any()


@pytest.mark.parametrize("odds", [(1, 2), (5, 3), (11, 4)])
def test_independent_items_have_exactly_their_odds(odds: tuple[int, int]) -> None:
    """Through every word of k bits: of 2**k columns, one for each, exactly m are taken."""
    numerator, bits = odds
    columns = np.arange(1 << bits, dtype=np.uint8)
    script = b"".join(np.packbits(columns >> place & 1).tobytes().ljust(8, b"\0") for place in range(bits))
    inputs = (1 << bits) + 1  # the last one is the truth
    words = subsets._independent(np.array([inputs - 1]), odds, inputs, ScriptedSource(script))
    taken = np.unpackbits(words.view(np.uint8))
    assert taken[: 1 << bits].sum() == numerator
    assert taken[1 << bits] == 1 and not taken[inputs:].any()


@pytest.mark.parametrize("inputs", [192, 193, 1000, 1024, 4096])
def test_the_odds_are_one_to_three_deviations_below_the_size_and_of_few_bits(inputs: int) -> None:
    for size in (1, 2, 3, 10, inputs // 4, inputs // 2, inputs - 2, inputs - 1):
        numerator, bits = subsets._odds(inputs, size)
        deviation = max(1.0, np.sqrt(size * (1 - size / inputs)))
        below = size - 1 - inputs * numerator / 2**bits
        assert 0 <= numerator < 1 << bits and 2**bits <= 2 * inputs
        assert 0 <= below <= 3 * deviation
    assert subsets._odds(1024, 275) == (1, 2)


@pytest.mark.parametrize(("inputs", "size"), [(192, 1), (193, 2), (200, 199), (1024, 275), (2047, 1500)])
def test_sets_are_sorted_and_of_the_right_size_and_hold_the_truth_if_it_is_kept(
    inputs: int, size: int
) -> None:
    source, people = SeededSource(7), 300
    truth: NDArray[np.int64] = np.arange(people) % inputs
    kept = source.bernoulli(1 << 63, people)
    bitmaps = subsets.drawn_bitmaps(truth, kept, inputs, size, source)
    assert (np.bitwise_count(bitmaps).sum(axis=1) == size).all()
    sets = subsets.items_of(bitmaps, inputs, size).astype(np.int64)
    assert sets.shape == (people, size)
    assert (np.diff(sets, axis=1) > 0).all()
    assert sets.min() >= 0 and sets.max() < inputs
    assert ((sets == truth[:, None]).any(axis=1) == kept).all()


@pytest.mark.parametrize(("inputs", "size"), [(7, 3), (193, 2), (1024, 275)])
def test_both_forms_of_the_same_coins_are_the_same_sets(inputs: int, size: int) -> None:
    truth, kept = np.arange(50) % inputs, np.arange(50) % 3 == 0
    bitmaps = subsets.drawn_bitmaps(truth, kept, inputs, size, SeededSource(2))
    items = subsets.drawn_items(truth, kept, inputs, size, SeededSource(2))
    assert (subsets.items_of(bitmaps, inputs, size) == items).all()


def test_sizes_are_counted_in_rows_of_any_width() -> None:
    for columns in (1, 7, 8, 9, 1000, 4096):
        marks = SeededSource(columns).bernoulli(1 << 63, 5 * columns).reshape(5, columns)
        assert (subsets._sizes(marks) == marks.sum(axis=1)).all()
        assert (subsets._sizes(np.ones((2, columns), np.bool_)) == columns).all()
