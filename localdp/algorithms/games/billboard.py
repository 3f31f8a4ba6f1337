"""The billboard of a game of roads: its rules, and the loads that were published, round by round.

It is public, and all there is to know about the state of the game: `move` is the question that asks for the next roads,
and the answer to it, about one's own record, is the road that a person takes (`queries/roads.py`).  After the last round it
is the road that everybody takes from then on, and nobody need be asked: everybody reads it off the billboard at home.

Claim (the billboard lemma).  What the others see of a person's record are published loads and, of the others, roads that
are functions of these and of their own records.  So loads that are epsilon-private in the person's record make the whole
game jointly epsilon-private: all that everybody else learns and does, taken together.
Checked by enumeration in tests/unit/algorithms/games/test_billboard.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, cast

import numpy as np

from localdp.domains import Records, Schema
from localdp.errors import InvalidParameter
from localdp.party.policy import opening_text
from localdp.queries.evaluate import evaluate
from localdp.queries.expressions import Clip, Column, Component, Game, Numeric, Road
from localdp.queries.parser import parse
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.source import Floats, Integers

GRID = 10**9  # published loads are whole multiples of 1 / GRID
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class Billboard:
    """The rules of a game, and the loads that were published so far."""

    opening: Road
    published: tuple[tuple[Fraction, ...], ...] = ()  # a load of each road, of every round

    @classmethod
    def empty(
        cls,
        base: Sequence[float],
        slope: Sequence[float],
        own: Sequence[str],
        luck: str,
        step: float,
        rounds: int,
        schema: Schema,
    ) -> Self:
        """The billboard of a game about to begin; `own` and `luck` are columns, or numbers made of them."""
        numbers = [tuple(map(_exact, values)) for values in (base, slope)]
        game = Game(numbers[0], numbers[1], _exact(step), rounds)
        costs = tuple(map(_clipped, own))
        start = Road(game, 0, (Fraction(0),) * game.roads, costs, _clipped(luck))
        VectorQuery(start, schema)  # refuses what does not fit the schema
        return cls(start)

    @classmethod
    def read(cls, data: Mapping[str, object]) -> Self:
        """The billboard of a file, which `to_data` wrote."""
        opening, loads = data.get("game"), data.get("loads")
        if not isinstance(opening, str) or not isinstance(loads, list):
            raise InvalidParameter("a billboard has the opening move of a game, and loads")
        board = cls(cast(Road, parse(opening_text(opening))))
        for row in loads:
            board = board.with_loads(row if isinstance(row, list) else [])
        return board

    def to_data(self) -> dict[str, object]:
        """As plain data, for JSON."""
        return {"game": to_text(self.opening), "loads": [list(map(float, row)) for row in self.published]}

    @property
    def game(self) -> Game:
        """The rules."""
        return self.opening.game

    def with_loads(self, loads: Iterable[float | str]) -> Self:
        """The billboard after the loads of another round were published."""
        row = tuple(_exact(one) for one in loads)
        if len(row) != self.game.roads or len(self.published) == self.game.rounds:
            raise InvalidParameter(
                "a round of a game publishes a load of each road, and a game has its rounds"
            )
        return replace(self, published=(*self.published, row))

    @property
    def move(self) -> Road:
        """The question for the roads that people take now."""
        sums = tuple(sum(column, Fraction(0)) for column in zip(*self.published, strict=True))
        return replace(self.opening, seen=len(self.published), loads=sums or self.opening.loads)

    def before(self, round_number: int) -> Self:
        """The billboard as it was when a round began, counted from 0."""
        return replace(self, published=self.published[:round_number])

    def roads(self, records: Records) -> Integers:
        """The road that each of these people takes now, by number; this is done at home."""
        return cast(Integers, VectorQuery(self.move, records.schema).evaluate(records))

    def own_costs(self, records: Records) -> Floats:
        """What each road costs each person besides its load: a row for each road."""
        return np.array([evaluate(one, records) for one in self.opening.own], np.float64)


def _exact(value: float | str) -> Fraction:
    """A number on the grid."""
    number = float(value)
    if not math.isfinite(number) or abs(number) > _FAR:
        raise InvalidParameter("the numbers of a game are finite, and not beyond all measure")
    return Fraction(round(number * GRID), GRID)


def _clipped(text: str) -> Component:
    """What a text says of a person, as a number in [0, 1]."""
    if not isinstance(text, str):
        raise InvalidParameter("the costs of a person's own, and luck, are columns or what is made of them")
    expression = parse(text)
    if isinstance(expression, Component):
        return expression if not isinstance(expression, Column) else Clip(expression)
    if isinstance(expression, Numeric):
        return Clip(expression)
    raise InvalidParameter(f"{text!s:.60} is no number of a person's own")
