"""The exact law of small procedures, compared with fractions computed by hand."""

from fractions import Fraction
from itertools import count
from math import comb

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.source import IntegerLaw, RandomSource

P = Fraction(12345678901234567891, 1 << 64)
THRESHOLD = P.numerator * ((1 << 64) // P.denominator)


def test_no_coin_is_one_certain_outcome() -> None:
    assert enumerate_law(lambda source: "only") == {"only": Fraction(1)}


def test_the_number_of_heads_is_exactly_binomial() -> None:
    law = enumerate_law(lambda source: int(source.bernoulli(THRESHOLD, 8).sum()))
    assert law == {k: comb(8, k) * P**k * (1 - P) ** (8 - k) for k in range(9)}


def test_each_draw_has_its_own_threshold() -> None:
    thresholds = np.array([0, 1 << 63, THRESHOLD], np.uint64)
    law = enumerate_law(lambda source: tuple(source.bernoulli(thresholds, 3).tolist()))
    assert law[False, True, True] == P / 2
    assert len(law) == 4  # A choice of probability zero is not followed.


def test_draws_that_depend_on_earlier_draws_are_followed() -> None:
    def draw(source: RandomSource) -> int:
        sides = int(source.below(3, 1)[0]) + 1
        return int(source.below(sides, 1)[0])

    assert enumerate_law(draw) == {0: Fraction(11, 18), 1: Fraction(5, 18), 2: Fraction(1, 9)}


def test_weights_and_bytes_are_exact() -> None:
    law = enumerate_law(lambda source: int(source.categorical(IntegerLaw((2, 0, 5)), 1)[0]))
    assert law == {0: Fraction(2, 7), 2: Fraction(5, 7)}
    assert enumerate_law(lambda s: int(s.raw(np.uint8, 1)[0]) % 3)[0] == Fraction(86, 256)


def test_what_cannot_be_enumerated_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        enumerate_law(lambda source: int(source.raw(np.uint16, 1)[0]))
    with pytest.raises(InvalidParameter):
        enumerate_law(lambda source: int(source.below(1 << 40, 1)[0]))


def test_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localdp.randomness.enumerating.MOST_PATHS", 1000)
    assert sum(enumerate_law(lambda source: tuple(source.below(10, 3).tolist())).values()) == 1
    with pytest.raises(InvalidParameter):
        enumerate_law(lambda source: tuple(source.bernoulli(1 << 63, 10).tolist()))


def test_a_procedure_with_coins_of_its_own_is_refused() -> None:
    hidden = count(2)
    with pytest.raises(InvalidParameter):
        enumerate_law(lambda source: int(source.below(next(hidden), 2).sum()))
