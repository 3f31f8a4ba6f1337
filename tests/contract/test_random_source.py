"""The contract of `RandomSource`, for every implementation.

Each law is tested at n = 200,000 draws and alpha = 1e-6, on a fixed seed: chi-square with every bin counted
(each expects 1,000 draws or more), or the exact binomial tail.  A bin of mass p is seen when it is off by
about 7 sqrt(p / n); smaller faults, and dependence between draws, would be missed here.  The exact tests of
tests/unit/randomness do not miss them.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import EnumeratingSource, enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import IntegerLaw, RandomSource
from tests.support.scripted import ScriptedSource

ALPHA = 1e-6
DRAWS = 200_000
Make = Callable[[int], RandomSource]

SOURCES: dict[str, Make] = {
    "keystream": lambda lanes: KeystreamSource(bytes(range(16))),
    "keystream-256": lambda lanes: KeystreamSource(bytes(range(32))),
    "seeded": lambda lanes: SeededSource(7),
    "scripted": lambda lanes: ScriptedSource(np.random.default_rng(7).bytes(1 << 23)),
    "laned": lambda lanes: LanedSource(bytes(range(32)), range(5, 5 + lanes)),
    "laned-scattered": lambda lanes: LanedSource(bytes(range(32)), np.arange(lanes)[::-1] * 3),
}


@pytest.fixture(params=list(SOURCES.values()), ids=list(SOURCES))
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def test_draws_have_the_promised_types_and_shapes(make: Make) -> None:
    source = make(10)
    for width in (np.uint8, np.uint16, np.uint32, np.uint64):
        assert source.raw(width, 30).dtype == width
    assert source.bernoulli(1 << 63, 30).dtype == np.bool_
    assert source.below(7, 30).dtype == np.uint64
    assert source.categorical(IntegerLaw((1, 2)), 30).dtype == np.int64
    assert source.below(7, 30).shape == (30,)


def test_no_draws_are_no_draws(make: Make) -> None:
    source = make(10)
    assert source.raw(np.uint32, 0).shape == (0,)
    assert source.bernoulli(5, 0).shape == (0,)
    assert source.bernoulli(np.empty(0, np.uint64), 0).shape == (0,)
    assert source.below(1 << 64, 0).shape == (0,)
    assert source.categorical(IntegerLaw((1, 2)), 0).shape == (0,)


def test_the_same_source_made_twice_draws_the_same(make: Make) -> None:
    one, two = make(500), make(500)
    law = IntegerLaw((3, 0, 5, 1 << 60))
    for _ in range(2):
        assert (one.raw(np.uint16, 500) == two.raw(np.uint16, 500)).all()
        assert (one.bernoulli(1 << 62, 1000) == two.bernoulli(1 << 62, 1000)).all()
        assert (one.below(10**19, 500) == two.below(10**19, 500)).all()
        assert (one.categorical(law, 5000) == two.categorical(law, 5000)).all()


def test_successive_calls_draw_different_words(make: Make) -> None:
    source = make(100)
    assert len(np.unique(np.concatenate([source.raw(np.uint64, 100) for _ in range(20)]))) == 2000


@pytest.mark.parametrize("threshold", [-1, 1 << 64, 0.5, np.float64(1.5)])
def test_a_threshold_that_is_no_word_is_refused(make: Make, threshold: int) -> None:
    with pytest.raises(InvalidParameter):
        make(4).bernoulli(threshold, 4)


def test_thresholds_of_the_wrong_type_or_number_are_refused(make: Make) -> None:
    for thresholds in (np.zeros(3, np.uint64), np.zeros(4, np.int64), np.zeros((2, 2), np.uint64)):
        with pytest.raises(InvalidParameter):
            make(4).bernoulli(thresholds, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [0, -1, (1 << 64) + 1])
def test_a_bound_outside_one_word_is_refused(make: Make, bound: int) -> None:
    with pytest.raises(InvalidParameter):
        make(4).below(bound, 4)


def test_a_negative_count_is_refused(make: Make) -> None:
    law = IntegerLaw((1, 1))
    calls: list[Callable[[RandomSource], object]] = [
        lambda source: source.raw(np.uint8, -4),
        lambda source: source.bernoulli(1, -4),
        lambda source: source.below(3, -4),
        lambda source: source.categorical(law, -4),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter):
            call(make(4))


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_])
def test_raw_words_of_another_type_are_refused(make: Make, dtype: type) -> None:
    with pytest.raises(InvalidParameter):
        make(4).raw(dtype, 4)


def test_a_threshold_of_zero_is_never_true(make: Make) -> None:
    assert not make(DRAWS).bernoulli(0, DRAWS).any()


@pytest.mark.parametrize("bound", [1, 2, 3, 256, 1 << 32, (1 << 32) + 1, (1 << 63) + 1, 1 << 64])
def test_integers_stay_below_their_bound_and_reach_both_ends(make: Make, bound: int) -> None:
    drawn = make(10_000).below(bound, 10_000)
    assert int(drawn.max()) < bound
    assert int(drawn.max()) >= bound - 1 - bound // 100
    assert int(drawn.min()) <= bound // 100


@pytest.mark.parametrize(
    "threshold", [1 << 63, 13485808364513349632, 5 << 56, 1 << 50, (1 << 64) - (1 << 52)]
)
def test_bernoulli_frequency_passes_the_exact_binomial_test(make: Make, threshold: int) -> None:
    drawn = make(DRAWS).bernoulli(threshold, DRAWS)
    assert binomtest(int(drawn.sum()), DRAWS, threshold / 2**64).pvalue > ALPHA


def test_each_bernoulli_draw_has_its_own_threshold(make: Make) -> None:
    thresholds = np.tile(np.array([0, 1 << 62, 3 << 62], np.uint64), DRAWS)
    drawn = make(DRAWS).bernoulli(thresholds, 3 * DRAWS).reshape(-1, 3).sum(axis=0)
    assert drawn[0] == 0
    assert binomtest(int(drawn[1]), DRAWS, 0.25).pvalue > ALPHA
    assert binomtest(int(drawn[2]), DRAWS, 0.75).pvalue > ALPHA


@pytest.mark.parametrize("bound", [2, 10, 150, 3 << 30, 3 << 62])
def test_integers_below_a_bound_are_uniform(make: Make, bound: int) -> None:
    bins = bound if bound <= 150 else 128
    drawn = make(DRAWS).below(bound, DRAWS) // np.uint64(bound // bins)
    counts = np.bincount(drawn.astype(np.int64), minlength=bins)
    assert len(counts) == bins
    assert chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize(
    "weights", [(1, 2, 3, 4), (0, 5, 0, 1, 0), (1 << 62, 1 << 62, 1 << 63), tuple(range(1, 30)), (9,)]
)
def test_categories_have_the_frequencies_of_their_weights(make: Make, weights: tuple[int, ...]) -> None:
    law = IntegerLaw(weights)
    counts = np.bincount(make(DRAWS).categorical(law, DRAWS), minlength=len(weights))
    expected = np.array([w / law.total for w in weights]) * DRAWS
    assert not counts[expected == 0].any()
    possible = expected > 0
    assert possible.sum() == 1 or chisquare(counts[possible], expected[possible]).pvalue > ALPHA


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_every_bit_of_a_raw_word_is_fair(make: Make, dtype: type) -> None:
    words = make(DRAWS).raw(dtype, DRAWS).astype(np.uint64)
    for bit in range(8 * np.dtype(dtype).itemsize):
        ones = int((words >> np.uint64(bit) & np.uint64(1)).sum())
        assert binomtest(ones, DRAWS, 0.5).pvalue > ALPHA / 64


def test_the_enumerating_source_gives_the_same_contract_as_exact_fractions() -> None:
    law = IntegerLaw((3, 0, 5))

    def draw(source: RandomSource) -> tuple[bool, int, int]:
        bit, number, category = source.bernoulli(3 << 62, 1), source.below(3, 1), source.categorical(law, 1)
        return bool(bit[0]), int(number[0]), int(category[0])

    exact = enumerate_law(draw)
    assert sum(exact.values()) == 1
    assert exact[True, 2, 2] == enumerate_law(lambda s: bool(s.bernoulli(3 << 62, 1)[0]))[True] / 3 * 5 / 8
    assert len(exact) == 2 * 3 * 2


def test_the_enumerating_source_refuses_what_every_source_refuses() -> None:
    source = EnumeratingSource()
    for call in (
        lambda: source.bernoulli(1 << 64, 1),
        lambda: source.below(0, 1),
        lambda: source.raw(np.uint8, -1),
    ):
        with pytest.raises(InvalidParameter):
            call()
