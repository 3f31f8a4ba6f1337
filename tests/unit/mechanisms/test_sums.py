"""Counts, sums, means, histograms and vector sums: encodings, errors and refusals.  Their laws: tests/statistical."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, InvalidRecord
from localdp.mechanisms import sums
from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator
from localdp.mechanisms.sums import NoisyCount, NoisyHistogram, NoisySum, NoisyVectorSum
from localdp.randomness.hazmat import SeededSource

ONE, QUIET = Epsilon.requested(1), Epsilon.requested(30)
ADDERS: list[Adder] = [TrustedCurator(SeededSource(1)), SharesInProcess(SeededSource(2))]


@pytest.mark.parametrize("adder", ADDERS)
def test_behind_next_to_no_noise_the_answers_are_exact(adder: Adder) -> None:
    rng = np.random.default_rng(3)
    bits, codes = rng.random(1000) < 0.3, rng.integers(0, 4, 1000)
    assert NoisyCount(QUIET, adder).release(bits) == bits.sum()
    # Sensitivity 2 at epsilon 30: one noise in 1.6e6 is not zero.
    assert NoisyHistogram(QUIET, adder, 4).release(codes).tolist() == np.bincount(codes).tolist()
    vectors = rng.integers(0, 2, (50, 3))
    assert NoisyVectorSum(QUIET, adder, 3, 1, 2).release(vectors).tolist() == vectors.sum(axis=0).tolist()


def test_a_mean_is_a_sum_over_a_known_number() -> None:
    mechanism = NoisySum(ONE, TrustedCurator(SeededSource(4)), 100)
    values = np.full(10_000, 60)
    assert mechanism.mean(values) == pytest.approx(60, abs=8 * mechanism.standard_error / 10_000)
    assert abs(mechanism.release(values) - 600_000) < 8 * mechanism.standard_error


def test_predicted_errors_are_those_of_the_reference() -> None:
    curator = ADDERS[0]
    assert NoisyCount(ONE, curator).noise.mean_absolute() == pytest.approx(0.85092, abs=1e-5)
    assert NoisyHistogram(ONE, curator, 1000).noise.mean_absolute() == pytest.approx(1.919, abs=1e-3)
    assert NoisyHistogram(ONE, curator, 10).standard_error == pytest.approx(np.sqrt(7.8354), abs=1e-4)
    assert NoisySum(ONE, curator, 7).noise.parameter == Fraction(1, 7)
    assert NoisyCount(ONE, ADDERS[1]).standard_error == pytest.approx(np.sqrt(2 * 1.84135), abs=1e-4)


def test_a_claim_goes_with_every_mechanism() -> None:
    for adder in ADDERS:
        claim = NoisyHistogram(ONE, adder, 3).claim
        assert claim.epsilon == ONE and claim.delta == 0


def test_a_histogram_of_many_people_is_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "CELLS_PER_BLOCK", 100)
    codes = np.arange(1000) % 7
    assert [len(block) for block in sums.one_hot(codes, 7)] == [14] * 71 + [6]
    assert NoisyHistogram(QUIET, ADDERS[0], 7).release(codes).tolist() == np.bincount(codes).tolist()


def test_values_outside_of_their_domain_are_refused_without_being_shown() -> None:
    curator = ADDERS[0]
    for broken in (
        lambda: NoisyCount(ONE, curator).release(np.array([0, 1, 7777])),
        lambda: NoisyCount(ONE, curator).release(np.array([0.5])),
        lambda: NoisyCount(ONE, curator).release(np.ones((2, 2), np.int64)),
        lambda: NoisySum(ONE, curator, 10).release(np.array([-7777])),
        lambda: NoisyHistogram(ONE, curator, 3).release(np.array([7777])),
        lambda: NoisyHistogram(ONE, curator, 3).release(np.array([-1])),
        lambda: NoisyHistogram(ONE, curator, 3).release(np.array([0.0])),
        lambda: NoisyVectorSum(ONE, curator, 2, 1, 2).release(np.array([[0, 7777]])),
    ):
        with pytest.raises(InvalidRecord) as caught:
            broken()
        assert "7777" not in str(caught.value)
    with pytest.raises(InvalidParameter):
        NoisyHistogram(ONE, curator, 1).release(np.array([0]))
