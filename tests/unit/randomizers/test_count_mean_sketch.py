"""Both count-mean sketches through every coin, given their public hash functions."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import report_key
from localdp.errors import InvalidParameter, MalformedReport
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from tests.support.broken_twins import EpsilonDoubled, ItemKept
from tests.support.randomizer_checks import KEY, assert_caught, check_exact_law

EPSILONS = ["0.01", "0.5", "1", "2", "4", "10"]
ITEMS = range(6)
Sketch = CountMeanSketch | HadamardCountMeanSketch


def _key(report: Any) -> Hashable:
    if report.dtype.names:
        return (int(report["label"]), *(int(bit) for bit in report["bits"]))
    return report_key(report)


def _plain(epsilon: str, hashes: int = 2, width: int = 3) -> CountMeanSketch:
    return CountMeanSketch(Epsilon.requested(epsilon), hashes, width)


def _hadamard(epsilon: str, hashes: int = 3, width: int = 4) -> HadamardCountMeanSketch:
    return HadamardCountMeanSketch(Epsilon.requested(epsilon), hashes, width)


def _check_law(sketch: Sketch) -> None:
    check_exact_law(sketch, ITEMS, _key)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_law_is_exact_and_spends_what_was_requested(epsilon: str) -> None:
    _check_law(_plain(epsilon))
    _check_law(_hadamard(epsilon))


def _check_unbiased_given_the_family(sketch: Sketch) -> None:
    """Over the coins, one report estimates (share of functions that collide - 1 / m) m / (m - 1)."""
    candidates, m = np.array(ITEMS), sketch.width
    numbers = np.arange(sketch.hashes, dtype=np.uint64)[:, None]
    columns = sketch.columns(numbers, candidates.astype(np.uint64))
    for item in ITEMS:
        colliding = (columns == columns[:, [item]]).mean(axis=0)
        law = enumerate_law(lambda source: sketch.pack(sketch.randomize(np.array([item]), source)))  # noqa: B023
        expected = np.zeros(len(candidates))
        for packed, mass in law.items():
            estimate = sketch.estimate(sketch.tally(sketch.unpack(packed, 1)), candidates)
            expected += float(mass) * estimate.values
        np.testing.assert_allclose(expected, (colliding - 1 / m) * m / (m - 1), atol=1e-10)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_noise_is_unbiased_given_the_family(epsilon: str) -> None:
    _check_unbiased_given_the_family(_plain(epsilon))
    _check_unbiased_given_the_family(_hadamard(epsilon))


def test_the_broken_twins_are_caught() -> None:
    def last_bit(values: Any, reports: Any) -> Any:
        reports["bits"][:, -1] = values == 0
        return reports

    def sign(values: Any, reports: Any) -> Any:
        return np.where(values == 0, reports & ~np.uint64(1), reports)

    for check in (_check_law, _check_unbiased_given_the_family):
        assert_caught(check, EpsilonDoubled(_plain("1"), _plain("2")), ItemKept(_plain("1"), last_bit))
        assert_caught(check, EpsilonDoubled(_hadamard("1"), _hadamard("2")), ItemKept(_hadamard("1"), sign))


@pytest.mark.parametrize(
    "sketch", [_plain("1", 5, 11), _plain("1", 1, 2), _hadamard("1", 5, 8), _hadamard("1", 1, 2)]
)
def test_reports_come_back_from_their_bytes_and_tallies_merge(sketch: Sketch) -> None:
    for count in (0, 1, 7, 8, 100):
        reports = sketch.randomize(np.arange(count), SeededSource(count))
        packed = sketch.pack(reports)
        assert len(packed) == -(-count * sketch.report_bits // 8)
        again = sketch.unpack(packed, count)
        assert again.dtype == reports.dtype and (again == reports).all()
        for wrong in {packed + b"\0", packed[:-1], b""} - {packed}:
            with pytest.raises(MalformedReport):
                sketch.unpack(wrong, count)
    merged = sketch.tally(reports[:30]).merge(sketch.tally(reports[30:]))
    assert (merged.sums == sketch.tally(reports).sums).all()
    assert merged.sums.dtype == np.int64


def test_a_function_that_does_not_exist_and_dirty_padding_are_refused() -> None:
    for data in (0b11000000, 0b01000001):
        with pytest.raises(MalformedReport):
            _plain("1", 3, 4).unpack(bytes([data]), 1)
        with pytest.raises(MalformedReport):
            _hadamard("1", 3, 4).unpack(bytes([data]), 1)


@pytest.mark.parametrize("sketch", [_plain("1", 5, 11), _hadamard("1", 5, 8)])
def test_a_person_draws_alone(sketch: Sketch) -> None:
    full = sketch.randomize(np.arange(40), LanedSource(KEY, range(40)))
    chosen = np.array([31, 4, 17])
    assert (sketch.randomize(chosen, LanedSource(KEY, chosen)) == full[chosen]).all()


def test_the_stated_variance_is_the_formula() -> None:
    for sketch, noise, collisions in (
        (_plain("1", 64, 256), (4.0830**2 - 1) / 4, 1 - 1 / 64),
        (_hadamard("1", 64, 256), 2.1640**2, 0.0),
    ):
        people, second_moment = 1000, 0.01
        tally = sketch.tally(sketch.randomize(np.arange(people), SeededSource(0)))
        stated = sketch.estimate(tally, np.arange(3), second_moment).variance_empirical
        floor = (1 - 1 / 256) / 256 * (collisions / people + second_moment / 64)
        np.testing.assert_allclose(stated, (256 / 255) ** 2 * (noise / people + floor), rtol=1e-3)


def test_another_family_is_another_sketch() -> None:
    one, other = (CountMeanSketch(Epsilon.requested(1), 4, 64, seed) for seed in (0, 1))
    assert one != other and one.canonical != other.canonical
    numbers, items = np.zeros(50, np.uint64), np.arange(50, dtype=np.uint64)
    assert (one.columns(numbers, items) != other.columns(numbers, items)).any()
    with pytest.raises(InvalidParameter):
        one.estimate(other.tally(other.randomize(np.arange(3), SeededSource(0))), np.arange(3))


@pytest.mark.parametrize(("hashes", "width"), [(0, 4), (4, 1), (1 << 30, 4), (1 << 12, 1 << 14), (True, 4)])
def test_bad_sizes_are_refused(hashes: int, width: int) -> None:
    for kind in (CountMeanSketch, HadamardCountMeanSketch):
        with pytest.raises(InvalidParameter):
            kind(Epsilon.requested(1), hashes, width)


def test_a_hadamard_sketch_needs_a_power_of_two_and_any_sketch_a_noticeable_epsilon() -> None:
    with pytest.raises(InvalidParameter):
        _hadamard("1", 3, 6)
    with pytest.raises(InvalidParameter):
        CountMeanSketch(Epsilon(1), 3, 6)
