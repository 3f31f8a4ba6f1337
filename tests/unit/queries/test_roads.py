"""Moves of a game of roads: what is refused, and that the road is the one that multiplicative weights give."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from localdp.domains import RealDomain, Records, Schema
from localdp.errors import QueryRefused
from localdp.queries import VectorQuery
from localdp.queries.expressions import Clip, Column, Game, Road
from localdp.queries.parser import parse
from localdp.queries.text import to_text

SCHEMA = Schema(dict.fromkeys(("north", "south", "luck"), RealDomain(0, 1)))
GAME = Game((Fraction(1, 10), Fraction(1, 5)), (Fraction(1), Fraction(4, 5)), Fraction(4), 50)
OWN = (Clip(Column("north")), Clip(Column("south")))
LUCK = Clip(Column("luck"))
TEXT = "road([0.1, 0.2], [1, 0.8], 4, 50, 3, [1.6, 1.4], clip(north), clip(south); clip(luck))"


def move(text: str = TEXT) -> Road:
    found = parse(text)
    assert isinstance(found, Road)
    return found


def people(*rows: tuple[float, float, float]) -> Records:
    return Records(SCHEMA, dict(zip(SCHEMA.names, np.array(rows).T, strict=True)))


def weights(seen: int, loads: list[float], own: tuple[float, ...]) -> list[float]:
    base, slope = ([float(value) for value in values] for values in (GAME.base, GAME.slope))
    so_far = [seen * base[road] + slope[road] * loads[road] + seen * own[road] for road in range(2)]
    return [math.exp(-4 * cost) for cost in so_far]


def test_a_move_comes_back_from_its_text() -> None:
    assert to_text(move()) == TEXT
    assert move() == Road(GAME, 3, (Fraction(8, 5), Fraction(7, 5)), OWN, LUCK)


def test_the_opening_names_the_game_whatever_was_seen() -> None:
    later = move(TEXT.replace("3, [1.6, 1.4]", "7, [3.3, 3.7]"))
    assert later.opening == move().opening == move().opening.opening
    other = move(TEXT.replace("[1, 0.8], 4", "[1, 0.8], 5"))
    assert other.opening != move().opening


def test_a_road_is_taken_with_the_probability_of_its_weight() -> None:
    own = (0.05, 0.25)
    first, second = weights(3, [1.6, 1.4], own)
    turn = first / (first + second)
    rows = [(*own, luck) for luck in (0.0, turn - 1e-9, turn + 1e-9, 1.0)]
    assert VectorQuery(move(), SCHEMA).evaluate(people(*rows)).tolist() == [0, 0, 1, 1]


def test_nothing_seen_is_nothing_known() -> None:
    rows = [(0.9, 0.0, 0.499), (0.9, 0.0, 0.501), (0.0, 0.9, 0.499)]
    assert VectorQuery(move().opening, SCHEMA).evaluate(people(*rows)).tolist() == [0, 1, 0]


def test_costs_beyond_all_measure_leave_one_road() -> None:
    far = move(TEXT.replace("[1.6, 1.4]", "[999999999999999999999999999, -1]"))
    assert VectorQuery(far, SCHEMA).evaluate(people((0.0, 1.0, 0.0001), (0.0, 1.0, 1.0))).tolist() == [1, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        ((Fraction(1),), (Fraction(1),), Fraction(1), 5),
        (GAME.base, (Fraction(1),), Fraction(1), 5),
        (GAME.base, GAME.slope, Fraction(0), 5),
        (GAME.base, GAME.slope, Fraction(1001), 5),
        (GAME.base, (Fraction(-1), Fraction(1)), Fraction(1), 5),
        (GAME.base, GAME.slope, Fraction(1), 0),
        (GAME.base, GAME.slope, Fraction(1), True),
        (GAME.base, GAME.slope, Fraction(1), 4097),
        ([Fraction(1)] * 2, GAME.slope, Fraction(1), 5),
        ((Fraction(1),) * 65, (Fraction(1),) * 65, Fraction(1), 5),
    ],
)
def test_a_game_that_is_none_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(QueryRefused):
        Game(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("game", 3, (Fraction(1),) * 2, OWN, LUCK),
        (GAME, -1, (Fraction(1),) * 2, OWN, LUCK),
        (GAME, 51, (Fraction(1),) * 2, OWN, LUCK),
        (GAME, True, (Fraction(1),) * 2, OWN, LUCK),
        (GAME, 3, (Fraction(1),), OWN, LUCK),
        (GAME, 3, (Fraction(1), 1), OWN, LUCK),
        (GAME, 3, (Fraction(1),) * 2, OWN[:1], LUCK),
        (GAME, 3, (Fraction(1),) * 2, list(OWN), LUCK),
        (GAME, 3, (Fraction(1),) * 2, OWN, Fraction(1)),
    ],
)
def test_a_move_that_is_none_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(QueryRefused):
        Road(*arguments)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT.replace("; clip(luck)", ""), "expected ;"),
        (TEXT.replace("50, 3", "50, 3.5"), "whole number"),
        (TEXT.replace("50, 3", "50, 51"), "all of its rounds"),
        (TEXT.replace("[0.1, 0.2]", "[0.1]"), "2 to 64 roads"),
        (TEXT.replace("clip(north)", "north"), "not between 0 and 1"),
        (TEXT.replace("clip(luck)", "luck"), "not between 0 and 1"),
        (TEXT.replace("clip(luck)", "ball(luck)"), "more than one value|components"),
    ],
)
def test_a_text_that_is_no_move_is_refused(text: str, reason: str) -> None:
    with pytest.raises(QueryRefused, match=reason):
        VectorQuery.parse(text, SCHEMA)
