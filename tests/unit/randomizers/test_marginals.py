"""Hadamard marginals, exactly: every coin of the real sampler, every cell."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.marginals import HadamardMarginals, MarginalEstimates, parity_masks
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled, ItemKept, SeedReused
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
)

ONE, TWO = Epsilon.requested(1.0), Epsilon.requested(2.0)
SHAPES = [(1, 1), (2, 2), (3, 2), (4, 1), (4, 4)]


class DebiasForgotten(BrokenTwin):
    """Multiplies by the number of parities, but not by C."""

    def estimate(self, tally: Any) -> MarginalEstimates:
        """Parities that are too small."""
        sound: MarginalEstimates = self.sound.estimate(tally)
        return MarginalEstimates(self.sound, sound.reports, sound.parities / self.sound.scale)


def moments(randomizer: Any, value: int, attributes: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """The exact mean and mean square of the cells of a marginal, from one report about the value."""
    law = enumerate_law(lambda source: int(randomizer.randomize(np.array([value]), source)[0]))
    mean = square = np.zeros(1 << len(attributes))
    for report, mass in law.items():
        cells = randomizer.estimate(randomizer.tally(np.array([report]))).marginal(attributes).values
        mean, square = mean + float(mass) * cells, square + float(mass) * cells**2
    return mean, square


def cell_of(value: int, attributes: tuple[int, ...]) -> NDArray[np.float64]:
    cell = sum((value >> bit & 1) << place for place, bit in enumerate(attributes))
    indicator: NDArray[np.float64] = np.eye(1 << len(attributes))[cell]
    return indicator


def check_marginals(randomizer: Any) -> None:
    """Every cell of every marginal is right on average, and has the stated variance."""
    for size in range(1, randomizer.order + 1):
        for attributes in combinations(reversed(range(randomizer.bits)), size):
            for value in range(randomizer.inputs):
                mean, square = moments(randomizer, value, attributes)
                truth = cell_of(value, attributes)
                assert np.abs(mean - truth).max() <= 1e-12, "a marginal is biased"
                stated = randomizer.cell_variance(size, truth)
                assert np.allclose(square - truth**2, stated, atol=1e-9), "not the stated variance"


@pytest.mark.parametrize(("bits", "order"), SHAPES)
def test_the_sampler_has_the_stated_law_and_epsilon(bits: int, order: int) -> None:
    check_exact_law(HadamardMarginals(ONE, bits, order))


@pytest.mark.parametrize("epsilon", [0.01, 10.0])
def test_epsilon_is_tight_from_small_to_large(epsilon: float) -> None:
    check_exact_law(HadamardMarginals(Epsilon.requested(epsilon), 3, 2))


@pytest.mark.parametrize(("bits", "order"), [(1, 1), (3, 2), (3, 3)])
def test_every_cell_is_unbiased_and_of_the_stated_variance(bits: int, order: int) -> None:
    check_marginals(HadamardMarginals(ONE, bits, order))


def test_broken_twins_are_caught() -> None:
    sound, loud = HadamardMarginals(ONE, 3, 2), HadamardMarginals(TWO, 3, 2)
    told = ItemKept(sound, lambda values, reports: (reports & ~np.uint8(1)) | (values & 1).astype(np.uint8))
    assert_caught(check_exact_law, EpsilonDoubled(sound, loud), told)
    assert_caught(check_marginals, EpsilonDoubled(sound, loud), DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(sound))


@pytest.mark.parametrize(("bits", "order"), [(1, 1), (8, 2), (10, 3), (62, 2)])
def test_the_contract_of_a_randomizer_holds(bits: int, order: int) -> None:
    randomizer = HadamardMarginals(ONE, bits, order)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_people_do_not_share_coins() -> None:
    check_people_independent(HadamardMarginals(ONE, 3, 2))


def test_marginals_are_consistent_whatever_the_noise() -> None:
    randomizer = HadamardMarginals(ONE, 10, 3)
    values = np.random.default_rng(0).integers(0, 1024, 500)
    found = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(0))))
    three = found.marginal((7, 2, 4)).values.reshape(2, 2, 2)  # the first axis is the last attribute
    np.testing.assert_allclose(three.sum(axis=0).ravel(), found.marginal((7, 2)).values, atol=1e-12)
    np.testing.assert_allclose(three.sum(axis=(0, 1)).ravel(), found.marginal([7]).values, atol=1e-12)
    assert three.sum() == pytest.approx(1.0)
    assert found.marginal([7]).values[0] == pytest.approx((1 + found.parity_mean([7])) / 2)


def test_there_is_one_parity_for_each_small_subset() -> None:
    masks = parity_masks(8, 2)
    assert len(masks) == 36 == HadamardMarginals(ONE, 8, 2).signs
    assert len(set(masks.tolist())) == 36 and set(np.bitwise_count(masks).tolist()) == {1, 2}


@pytest.mark.parametrize(("bits", "order"), [(0, 1), (63, 1), (4, 0), (4, 5), (62, 16), (30, 17)])
def test_sizes_out_of_bounds_are_refused(bits: int, order: int) -> None:
    with pytest.raises(InvalidParameter):
        HadamardMarginals(ONE, bits, order)


@pytest.mark.parametrize("attributes", [(), (0, 1, 2), (1, 1), (4,), (-1,)])
def test_what_is_no_marginal_is_refused(attributes: tuple[int, ...]) -> None:
    randomizer = HadamardMarginals(ONE, 4, 2)
    found = randomizer.estimate(randomizer.tally(np.zeros(1, np.uint8)))
    with pytest.raises(InvalidParameter):
        found.marginal(attributes)


def test_a_report_out_of_range_is_refused() -> None:
    randomizer = HadamardMarginals(ONE, 3, 2)  # 6 parities, 12 reports, 4 bits
    with pytest.raises(MalformedReport):
        randomizer.unpack(b"\xc0", 1)


def test_equal_parameters_are_equal_randomizers() -> None:
    assert HadamardMarginals(ONE, 8) == HadamardMarginals(ONE, 8, 2) != HadamardMarginals(ONE, 8, 3)
    assert HadamardMarginals(ONE, 8).canonical == "hadamard-marginals(epsilon=1,bits=8,order=2)"
