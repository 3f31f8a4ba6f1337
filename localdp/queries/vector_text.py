"""The canonical text of the queries for more than one number: each is a call with arguments.

Checked in tests/unit/queries/test_vector_text.py.
"""

from __future__ import annotations

from collections.abc import Callable

from localdp.queries.expressions import (
    At,
    Ball,
    Cells,
    Expression,
    Gradient,
    Moments,
    Nearest,
    Parities,
    Point,
    Road,
    Several,
    Signed,
    Sphere,
    Vector,
    Which,
)
from localdp.queries.tokens import number_text

NAMES: dict[type[Several], str] = {
    Vector: "vector",
    Which: "which",
    Cells: "cells",
    Nearest: "nearest",
    Road: "road",
    Ball: "ball",
    Sphere: "sphere",
    Signed: "signed",
    Moments: "moments",
    Gradient: "gradient",
    At: "at",
    Parities: "parities",
}


def call_text(expression: Several, text: Callable[[Expression], str]) -> str:
    """The canonical text, given how the arguments are written."""
    return f"{NAMES[type(expression)]}({_arguments(expression, text)})"


def _arguments(expression: Several, text: Callable[[Expression], str]) -> str:
    match expression:
        case Nearest(vector, centres):
            return ", ".join([text(vector), *map(_point, centres)])
        case Gradient(loss, point, vector, target):
            return ", ".join([loss, _point(point), text(vector), text(target)])
        case Parities(order, conditions, label):
            listed = ", ".join([str(order), *map(text, conditions)])
            return listed if label is None else f"{listed}; {text(label)}"
        case Road(game, seen, loads, own, luck):
            public = [*map(_point, (game.base, game.slope)), number_text(game.step), str(game.rounds)]
            return f"{', '.join([*public, str(seen), _point(loads), *map(text, own)])}; {text(luck)}"
        case Signed(first, second) | At(first, second):
            return f"{text(first)}, {text(second)}"
        case Moments(vector, target):
            return text(vector) if target is None else f"{text(vector)}, {text(target)}"
        case Vector(parts) | Which(parts) | Cells(parts) | Ball(parts) | Sphere(parts):
            return ", ".join(map(text, parts))


def _point(point: Point) -> str:
    return f"[{', '.join(map(number_text, point))}]"
