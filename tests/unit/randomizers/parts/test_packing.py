"""Packed integers against Python's own: one int of count * bits bits, highest bit first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import TalliedRandomizer, tally_packed
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.parts import unpacking
from localdp.randomizers.parts.packing import (
    bits_below,
    count_integers,
    pack_integers,
    packed_size,
    unpack_integers,
    unsigned_type,
)
from localdp.randomizers.unary import OptimizedUnaryEncoding
from localdp.randomness.hazmat import SeededSource


def _reference(values: list[int], bits: int) -> bytes:
    run = 0
    for value in values:
        run = run << bits | value
    size = packed_size(len(values), bits)
    return (run << 8 * size - len(values) * bits).to_bytes(size, "big")


def _some_values(count: int, bits: int) -> list[int]:
    words = np.random.default_rng(bits).integers(0, 2**64, count, np.uint64)
    return [int(word) >> 64 - bits for word in words]


@pytest.mark.parametrize("bits", range(1, 65))
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_every_width_is_packed_as_one_run_of_bits_and_comes_back(bits: int, count: int) -> None:
    values = _some_values(count, bits)
    packed = pack_integers(np.array(values, np.uint64), bits)
    assert packed == _reference(values, bits)
    unpacked = unpack_integers(packed, count, bits, 1 << bits)
    assert unpacked.tolist() == values
    assert unpacked.dtype == unsigned_type(bits)


@pytest.mark.parametrize("bits", range(1, 65))
@pytest.mark.parametrize("count", [999, 1000, 1001])
def test_a_run_that_is_unpacked_in_many_blocks_comes_back(
    bits: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_BLOCK", 16)
    values = _some_values(count, bits)
    packed = pack_integers(np.array(values, np.uint64), bits)
    assert unpack_integers(packed, count, bits, 1 << bits).tolist() == values


def test_the_widths_that_are_spread_a_word_at_a_time() -> None:
    assert {bits for bits in range(65) if unpacking.can_spread(bits)} == set(range(2, 31)) - {8, 16}


@pytest.mark.parametrize("bits", [1, 3, 7, 8, 9, 13, 31, 33, 63, 64])
def test_the_largest_value_of_a_width_comes_back(bits: int) -> None:
    values = [(1 << bits) - 1] * 11
    packed = pack_integers(np.array(values, np.uint64), bits)
    assert unpack_integers(packed, 11, bits, 1 << bits).tolist() == values


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 40), st.integers(1, 64), st.integers(1, 1 << 64))
def test_whatever_is_unpacked_packs_to_the_same_bytes(
    data: bytes, count: int, bits: int, below: int
) -> None:
    try:
        values = unpack_integers(data, count, bits, below)
    except MalformedReport:
        return
    assert all(int(value) < below for value in values)
    assert pack_integers(values, bits) == data


@pytest.mark.parametrize("bits", [1, 3, 8, 12, 16, 32, 64])
def test_wrong_lengths_are_refused(bits: int) -> None:
    packed = pack_integers(np.zeros(9, np.uint8), bits)
    for wrong in (packed + b"\0", packed[:-1], b""):
        with pytest.raises(MalformedReport):
            unpack_integers(wrong, 9, bits, 1 << bits)


@pytest.mark.parametrize("bits", [1, 3, 7, 9, 12, 33])
def test_every_dirty_bit_of_the_padding_is_refused(bits: int) -> None:
    packed = pack_integers(np.zeros(1, np.uint8), bits)
    for dirty in range(8 * len(packed) - bits):
        with pytest.raises(MalformedReport):
            unpack_integers(packed[:-1] + bytes([1 << dirty]), 1, bits, 1 << bits)


@pytest.mark.parametrize("bits", [1, 5, 8, 16, 20, 64])
def test_a_value_that_is_not_below_the_bound_is_refused(bits: int) -> None:
    top = (1 << bits) - 1
    packed = pack_integers(np.array([0, top, 0], np.uint64), bits)
    unpack_integers(packed, 3, bits, top + 1)
    with pytest.raises(MalformedReport):
        unpack_integers(packed, 3, bits, top)


def test_a_value_that_does_not_fit_is_not_packed() -> None:
    for values in (np.array([8]), np.array([-1]), np.array([0.5]), np.zeros((2, 2), np.uint8)):
        with pytest.raises(InvalidParameter):
            pack_integers(values, 3)
    for bits in (0, 65, -1):
        with pytest.raises(InvalidParameter):
            pack_integers(np.array([0]), bits)


def test_the_width_of_a_bound_is_the_least_that_holds_all_below_it() -> None:
    assert [bits_below(bound) for bound in (1, 2, 3, 4, 5, 256, 257, 1 << 64)] == [1, 1, 2, 2, 3, 8, 9, 64]


@pytest.mark.parametrize("bits", range(1, 13))
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 1000, 1001])
def test_packed_values_are_counted_as_unpacked_ones(bits: int, count: int) -> None:
    values = np.array(_some_values(count, bits), np.uint64)
    packed = pack_integers(values, bits)
    expected = np.bincount(values.astype(np.int64), minlength=1 << bits)
    assert count_integers(packed, count, bits, 1 << bits).tolist() == expected.tolist()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=12), st.integers(0, 20), st.integers(1, 9), st.integers(1, 600))
def test_what_cannot_be_unpacked_cannot_be_counted_either(
    data: bytes, count: int, bits: int, below: int
) -> None:
    below = min(below, 1 << bits)
    try:
        values = unpack_integers(data, count, bits, below)
    except MalformedReport:
        with pytest.raises(MalformedReport):
            count_integers(data, count, bits, below)
        return
    assert count_integers(data, count, bits, below).tolist() == [
        int(np.count_nonzero(values == value)) for value in range(below)
    ]


@pytest.mark.parametrize(
    "randomizer",
    [
        KaryRandomizedResponse(Epsilon.requested(1), 121),
        KaryRandomizedResponse(Epsilon.requested(1), 1000),
        OneBitRandomizer(Epsilon.requested(1)),
        OptimizedUnaryEncoding(Epsilon.requested(1), 121),
    ],
    ids=lambda randomizer: randomizer.canonical,
)
def test_a_tally_of_packed_reports_is_that_of_the_reports(randomizer: TalliedRandomizer) -> None:
    values = np.arange(2001) % randomizer.inputs
    reports = randomizer.randomize(values, SeededSource(1))
    tally = tally_packed(randomizer, randomizer.pack(reports), len(reports))
    expected = randomizer.tally(reports)
    assert (tally.reports, tally.sums.tolist()) == (expected.reports, expected.sums.tolist())
    with pytest.raises(MalformedReport):
        tally_packed(randomizer, randomizer.pack(reports) + b"\0", len(reports))
