"""Hierarchical ranges, exactly: every coin of the real sampler, and least squares by linear algebra."""

from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.definition import Tally
from localdp.randomizers.hierarchy import HierarchicalRanges, constrained_inference
from localdp.randomizers.parts.range_estimates import RangeEstimates
from tests.support.broken_twins import BrokenTwin, EpsilonDoubled, LastBitKept, SeedReused
from tests.support.randomizer_checks import (
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    sampled_law,
)

ONE, TWO = Epsilon.requested(1.0), Epsilon.requested(2.0)
SHAPES = [(2, 2), (3, 2), (4, 2), (8, 2), (4, 4), (3, 3)]


class DebiasForgotten(BrokenTwin):
    """Multiplies by the number of levels, but does not divide by p - q.

    (Leaving out q alone is no mistake: the same constant at all nodes of a level vanishes with the root fixed.)
    """

    def estimate(self, tally: Tally) -> RangeEstimates:
        """Ranges that are too close to those of the uniform distribution."""
        sound: RangeEstimates = self.sound.estimate(tally)
        support = self.sound.encoding.support
        uniform = np.linspace(0.0, 1.0, len(sound.prefix))
        prefix = uniform + (sound.prefix - uniform) * float(support.own - support.other)
        return RangeEstimates(self.sound, sound.reports, prefix)


def keep_own_bit(values: NDArray[Any], reports: NDArray[Any]) -> NDArray[Any]:
    """The last byte says whether the value is odd."""
    reports[:, -1] = (reports[:, -1] & 0xBF) | (values & 1).astype(np.uint8) << 6
    return reports


@pytest.mark.parametrize(("inputs", "branching"), SHAPES)
def test_the_sampler_has_the_stated_law_and_epsilon(inputs: int, branching: int) -> None:
    check_exact_law(HierarchicalRanges(ONE, inputs, branching), range(min(inputs, 3)))


@pytest.mark.parametrize("epsilon", [0.01, 10.0])
def test_epsilon_is_tight_from_small_to_large(epsilon: float) -> None:
    check_exact_law(HierarchicalRanges(Epsilon.requested(epsilon), 4, 2))


@pytest.mark.parametrize(("inputs", "branching"), SHAPES)
def test_every_frequency_is_estimated_without_bias(inputs: int, branching: int) -> None:
    check_unbiased(HierarchicalRanges(ONE, inputs, branching), range(min(inputs, 4)))


def test_broken_twins_are_caught() -> None:
    sound, loud = HierarchicalRanges(ONE, 4, 2), HierarchicalRanges(TWO, 4, 2)
    assert_caught(check_exact_law, EpsilonDoubled(sound, loud), LastBitKept(sound, keep_own_bit))
    assert_caught(check_unbiased, EpsilonDoubled(sound, loud), DebiasForgotten(sound))
    assert_caught(check_people_independent, SeedReused(HierarchicalRanges(ONE, 2, 2)))


def test_people_do_not_share_coins() -> None:
    check_people_independent(HierarchicalRanges(ONE, 2, 2))


@pytest.mark.parametrize(("inputs", "branching"), [(2, 2), (5, 2), (16, 4), (200, 4), (27, 3)])
def test_the_contract_of_a_randomizer_holds(inputs: int, branching: int) -> None:
    randomizer = HierarchicalRanges(ONE, inputs, branching)
    check_packing(randomizer)
    check_lanes(randomizer)
    check_tally_merges(randomizer)
    check_refuses_inputs(randomizer)


@pytest.mark.parametrize(("branching", "levels"), [(2, 3), (3, 2), (4, 2)])
def test_two_passes_are_the_least_squares_fit(branching: int, levels: int) -> None:
    leaves = branching**levels
    generator = np.random.default_rng(2)
    nodes = [generator.normal(size=branching**level) for level in range(1, levels + 1)]
    sums = [np.kron(np.eye(branching**k), np.ones(leaves // branching**k)) for k in range(levels + 1)]
    root, design = sums[0], np.vstack(sums[1:])
    # Lagrange: minimise |design x - nodes|**2 subject to root x = 1.
    system = np.block([[design.T @ design, root.T], [root, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(design.T @ np.concatenate(nodes), 1.0))[:-1]
    np.testing.assert_allclose(constrained_inference(nodes, branching), solution, atol=1e-10)


@pytest.mark.parametrize(("inputs", "branching"), [(4, 2), (4, 4), (8, 2), (3, 2)])
def test_the_variance_of_every_range_is_exact(inputs: int, branching: int) -> None:
    randomizer = HierarchicalRanges(ONE, inputs, branching)
    low, high = np.array(list(combinations(range(inputs + 1), 2))).T
    for value in range(0, inputs, 2):
        law = sampled_law(randomizer, value, key=lambda row: row.tobytes())
        square = np.zeros(len(low))
        for report, mass in law.items():
            found = randomizer.estimate(randomizer.tally(randomizer.unpack(cast(bytes, report), 1))).prefix
            square += float(mass) * (found[high] - found[low]) ** 2
        prefix = (np.arange(inputs + 1) > value).astype(float)
        truth = prefix[high] - prefix[low]
        np.testing.assert_allclose(
            square - truth**2, randomizer.range_variance(low, high, prefix), atol=1e-9
        )


def test_the_variance_does_not_depend_on_how_many_ranges_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    randomizer, prefix = HierarchicalRanges(ONE, 16, 4), np.linspace(0, 1, 17)
    low, high = np.array(list(combinations(range(17), 2))).T
    whole = randomizer.range_variance(low, high, prefix)
    monkeypatch.setattr("localdp.randomizers.hierarchy._WEIGHTS_AT_A_TIME", 100)
    np.testing.assert_allclose(randomizer.range_variance(low, high, prefix), whole)
    assert randomizer.range_variance(low[:0], high[:0], prefix).shape == (0,)


@pytest.mark.parametrize(
    ("inputs", "branching"), [(0, 4), (1, 4), (1 << 15, 4), (8, 1), (8, 65), (5000, 64)]
)
def test_sizes_out_of_bounds_are_refused(inputs: int, branching: int) -> None:
    with pytest.raises(InvalidParameter):
        HierarchicalRanges(ONE, inputs, branching)


def test_bits_outside_the_level_are_refused() -> None:
    randomizer = HierarchicalRanges(ONE, 16, 4)  # levels of 4 and of 16 nodes
    assert randomizer.unpack(b"\x00\xf0\x00\x01\xff\xff", 2).shape == (2, 3)
    for wrong in (b"\x00\x08\x00", b"\x00\x00\x01", b"\x02\x00\x00"):
        with pytest.raises(MalformedReport):
            randomizer.unpack(wrong, 1)


def test_reports_are_as_long_at_every_level() -> None:
    randomizer = HierarchicalRanges(ONE, 1024)
    assert randomizer.sizes == (4, 16, 64, 256, 1024) and randomizer.report_bits == 8 + 1024
    assert randomizer.canonical == "hierarchical-ranges(epsilon=1,inputs=1024,branching=4)"
    assert randomizer == HierarchicalRanges(ONE, 1024, 4) != HierarchicalRanges(ONE, 1024, 2)
