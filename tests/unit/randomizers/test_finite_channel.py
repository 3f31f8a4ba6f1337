"""`FiniteChannel` through every coin, its decoder, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.finite_channel import MOST_INPUTS, MOST_OUTPUTS, FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from tests.support.broken_twins import DebiasForgotten, EpsilonDoubled, ItemKept, SeedReused
from tests.support.randomizer_checks import (
    KEY,
    assert_caught,
    check_exact_law,
    check_lanes,
    check_packing,
    check_people_independent,
    check_refuses_inputs,
    check_tally_merges,
    check_unbiased,
    check_variance,
    expected_estimate,
    true_estimate,
)

SQUARE = FiniteChannel(((5, 3, 2), (2, 5, 3), (3, 2, 5)))
WIDE = FiniteChannel(((4, 2, 1, 3), (1, 4, 3, 2)))
SMALL = FiniteChannel(((1, 2), (2, 1)))
FULL_WORD = FiniteChannel((((1 << 63) + 5, (1 << 63) - 5), (1 << 62, 3 << 62)))
CHANNELS = [SQUARE, WIDE, SMALL]


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_law_is_exact_and_has_the_epsilon_of_the_matrix(channel: FiniteChannel) -> None:
    check_exact_law(channel)


def test_the_epsilon_is_the_largest_ratio_within_a_column() -> None:
    assert WIDE.epsilon == Epsilon.of_ratio(Fraction(4))
    assert SQUARE.epsilon == Epsilon.of_ratio(Fraction(5, 2))


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_estimate_is_unbiased(channel: FiniteChannel) -> None:
    check_unbiased(channel)


@pytest.mark.parametrize("channel", [SQUARE, WIDE])
def test_the_stated_variance_is_the_largest_over_inputs_and_company(channel: FiniteChannel) -> None:
    measured = np.array(
        [
            expected_estimate(channel, value, 2) - true_estimate(channel, value)
            for value in range(channel.inputs)
        ]
    )
    assert channel.variance(1.0) == pytest.approx(np.diag(measured).max())
    off_diagonal = measured[~np.eye(channel.inputs, dtype=bool)]
    assert channel.variance(0.0) == pytest.approx(off_diagonal.max())


def test_a_symmetric_channel_has_the_variance_of_k_ary_randomized_response() -> None:
    keep, other = 7, 2
    channel = FiniteChannel(tuple(tuple(keep if x == y else other for y in range(5)) for x in range(5)))
    k_ary = KaryRandomizedResponse(Epsilon.of_ratio(Fraction(keep, other)), 5)
    for frequency in (0.0, 0.4, 1.0):
        assert channel.variance(frequency) == pytest.approx(k_ary.variance(frequency), rel=1e-6)
    check_variance(channel)
    counts = np.array([50, 10, 20, 15, 5])
    reports = np.repeat(np.arange(5), counts).astype(np.uint8)
    ours, theirs = channel.estimate(channel.tally(reports)), k_ary.estimate(k_ary.tally(reports))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-6)
    np.testing.assert_allclose(ours.variance_population, theirs.variance_population, rtol=1e-6)


def test_both_variances_of_an_estimate_are_those_of_the_law() -> None:
    """At the expected shares of a population the plugged-in variances are the exact ones."""
    frequencies = np.array([0.7, 0.3])
    shares = frequencies @ np.array([[0.4, 0.2, 0.1, 0.3], [0.1, 0.4, 0.3, 0.2]])
    reports = np.repeat(np.arange(4), np.round(shares * 1000).astype(int)).astype(np.uint8)
    estimate = WIDE.estimate(WIDE.tally(reports))
    second = sum(f * expected_estimate(WIDE, value, 2) for value, f in enumerate(frequencies))
    np.testing.assert_allclose(estimate.values, frequencies, atol=1e-12)
    np.testing.assert_allclose(estimate.variance_empirical * 1000, second - frequencies)
    np.testing.assert_allclose(estimate.variance_population * 1000, second - frequencies**2)


@pytest.mark.parametrize("channel", [*CHANNELS, FULL_WORD])
def test_people_are_independent_and_every_other_contract_holds(channel: FiniteChannel) -> None:
    if channel is not FULL_WORD:
        check_people_independent(channel)
    check_packing(channel)
    check_lanes(channel)
    check_tally_merges(channel)
    check_refuses_inputs(channel)


def test_the_broken_twins_are_caught() -> None:
    doubled = EpsilonDoubled(SQUARE, FiniteChannel(((25, 9, 4), (4, 25, 9), (9, 4, 25))))
    kept = ItemKept(SQUARE, lambda values, reports: np.where(values == 2, 2, reports).astype(np.uint8))
    assert_caught(check_exact_law, doubled, kept)
    assert_caught(check_unbiased, doubled, kept, DebiasForgotten(SQUARE))
    assert_caught(check_people_independent, SeedReused(SQUARE))


def test_a_total_that_rejects_half_of_the_words_is_drawn_in_lanes() -> None:
    total = (1 << 63) + 1
    channel = FiniteChannel(((total // 2, total - total // 2), (total // 4, total - total // 4)))
    reports = channel.randomize(np.zeros(2000, np.int64), LanedSource(KEY, range(2000)))
    # 2000 fair coins: seven standard deviations are 157; n = 2000, alpha < 3e-12.
    assert abs(int(reports.sum()) - 1000) < 157


def test_a_channel_whose_rows_are_dependent_gives_no_estimate_but_randomizes() -> None:
    blind = FiniteChannel(((1, 2, 3), (2, 2, 2), (3, 2, 1)))
    reports = blind.randomize(np.array([0, 1, 2]), SeededSource(0))
    with pytest.raises(InvalidParameter, match="identifiable"):
        blind.estimate(blind.tally(reports))
    with pytest.raises(InvalidParameter, match="identifiable"):
        FiniteChannel(((1, 1), (1, 1))).decoder()


@pytest.mark.parametrize(
    "matrix",
    [
        (),
        ((1, 2),),
        ((1,), (1,)),
        ((1, 2), (1, 2, 3)),
        ((1, 2), (1, 3)),
        ((0, 3), (1, 2)),
        ((0, 3), (0, 3)),
        ((-1, 4), (1, 2)),
        ((1.0, 2.0), (2.0, 1.0)),
        ((True, 2), (2, True)),
        ([1, 2], [2, 1]),
        ((1 << 63, 1 << 63, 1), (1, 1 << 63, 1 << 63)),
        tuple((1, 1) for _ in range(MOST_INPUTS + 1)),
        ((1,) * (MOST_OUTPUTS + 1),) * 2,
    ],
)
def test_a_matrix_that_is_no_channel_with_an_epsilon_is_refused(
    matrix: tuple[tuple[int, ...], ...],
) -> None:
    with pytest.raises(InvalidParameter):
        FiniteChannel(matrix)


def test_the_largest_channel_is_made_and_used() -> None:
    row = tuple(1 + output % 3 for output in range(MOST_OUTPUTS))
    channel = FiniteChannel(tuple(row[shift:] + row[:shift] for shift in range(MOST_INPUTS)))
    reports = channel.randomize(np.arange(1000) % MOST_INPUTS, SeededSource(0))
    assert channel.tally(reports).sums.sum() == 1000 and channel.report_bits == 12


def test_a_report_out_of_range_is_refused() -> None:
    with pytest.raises(MalformedReport):
        SQUARE.unpack(bytes([0b1100_0000]), 1)


def test_equal_matrices_make_equal_channels() -> None:
    same = FiniteChannel(SQUARE.matrix)
    assert same == SQUARE and hash(same) == hash(SQUARE) and same.canonical == SQUARE.canonical
    assert SQUARE != SMALL and SQUARE.canonical != SMALL.canonical
