"""From text to expression.

    query ::=  call | scalar                                                (`scalar_parser` has the rest)
    call  ::=  "vector" "(" scalar ("," scalar)* ")"                        components in [0, 1]
            |  "which" "(" scalar ("," scalar)* ")"  |  "cells" "(" query ("," query)* ")"
            |  "nearest" "(" call ("," point)+ ")"
            |  "road" "(" point "," point "," sum "," number "," number "," point ("," scalar)+ ";" scalar ")"
            |  ("ball" | "sphere") "(" scalar ("," scalar)* ")"
            |  "signed" "(" scalar "," call ")"  |  "moments" "(" call ["," scalar] ")"
            |  "gradient" "(" loss "," point "," call "," scalar ")"  |  "at" "(" query "," call ")"
            |  "parities" "(" number ("," scalar)+ [";" scalar] ")"
    point ::=  "[" sum ("," sum)* "]"
    loss  ::=  "logistic" | "hinge" | "squared" | "madaboost"

The name of a call is one only before a parenthesis, and that of a loss only there: a column may be called
`at`.  The words `and or not in true false clip vector if then else` are reserved.

Claim.  Any text gives an expression or `QueryRefused`, in bounded stack and time: the nesting is counted
while parsing.  Checked in tests/unit/queries/test_parser.py and test_vector_text.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from types import UnionType
from typing import Any, cast

from localdp.queries.expressions import (
    LOSSES,
    BallVector,
    Categorical,
    Component,
    Condition,
    Expression,
    Game,
    Loss,
    Number,
    Point,
    Scalar,
    Several,
)
from localdp.queries.scalar_parser import ScalarParser, T
from localdp.queries.tokens import number_value
from localdp.queries.vector_text import NAMES
from localdp.queries.vectors import CATEGORIES, COMPONENTS, FORMS, TARGETS, VECTORS

_CALLS = {name: node for node, name in NAMES.items()}


def parse(text: str) -> Expression:
    """The expression that a text means; its columns are not looked up yet.

    Remembered, like the checks of `StatisticalQuery.parse` and `VectorQuery.parse`: a party reads a query, predicts what it
    costs, charges for it and evaluates it, and is asked for a quote before and for further people after that.
    """
    return _parsed(text) if isinstance(text, str) else _Parser(text).query()


@lru_cache(maxsize=64)
def _parsed(text: str) -> Expression:
    return _Parser(text).query()


class _Parser(ScalarParser):
    """One pass over the tokens, with a method for each rule of the grammar."""

    def query(self) -> Expression:
        expression = self._any()
        if self._token.kind != "end":
            raise self._refused(self._token, "expected an operator or the end of the query")
        return expression

    def _any(self) -> Expression:
        several = self._token.kind == "vector" or (self._calls and self._token.text in _CALLS)
        return self._call() if several else self._scalar()

    def _call(self) -> Several:
        opening = self._token
        self._index += 1
        self._expect("(", f"expected ( after `{opening.text}`")
        with self._nested(opening):
            arguments = self._arguments(opening.text)
        self._expect(")", "expected a comma or )")
        with self._placed(opening):
            several: Several = _CALLS[opening.text](*arguments)
            return several

    def _arguments(self, name: str) -> tuple[Any, ...]:
        match name:
            case "vector":
                return (self._listed(self._component),)
            case "which":
                return (self._listed(self._truth),)
            case "cells":
                return (self._listed(self._category),)
            case "ball" | "sphere":
                return (self._listed(self._form),)
            case "nearest":
                return self._ball(), self._centres()
            case "road":
                return self._road()
            case "signed":
                return self._truth(), self._after_comma(self._ball)
            case "moments":
                return self._ball(), self._target() if self._take(",") else None
            case "gradient":
                return self._gradient()
            case "at":
                return self._category(), self._after_comma(self._ball)
        return self._parities()

    def _gradient(self) -> tuple[Loss, Point, BallVector, Scalar]:
        token = self._token
        loss = next((loss for loss in LOSSES if loss == token.text), None)
        if loss is None:
            raise self._refused(token, f"a loss is one of {', '.join(LOSSES)}")
        self._index += 1
        return (
            loss,
            self._after_comma(self._point),
            self._after_comma(self._ball),
            self._after_comma(self._target),
        )

    def _road(self) -> tuple[Game, int, Point, tuple[Component, ...], Component]:
        start = self._token
        base, slope = self._point(), self._after_comma(self._point)
        step = self._after_comma(self._constant)
        rounds = self._after_comma(lambda: self._whole("how many rounds a game has"))
        with self._placed(start):
            game = Game(base, slope, step, rounds)
        seen = self._after_comma(lambda: self._whole("how many rounds were seen"))
        loads = self._after_comma(self._point)
        self._expect(",", "expected a comma")
        own = self._listed(self._component)
        self._expect(";", "expected ; and a number for luck")
        return game, seen, loads, own, self._component()

    def _parities(self) -> tuple[int, tuple[Condition, ...], Condition | None]:
        order = self._whole("the order of parities")
        self._expect(",", "expected a comma")
        conditions = self._listed(self._truth)
        return order, conditions, self._truth() if self._take(";") else None

    def _whole(self, what: str) -> int:
        token = self._expect("number", f"expected {what}, a whole number")
        with self._placed(token):
            value = number_value(token.text)
        if value.denominator != 1:
            raise self._refused(token, f"{what} is a whole number")
        return int(value)

    def _centres(self) -> tuple[Point, ...]:
        self._expect(",", "expected a comma and a centre, as in [0, 0.5]")
        return self._listed(self._point)

    def _point(self) -> Point:
        self._expect("[", "expected a list of numbers, as in [0, 0.5]")
        values = self._listed(self._constant)
        self._expect("]", "expected a comma or ]")
        return values

    def _constant(self) -> Fraction:
        start = self._token
        value = self._sum()
        if not isinstance(value, Number):
            raise self._refused(start, "a list of numbers has no columns in it")
        return value.value

    def _after_comma(self, part: Callable[[], T]) -> T:
        self._expect(",", "expected a comma")
        return part()

    def _component(self) -> Component:
        return cast(Component, self._one_of(Component, COMPONENTS))

    def _form(self) -> Scalar:
        return cast(Scalar, self._one_of(Scalar, FORMS))

    def _target(self) -> Scalar:
        return cast(Scalar, self._one_of(Scalar, TARGETS))

    def _category(self) -> Categorical:
        return cast(Categorical, self._one_of(Categorical, CATEGORIES))

    def _ball(self) -> BallVector:
        return cast(BallVector, self._one_of(BallVector, f"this {VECTORS}"))

    def _one_of(self, nodes: UnionType | type, otherwise: str) -> Expression:
        start = self._token
        found = self._any()
        fits = isinstance(found, nodes)
        if not fits:
            raise self._refused(start, otherwise)
        return found
