"""RAPPOR through every coin: one report, the remembered round, and what a remembered value can lose in all."""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import report_key
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.rappor import (
    LARGEST_WIDTH,
    BasicRappor,
    BloomRappor,
    TwoRounds,
    published_rounds,
    symmetric_rounds,
)
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import WORD_RANGE, RandomSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled, LastBitKept
from tests.support.randomizer_checks import (
    KEY,
    TIGHT_NANONATS,
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
    largest_ratio,
)

PUBLISHED = published_rounds("1/2", "1/2", "3/4")


def _symmetric(permanent: str, report: str, hashes: int = 1) -> TwoRounds:
    return symmetric_rounds(Epsilon.requested(permanent), Epsilon.requested(report), hashes)


def _labelled_key(report: Any) -> Hashable:
    return (int(report["label"]), *(int(bit) for bit in report["bits"]))


@pytest.mark.parametrize("inputs", [2, 3])
@pytest.mark.parametrize("rounds", [PUBLISHED, _symmetric("2", "1"), _symmetric("0.02", "0.01")])
def test_one_report_has_its_exact_law_and_epsilon(rounds: TwoRounds, inputs: int) -> None:
    check_exact_law(BasicRappor(rounds, inputs))


@pytest.mark.parametrize("rounds", [PUBLISHED, _symmetric("2", "1")])
def test_the_remembered_round_has_the_permanent_epsilon(rounds: TwoRounds) -> None:
    randomizer = BasicRappor(rounds, 3)

    def memoised(value: int) -> dict[Hashable, Fraction]:
        return enumerate_law(lambda source: report_key(randomizer.memoise(np.array([value]), source)[0]))

    assert Epsilon.of_ratio(largest_ratio(memoised(v) for v in range(3))) == randomizer.permanent_epsilon


def test_two_reports_of_one_memory_lose_less_than_the_permanent_epsilon() -> None:
    randomizer = BasicRappor(_symmetric("2", "1"), 2)

    def twice(value: int, source: RandomSource) -> Hashable:
        memory = randomizer.memoise(np.array([value]), source)
        return tuple(report_key(randomizer.report(memory, source)[0]) for _ in range(2))

    laws = [enumerate_law(lambda source, value=value: twice(value, source)) for value in range(2)]  # type: ignore[misc]
    lost = Epsilon.of_ratio(largest_ratio(laws))
    assert randomizer.epsilon < lost < randomizer.permanent_epsilon
    assert lost < randomizer.epsilon * 2


def test_a_report_leaves_the_memory_unchanged() -> None:
    randomizer = BasicRappor(PUBLISHED, 8)
    memory = randomizer.memoise(np.arange(8), SeededSource(1))
    before = memory.copy()
    first, second = (randomizer.report(memory, SeededSource(seed)) for seed in (2, 3))
    assert (memory == before).all()
    assert (first != second).any()


@pytest.mark.parametrize("rounds", [PUBLISHED, _symmetric("2", "1")])
def test_the_estimate_is_unbiased_with_the_stated_variance(rounds: TwoRounds) -> None:
    check_unbiased(BasicRappor(rounds, 3))
    check_variance(BasicRappor(rounds, 3))


def test_every_other_contract_holds() -> None:
    check_people_independent(BasicRappor(PUBLISHED, 2))
    for inputs in (2, 3, 8, 17):
        randomizer = BasicRappor(PUBLISHED, inputs)
        check_packing(randomizer)
        check_lanes(randomizer)
        check_tally_merges(randomizer)
        check_refuses_inputs(randomizer)


class OneRoundOnly(BrokenTwin):
    """Sends what it remembers."""

    def randomize(self, values: Any, source: RandomSource) -> Any:
        """The permanent round alone."""
        return self.sound.memoise(values, source)


def test_the_broken_twins_are_caught() -> None:
    sound = BasicRappor(_symmetric("2", "1"), 3)

    def last_bit(values: Any, reports: Any) -> Any:
        return np.concatenate([reports[:, :-1], values[:, None] == 2], axis=1)

    doubled = EpsilonDoubled(sound, BasicRappor(_symmetric("4", "2"), 3))
    for check in (check_exact_law, check_unbiased, check_variance):
        assert_caught(check, doubled, LastBitKept(sound, last_bit), OneRoundOnly(sound))


def test_the_published_parameters_have_the_published_losses() -> None:
    randomizer = BasicRappor(PUBLISHED, 10)
    assert float(randomizer.permanent_epsilon) == pytest.approx(2.1972, abs=1e-4)  # 2 ln 3
    assert float(randomizer.epsilon) == pytest.approx(0.5371, abs=1e-4)
    assert BloomRappor(PUBLISHED, 32, 2).epsilon <= randomizer.epsilon * 2


@pytest.mark.parametrize("hashes", [1, 2, 4])
@pytest.mark.parametrize(("permanent", "report"), [("2", "1"), ("4", "2"), ("0.1", "0.05"), ("10", "9")])
def test_symmetric_rounds_spend_what_was_requested(permanent: str, report: str, hashes: int) -> None:
    rounds = _symmetric(permanent, report, hashes)
    for asked, spent in (
        (permanent, rounds.permanent_epsilon(hashes)),
        (report, rounds.report_epsilon(hashes)),
    ):
        assert 0 <= Epsilon.requested(asked).nanonats - spent.nanonats <= TIGHT_NANONATS


def test_symmetric_rounds_have_the_variance_of_one_round() -> None:
    half = np.exp(0.5)
    randomizer = BasicRappor(_symmetric("2", "1"), 4)
    assert randomizer.variance(0.0) == pytest.approx(half / (half - 1) ** 2, rel=1e-6)
    assert randomizer.variance(1.0) == pytest.approx(randomizer.variance(0.0), rel=1e-9)


def test_a_bloom_filter_has_its_exact_law_and_epsilon() -> None:
    randomizer = BloomRappor(_symmetric("4", "2", 2), width=4, hashes=2, cohorts=2)
    check_exact_law(randomizer, range(9), _labelled_key)
    assert randomizer.epsilon <= Epsilon.requested(2)
    assert randomizer.permanent_epsilon <= Epsilon.requested(4)


def test_bloom_reports_come_back_from_their_bytes_and_merge() -> None:
    randomizer = BloomRappor(PUBLISHED, width=13, hashes=2, cohorts=5)
    for count in (0, 1, 8, 100):
        reports = randomizer.randomize(np.arange(count), SeededSource(count))
        packed = randomizer.pack(reports)
        assert len(packed) == -(-count * 16 // 8)
        assert (randomizer.unpack(packed, count) == reports).all()
        for wrong in {packed + b"\0", packed[:-1], b""} - {packed}:
            with pytest.raises(MalformedReport):
                randomizer.unpack(wrong, count)
    merged = randomizer.tally(reports[:30]).merge(randomizer.tally(reports[30:]))
    assert (merged.sums == randomizer.tally(reports).sums).all()
    assert int(merged.sums[:, -1].sum()) == merged.reports == 100


def test_a_cohort_that_does_not_exist_and_dirty_padding_are_refused() -> None:
    randomizer = BloomRappor(PUBLISHED, width=4, hashes=2, cohorts=3)
    for data in (0b11000000, 0b01000001):
        with pytest.raises(MalformedReport):
            randomizer.unpack(bytes([data]), 1)


def test_a_bloom_person_draws_alone() -> None:
    randomizer = BloomRappor(PUBLISHED, width=16, hashes=2, cohorts=8)
    full = randomizer.randomize(np.arange(40), LanedSource(KEY, range(40)))
    chosen = np.array([31, 4, 17])
    assert (randomizer.randomize(chosen, LanedSource(KEY, chosen)) == full[chosen]).all()


def test_least_squares_recovers_exact_shares() -> None:
    # Columns that are exactly at their expectations must give the frequencies back.
    randomizer = BloomRappor(_symmetric("4", "2", 2), width=16, hashes=2, cohorts=4)
    items, frequencies = np.arange(6, dtype=np.uint64), np.array([0.5, 0.3, 0.2, 0, 0, 0])
    cohorts = np.arange(4, dtype=np.uint64)
    filters = [randomizer.filters(cohorts, np.full_like(cohorts, item)) for item in items]
    ones = sum(f * rows for f, rows in zip(frequencies, filters, strict=True))
    support = randomizer.rounds.support
    people = 1 << 40
    shares = float(support.other) + float(support.own - support.other) * np.asarray(ones)
    tally = randomizer.tally(randomizer.randomize(items, SeededSource(0)))
    sums = np.concatenate([np.rint(shares * people), np.full((4, 1), people)], axis=1).astype(np.int64)
    exact = type(tally)(randomizer, 4 * people, sums)
    np.testing.assert_allclose(randomizer.estimate(exact, items).values, frequencies, atol=1e-9)


def test_candidates_that_cannot_be_told_apart_are_refused() -> None:
    randomizer = BloomRappor(PUBLISHED, width=4, hashes=2)
    tally = randomizer.tally(randomizer.randomize(np.arange(50), SeededSource(0)))
    for candidates in (np.array([3, 3]), np.arange(5)):
        with pytest.raises(InvalidParameter):
            randomizer.estimate(tally, candidates)


@pytest.mark.parametrize(
    ("noise", "low", "high"),
    [
        ("0", "1/2", "3/4"),
        ("1", "1/2", "3/4"),
        ("1/2", "3/4", "1/2"),
        ("1/2", "1/2", "1/2"),
        ("x", "0", "1"),
    ],
)
def test_rounds_that_lose_everything_or_tell_nothing_are_refused(noise: str, low: str, high: str) -> None:
    with pytest.raises(InvalidParameter):
        published_rounds(noise, low, high)


def test_extreme_rounds_are_rounded_towards_more_privacy() -> None:
    rounds = published_rounds("1/3", "0", "1")
    assert (rounds.low, rounds.high) == (0, WORD_RANGE - 1)
    assert Fraction(2 * rounds.flip, WORD_RANGE) >= Fraction(1, 3)


def test_bad_sizes_are_refused() -> None:
    for inputs in (0, 1, LARGEST_WIDTH + 1):
        with pytest.raises(InvalidParameter):
            BasicRappor(PUBLISHED, inputs)
    for width, hashes, cohorts in ((3, 2, 1), (32, 0, 1), (32, 2, 0), (1 << 16, 2, 1 << 20), (200, 65, 1)):
        with pytest.raises(InvalidParameter):
            BloomRappor(PUBLISHED, width, hashes, cohorts)
    with pytest.raises(InvalidParameter):
        _symmetric("1", "1")
