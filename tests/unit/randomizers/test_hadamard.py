"""`HadamardResponse` through every coin, its transform against the matrix, and the twins that must not pass."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.hadamard import LARGEST_INPUTS, HadamardResponse
from localdp.randomizers.parts.walsh import parity, transform_columns, walsh_hadamard
from localdp.randomness.hazmat import SeededSource
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
)

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "4", "10"]


def _hadamard(epsilon: str, inputs: int) -> HadamardResponse:
    return HadamardResponse(Epsilon.requested(epsilon), inputs)


@pytest.mark.parametrize("exponent", range(9))
def test_the_transform_is_the_product_with_the_matrix(exponent: int) -> None:
    places = np.arange(1 << exponent)
    matrix = 1 - 2 * parity(places[:, None] & places).astype(np.int64)
    values = np.random.default_rng(exponent).integers(-(10**9), 10**9, len(places))
    assert (walsh_hadamard(values) == matrix @ values).all()
    columns = np.random.default_rng(1).integers(-9, 9, (len(places), 3))
    expected = matrix @ columns
    transform_columns(columns)
    assert (columns == expected).all()


def test_a_long_transform_is_its_own_inverse_and_leaves_its_argument_alone() -> None:
    values = np.random.default_rng(0).integers(0, 1000, 1 << 17)
    before = values.copy()
    assert (walsh_hadamard(walsh_hadamard(values)) == values << 17).all()
    assert (values == before).all()


@pytest.mark.parametrize("length", [0, 3, 12])
def test_a_transform_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(InvalidParameter):
        walsh_hadamard(np.zeros(length, np.int64))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 3, 4, 7])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, inputs: int) -> None:
    check_exact_law(_hadamard(epsilon, inputs))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("inputs", [2, 4, 7])
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str, inputs: int) -> None:
    check_unbiased(_hadamard(epsilon, inputs), tolerance=1e-12 * max(1.0, 1 / float(epsilon)))
    check_variance(_hadamard(epsilon, inputs))


@pytest.mark.parametrize("inputs", [2, 3, 4, 200])
def test_people_are_independent_and_every_other_contract_holds(inputs: int) -> None:
    randomizer = _hadamard("1", inputs)
    if inputs <= 3:
        check_people_independent(randomizer)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_the_broken_twins_are_caught() -> None:
    sound = _hadamard("1", 3)
    doubled = EpsilonDoubled(sound, _hadamard("2", 3))
    kept = ItemKept(sound, lambda values, reports: np.where(values == 0, reports & 2, reports))
    assert_caught(check_exact_law, doubled, kept, NoiseTwice(sound))
    assert_caught(check_unbiased, doubled, kept, NoiseTwice(sound), DebiasForgotten(sound))
    # Every debiased report is +C or -C, so the second moment alone tells nothing about the coins.
    assert_caught(check_variance, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


def test_the_variance_is_the_one_of_the_literature() -> None:
    randomizer = _hadamard("1", 1024)
    assert randomizer.variance(0.0) == pytest.approx(4.6827, abs=1e-4)
    assert randomizer.variance(0.3) == pytest.approx(randomizer.variance(0.0) - 0.3, abs=1e-12)


def test_a_report_has_the_bits_of_the_matrix_order() -> None:
    assert [_hadamard("1", d).report_bits for d in (2, 3, 4, 1023, 1024, 1 << 20)] == [2, 2, 3, 10, 11, 21]


@pytest.mark.parametrize("inputs", [-1, 0, 1, LARGEST_INPUTS + 1, True, 2.0])
def test_a_bad_number_of_inputs_is_refused(inputs: int) -> None:
    with pytest.raises(InvalidParameter):
        HadamardResponse(Epsilon.requested(1), inputs)


@pytest.mark.parametrize("nanonats", [0, 31 * 10**9])
def test_a_bad_epsilon_is_refused(nanonats: int) -> None:
    with pytest.raises(InvalidParameter):
        HadamardResponse(Epsilon(nanonats), 4)


@pytest.mark.parametrize("values", [np.zeros((2, 2), int), np.array([0.5]), np.array(["a"])])
def test_inputs_that_are_no_list_of_integers_are_refused(values: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameter):
        _hadamard("1", 4).randomize(values, SeededSource(0))


def test_dirty_padding_and_foreign_tallies_are_refused() -> None:
    randomizer = _hadamard("1", 4)
    packed = randomizer.pack(np.array([5], np.uint32))
    with pytest.raises(MalformedReport):
        randomizer.unpack(bytes([packed[0] | 1]), 1)
    other = _hadamard("2", 4)
    with pytest.raises(InvalidParameter):
        randomizer.estimate(other.tally(np.array([5], np.uint32)))
    with pytest.raises(InvalidParameter):
        randomizer.estimate(randomizer.tally(np.array([], np.uint32)))


def test_equality_is_by_parameters_and_nothing_can_be_changed() -> None:
    assert _hadamard("1", 4) == _hadamard("1.0", 4) != _hadamard("1", 5)
    assert len({_hadamard("1", 4), _hadamard("1", 4), _hadamard("2", 4)}) == 2
    assert _hadamard("1", 4).canonical == "hadamard(epsilon=1,inputs=4)"
    with pytest.raises(FrozenInstanceError):
        _hadamard("1", 4).inputs = 5  # type: ignore[misc]
