"""The unary encodings through every coin, and the twins that must not pass."""

from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.unary import (
    LARGEST_LAW_INPUTS,
    MOST_INPUTS,
    OptimizedUnaryEncoding,
    SymmetricUnaryEncoding,
    UnaryEncoding,
    column_sums,
)
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, LastBitKept, SeedReused
from tests.support.randomizer_checks import (
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
)

ENCODINGS: list[type[UnaryEncoding]] = [OptimizedUnaryEncoding, SymmetricUnaryEncoding]
EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]
both = pytest.mark.parametrize("encoding", ENCODINGS)


def _unary(encoding: type[UnaryEncoding], epsilon: str, inputs: int) -> UnaryEncoding:
    return encoding(Epsilon.requested(epsilon), inputs)


@both
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 3, 5])
def test_the_law_is_exact_and_spends_what_was_requested(
    encoding: type[UnaryEncoding], epsilon: str, inputs: int
) -> None:
    check_exact_law(_unary(encoding, epsilon, inputs))


@both
def test_the_law_is_exact_across_the_border_of_a_byte(encoding: type[UnaryEncoding]) -> None:
    check_exact_law(_unary(encoding, "1", 9), inputs=[0, 7, 8])


@both
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_estimate_is_unbiased_with_the_stated_variance(
    encoding: type[UnaryEncoding], epsilon: str
) -> None:
    randomizer = _unary(encoding, epsilon, 4)
    check_unbiased(randomizer, tolerance=1e-12 * max(1.0, 8 / float(epsilon)))
    check_variance(randomizer)


@both
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_epsilon_is_tight_for_any_number_of_inputs(encoding: type[UnaryEncoding], epsilon: str) -> None:
    randomizer = _unary(encoding, epsilon, MOST_INPUTS)
    own, other = randomizer.support.own, randomizer.support.other
    check_epsilon(randomizer, own / other * (1 - other) / (1 - own))


@both
@pytest.mark.parametrize("inputs", [2, 8, 13, 64, 65, 200])
def test_people_are_independent_and_every_other_contract_holds(
    encoding: type[UnaryEncoding], inputs: int
) -> None:
    randomizer = _unary(encoding, "1", inputs)
    if inputs == 2:
        check_people_independent(randomizer)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def _keep_last_bit(values: np.ndarray, reports: np.ndarray) -> np.ndarray:
    kept = reports.copy()
    kept[:, 0] = kept[:, 0] & 0b1110_0000 | (values == 3) * np.uint8(0b0001_0000)
    return kept


@both
def test_the_broken_twins_are_caught(encoding: type[UnaryEncoding]) -> None:
    sound = _unary(encoding, "1", 4)
    doubled, kept = EpsilonDoubled(sound, _unary(encoding, "2", 4)), LastBitKept(sound, _keep_last_bit)
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(_unary(encoding, "1", 2)))


def test_the_variances_have_their_closed_forms() -> None:
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        e, root = exp(epsilon), exp(epsilon / 2)
        optimized = _unary(OptimizedUnaryEncoding, str(epsilon), 1024)
        symmetric = _unary(SymmetricUnaryEncoding, str(epsilon), 1024)
        for frequency in (0.0, 0.3, 1.0):
            assert optimized.variance(frequency) == pytest.approx(
                4 * e / (e - 1) ** 2 + frequency, rel=1e-6
            )
            assert symmetric.variance(frequency) == pytest.approx(root / (root - 1) ** 2, rel=1e-6)
    assert _unary(OptimizedUnaryEncoding, "1", 1024).variance(0.0) == pytest.approx(3.683, abs=5e-4)
    assert _unary(SymmetricUnaryEncoding, "1", 1024).variance(0.0) == pytest.approx(3.918, abs=5e-4)


def test_the_bit_of_the_input_is_a_fair_coin_in_the_optimized_encoding() -> None:
    law = _unary(OptimizedUnaryEncoding, "1", 3).law(2)
    ones = [mass for output, mass in law.items() if isinstance(output, tuple) and output[0] & 0b0010_0000]
    assert sum(ones) * 2 == 1


@pytest.mark.parametrize("columns", [1, 7, 8, 100, 128, 129, 500])
@pytest.mark.parametrize("rows", [0, 1, 254, 255, 256, 1000, 4321])
def test_the_sums_of_packed_columns_are_those_of_their_bits(rows: int, columns: int) -> None:
    bits = np.random.default_rng(rows).random((rows, columns)) < 0.8
    sums = column_sums(np.packbits(bits, axis=1), columns)
    assert sums.dtype == np.int64 and (sums == bits.sum(axis=0)).all()


@both
def test_dirty_padding_in_any_report_is_refused(encoding: type[UnaryEncoding]) -> None:
    randomizer = _unary(encoding, "1", 11)
    randomizer.unpack(bytes([255, 0b1110_0000, 0, 0]), 2)
    for dirty in ([255, 1, 0, 0], [0, 0, 255, 0b0001_0000]):
        for taken in (randomizer.unpack, randomizer.tally_packed):
            with pytest.raises(MalformedReport):
                taken(bytes(dirty), 2)


@both
@pytest.mark.parametrize("inputs", [0, 1, -1, MOST_INPUTS + 1])
def test_a_number_of_inputs_out_of_bounds_is_refused(encoding: type[UnaryEncoding], inputs: int) -> None:
    with pytest.raises(InvalidParameter):
        _unary(encoding, "1", inputs)


@both
def test_an_epsilon_out_of_bounds_is_refused(encoding: type[UnaryEncoding]) -> None:
    for nanonats in (0, 31 * 10**9):
        with pytest.raises(InvalidParameter):
            encoding(Epsilon(nanonats), 4)


def test_an_epsilon_that_cannot_be_halved_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        SymmetricUnaryEncoding(Epsilon(1), 4)
    assert SymmetricUnaryEncoding(Epsilon(2), 4).epsilon == Epsilon(2)


@both
def test_a_law_too_long_to_write_out_is_refused(encoding: type[UnaryEncoding]) -> None:
    with pytest.raises(InvalidParameter):
        _unary(encoding, "1", LARGEST_LAW_INPUTS + 1).law(0)


def test_the_two_encodings_are_different_randomizers() -> None:
    optimized, symmetric = (_unary(encoding, "1", 8) for encoding in ENCODINGS)
    assert optimized != symmetric and optimized.canonical != symmetric.canonical
    with pytest.raises(InvalidParameter):
        optimized.estimate(symmetric.tally(symmetric.randomize(np.zeros(3, np.int64), SeededSource(0))))
