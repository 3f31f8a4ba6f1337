"""The noisy maximum: its law by every coin, the curator equal to it, and its privacy against the derived bound."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.outward import exp_below
from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.sharing.digit_coins import LARGEST_DELTA, GeometricCoins
from localdp.sharing.selection_law import SelectionLaw

ONE = Epsilon.requested(1)


def few(digits: int, bits: int, sensitivity: int = 1, epsilon: Epsilon = ONE) -> SelectionLaw:
    return SelectionLaw(
        epsilon, sensitivity, GeometricCoins(epsilon.exact / (2 * sensitivity), digits, bits)
    )


@pytest.mark.parametrize("scores", [(0,), (3, 3), (1, 0, 1), (0, 2, 1, 2), (5, -3)])
def test_a_curators_coins_have_exactly_the_law_that_is_computed(scores: tuple[int, ...]) -> None:
    law = few(3, 6)
    enumerated = enumerate_law(lambda source: law.select(scores, source))
    assert [enumerated.get(place, Fraction(0)) for place in range(len(scores))] == law.probabilities(scores)
    assert sum(law.probabilities(scores)) == 1


def test_ties_go_to_the_first() -> None:
    first, second = few(3, 6).probabilities((4, 4))
    assert first > second


@pytest.mark.parametrize(("digits", "bits", "sensitivity"), [(4, 8, 1), (3, 8, 1), (5, 12, 2)])
def test_the_enumerated_delta_of_all_neighbours_is_below_the_derived_one(
    digits: int, bits: int, sensitivity: int
) -> None:
    """Two scores as far apart as noise reaches, and all neighbours: the law depends on the gap alone."""
    law, factor, worst = few(digits, bits, sensitivity), exp_below(ONE.exact), Fraction(0)
    reach = (1 << digits) + 2 * sensitivity
    laws = {gap: law.probabilities((0, gap)) for gap in range(-reach, reach + 1)}
    for gap, step in product(laws, range(-2 * sensitivity, 2 * sensitivity + 1)):
        if gap + step in laws:
            excess = (p - factor * q for p, q in zip(laws[gap], laws[gap + step], strict=True))
            worst = max(worst, sum((max(Fraction(0), one) for one in excess), Fraction(0)))
    assert 0 < worst <= law.delta(2)


def test_half_of_the_noise_would_not_do_when_scores_move_apart() -> None:
    """The twin with scale 1 / epsilon: a loss of e^2 where e is promised."""
    twin = SelectionLaw(ONE * 2, 1, GeometricCoins(ONE.exact, 5, 16))
    before, after = twin.probabilities((0, 3)), twin.probabilities((1, 2))
    assert after[0] > before[0] * Fraction(27183, 10_000)


def test_delta_of_4096_scores_is_below_two_to_the_minus_40() -> None:
    for epsilon in ("1", "0.1", "0.01"):
        assert SelectionLaw.of(Epsilon.requested(epsilon), 1).delta(4096) < LARGEST_DELTA


def test_what_cannot_be_selected_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        SelectionLaw.of(ONE, 0)
    with pytest.raises(InvalidParameter):
        SelectionLaw(ONE, 1, GeometricCoins(ONE.exact, 3, 8))
    with pytest.raises(InvalidParameter, match="larger"):
        SelectionLaw.of(Epsilon(2), 1)
    with pytest.raises(InvalidParameter):
        few(3, 8).select([], SeededSource(1))
