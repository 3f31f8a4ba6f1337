"""`RecursiveHadamardResponse` through every coin, and the field that its rows live in."""

from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.recursive_hadamard import (
    _POLYNOMIALS,
    LARGEST_BITS,
    LARGEST_INPUTS,
    RecursiveHadamardResponse,
)
from tests.support.broken_twins import EpsilonDoubled, ItemKept, SeedReused
from tests.support.frequency_twins import DebiasForgotten, NoiseTwice
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
    some_reports,
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]
SHAPES = [(2, 1), (3, 1), (3, 2), (4, 2), (7, 2), (8, 3)]


def _recursive(epsilon: str, inputs: int, bits: int | None = None) -> RecursiveHadamardResponse:
    return RecursiveHadamardResponse(Epsilon.requested(epsilon), inputs, bits)


def _remainder(dividend: int, divisor: int) -> int:
    while dividend.bit_length() >= divisor.bit_length():
        dividend ^= divisor << (dividend.bit_length() - divisor.bit_length())
    return dividend


@pytest.mark.parametrize("degree", range(1, 21))
def test_the_polynomials_have_no_divisor(degree: int) -> None:
    polynomial = (1 << degree) + _POLYNOMIALS[degree - 1]
    assert polynomial.bit_length() == degree + 1
    assert all(_remainder(polynomial, divisor) for divisor in range(2, 1 << (degree // 2 + 1)))


@pytest.mark.parametrize(("inputs", "bits"), [(8, 1), (8, 3), (16, 2), (32, 4)])
def test_two_items_differ_by_a_uniform_symbol_over_all_rows(inputs: int, bits: int) -> None:
    randomizer = _recursive("1", inputs, bits)
    rows = np.arange(inputs, dtype=np.uint32)
    hashes = np.stack([randomizer._hash(rows, np.full_like(rows, item)) for item in range(inputs)])
    for one in range(inputs):
        for other in range(one):
            differences = np.bincount(hashes[one] ^ hashes[other], minlength=1 << bits)
            assert (differences == inputs >> bits).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("inputs", "bits"), SHAPES)
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, inputs: int, bits: int) -> None:
    check_exact_law(_recursive(epsilon, inputs, bits))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("inputs", "bits"), SHAPES)
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, inputs: int, bits: int) -> None:
    randomizer = _recursive(epsilon, inputs, bits)
    check_unbiased(randomizer, tolerance=1e-12 * max(1.0, inputs / float(epsilon)))
    check_variance(randomizer)


@pytest.mark.parametrize(("inputs", "bits"), [*SHAPES, (1000, 5)])
def test_people_are_independent_and_every_other_contract_holds(inputs: int, bits: int) -> None:
    randomizer = _recursive("1", inputs, bits)
    if inputs <= 4:
        check_people_independent(randomizer)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_the_broken_twins_are_caught() -> None:
    sound = _recursive("1", 4, 2)
    doubled = EpsilonDoubled(sound, _recursive("2", 4, 2))
    kept = ItemKept(sound, lambda values, reports: np.where(values == 0, reports & ~np.uint32(1), reports))
    assert_caught(check_exact_law, doubled, kept, NoiseTwice(sound))
    assert_caught(check_unbiased, doubled, kept, NoiseTwice(sound), DebiasForgotten(sound))
    assert_caught(check_variance, doubled, kept, NoiseTwice(sound), DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


@pytest.mark.parametrize(("inputs", "bits", "people"), [(100, 3, 50), (100, 3, 5000)])
def test_the_coefficients_count_the_supporting_reports(inputs: int, bits: int, people: int) -> None:
    # Fewer reports than different ones are decoded one by one, more are counted first.
    randomizer = _recursive("1", inputs, bits)
    reports = some_reports(randomizer, people)
    rows, symbols = reports >> np.uint32(bits), reports & np.uint32((1 << bits) - 1)
    supporting = [
        np.count_nonzero(randomizer._hash(rows, np.full_like(rows, item)) == symbols)
        for item in range(inputs)
    ]
    expected = randomizer.support.estimate(np.array(supporting), people).values
    np.testing.assert_array_equal(randomizer.estimate(randomizer.tally(reports)).values, expected)


def test_one_bit_has_the_variance_of_hadamard_response() -> None:
    one_block = HadamardResponse(Epsilon.requested(1), 1024)
    assert _recursive("1", 1024, 1).variance(0.2) == one_block.variance(0.2)


@pytest.mark.parametrize(("epsilon", "bits"), [(1.0, 2), (2.0, 3), (4.0, 6)])
def test_all_coefficients_beat_the_sign_alone_by_the_stated_factor(epsilon: float, bits: int) -> None:
    e, g = exp(epsilon), 1 << bits
    same, other = (e + 1) * (e + g - 1) / (e - 1) ** 2, 2 * (e + g - 1) / (e - 1) ** 2
    of_the_source = other + (same - other) / (g // 2)  # at equally filled blocks
    ours = _recursive(str(epsilon), 1024, bits).variance(0.0)
    assert ours == pytest.approx(of_the_source * g / (2 * (g - 1)), rel=1e-9)
    if bits == 6:
        assert of_the_source == pytest.approx(
            0.150, abs=1e-3
        )  # the number that the source's estimator reaches


def test_the_default_number_of_bits_is_near_the_optimum() -> None:
    chosen = {e: _recursive(e, 1024) for e in ("0.5", "1", "2", "4")}
    assert [r.bits for r in chosen.values()] == [1, 2, 3, 6]
    for epsilon, randomizer in chosen.items():
        e = exp(float(epsilon))
        assert randomizer.variance(0.0) < 1.07 * 4 * e / (e - 1) ** 2
    assert chosen["1"] == _recursive("1", 1024, 2)
    assert chosen["1"].canonical == "recursive-hadamard(epsilon=1,inputs=1024,bits=2)"
    assert chosen["1"].report_bits == 12


@pytest.mark.parametrize(
    ("inputs", "bits"),
    [(0, 1), (1, 1), (LARGEST_INPUTS + 1, 1), (4, 0), (4, 3), (1 << 20, LARGEST_BITS + 1)],
)
def test_bad_sizes_are_refused(inputs: int, bits: int) -> None:
    with pytest.raises(InvalidParameter):
        _recursive("1", inputs, bits)


def test_dirty_padding_is_refused() -> None:
    randomizer = _recursive("1", 4, 2)
    packed = randomizer.pack(np.array([9], np.uint32))
    with pytest.raises(MalformedReport):
        randomizer.unpack(bytes([packed[0] | 1]), 1)
