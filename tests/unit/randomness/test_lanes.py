"""Lanes: a person's draws depend on the key, the call and the index, and on nothing else."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.lanes import LARGEST_LANE, LanedSource
from localdp.randomness.source import IntegerLaw

KEY = bytes(range(32))
LAW = IntegerLaw((5, 1, 0, 7, (1 << 63) + 11))
Draw = Callable[[LanedSource, int], NDArray[Any]]

# The wide bounds reject up to half of the words, so that retries are part of what is compared.
PRIMITIVES: dict[str, Draw] = {
    "bytes": lambda s, n: s.raw(np.uint8, n),
    "half-words": lambda s, n: s.raw(np.uint32, n),
    "words": lambda s, n: s.raw(np.uint64, n),
    "bernoulli": lambda s, n: s.bernoulli(1 << 63, n),
    "below": lambda s, n: s.below(1000, n),
    "below-wide": lambda s, n: s.below((1 << 63) + 1, n),
    "categorical": lambda s, n: s.categorical(LAW, n),
}


@pytest.fixture(params=list(PRIMITIVES.values()), ids=list(PRIMITIVES))
def draw(request: pytest.FixtureRequest) -> Draw:
    chosen: Draw = request.param
    return chosen


def _two_calls(draw: Draw, lanes: range | NDArray[np.int64], width: int) -> NDArray[Any]:
    """Two calls, with a row for every lane."""
    source = LanedSource(KEY, lanes)
    return np.stack([draw(source, len(lanes) * width).reshape(-1, width) for _ in range(2)])


@pytest.mark.parametrize("width", [1, 3])
def test_a_subset_in_any_order_draws_what_the_whole_drew(draw: Draw, width: int) -> None:
    whole = _two_calls(draw, range(3000), width)
    some = np.random.default_rng(1).permutation(3000)[:700]
    assert (_two_calls(draw, some, width) == whole[:, some]).all()
    assert (_two_calls(draw, np.sort(some), width) == whole[:, np.sort(some)]).all()


@pytest.mark.parametrize("width", [1, 3])
def test_chunks_draw_what_the_whole_drew(draw: Draw, width: int) -> None:
    whole = _two_calls(draw, range(1000), width)
    for start, stop in ((0, 1), (1, 2), (1, 334), (333, 1000), (999, 1000)):
        assert (_two_calls(draw, range(start, stop), width) == whole[:, start:stop]).all()


def test_a_single_far_lane_is_reached_and_agrees_with_its_neighbourhood(draw: Draw) -> None:
    far = 1 << 32
    near = _two_calls(draw, range(far - 5, far + 5), 2)
    assert (_two_calls(draw, np.array([far, 3, far - 2]), 2)[:, [0, 2]] == near[:, [5, 3]]).all()


def test_a_million_lanes_agree_across_chunkings() -> None:
    count = 1_000_000
    whole = LanedSource(KEY, range(count)).bernoulli(1 << 62, count)
    cuts = [0, 1, 99_999, 500_001, count]
    parts = [LanedSource(KEY, range(a, b)).bernoulli(1 << 62, b - a) for a, b in pairwise(cuts)]
    assert (np.concatenate(parts) == whole).all()
    some = np.random.default_rng(2).permutation(count)[:200_000]
    assert (LanedSource(KEY, some).bernoulli(1 << 62, len(some)) == whole[some]).all()


def test_keys_calls_and_lanes_never_share_a_word() -> None:
    words = []
    for key in (KEY, KEY[:16], bytes(32)):
        source = LanedSource(key, range(500))
        words += [source.raw(np.uint64, 1000) for _ in range(5)]
    assert len(np.unique(np.concatenate(words))) == 15_000


def test_a_retry_shifts_no_later_call() -> None:
    one, two = LanedSource(KEY, range(100)), LanedSource(KEY, range(100))
    one.below((1 << 63) + 1, 100)  # Rejects about half of its words.
    two.below(1 << 63, 100)  # Rejects none.
    assert (one.raw(np.uint64, 100) == two.raw(np.uint64, 100)).all()


def test_a_retried_draw_takes_the_word_of_the_next_stream_at_its_own_place() -> None:
    bound = (1 << 63) + 1
    source = LanedSource(KEY, range(50))
    streams = [source._draw(np.dtype(np.uint64), 0, retry, 1, range(50)) for retry in range(40)]
    expected = [next(int(s[i]) for s in streams if int(s[i]) < bound) for i in range(50)]
    assert source.below(bound, 50).tolist() == expected


def test_a_bernoulli_draw_is_the_compare_of_its_one_word() -> None:
    words = LanedSource(KEY, range(9, 40)).raw(np.uint64, 62)
    middle = int(np.sort(words)[31])
    assert (LanedSource(KEY, range(9, 40)).bernoulli(middle, 62) == (words < middle)).all()
    assert LanedSource(KEY, range(9, 40)).bernoulli(middle, 62).sum() == 31


def test_a_count_that_is_no_multiple_of_the_lanes_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        LanedSource(KEY, range(3)).bernoulli(1, 4)
    with pytest.raises(InvalidParameter):
        LanedSource(KEY, range(0)).raw(np.uint8, 4)


@pytest.mark.parametrize("lanes", [[-1, 4], [3, 5, 3], [0, LARGEST_LANE + 1], [[1, 2], [3, 4]]])
def test_lanes_that_are_negative_repeated_or_too_large_are_refused(lanes: list[int]) -> None:
    with pytest.raises(InvalidParameter):
        LanedSource(KEY, np.array(lanes, np.int64))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 16, 17, 64])
def test_lanes_of_choices_are_those_of_the_whole(kind: type[np.unsignedinteger[Any]], width: int) -> None:
    whole = LanedSource(KEY, range(700)).raw(kind, 700 * width).reshape(700, width)
    owners, choices = np.array([3, 99, 0, 50]), np.array([6, 0, 6, 1])
    some = LanedSource.of_choices(KEY, owners, choices, 7).raw(kind, 4 * width).reshape(4, width)
    assert (some == whole[owners * 7 + choices]).all()


def test_choices_out_of_range_and_owners_listed_twice_are_refused() -> None:
    for owners, choices in (
        ([1, 2], [0, 7]),
        ([1, 2], [-1, 0]),
        ([1, 1], [0, 1]),
        ([1, LARGEST_LANE], [0, 0]),
    ):
        with pytest.raises(InvalidParameter):
            LanedSource.of_choices(KEY, np.array(owners), np.array(choices), 7)


def test_the_farthest_lane_is_reached_whatever_the_width() -> None:
    for width in (1, 3, 1000):
        last = LanedSource(KEY, np.array([LARGEST_LANE, 0])).raw(np.uint64, 2 * width)[:width]
        assert (last == LanedSource(KEY, range(LARGEST_LANE, LARGEST_LANE + 1)).raw(np.uint64, width)).all()
