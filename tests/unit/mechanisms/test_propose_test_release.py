"""Propose, test, release: its exact law on small data, and the book's threshold, which is found to be too low."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.propose_test_release import ProposeTestRelease, StabilityTest
from localdp.randomness.discrete_laplace import DiscreteLaplace
from tests.support.people import KEYRING

DELTA = Fraction(1, 10**6)


def of(epsilon: str, delta: Fraction = DELTA) -> StabilityTest:
    return StabilityTest(Epsilon.requested(epsilon), delta)


@pytest.mark.parametrize(("epsilon", "threshold"), [("1", 14), ("0.5", 27), ("0.25", 53), ("2", 7)])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: str, threshold: int) -> None:
    test = of(epsilon)
    assert test.threshold == threshold
    ratio = math.exp(-float(epsilon))
    assert ratio**threshold / (1 + ratio) <= 1e-6 < ratio ** (threshold - 1) / (1 + ratio)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "3"])
def test_thresholds_of_any_epsilon_follow_from_the_law(epsilon: str) -> None:
    test = of(epsilon)
    assert test.chance(0) <= 1e-6 < test.chance(1) * (1 + 1e-9)
    assert test.chance(10**6) == pytest.approx(1.0)


def passing(test: StabilityTest) -> list[float]:
    """The chances of all distances that matter."""
    return [test.chance(distance) for distance in range(2 * test.threshold)]


def is_private(chances: list[float], epsilon: float, delta: float) -> bool:
    """Whether a test with these chances is (epsilon, delta)-private together with what it lets out.

    Data at distance 0 may have a neighbour with another answer, so what they pass with has to be below delta; elsewhere
    neighbours differ by 1 in distance.
    """
    factor = math.exp(epsilon) * (1 + 1e-8)
    pairs = list(pairwise(chances))
    ratios = all(high <= factor * low and 1 - low <= factor * (1 - high) for low, high in pairs)
    return ratios and chances[0] <= delta


@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "2"])
def test_every_distance_is_private_from_its_neighbours(epsilon: str) -> None:
    assert is_private(passing(of(epsilon)), float(epsilon), 1e-6)


def test_the_threshold_of_the_book_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: 1 + ln(1 / delta), whatever epsilon is (Algorithm 12 as printed)."""
    printed = property(lambda test: math.ceil(math.log(1 / float(test.delta))))
    monkeypatch.setattr(StabilityTest, "threshold", printed)
    assert is_private(passing(of("1")), 1.0, 1e-6) and not is_private(passing(of("0.25")), 0.25, 1e-6)
    assert of("0.25").chance(0) > 0.01


def test_the_law_over_all_noises_is_that_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    test, drawn = of("1"), [0]
    ptr = ProposeTestRelease(lambda data: data, lambda data, source: "answer", test)
    source, ratio = KEYRING.source("ptr"), math.exp(-1)
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda law, source, count: np.array(drawn * count))
    for distance in (0, 1, 13, 14, 20):
        released = 0.0
        for drawn[0] in range(-60, 61):
            weight = (1 - ratio) / (1 + ratio) * ratio ** abs(drawn[0])
            released += weight * (ptr.run(distance, source) == "answer")
        assert released == pytest.approx(test.chance(distance), rel=1e-9)


def test_nothing_is_computed_for_release_before_the_test_has_passed() -> None:
    asked: list[int] = []

    def release(data: int, source: object) -> int:
        asked.append(data)
        return data

    ptr = ProposeTestRelease(lambda data: 0, release, of("1"))
    assert all(ptr.run(number, KEYRING.source("ptr", str(number))) is None for number in range(50))
    assert not asked


def test_how_far_data_have_to_be_for_an_answer() -> None:
    test = of("1")
    for failure in (0.5, 0.05, 0.01):
        needed = test.distance_for(failure)
        assert test.chance(needed) >= 1 - failure > test.chance(needed - 1)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 2), Fraction(2)])
def test_a_delta_that_is_none_is_refused(delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        of("1", delta)
