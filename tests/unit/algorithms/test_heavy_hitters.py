"""The prefix protocol: its plan, its server against scripted groups, and the whole of it almost without noise."""

from collections import Counter
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.heavy_hitters import (
    PrefixPlan,
    find_heavy_hitters,
    prefixes,
    run_heavy_hitters,
    texts_of_words,
    words_of_texts,
)
from localdp.errors import InvalidParameter, TooFewReports
from localdp.randomizers.definition import Reports
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomness.hazmat import SeededSource

ONE, LOUD = Epsilon.requested(1.0), Epsilon.requested(8.0)


def test_the_plan_covers_the_word_from_the_first_bits_to_the_last() -> None:
    assert PrefixPlan(ONE, 32).lengths == (8, 12, 16, 20, 24, 28, 32)
    assert PrefixPlan(ONE, 30).lengths == (8, 12, 16, 20, 24, 28, 30)
    assert PrefixPlan(ONE, 8).lengths == (8,)
    assert PrefixPlan(ONE, 5).lengths == (5,)
    assert PrefixPlan(ONE, 64, 8, 8).lengths == (8, 16, 24, 32, 40, 48, 56, 64)


def test_groups_are_alike_but_for_the_last() -> None:
    law = PrefixPlan(ONE, 32).group_law
    assert len(law.weights) == 7 and len(set(law.weights[:-1])) == 1
    assert Fraction(law.weights[-1], law.total) == Fraction(7, 20)
    assert PrefixPlan(ONE, 8).group_law.weights == (1,)


def test_sigma_is_that_of_equal_groups() -> None:
    plan = PrefixPlan(ONE, 32)
    assert plan.sigma(100_000) ** 2 == pytest.approx(7 * plan.randomizer.variance(0) / 100_000)


def test_each_group_is_asked_once_for_its_own_prefix_length() -> None:
    plan, asked = PrefixPlan(LOUD, 20), []

    def ask(group: int, length: int, randomizer: OptimalLocalHashing) -> Reports:
        asked.append((group, length))
        words = np.full(400, 0xABCDE, np.uint64)
        return randomizer.randomize(prefixes(words, 20, length), SeededSource(group))

    found = find_heavy_hitters(plan, ask)
    assert asked == [(0, 8), (1, 12), (2, 16), (3, 20)]
    assert found.items.tolist() == [0xABCDE]
    assert found.frequencies.values[0] == pytest.approx(1.0, abs=0.1)


def test_frequent_items_come_first_and_with_their_frequencies() -> None:
    values = np.repeat(np.array([7, 0xFFFFFF, 0x123456], np.uint64), [6000, 9000, 3000])
    found = run_heavy_hitters(values, PrefixPlan(LOUD, 24), SeededSource(5))
    assert found.items.tolist() == [0xFFFFFF, 7, 0x123456]
    errors = np.abs(found.frequencies.values - np.array([1 / 2, 1 / 3, 1 / 6]))
    assert (errors < 5 * np.sqrt(found.frequencies.variance_population)).all()


def test_where_nothing_is_frequent_nothing_is_reported() -> None:
    # 12 runs; a false alarm happens in one run of two hundred: alpha = 0.06 for one, 0.0017 for two.
    runs = 0
    for seed in range(12):
        values = np.random.default_rng(seed).integers(0, 1 << 32, 4000, dtype=np.uint64)
        runs += len(run_heavy_hitters(values, PrefixPlan(ONE, 32), SeededSource(seed)).items) > 0
    assert runs <= 1


def test_one_group_is_enough_for_a_short_word() -> None:
    values = np.repeat(np.array([3, 200], np.uint64), 2000)
    found = run_heavy_hitters(values, PrefixPlan(LOUD, 8), SeededSource(1))
    assert sorted(found.items.tolist()) == [3, 200]


def test_the_whole_64_bits_are_searched() -> None:
    words = np.array([(1 << 64) - 1, 1 << 63], np.uint64)
    found = run_heavy_hitters(
        np.repeat(words, 4000), PrefixPlan(LOUD, 64, 8, 8, most_candidates=16), SeededSource(1)
    )
    assert sorted(found.items.tolist()) == sorted(words.tolist())


def test_short_texts_are_found_by_their_prefixes() -> None:
    texts = ["paris"] * 4000 + ["oslo"] * 3000 + ["zürich"] * 3000
    words = words_of_texts(texts)
    found = run_heavy_hitters(words, PrefixPlan(LOUD, 64, 8, 8, most_candidates=16), SeededSource(2))
    assert Counter(texts_of_words(found.items)) == Counter([b"paris", b"oslo", "zürich".encode()])


def test_texts_come_back_from_their_words() -> None:
    texts: list[str | bytes] = ["", "a", "12345678", b"\xff\xfe"]
    assert texts_of_words(words_of_texts(texts)) == [b"", b"a", b"12345678", b"\xff\xfe"]
    for wrong in ("123456789", "a\0b"):
        with pytest.raises(InvalidParameter):
            words_of_texts([wrong])


def test_a_group_without_reports_is_an_error_and_not_an_answer() -> None:
    with pytest.raises(TooFewReports):
        run_heavy_hitters(np.zeros(0, np.uint64), PrefixPlan(ONE, 16), SeededSource(1))


@pytest.mark.parametrize(
    "change",
    [
        {"bits": 0},
        {"bits": 65},
        {"first": 0},
        {"first": 17},
        {"step": 0},
        {"step": 13},
        {"most_candidates": 0},
        {"most_candidates": 1 << 20},
        {"deciding": 0.0},
        {"deciding": float("nan")},
        {"false_alarms": 0.0},
        {"last_share": Fraction(1)},
    ],
)
def test_plans_out_of_bounds_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        PrefixPlan(**cast(Any, {"requested": ONE, "bits": 32} | change))


def test_values_too_wide_for_the_plan_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        run_heavy_hitters(np.array([256]), PrefixPlan(ONE, 8), SeededSource(1))
