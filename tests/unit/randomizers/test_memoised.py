"""Reports over time, exactly: both rounds by every coin, and what the memory keeps."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.memoised import (
    Memo,
    MemoisedUnary,
    memoised_optimized_unary,
    memoised_symmetric_unary,
)
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LARGEST_LANE
from localdp.randomness.source import WORD_RANGE, RandomSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled, SeedReused
from tests.support.randomizer_checks import (
    Law,
    assert_caught,
    check_epsilon,
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

SECRET = bytes(range(32))
HALF, ONE, TWO, FOUR = (Epsilon.requested(value) for value in (0.5, 1.0, 2.0, 4.0))
UNARY = [memoised_symmetric_unary, memoised_optimized_unary]


class NoiseTwice(BrokenTwin):
    """Runs the second round twice."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Reports of reports."""
        reports: NDArray[Any] = self.sound.renew(self.sound.randomize(values, source), source)
        return reports


class SecondRoundForgotten(BrokenTwin):
    """Sends the permanent answer."""

    def randomize(self, values: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """Permanent answers."""
        reports: NDArray[Any] = self.sound.permanent.randomize(values, source)
        return reports


@pytest.mark.parametrize("make", UNARY)
@pytest.mark.parametrize(("permanent", "first"), [(0.02, 0.01), (2.0, 1.0), (10.0, 4.0), (1.0, 0.999)])
def test_one_report_has_the_stated_law_and_epsilon(make: Any, permanent: float, first: float) -> None:
    check_exact_law(make(Epsilon.requested(permanent), Epsilon.requested(first), 3))


@pytest.mark.parametrize("make", UNARY)
def test_one_report_is_unbiased_and_has_the_stated_variance(make: Any) -> None:
    randomizer = make(TWO, ONE, 3)
    check_unbiased(randomizer)
    check_variance(randomizer)


@pytest.mark.parametrize("make", UNARY)
def test_the_contract_of_a_randomizer_holds(make: Any) -> None:
    for inputs in (2, 8, 70):
        randomizer = make(TWO, ONE, inputs)
        check_packing(randomizer)
        check_lanes(randomizer)
        check_tally_merges(randomizer)
        check_refuses_inputs(randomizer)
    check_people_independent(make(TWO, ONE, 2))


@pytest.mark.parametrize("make", UNARY)
def test_broken_twins_are_caught(make: Any) -> None:
    sound = make(TWO, ONE, 3)
    twins = [NoiseTwice(sound), SecondRoundForgotten(sound), EpsilonDoubled(sound, make(FOUR, TWO, 3))]
    assert_caught(check_exact_law, *twins)
    assert_caught(check_unbiased, *twins)
    assert_caught(check_people_independent, SeedReused(make(TWO, ONE, 2)))


def test_the_permanent_round_is_the_encoding_of_its_own_epsilon() -> None:
    assert memoised_symmetric_unary(TWO, ONE, 5).epsilon_permanent == SymmetricUnaryEncoding(TWO, 5).epsilon
    randomizer = memoised_optimized_unary(TWO, ONE, 5)
    assert randomizer.epsilon_permanent == OptimizedUnaryEncoding(TWO, 5).epsilon <= TWO
    assert randomizer.epsilon <= ONE


def test_the_numbers_of_the_literature_hold() -> None:
    assert 1 - memoised_optimized_unary(TWO, ONE, 5).flip / WORD_RANGE == pytest.approx(0.8034, abs=5e-5)
    assert memoised_optimized_unary(TWO, ONE, 5).variance(0) == pytest.approx(3.6827, abs=5e-5)
    assert memoised_optimized_unary(FOUR, TWO, 5).variance(0) == pytest.approx(0.7241, abs=5e-5)


@pytest.mark.parametrize(("permanent", "first"), [(TWO, ONE), (FOUR, TWO), (ONE, HALF), (FOUR, HALF)])
def test_memory_costs_no_accuracy(permanent: Epsilon, first: Epsilon) -> None:
    optimized, symmetric = OptimizedUnaryEncoding(first, 5), SymmetricUnaryEncoding(first, 5)
    assert memoised_optimized_unary(permanent, first, 5).variance(0) == pytest.approx(
        optimized.variance(0), rel=1e-9
    )
    assert memoised_symmetric_unary(permanent, first, 5).variance(0) == pytest.approx(
        symmetric.variance(0), rel=1e-9
    )


def check_memory(memo: Memo, values: NDArray[Any]) -> None:
    """The same person and value has the same answer for ever, and fresh reports of it."""
    people = np.arange(len(values))
    answers = memo.answers(people, values)
    first, second = (memo.report(people, values, SeededSource(seed)) for seed in (1, 2))
    assert (memo.answers(people, values) == answers).all(), "a permanent answer changed"
    assert (first != second).any() and (first != answers).any(), "the second round draws nothing"
    some = np.array([5, 17, 2])
    assert (memo.answers(people[some], values[some]) == answers[some]).all()


@pytest.mark.parametrize("make", UNARY)
def test_the_permanent_answer_stays_and_the_report_changes(make: Any) -> None:
    values = np.random.default_rng(0).integers(0, 70, 200)
    check_memory(Memo(make(TWO, ONE, 70), SECRET, b"colour"), values)


def test_the_hashed_permanent_answer_stays_and_the_report_changes() -> None:
    values = np.random.default_rng(0).integers(0, 1 << 63, 200, dtype=np.uint64)
    check_memory(Memo(MemoisedHashing(ONE, TWO), SECRET, b"colour"), values)


def agreement(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float((np.unpackbits(one, axis=1) == np.unpackbits(other, axis=1)).mean())


def test_other_people_values_secrets_and_collections_have_other_answers() -> None:
    # 400 people and 64 bits: q = 1 / (1 + e) for other bits, so independent answers agree at q**2 + (1 - q)**2 of them,
    # within 5 standard errors.
    randomizer = memoised_optimized_unary(ONE, HALF, 64)
    people, values = np.arange(400), np.full(400, 7)
    base = Memo(randomizer, SECRET, b"colour").answers(people, values)
    others = [
        Memo(randomizer, SECRET, b"colour").answers(people + 400, values),
        Memo(randomizer, SECRET, b"colour").answers(people, np.full(400, 8)),
        Memo(randomizer, SECRET[::-1], b"colour").answers(people, values),
        Memo(randomizer, SECRET, b"shape").answers(people, values),
        Memo(memoised_optimized_unary(ONE, Epsilon.requested(0.4), 64), SECRET, b"colour").answers(
            people, values
        ),
        np.roll(base, 1, axis=0),
    ]
    q = 1 / (1 + math.e)
    expected = q**2 + (1 - q) ** 2
    error = 5 * math.sqrt(expected * (1 - expected) / base.size / 8)
    for other in others:
        assert abs(agreement(base, other) - expected) < error + 0.01


def test_a_value_that_comes_back_finds_its_old_answer() -> None:
    memo = Memo(memoised_optimized_unary(TWO, ONE, 16), SECRET, b"colour")
    people = np.arange(50)
    monday = memo.answers(people, np.full(50, 3))
    tuesday = memo.answers(people, np.full(50, 4))
    wednesday = memo.answers(people, np.full(50, 3))
    assert (monday == wednesday).all() and (monday != tuesday).any()


def test_reports_of_a_memo_estimate_the_frequencies() -> None:
    # n = 20000; alpha = 1e-6 for 8 frequencies together, by 5.4 standard errors.
    randomizer = memoised_optimized_unary(FOUR, TWO, 8)
    values = np.arange(20_000) % 4
    reports = Memo(randomizer, SECRET, b"colour").report(np.arange(20_000), values, SeededSource(4))
    found = randomizer.estimate(randomizer.tally(reports))
    truth = np.array([0.25] * 4 + [0.0] * 4)
    assert (np.abs(found.values - truth) < 5.4 * found.standard_errors).all()


@pytest.mark.parametrize("number", [2, 3, 4, 7])
@pytest.mark.parametrize(("permanent", "first"), [(0.02, 0.01), (2.0, 1.0), (8.0, 4.0)])
def test_one_hashed_report_has_the_stated_law_and_epsilon(
    number: int, permanent: float, first: float
) -> None:
    randomizer = MemoisedHashing(Epsilon.requested(first), Epsilon.requested(permanent), number)
    seed = 12345
    laws: dict[Hashable, Law] = {}
    for value in range(40):

        def draw(source: RandomSource, value: int = value) -> Hashable:
            answers = randomizer.permanent.respond(np.array([seed], np.uint64), np.array([value]), source)
            return int(randomizer.renew(answers, source)["bucket"][0])

        law = enumerate_law(draw)
        assert sum(law.values()) == 1 and law == randomizer.law(value, seed)
        own = max(law.values())
        laws[next(bucket for bucket, mass in law.items() if mass == own)] = law
    assert len(laws) == number  # 40 values reach every bucket
    check_epsilon(randomizer, largest_ratio(laws.values()))


def source_law_keep(permanent: float, first: float, g: int) -> tuple[float, float, float]:
    """p, q and the keep probability of the paper, by its formula."""
    e1 = math.exp(first)
    p = math.exp(permanent) / (math.exp(permanent) + g - 1)
    q = (1 - p) / (g - 1)
    return p, q, (q - e1 * p) / (-p * e1 + g * q * e1 - q * e1 - p * (g - 1) + q)


@pytest.mark.parametrize(
    ("permanent", "first", "g", "variance"),
    [(2, 1, 3, 4.199), (4, 2, 7, 0.794), (1, 0.5, 2, 16.67), (3, 1.5, 4, 1.669)],
)
def test_the_exact_law_beats_the_calibration_of_the_paper(
    permanent: float, first: float, g: int, variance: float
) -> None:
    p, q, keep = source_law_keep(permanent, first, g)
    moved = (1 - keep) / (g - 1)
    published = (1 / g) * (1 - 1 / g) / ((p - 1 / g) * (keep - moved)) ** 2
    assert published == pytest.approx(variance, rel=1e-3)
    own = p * keep + (g - 1) * q * moved
    spent = math.log(own * (g - 1) / (1 - own))
    assert spent == pytest.approx(first) if g == 2 else spent < first - 0.01
    ours = MemoisedHashing(Epsilon.requested(float(first)), Epsilon.requested(float(permanent)), g)
    assert ours.variance(0) <= published * (1 + 1e-9)
    best = MemoisedHashing(Epsilon.requested(float(first)), Epsilon.requested(float(permanent)))
    fresh = OptimalLocalHashing(Epsilon.requested(float(first)))
    assert best.variance(0) <= min(ours.variance(0), fresh.variance(0)) * (1 + 1e-9)


def test_values_of_one_bucket_share_their_permanent_answer() -> None:
    randomizer = MemoisedHashing(ONE, TWO, 3)
    memo, people = Memo(randomizer, SECRET, b"x"), np.arange(300)
    answers = [memo.answers(people, np.full(300, value, np.uint64)) for value in range(30)]
    distinct = np.array([[len({int(a["bucket"][i]) for a in answers}) for i in people]])
    assert distinct.max() <= 3 and all((a["seed"] == answers[0]["seed"]).all() for a in answers)


def test_hashed_reports_of_a_memo_estimate_the_frequencies() -> None:
    randomizer = MemoisedHashing(TWO, FOUR)
    values = (np.arange(20_000) % 4).astype(np.uint64)
    reports = Memo(randomizer, SECRET, b"colour").report(np.arange(20_000), values, SeededSource(4))
    assert (randomizer.unpack(randomizer.pack(reports), len(reports)) == reports).all()
    found = randomizer.estimate(reports, np.arange(8))
    truth = np.array([0.25] * 4 + [0.0] * 4)
    assert (np.abs(found.values - truth) < 5.4 * found.standard_errors).all()


def test_a_first_report_must_cost_less_than_all_of_them() -> None:
    for first in (TWO, FOUR):
        with pytest.raises(InvalidParameter):
            memoised_optimized_unary(TWO, first, 4)
        with pytest.raises(InvalidParameter):
            MemoisedHashing(first, TWO)


def test_parameters_out_of_bounds_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        memoised_optimized_unary(TWO, ONE, 1)
    with pytest.raises(InvalidParameter):
        MemoisedUnary(ONE, 4, OptimizedUnaryEncoding(TWO, 5))
    with pytest.raises(InvalidParameter):
        MemoisedHashing(ONE, TWO, 1)
    memo = Memo(memoised_optimized_unary(TWO, ONE, 4), SECRET, b"x")
    for people in (np.array([-1]), np.array([LARGEST_LANE // 4 + 1])):
        with pytest.raises(InvalidParameter):
            memo.answers(people, np.array([0]))
    with pytest.raises(InvalidParameter):
        memo.answers(np.array([0, 1]), np.array([0]))
    with pytest.raises(InvalidParameter):
        memo.answers(np.array([3, 3]), np.array([0, 0]))


def test_the_secret_is_not_shown() -> None:
    memo = Memo(memoised_optimized_unary(TWO, ONE, 4), b"not to be printed", b"x")
    assert "printed" not in repr(memo._coins)
