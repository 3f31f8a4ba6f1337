"""Mixed reports say no more than the multiset of reports: exactly, by relabelling, and by a sample with its twins."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.oracles.mixing import mixed, mixed_bits, mixed_reports
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import Bits, IntegerLaw, Integers, RandomSource, RawWord, Width, Words


class Relabelled:
    """A source whose draws about places come out as if the places had other names."""

    def __init__(self, inner: RandomSource, names: Integers) -> None:
        self._inner = inner
        self._names = names  # place i is called names[i]

    def raw(self, dtype: Width[RawWord], count: int) -> NDArray[RawWord]:
        return self._inner.raw(dtype, count)

    def bernoulli(self, threshold: int | Words, count: int) -> Bits:
        drawn = np.empty(count, np.bool_)
        drawn[self._names] = self._inner.bernoulli(threshold, count)
        return drawn

    def below(self, bound: int, count: int) -> Words:
        return self._names[self._inner.below(bound, count).astype(np.int64)].astype(np.uint64)

    def categorical(self, law: IntegerLaw, count: int) -> Integers:
        return self._inner.categorical(law, count)


Mix = Callable[[int, int, RandomSource], Bits]


def first_places_filled(count: int, ones: int, source: RandomSource) -> Bits:
    """A broken twin: what is missing goes to the first free places."""
    bits = source.bernoulli(1 << 62, count)
    while excess := int(np.count_nonzero(bits)) - ones:
        bits[np.flatnonzero(bits == (excess > 0))[: abs(excess)]] = excess < 0
    return bits


def rotated(count: int, ones: int, source: RandomSource) -> Bits:
    """A broken twin: the ones stay together, wherever they are."""
    return np.roll(np.arange(count) < ones, int(source.below(count, 1)[0]))


def changes_with_names(mix: Mix, count: int, ones: int, names: Integers, seed: int) -> bool:
    """Whether renaming the places of all draws does anything but rename the places of the outcome."""
    plain = mix(count, ones, SeededSource(seed))
    renamed = mix(count, ones, Relabelled(SeededSource(seed), names))
    return bool((renamed[names] != plain).any())


@pytest.mark.parametrize(("count", "ones"), [(4, 2), (7, 1), (7, 6), (300, 0), (300, 300), (5000, 1700)])
def test_no_renaming_of_places_changes_the_law_of_mixed_bits(count: int, ones: int) -> None:
    for seed in range(20):
        names = mixed(count, SeededSource(1000 + seed))
        assert not changes_with_names(mixed_bits, count, ones, names, seed)


@pytest.mark.parametrize("twin", [first_places_filled, rotated])
def test_renaming_finds_mixing_that_prefers_some_places(twin: Mix) -> None:
    swapped = np.array([1, 0, 2, 3, 4, 5, 6])
    assert any(changes_with_names(twin, 7, 3, swapped, seed) for seed in range(50))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 10_001])
def test_mixed_bits_have_as_many_ones_as_they_are_told(count: int) -> None:
    for ones in {0, count // 100, count // 3, count // 2, count - count // 200, count}:
        bits = mixed_bits(count, ones, SeededSource(ones))
        assert bits.dtype == np.bool_
        assert (len(bits), int(np.count_nonzero(bits))) == (count, ones)


def test_every_vector_with_that_many_ones_is_as_likely_as_any_other() -> None:
    # 40,000 draws of 20 vectors: 2,000 each with a standard deviation of 44; five of them on either side.
    source = SeededSource(3)
    counts = Counter(tuple(np.flatnonzero(mixed_bits(6, 3, source)).tolist()) for _ in range(40_000))
    assert set(counts) == set(combinations(range(6), 3))
    assert max(abs(count - 2000) for count in counts.values()) < 5 * 44


def test_long_vectors_have_their_ones_everywhere_alike() -> None:
    # 200 vectors of 4,096 bits, 30 % ones: each eighth has 30 % of 102,400 places, with a standard deviation below 147.
    source = SeededSource(4)
    total = sum(mixed_bits(4096, 1229, source).astype(np.int64) for _ in range(200))
    eighths = np.asarray(total).reshape(8, -1).sum(axis=1)
    assert abs(eighths - 200 * 1229 / 8).max() < 5 * 147


def test_every_order_is_as_likely_as_any_other() -> None:
    # 24,000 permutations of four: each expected 1,000 times with a standard deviation of 31; five of them on either side.
    source = SeededSource(1)
    counts = Counter(tuple(mixed(4, source).tolist()) for _ in range(24_000))
    assert set(counts) == set(permutations(range(4)))
    assert max(abs(count - 1000) for count in counts.values()) < 5 * 31


def test_whatever_belongs_to_a_report_stays_with_it() -> None:
    reports = np.zeros(500, dtype=[("seed", np.uint64), ("value", np.uint8)])
    reports["seed"] = np.arange(500)
    reports["value"] = np.arange(500) % 251
    out = mixed_reports(reports, SeededSource(5))
    assert (out["value"] == out["seed"] % 251).all()
    assert sorted(out["seed"].tolist()) == list(range(500))
    assert out["seed"].tolist() != list(range(500))
    rows = np.arange(1000).reshape(500, 2)
    assert {tuple(row) for row in mixed_reports(rows, SeededSource(6)).tolist()} == {
        tuple(row) for row in rows.tolist()
    }


def test_mixed_bits_do_not_depend_on_the_order_that_came_in() -> None:
    sorted_bits = np.arange(1000) < 300
    shuffled = mixed_reports(sorted_bits, SeededSource(7))
    assert (shuffled == mixed_reports(sorted_bits[::-1], SeededSource(7))).all()


@pytest.mark.parametrize("ones", [-1, 5])
def test_a_vector_cannot_have_more_ones_than_bits(ones: int) -> None:
    with pytest.raises(InvalidParameter):
        mixed_bits(4, ones, SeededSource(1))
