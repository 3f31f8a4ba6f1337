"""The lazy inverse transform: every first word, forced ambiguity, forced ties, forced tails."""

from bisect import bisect_right
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

from localdp.randomness.discrete_laplace import _enclose_sign, _enclose_zigzag
from localdp.randomness.geometric import _enclose_digit, _enclose_geometric
from localdp.randomness.inverse_cdf import (
    Enclose,
    Enclosures,
    LazyInverseCdf,
    integer_law_cdf,
    same,
    zigzag,
)
from localdp.randomness.negative_binomial import _enclose_blocks, _enclose_poisson, _enclose_whole
from localdp.randomness.source import IntegerLaw
from tests.support.scripted import ScriptedSource

RATIO = Fraction(2, 3)


def _exact(j: int) -> Fraction:
    """F(j) of a geometric law with a *rational* ratio, so that the truth is known exactly."""
    return 1 - RATIO ** (j + 1)


def _enclose(bits: int, size: int) -> Enclosures:
    exact = [_exact(j) * (1 << bits) for j in range(size)]
    return [floor(f) for f in exact], [ceil(f) for f in exact]


SAMPLER = LazyInverseCdf(_enclose)


def _heads(word: int) -> bytes:
    return (word >> 48).to_bytes(2, "little")


def _tail(word: int) -> bytes:
    return ((word & ((1 << 48) - 1)) << 16).to_bytes(8, "little")


def _script(word: int, *more: int) -> ScriptedSource:
    return ScriptedSource(_heads(word) + _tail(word) + b"".join(m.to_bytes(8, "little") for m in more))


def test_every_decided_first_word_is_the_outcome_of_its_whole_cell() -> None:
    decided = np.flatnonzero(SAMPLER.decided_cells())
    drawn = SAMPLER.sample(ScriptedSource(decided.astype(np.uint16).tobytes()), len(decided))
    bounds = [_exact(j) for j in range(200)]
    for cell, outcome in zip(decided.tolist(), drawn.tolist(), strict=True):
        assert bisect_right(bounds, Fraction(cell, 1 << 16)) == outcome
        assert Fraction(cell + 1, 1 << 16) <= bounds[outcome]


def test_only_cells_that_hold_a_boundary_are_ambiguous() -> None:
    ambiguous = set(np.flatnonzero(~SAMPLER.decided_cells()).tolist())
    assert ambiguous == {floor(_exact(j) * (1 << 16)) for j in range(64)}


def test_the_decided_cells_of_an_outcome_fall_short_of_its_probability_by_two_cells_at_most() -> None:
    decided = np.flatnonzero(SAMPLER.decided_cells())
    drawn = SAMPLER.sample(ScriptedSource(decided.astype(np.uint16).tobytes()), len(decided))
    for outcome, count in enumerate(np.bincount(drawn)):
        probability = RATIO**outcome * (1 - RATIO) * (1 << 16)
        assert probability - 2 <= count <= probability


@pytest.mark.parametrize("j", [0, 1, 2, 7, 20])
def test_an_ambiguous_draw_is_settled_by_48_more_bits_on_both_sides(j: int) -> None:
    boundary = floor(_exact(j) * (1 << 64))
    assert SAMPLER.sample(_script(boundary - 1), 1)[0] == j
    assert SAMPLER.sample(_script(boundary + 1), 1)[0] == j + 1


@pytest.mark.parametrize("j", [0, 1, 2, 7, 20])
def test_a_tie_of_64_bits_takes_more_bits_until_it_is_settled(j: int) -> None:
    first, second, third = (floor(_exact(j) * (1 << bits)) % (1 << 64) for bits in (64, 128, 192))
    for more, outcome in (
        ((second - 1,), j),
        ((second + 1,), j + 1),
        ((second, third - 1), j),
        ((second, third + 1), j + 1),
    ):
        source = _script(first, *more)
        assert SAMPLER.sample(source, 1)[0] == outcome
        assert source.remaining == 0


def test_a_draw_beyond_the_table_finds_its_place_in_the_tail() -> None:
    ones = (1 << 64) - 1
    source = _script(ones, ones, 1 << 63)
    word = Fraction((ones << 128) | (ones << 64) | (1 << 63), 1 << 192)
    outcome = int(SAMPLER.sample(source, 1)[0])
    assert _exact(outcome - 1) <= word < _exact(outcome)
    assert outcome > 200  # Far beyond the 64-bit table: no tail is cut off.


def test_the_tail_keeps_its_side_when_the_support_is_all_integers() -> None:
    sampler = LazyInverseCdf(_enclose, value_of=zigzag)
    source = _script((1 << 64) - 1, (1 << 64) - 1, 5)
    magnitude_first = int(SAMPLER.sample(_script((1 << 64) - 1, (1 << 64) - 1, 5), 1)[0])
    assert sampler.sample(source, 1)[0] == zigzag(np.array([magnitude_first]))[0]


def test_zigzag_lists_every_integer_once() -> None:
    assert zigzag(np.arange(7)).tolist() == [0, 1, -1, 2, -2, 3, -3]
    assert same(np.arange(3)).tolist() == [0, 1, 2]


def test_a_finite_law_never_leaves_its_support_and_skips_weight_zero() -> None:
    sampler = integer_law_cdf(IntegerLaw((0, 1, 0, 2, 0)))
    third = (1 << 64) // 3
    assert sampler.sample(_script(0), 1)[0] == 1
    assert sampler.sample(_script(third, 0), 1)[0] == 1
    assert sampler.sample(_script(third, (1 << 64) - 1), 1)[0] == 3
    assert sampler.sample(ScriptedSource(b"\xff\xff"), 1)[0] == 3


def test_a_law_on_the_grid_of_the_table_has_no_ambiguous_cell() -> None:
    sampler = integer_law_cdf(IntegerLaw((1, 2, 65536 - 3)))
    assert sampler.decided_cells().all()
    every = ScriptedSource(np.arange(65536, dtype=np.uint16).tobytes())
    assert np.bincount(sampler.sample(every, 65536)).tolist() == [1, 2, 65533]


LAWS: dict[str, tuple[Enclose, int]] = {
    "geometric": (lambda b, s: _enclose_geometric(Fraction(1, 7), b, s), 300),
    "digit": (lambda b, s: _enclose_digit(Fraction(1, 10**9), 64, b, s), 64),
    "zigzag": (lambda b, s: _enclose_zigzag(Fraction(2, 7), b, s), 301),
    "zigzag-steep": (lambda b, s: _enclose_zigzag(Fraction(64), b, s), 20),
    "sign": (lambda b, s: _enclose_sign(Fraction(1, 10**9), b, s), 3),
    "negative-binomial": (lambda b, s: _enclose_whole(Fraction(1, 7), Fraction(1, 5), b, s), 300),
    "poisson": (lambda b, s: _enclose_poisson(Fraction(1, 10**6), Fraction(1, 3), b, s), 60),
    "blocks": (lambda b, s: _enclose_blocks(Fraction(1, 10**6), b, s), 40),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_enclosure_is_ordered_narrow_and_nested(name: str) -> None:
    enclose, size = LAWS[name]
    finest = enclose(512, size)
    for bits in (64, 128, 192):
        lower, upper = enclose(bits, size)
        assert lower == sorted(lower)
        assert upper == sorted(upper)
        assert min(lower) >= 0
        assert max(upper) <= 1 << bits
        assert all(0 <= high - low <= 2 for low, high in zip(lower, upper, strict=True))
        shift = 512 - bits
        for low, high, fine_low, fine_high in zip(lower, upper, *finest, strict=True):
            assert low << shift <= fine_low <= fine_high <= high << shift
