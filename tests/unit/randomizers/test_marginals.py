"""Hadamard marginals, exactly: every coin of the real sampler, every cell."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.marginals import (
    HadamardMarginals,
    MarginalEstimates,
    labelled_masks,
    parity_masks,
)
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


LABELLED_SHAPES = [(2, 1), (3, 1), (3, 2), (4, 3)]


def report_law(randomizer: Any, value: int) -> dict[Any, Any]:
    """The exact law of the report about one value."""
    law: dict[Any, Any] = enumerate_law(
        lambda source: int(randomizer.randomize(np.array([value]), source)[0])
    )
    return law


def check_correlations(randomizer: Any) -> None:
    """The label's sign times every parity of the other attributes is right on average, and has the variance of T C."""
    attributes = range(randomizer.bits - 1)
    subsets = [s for size in range(randomizer.order + 1) for s in combinations(attributes, size)]
    for value in range(randomizer.inputs):
        law = report_law(randomizer, value)
        found = {
            report: randomizer.estimate(randomizer.tally(np.array([report]))).parities for report in law
        }
        mean = np.sum([float(mass) * found[report] for report, mass in law.items()], axis=0)
        square = np.sum([float(mass) * found[report] ** 2 for report, mass in law.items()], axis=0)
        assert np.allclose(square, randomizer.signs * randomizer.scale**2), "not the stated variance"
        estimates = MarginalEstimates(randomizer, 1, mean)
        for subset in subsets:
            ones = (value >> (randomizer.bits - 1)) + sum(value >> bit & 1 for bit in subset)
            assert abs(estimates.parity_mean(subset) - (-1) ** ones) <= 1e-12, "a correlation is biased"


@pytest.mark.parametrize(("bits", "order"), LABELLED_SHAPES)
def test_with_a_label_the_sampler_has_the_stated_law_and_epsilon(bits: int, order: int) -> None:
    check_exact_law(HadamardMarginals(ONE, bits, order, labelled=True))


@pytest.mark.parametrize(("bits", "order"), LABELLED_SHAPES)
def test_with_a_label_every_correlation_is_unbiased(bits: int, order: int) -> None:
    check_correlations(HadamardMarginals(ONE, bits, order, labelled=True))


def test_broken_twins_with_a_label_are_caught() -> None:
    sound, loud = (HadamardMarginals(epsilon, 3, 2, labelled=True) for epsilon in (ONE, TWO))
    assert_caught(check_exact_law, EpsilonDoubled(sound, loud))
    assert_caught(check_correlations, EpsilonDoubled(sound, loud), DebiasForgotten(sound))


@pytest.mark.parametrize(("bits", "order"), [(2, 1), (11, 3), (62, 2), (21, 20)])
def test_the_contract_of_a_randomizer_holds_with_a_label(bits: int, order: int) -> None:
    randomizer = HadamardMarginals(ONE, bits, order, labelled=True)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


def test_labelled_parities_are_those_of_the_label_and_few_attributes() -> None:
    masks = labelled_masks(5, 2).tolist()
    expected = [16 | mask for mask in range(16) if mask.bit_count() <= 2]
    assert masks == expected == HadamardMarginals(ONE, 5, 2, True).masks.tolist()
    assert HadamardMarginals(ONE, 5, 2, True).signs == 11
    assert parity_masks(5, 2).tolist() == [mask for mask in range(1, 32) if mask.bit_count() <= 2]


def test_parities_with_a_label_make_no_marginals() -> None:
    randomizer = HadamardMarginals(ONE, 4, 2, labelled=True)
    found = randomizer.estimate(randomizer.tally(np.zeros(1, np.uint8)))
    with pytest.raises(InvalidParameter, match="no marginals"):
        found.marginal((0,))
    for attributes in [(3,), (0, 0), (0, 1, 2), (-1,)]:
        with pytest.raises(InvalidParameter):
            found.parity_mean(attributes)


@pytest.mark.parametrize(("bits", "order"), [(1, 1), (63, 1), (4, 0), (4, 4), (31, 17), (24, 21)])
def test_sizes_out_of_bounds_are_refused_with_a_label(bits: int, order: int) -> None:
    with pytest.raises(InvalidParameter):
        HadamardMarginals(ONE, bits, order, labelled=True)


@pytest.mark.parametrize("labelled", [1, 0, None, "yes"])
def test_what_is_neither_labelled_nor_not_is_refused(labelled: Any) -> None:
    with pytest.raises(InvalidParameter):
        HadamardMarginals(ONE, 4, 2, labelled)


def test_a_marginal_of_many_attributes_is_one_transform() -> None:
    randomizer = HadamardMarginals(ONE, 14, 14)
    values = np.full(3, 5)
    found = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(0))))
    exact = np.where(np.bitwise_count(randomizer.masks & np.uint64(5)) % 2, -1.0, 1.0)
    cells = MarginalEstimates(randomizer, 3, exact).marginal(range(14)).values
    assert len(found.marginal(range(14)).values) == 1 << 14
    assert cells[5] == pytest.approx(1) and np.abs(np.delete(cells, 5)).max() < 1e-12


def test_a_report_out_of_range_is_refused() -> None:
    randomizer = HadamardMarginals(ONE, 3, 2)  # 6 parities, 12 reports, 4 bits
    with pytest.raises(MalformedReport):
        randomizer.unpack(b"\xc0", 1)


def test_equal_parameters_are_equal_randomizers() -> None:
    assert HadamardMarginals(ONE, 8) == HadamardMarginals(ONE, 8, 2) != HadamardMarginals(ONE, 8, 3)
    assert HadamardMarginals(ONE, 8).canonical == "hadamard-marginals(epsilon=1,bits=8,order=2)"
    labelled = HadamardMarginals(ONE, 8, labelled=True)
    assert labelled != HadamardMarginals(ONE, 8)
    assert labelled.canonical == "hadamard-marginals(epsilon=1,bits=8,order=2,labelled)"
