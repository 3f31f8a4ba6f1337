"""The noisy maximum, in rationals: its law, what it costs, how far it misses, and twins that are broken."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.mechanisms.noisy_maximum import NoisyMaximum, exact_law, first_largest
from localdp.randomness.discrete_laplace import DiscreteLaplace
from localdp.randomness.geometric import Geometric
from localdp.randomness.hazmat import SeededSource

Law = Callable[[Sequence[int], Fraction], Sequence[Fraction]]
HALF = Fraction(1, 2)
SCORES = [(0, 0, 0), (2, 0, 1), (1, 2, 2), (5, 3, 0), (0, 4, 4), (-3, 7, 7)]
FIVE = (3, 0, 5, 5, 1)


def masses(ratio: Fraction, reach: int) -> dict[int, Fraction]:
    """One-sided noise up to `reach`; what is left out has a mass of ratio**(reach + 1)."""
    return {noise: (1 - ratio) * ratio**noise for noise in range(reach + 1)}


def two_sided(ratio: Fraction, reach: int) -> dict[int, Fraction]:
    """Discrete Laplace noise up to `reach` either way."""
    return {noise: (1 - ratio) / (1 + ratio) * ratio ** abs(noise) for noise in range(-reach, reach + 1)}


def law_by_noises(
    scores: Sequence[int], noise: dict[int, Fraction], tell: Callable[[Any], int] = first_largest
) -> list[Fraction]:
    """What the real `first_largest` tells over every combination of noises, with its mass."""
    law = [Fraction(0)] * len(scores)
    for noises in product(noise, repeat=len(scores)):
        weight = Fraction(1)
        for one in noises:
            weight *= noise[one]
        law[tell(np.array(scores) + np.array(noises))] += weight
    return law


@pytest.mark.parametrize("ratio", [HALF, Fraction(2, 7)])
@pytest.mark.parametrize("scores", SCORES)
def test_the_law_is_that_of_the_noises_one_by_one(scores: tuple[int, ...], ratio: Fraction) -> None:
    reach = 14
    law, found = exact_law(scores, ratio), law_by_noises(scores, masses(ratio, reach))
    missing = 1 - sum(found)
    assert sum(law) == 1
    assert 0 < missing < 3 * ratio ** (reach + 1)
    assert all(0 <= exact - part <= missing for exact, part in zip(law, found, strict=True))


def test_two_equal_scores_are_told_as_the_rule_for_ties_says() -> None:
    # Equal noises have a mass of (1 - a) / (1 + a): a third, and all of it goes to the first.
    assert exact_law((4, 4), HALF) == (Fraction(2, 3), Fraction(1, 3))


def costs_at_most(law: Law, scores: Sequence[int], ratio: Fraction, most: Fraction, moved: int = 1) -> bool:
    """Whether no neighbour, of which each score is moved or not, tells an index more than `most` times as often."""
    here, steps = law(scores, ratio), product((-moved, 0, moved), repeat=len(scores))
    for there in (
        law([one + step for one, step in zip(scores, some, strict=True)], ratio) for some in steps
    ):
        if any(a > most * b or b > most * a for a, b in zip(here, there, strict=True)):
            return False
    return True


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("ratio", [HALF, Fraction(9, 10)])
def test_an_index_costs_what_the_rate_and_the_sensitivity_say(ratio: Fraction, sensitivity: int) -> None:
    # exp(epsilon) = exp(2 s rate) = a**(-2 s), in rationals.
    stated = ratio ** (-2 * sensitivity)
    assert all(costs_at_most(exact_law, scores, ratio, stated, sensitivity) for scores in SCORES)
    # One that is far behind wins by its own noise alone, so that the whole of it is spent: nothing smaller can be stated.
    assert not costs_at_most(exact_law, (90, 0), ratio, stated * Fraction(99, 100), sensitivity)


def test_the_price_does_not_grow_with_the_number_of_scores() -> None:
    for length in (2, 8, 32):
        here, there = exact_law([0] * length, HALF), exact_law([1, *[-1] * (length - 1)], HALF)
        assert max(there[0] / here[0], here[1] / there[1]) <= 4


def laplace_at_half_the_scale(scores: Sequence[int], ratio: Fraction) -> Sequence[Fraction]:
    """A broken twin: two-sided noise of scale s / epsilon, as for counts that all move the same way."""
    return law_by_noises(scores, two_sided(ratio**2, 16))


def same_noise_for_all(scores: Sequence[int], ratio: Fraction) -> Sequence[Fraction]:
    """A broken twin: one draw, added to every score; it cancels."""
    return [Fraction(place == first_largest(np.array(scores))) for place in range(len(scores))]


@pytest.mark.parametrize("twin", [laplace_at_half_the_scale, same_noise_for_all])
def test_a_twin_that_costs_more_is_caught(twin: Law) -> None:
    assert all(costs_at_most(exact_law, scores, HALF, Fraction(4)) for scores in ((1, 0), (6, 0)))
    assert not all(costs_at_most(twin, scores, HALF, Fraction(4)) for scores in ((1, 0), (6, 0)))


def test_a_twin_that_gives_ties_to_the_higher_index_is_caught() -> None:
    def last_largest(noisy: Any) -> int:
        return len(noisy) - 1 - int(np.argmax(noisy[::-1]))

    noise = masses(HALF, 14)
    law, missing = exact_law((0, 4, 4), HALF), 3 * HALF**15
    here, there = law_by_noises((0, 4, 4), noise), law_by_noises((0, 4, 4), noise, last_largest)
    assert all(abs(exact - part) <= missing for exact, part in zip(law, here, strict=True))
    assert any(abs(exact - part) > missing for exact, part in zip(law, there, strict=True))


def p_value(draw: Callable[[], int], draws: int = 20_000) -> float:
    """Chi-square of the indices against the law at epsilon = 1, whose ratio is exp(-1/2)."""
    law = np.array([float(mass) for mass in exact_law(FIVE, Fraction(np.exp(-0.5)))])
    found = np.bincount([draw() for _ in range(draws)], minlength=len(FIVE))
    return float(stats.chisquare(found, law * draws).pvalue)


def test_indices_are_drawn_from_that_law_and_broken_twins_are_not() -> None:
    # 20,000 selections among 5 scores, two of them equal, at p > 1e-4; a rate that is off by a tenth would be seen.
    scores, source, epsilon = np.array(FIVE), SeededSource(6), Epsilon.requested(1.0)
    mechanism = NoisyMaximum.within(epsilon, 1)
    assert p_value(lambda: mechanism.choose(scores, source)) > 1e-4
    twins: list[Callable[[], int]] = [
        lambda: first_largest(scores + Geometric(Fraction(1, 2)).sample(source, 1)),  # one noise for all
        lambda: 4 - mechanism.choose(scores[::-1], source),  # ties to the higher index
        lambda: first_largest(scores + DiscreteLaplace(Fraction(1)).sample(source, 5)),
    ]
    assert all(p_value(twin, 2000) < 1e-4 for twin in twins)
    assert p_value(lambda: NoisyMaximum(Fraction(55, 100), 1).choose(scores, source)) < 1e-4


@pytest.mark.parametrize("sensitivity", [1, 65536])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_what_is_asked_for_is_what_is_spent(epsilon: float, sensitivity: int) -> None:
    asked = Epsilon.requested(epsilon)
    assert NoisyMaximum.within(asked, sensitivity).epsilon == asked.exact


@pytest.mark.parametrize("gap", [8, 12, 16])
def test_the_largest_is_missed_by_no_more_than_stated(gap: int) -> None:
    # Forty scores, all of them `gap` below the best: the chance of any is what is stated, but for two of them at once.
    missed, stated = 1 - exact_law([*[0] * 40, gap], HALF)[40], 40 * HALF**gap / (1 + HALF)
    assert stated * Fraction(9, 10) < missed <= stated
    found = NoisyMaximum(Fraction(np.log(2)), 1).shortfall(41, float(stated))
    assert found == pytest.approx(gap)


def test_a_single_candidate_is_told_and_missed_by_nothing() -> None:
    mechanism = NoisyMaximum(Fraction(1), 1)
    assert mechanism.choose(np.array([-7]), SeededSource(1)) == 0
    assert mechanism.shortfall(1, 0.05) == 0


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros(0, np.int64),
        np.zeros(3),
        np.zeros((2, 2), np.int64),
        np.array([1 << 60]),
        np.zeros((1 << 16) + 1, np.int64),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(scores: Any) -> None:
    with pytest.raises(InvalidParameter):
        NoisyMaximum(Fraction(1), 1).choose(scores, SeededSource(1))


@pytest.mark.parametrize(("rate", "sensitivity"), [(Fraction(1), 0), (Fraction(0), 1), (0.5, 1)])
def test_a_law_that_there_is_none_of_is_refused(rate: Any, sensitivity: int) -> None:
    with pytest.raises(InvalidParameter):
        NoisyMaximum(rate, sensitivity)


def test_a_ratio_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        exact_law((1, 2), Fraction(1))
