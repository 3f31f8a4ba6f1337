"""Private distinguishers: their exact laws, the ratio of the laws of neighbours, and how far they miss."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import IntegerLaw, RandomSource

Integers = NDArray[np.int64]
MECHANISM = ExponentialMechanism()
SCORES = np.array([3, 0, 5, 5, 1], np.int64)


def exact_law(
    scores: Integers, epsilon: Epsilon, sensitivity: int = 1, mechanism: Any = MECHANISM
) -> dict[int, Fraction]:
    def draw(source: RandomSource) -> int:
        return int(mechanism.choose(scores, sensitivity, epsilon, source))

    return enumerate_law(draw)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("sensitivity", [1, 3, 65536])
def test_the_enumerated_law_is_that_of_the_exponential_mechanism(epsilon: float, sensitivity: int) -> None:
    law = exact_law(SCORES * sensitivity, Epsilon.requested(epsilon), sensitivity)
    weights = np.exp(epsilon * (1 - 2**-16) * SCORES / 2)
    assert sum(law.values()) == 1
    np.testing.assert_allclose([float(law[i]) for i in range(5)], weights / weights.sum(), rtol=4e-6)


def largest_ratio(mechanism: Any, scores: Integers, epsilon: Epsilon, sensitivity: int = 1) -> Fraction:
    """Over all neighbours of these scores, each moved by the sensitivity or not at all, either way."""
    here = exact_law(scores, epsilon, sensitivity, mechanism)
    ratio = Fraction(1)
    for moves in product((-sensitivity, 0, sensitivity), repeat=len(scores)):
        there = exact_law(scores + np.array(moves), epsilon, sensitivity, mechanism)
        ratio = max(ratio, *(here[i] / there[i] for i in here), *(there[i] / here[i] for i in here))
    return ratio


def check_private(mechanism: Any, epsilon: float) -> None:
    asked = Epsilon.requested(epsilon)
    for scores in ([0, 0, 0], [4, 0, 4], [9, 5, 1], [300, 0, 150], [10**6, 0, 0]):
        ratio = largest_ratio(mechanism, np.array(scores), asked)
        assert Epsilon.of_ratio(ratio) <= asked


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_neighbours_have_laws_within_exp_epsilon_of_each_other(epsilon: float) -> None:
    check_private(MECHANISM, epsilon)


def test_the_ratio_holds_on_a_finer_grid_and_is_not_vacuous() -> None:
    asked = Epsilon.requested(1.0)
    assert Epsilon.of_ratio(largest_ratio(MECHANISM, np.array([70, 0, 13]), asked, 10)) <= asked
    # One candidate among many poor ones: moving it alone moves its odds by nearly exp(epsilon / 2).
    assert float(Epsilon.of_ratio(largest_ratio(MECHANISM, np.array([4, 4, 4]), asked))) > 0.6


class ForgetsTheHalf:
    """A broken twin: exp(epsilon score) in place of exp(epsilon score / 2)."""

    def choose(self, scores: Integers, sensitivity: int, epsilon: Epsilon, source: RandomSource) -> int:
        return MECHANISM.choose(2 * scores, sensitivity, epsilon, source)


class CoarseWeights:
    """A broken twin: weights of a few bits, whose rounding is seen where weights are small."""

    def choose(self, scores: Integers, sensitivity: int, epsilon: Epsilon, source: RandomSource) -> int:
        exact = np.exp(float(epsilon) * (scores - scores.max()) / 2)
        return int(source.categorical(IntegerLaw(tuple(int(8 * weight) + 1 for weight in exact)), 1)[0])


@pytest.mark.parametrize(("twin", "epsilon"), [(ForgetsTheHalf(), 1.0), (CoarseWeights(), 0.05)])
def test_broken_twins_are_caught(twin: Any, epsilon: float) -> None:
    with pytest.raises(AssertionError):
        check_private(twin, epsilon)


def test_candidates_far_below_the_best_are_hardly_ever_chosen() -> None:
    scores = np.zeros(1000, np.int64)
    scores[17] = 10**6
    law = MECHANISM.law(scores, 1, Epsilon.requested(0.01))
    assert 0 < 1 - law.weights[17] / law.total < 1e-5
    assert law.total <= 1 << 64


def test_the_best_is_missed_by_no_more_than_stated() -> None:
    # 400 draws; the failure is 0.05, so that 400 * 0.05 = 20 failures are expected at most.
    scores, epsilon, source = np.arange(0, 400, 4), Epsilon.requested(0.2), SeededSource(5)
    missed = [int(scores.max() - scores[MECHANISM.choose(scores, 1, epsilon, source)]) for _ in range(400)]
    error = MECHANISM.error(len(scores), 1, epsilon, 0.05)
    assert sum(miss > error for miss in missed) <= 20
    assert max(missed) > error / 10


@pytest.mark.parametrize(
    ("scores", "sensitivity", "epsilon"),
    [
        (np.zeros(0, np.int64), 1, 1.0),
        (np.zeros(3), 1, 1.0),
        (np.zeros((2, 2), np.int64), 1, 1.0),
        (np.array([1 << 60]), 1, 1.0),
        (np.zeros(3, np.int64), 0, 1.0),
        (np.zeros((1 << 16) + 1, np.int64), 1, 1.0),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(scores: Any, sensitivity: int, epsilon: float) -> None:
    with pytest.raises(InvalidParameter):
        MECHANISM.choose(scores, sensitivity, Epsilon.requested(epsilon), SeededSource(1))


def test_an_epsilon_too_small_for_the_weights_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="too small"):
        MECHANISM.law(np.zeros(1 << 16, np.int64), 1, Epsilon.requested("0.000001"))
