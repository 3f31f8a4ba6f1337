"""Eight exact bits from one draw: the law of the byte, its forced boundaries, and short draws."""

from fractions import Fraction
from itertools import accumulate
from math import floor

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.inverse_cdf import LazyInverseCdf, eight_bits_cdf
from localdp.randomness.source import WORD_RANGE
from tests.support.scripted import ScriptedSource

THRESHOLDS = [1, 1 << 62, 0x44D7_1234_5678_9ABD, WORD_RANGE - 1]


def _law(threshold: int) -> list[Fraction]:
    one = Fraction(threshold, WORD_RANGE)
    return [one ** byte.bit_count() * (1 - one) ** (8 - byte.bit_count()) for byte in range(256)]


def _drawn(sampler: LazyInverseCdf, script: bytes, count: int) -> list[int]:
    drawn = np.empty(count, np.uint8)
    sampler.fill(ScriptedSource(script), drawn)
    return [int(byte) for byte in drawn]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_every_decided_first_word_is_the_byte_of_its_whole_cell(threshold: int) -> None:
    sampler, bounds = eight_bits_cdf(threshold), [Fraction(0), *accumulate(_law(threshold))]
    decided = np.flatnonzero(sampler.decided_cells())
    drawn = _drawn(sampler, decided.astype(np.uint16).tobytes(), len(decided))
    for cell, byte in zip(decided.tolist(), drawn, strict=True):
        assert bounds[byte] <= Fraction(cell, 1 << 16)
        assert Fraction(cell + 1, 1 << 16) <= bounds[byte + 1]
    assert len(decided) >= (1 << 16) - 256


@pytest.mark.parametrize("byte", [0, 1, 3, 127, 128, 254])
def test_both_sides_of_a_boundary_are_told_apart_by_the_last_of_64_bits(byte: int) -> None:
    threshold = THRESHOLDS[2]
    sampler = eight_bits_cdf(threshold)
    boundary = floor(sum(_law(threshold)[: byte + 1]) * WORD_RANGE)
    for word, expected in ((boundary - 1, byte), (boundary + 1, byte + 1)):
        head, tail = word >> 48, (word & ((1 << 48) - 1)) << 16
        script = head.to_bytes(2, "little") + tail.to_bytes(8, "little")
        assert _drawn(sampler, script, 1) == [expected]


def test_a_word_that_holds_a_boundary_goes_on_with_more_bits() -> None:
    threshold = THRESHOLDS[2]
    exact = sum(_law(threshold)[:6]) * WORD_RANGE
    word = floor(exact)
    beyond = floor((exact - word) * WORD_RANGE)
    head, tail = word >> 48, (word & ((1 << 48) - 1)) << 16
    start = head.to_bytes(2, "little") + tail.to_bytes(8, "little")
    sampler = eight_bits_cdf(threshold)
    assert _drawn(sampler, start + (beyond - 1).to_bytes(8, "little"), 1) == [5]
    assert _drawn(sampler, start + (beyond + 1).to_bytes(8, "little"), 1) == [6]


def test_a_short_draw_is_packed_bits() -> None:
    threshold = THRESHOLDS[2]
    drawn = SeededSource(3).bernoulli_bytes(threshold, 100)
    assert (drawn == np.packbits(SeededSource(3).bernoulli(threshold, 800))).all()


@pytest.mark.parametrize("count", [10, 1 << 13])
@pytest.mark.parametrize("threshold", [-1, WORD_RANGE])
def test_a_threshold_out_of_range_is_refused(threshold: int, count: int) -> None:
    with pytest.raises(InvalidParameter):
        SeededSource(0).bernoulli_bytes(threshold, count)


def test_a_threshold_of_zero_never_gives_a_one() -> None:
    assert not SeededSource(0).bernoulli_bytes(0, 1 << 13).any()
