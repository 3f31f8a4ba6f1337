"""How small the entries of a vector that are not zero can be: `smallness`, for vectors and categories.

With v a vector, t a target, f the forms of a ball or sphere, w a public point and c a centre,

| step | e |
|---|---|
| ball, sphere: f by its largest entry | the least e(f), less the log2 of the greatest |f| |
| its squares | twice that |
| the entries | that, less log2(d) / 2 |
| the same, of wide columns | -126: what is less beside the largest entry is made 0 (`vector_evaluate`) |
| moments | 2 e(v); with a target, also e(v) + e(t) |
| a margin <w, v> | the least log2 w + e(v), less 53 |
| gradient | e(v) + e(slope): 0 for hinge, -128 beside an exponential (`losses`), for squared by margin and t |
| a cost of roads | the least of log2 (seen e(own)) and log2 of what is public, less 108; times the step |
| a squared distance | twice the least of e(v), where c is 0, and log2 c - 55 |

Claim.  What `require_normal` accepts meets no subnormal number on any table of the schema.
Checked with the least numbers of each kind in tests/unit/queries/test_smallness.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from localdp.domains import Schema
from localdp.queries.checking import type_of
from localdp.queries.expressions import (
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Condition,
    Expression,
    Gradient,
    Moments,
    Nearest,
    Road,
    Scalar,
    Signed,
    Sphere,
)
from localdp.queries.kinds import NumberType
from localdp.queries.losses import FAINTEST
from localdp.queries.smallness import (
    FLUSHED,
    beside_exponent,
    exponent_of,
    is_wide,
    normal,
    scalar_exponent,
    sum_exponent,
)

_DIGITS = 53  # of a double: a difference is a multiple of the last one
_FLUSHED = math.log2(FLUSHED)
_FAINT = FAINTEST / math.log(2) - 2  # of a slope with an exponential in it


def require_normal(expression: Expression, schema: Schema) -> None:
    """Refuse a category or a vector of which a step may be subnormal."""
    walk = _Exponents(schema)
    if isinstance(expression, BallVector):
        walk.vector(expression)
    elif isinstance(expression, Categorical):
        walk.category(expression)


@dataclass(frozen=True, slots=True)
class _Exponents:
    """e of the entries of each vector of a tree that was checked otherwise."""

    schema: Schema

    def category(self, category: Categorical) -> None:
        match category:
            case Cells(parts):
                for part in parts:
                    self.category(part)
            case Nearest(vector, centres):
                entries = self.vector(vector)
                offsets = (beside_exponent(value, entries) for centre in centres for value in centre)
                normal(2 * min(offsets), "the square of a distance")

            case Road(game, seen, _, own, luck):
                normal(scalar_exponent(luck, self.schema) - _DIGITS, "luck")
                least = min(scalar_exponent(one, self.schema) for one in own) if seen else math.inf
                costs = min(beside_exponent(cost, least) for cost in category.costs)
                normal(min(costs, least) - _DIGITS + exponent_of(game.step), "a cost of roads")

    def vector(self, vector: BallVector) -> float:
        match vector:
            case Ball(forms) | Sphere(forms):
                return self._shortened(forms)
            case Signed(_, inner):
                return self.vector(inner)
            case Moments(inner, target):
                return self._moments(self.vector(inner), target)
            case Gradient(_, _, inner):
                entries = self.vector(inner)
                return normal(entries + self._slope(vector, entries), "an entry of a gradient")
            case At(category, inner):
                self.category(category)
                return self.vector(inner)

    def _shortened(self, forms: tuple[Scalar, ...]) -> float:
        least = min(scalar_exponent(form, self.schema) for form in forms)
        scaled = least - max(0.0, *(self._greatest(form) for form in forms))
        if any(is_wide(form, self.schema) for form in forms):
            normal(least + _FLUSHED, "an entry of a vector")
            scaled = max(scaled, _FLUSHED)
        return normal(2 * scaled, "the square of an entry of a vector") / 2 - math.log2(len(forms)) / 2

    def _greatest(self, form: Scalar) -> float:
        match type_of(form, self.schema):
            case NumberType(low, high):
                return exponent_of(max(abs(low), abs(high), Fraction(1)))
        return 0.0

    def _moments(self, entries: float, target: Scalar | None) -> float:
        products = 2 * entries
        if target is not None:
            products = min(products, entries + scalar_exponent(target, self.schema)) - 1
        return normal(products, "a product of entries")

    def _slope(self, gradient: Gradient, entries: float) -> float:
        margin = normal(
            sum_exponent([exponent_of(value) + entries for value in gradient.point]), "a margin"
        )
        match gradient.loss:
            case "hinge":
                return 0.0
            case "squared" if isinstance(gradient.target, Condition):
                return min(margin, beside_exponent(Fraction(1), margin))
            case "squared":
                return sum_exponent([margin, scalar_exponent(gradient.target, self.schema)])
        return _FAINT
