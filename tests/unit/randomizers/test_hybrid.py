"""The hybrid mechanism through every coin of both of its branches."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.hybrid import LARGEST_EPSILON_OF_THE_BIT, HybridRandomizer
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.hazmat import SeededSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
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

EPSILONS = ["0.01", "0.5", "0.61", "0.7", "1", "2", "4", "7"]


def _hybrid(epsilon: str, resolution: int, fineness: int = 2) -> HybridRandomizer:
    return HybridRandomizer(Epsilon.requested(epsilon), resolution, fineness)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("resolution", [1, 4])
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str, resolution: int) -> None:
    check_exact_law(_hybrid(epsilon, resolution))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_estimate_is_unbiased_with_the_stated_variance(epsilon: str) -> None:
    randomizer = _hybrid(epsilon, 2, 1)
    check_unbiased(randomizer, tolerance=1e-12 * max(1, 2 / float(epsilon)))
    check_variance(randomizer)


@pytest.mark.parametrize(("epsilon", "reference"), [("1", 4.289), ("2", 1.042), ("4", 0.2190)])
def test_the_variance_is_that_of_the_reference_whatever_the_value(epsilon: str, reference: float) -> None:
    randomizer = HybridRandomizer(Epsilon.requested(epsilon))
    for x in (0.0, 0.25, 0.5, 1.0):
        assert 4 * randomizer.variance(x) == pytest.approx(reference, rel=0.01)


def test_a_small_epsilon_leaves_one_bit() -> None:
    randomizer = HybridRandomizer(LARGEST_EPSILON_OF_THE_BIT, 16)
    bit = OneBitRandomizer(LARGEST_EPSILON_OF_THE_BIT, 16)
    assert randomizer.report_bits == 1 and randomizer.outputs == 2
    assert randomizer.law(5) == bit.law(5)
    assert randomizer.variance((0.1, 0.5)) == pytest.approx(bit.variance((0.1, 0.5)), rel=1e-12)
    ones = np.arange(1000) < 600
    mine = randomizer.estimate(randomizer.tally(ones.astype(np.uint8)))
    theirs = bit.estimate(bit.tally(ones))
    assert mine.value == pytest.approx(theirs.value, rel=1e-12)
    assert mine.variance_population == pytest.approx(theirs.variance_population, rel=1e-12)
    assert _hybrid("0.610000001", 16).outputs > 2


def test_the_branch_is_drawn_with_the_probability_of_the_paper() -> None:
    for epsilon in (0.7, 1.0, 4.0):
        branch = HybridRandomizer(Epsilon.requested(epsilon)).branch / 2**64
        assert branch == pytest.approx(1 - exp(-epsilon / 2), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_every_other_contract_holds(epsilon: str) -> None:
    randomizer = _hybrid(epsilon, 64)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)
    check_people_independent(_hybrid(epsilon, 1, 1))


def test_the_broken_twins_are_caught() -> None:
    sound = _hybrid("1", 2)
    # The bit of twice the epsilon: the mixture is unsound as soon as one branch is.
    drawn = replace(sound)
    object.__setattr__(drawn, "bit", OneBitRandomizer(Epsilon.requested("2"), 2))
    doubled = EpsilonDoubled(sound, drawn)
    kept = ItemKept(sound, lambda values, reports: np.where(reports < 2, values > 0, reports).astype("u1"))
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, doubled, kept, DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(_hybrid("1", 1, 1)))


def test_both_variances_of_an_estimate_follow_from_the_tally() -> None:
    randomizer, people = HybridRandomizer(Epsilon.requested("2")), 200_000
    values = np.where(np.arange(people) % 4 == 0, randomizer.resolution, 0)
    estimate = randomizer.estimate(randomizer.tally(randomizer.randomize(values, SeededSource(4))))
    assert estimate.variance_empirical * people == pytest.approx(
        randomizer.variance((0, 0, 0, 1)), rel=0.05
    )
    sampling = (estimate.variance_population - estimate.variance_empirical) * people
    assert sampling == pytest.approx(0.25 * 0.75, rel=0.1)


@pytest.mark.parametrize("resolution", [0, 3, 1 << 21])
def test_a_resolution_out_of_bounds_is_refused(resolution: int) -> None:
    with pytest.raises(InvalidParameter):
        _hybrid("1", resolution)


def test_an_output_beyond_the_alphabet_is_refused() -> None:
    randomizer = _hybrid("1", 8)
    assert randomizer.outputs < 1 << randomizer.report_bits
    with pytest.raises(MalformedReport):
        randomizer.unpack(randomizer.pack(np.array([randomizer.outputs])), 1)


def test_equal_parameters_make_equal_randomizers() -> None:
    one, same = _hybrid("1", 4), _hybrid("1.0", 4)
    assert one == same and hash(one) == hash(same) and one.canonical == same.canonical
    assert len({one, _hybrid("1", 8), _hybrid("1", 4, 4), _hybrid("2", 4)}) == 4
