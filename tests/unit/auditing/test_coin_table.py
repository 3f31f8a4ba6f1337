"""Coins of several answers: the same place is the same draw, other places are independent, and laws are exact."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.auditing.coin_table import MOST_PATHS, WORDS, Coin, CoinTable, joint_law
from localdp.domains import Ownership
from localdp.errors import InvalidParameter
from localdp.party import epoch, party
from localdp.randomizers import memoised
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import WORD_RANGE, IntegerLaw, RandomSource

KEY, OTHER = b"k" * 32, b"o" * 32
QUARTER, HALF = WORD_RANGE // 4, WORD_RANGE // 2


def drawing(key: bytes, draw: Callable[[RandomSource], Any], lanes: range = range(1)) -> Callable[[], Any]:
    """An answer that draws as a party does: from the source that its module names at the moment."""
    return lambda: tuple(np.ravel(draw(vars(party)["LanedSource"](key, lanes))).tolist())


def bit(threshold: int, key: bytes = KEY) -> Callable[[], Any]:
    return drawing(key, lambda source: source.bernoulli(threshold, 1))


def test_the_same_coin_is_one_draw_whatever_the_thresholds() -> None:
    law, coins = joint_law([bit(QUARTER), bit(HALF), bit(QUARTER)])
    assert law == {
        ((True,), (True,), (True,)): Fraction(1, 4),
        ((False,), (True,), (False,)): Fraction(1, 4),
        ((False,), (False,), (False,)): Fraction(1, 2),
    }
    assert len(coins) == 1


@pytest.mark.parametrize(
    "other", [bit(HALF, OTHER), drawing(KEY, lambda s: s.bernoulli(HALF, 1), range(1, 2))]
)
def test_other_keys_and_lanes_are_independent(other: Callable[[], Any]) -> None:
    law, coins = joint_law([bit(HALF), other])
    assert set(law.values()) == {Fraction(1, 4)} and len(law) == 4
    assert len(coins) == 2


def test_a_second_call_has_coins_of_its_own_and_a_second_source_of_the_key_has_the_first_again() -> None:
    def twice(source: RandomSource) -> Any:
        return [source.bernoulli(HALF, 1)[0], source.bernoulli(HALF, 1)[0]]

    law, _ = joint_law([drawing(KEY, twice), drawing(KEY, twice)])
    assert all(first == second for first, second in law)
    assert set(law.values()) == {Fraction(1, 4)} and len(law) == 4


def test_laws_and_bounds_are_exact_and_consistent() -> None:
    fine, coarse = IntegerLaw((1, 2, 3)), IntegerLaw((3, 3))
    law, _ = joint_law(
        [drawing(KEY, lambda s: s.categorical(fine, 1)), drawing(KEY, lambda s: s.categorical(coarse, 1))]
    )
    assert law == {((0,), (0,)): Fraction(1, 6), ((1,), (0,)): Fraction(1, 3), ((2,), (1,)): Fraction(1, 2)}
    law, _ = joint_law(
        [drawing(KEY, lambda s: s.below(6, 1)), drawing(KEY, lambda s: s.categorical(fine, 1))]
    )
    assert len(law) == 6 and set(law.values()) == {Fraction(1, 6)}


def test_a_word_chooses_one_of_two_rows_with_equal_chances() -> None:
    owned = Ownership(np.array([0, 0]), "sample")
    rows = [int(owned.sampled(slice(0, 1), np.array([word], np.uint64))[0]) for word in WORDS]
    assert rows == [0, 1]
    law, _ = joint_law([drawing(KEY, lambda source: source.raw(np.uint64, 1))])
    assert law == {((word,),): Fraction(1, 2) for word in WORDS}


def places(width: int, lanes: range, key: bytes, calls: int = 1) -> dict[Coin, int]:
    """The word that a real source gives at each place that the table names."""
    named: list[Coin] = []

    class Naming(CoinTable):
        def cell(self, coin: Coin, size: int, cuts: object) -> int:
            named.append(coin)
            return 0

    tabled, real = Naming(None, set())(key, lanes), LanedSource(key, lanes)  # type: ignore[arg-type]
    words: list[int] = []
    for _ in range(calls):
        tabled.raw(np.uint64, width * len(lanes))
        words += real.raw(np.uint64, width * len(lanes)).tolist()
    return dict(zip(named, words, strict=True))


def test_places_are_those_of_the_sources_that_parties_draw_from() -> None:
    found: dict[Coin, int] = {}
    for width in (1, 2, 3):
        for key in (KEY, OTHER):
            for lanes in (range(4), range(2, 9)):
                for coin, word in places(width, lanes, key, calls=2).items():
                    assert found.setdefault(coin, word) == word  # the same place, the same word
    assert len(set(found.values())) == len(found)  # another place, another word


@pytest.mark.parametrize("number", [1, 3])
def test_a_choice_of_an_owner_has_a_lane_of_its_own(number: int) -> None:
    def answer() -> Any:
        table, owners, choices = vars(party)["LanedSource"], np.array([4, 5]), np.array([0, number - 1])
        lanes = owners * number + choices
        here = table.of_choices(KEY, owners, choices, number).bernoulli(HALF, 2)
        return tuple(here.tolist()), tuple(table(KEY, lanes).bernoulli(HALF, 2).tolist())

    law, coins = joint_law([answer])
    assert all(chosen == by_lane for ((chosen, by_lane),) in law) and len(law) == 4
    assert {place for _, _, place in coins} == {4 * number, 6 * number - 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda s: s.below(3, 1), lambda s: s.below(5, 1)),
        (lambda s: s.below(4, 1), lambda s: s.bernoulli(HALF, 1)),
        (lambda s: s.raw(np.uint8, 1), lambda s: s.bernoulli(HALF, 1)),
        (lambda s: s.raw(np.uint16, 1), lambda s: s.bernoulli(HALF, 1)),
    ],
)
def test_what_cannot_be_followed_together_is_refused(one: Any, other: Any) -> None:
    with pytest.raises(InvalidParameter):
        joint_law([drawing(KEY, one), drawing(KEY, other)])


def test_too_many_paths_are_refused_at_once() -> None:
    with pytest.raises(InvalidParameter, match="more than"):
        joint_law([drawing(KEY, lambda source: source.bernoulli(HALF, 60))])
    with pytest.raises(InvalidParameter, match="more than"):
        joint_law([drawing(KEY, lambda source: source.below(MOST_PATHS + 1, 1))])
    with pytest.raises(InvalidParameter, match="multiple"):
        joint_law([drawing(KEY, lambda source: source.bernoulli(HALF, 3), range(2))])


def test_parties_draw_from_keystreams_again_afterwards_even_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        joint_law([bit(HALF), lambda: 1 / 0])
    for module in (party, epoch, memoised):
        assert vars(module)["LanedSource"] is LanedSource
