"""Query trees to and from the wire.  Building the tree applies its bounds, so a hostile tree is refused here."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from localdp.errors import QueryRefused
from localdp.queries.expressions import (
    MOST_DEPTH,
    MOST_DIGITS,
    MOST_NODES,
    And,
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Clip,
    Column,
    Compare,
    Comparison,
    Condition,
    DecisionList,
    Expression,
    Gradient,
    Label,
    Linear,
    Loss,
    Member,
    Moments,
    Nearest,
    Not,
    Number,
    Numeric,
    Operand,
    Or,
    Parities,
    Parity,
    Point,
    Scalar,
    Signed,
    Sphere,
    Truth,
    UnitDecisionList,
    Value,
    Vector,
    Which,
    decision_list,
)
from localdp.queries.parser import parse
from localdp.queries.text import to_text
from parties.wire.v1 import query_pb2 as pb

_COMPARISONS: dict[Comparison, pb.Comparison] = {
    "==": pb.COMPARISON_EQUAL,
    "!=": pb.COMPARISON_NOT_EQUAL,
    "<": pb.COMPARISON_LESS,
    "<=": pb.COMPARISON_AT_MOST,
    ">": pb.COMPARISON_GREATER,
    ">=": pb.COMPARISON_AT_LEAST,
}
_LOSSES: dict[Loss, pb.Loss] = {
    "logistic": pb.LOSS_LOGISTIC,
    "hinge": pb.LOSS_HINGE,
    "squared": pb.LOSS_SQUARED,
    "madaboost": pb.LOSS_MADABOOST,
}
# No tree whose canonical text is short enough to be parsed takes more; it bounds the work of refusing one.
LARGEST_QUERY_BYTES = 1 << 19
_FROM_WIRE = {number: comparison for comparison, number in _COMPARISONS.items()}
_LOSS_FROM_WIRE = {number: loss for loss, number in _LOSSES.items()}
# Nodes that are lists of operands: the field, the node, and what its operands are.
_LISTS: dict[str, tuple[Any, Any]] = {
    "all": (And, Condition),
    "any": (Or, Condition),
    "parity": (Parity, Condition),
    "which": (Which, Condition),
    "cells": (Cells, Categorical),
    "ball": (Ball, Scalar),
    "sphere": (Sphere, Scalar),
    "vector": (Vector, Condition | Clip | UnitDecisionList),
}
_FIELDS = {node: field for field, (node, _) in _LISTS.items()}


def query_to_wire(query: str) -> pb.Query:
    """The tree of a query's text."""
    return pb.Query(root=_to_wire(parse(query)))


def query_from_wire(query: pb.Query) -> str:
    """The canonical text of a tree; what it means is checked against a schema by whoever evaluates it."""
    if query.ByteSize() > LARGEST_QUERY_BYTES:
        raise QueryRefused(f"a query takes at most {LARGEST_QUERY_BYTES} bytes")
    return to_text(_Decoder().expression(query.root, 1))


def _to_wire(node: Expression) -> pb.Expression:
    field = _FIELDS.get(type(node))
    if field is not None:
        return pb.Expression(**{field: pb.Operands(operands=map(_to_wire, node.children))})  # type: ignore[arg-type]
    match node:
        case Column():
            return pb.Expression(column=node.name)
        case Number():
            return pb.Expression(number=_rational(node.value))
        case Label():
            return pb.Expression(label=node.text)
        case Truth():
            return pb.Expression(truth=node.value)
        case Compare():
            sides = {"left": _to_wire(node.left), "right": _to_wire(node.right)}
            return pb.Expression(compare=pb.Compare(comparison=_COMPARISONS[node.op], **sides))
        case Member():
            return pb.Expression(member=pb.Member(column=node.column, labels=node.labels))
        case Not():
            return pb.Expression(negation=_to_wire(node.operand))
        case Clip():
            return pb.Expression(clip=_to_wire(node.operand))
        case Linear():
            terms = [pb.Term(coefficient=_rational(factor), column=name) for factor, name in node.terms]
            return pb.Expression(linear=pb.Linear(constant=_rational(node.constant), terms=terms))
        case DecisionList() | UnitDecisionList():
            return pb.Expression(decision_list=_rules_to_wire(node))
        case _:
            return _several_to_wire(node)


def _rules_to_wire(node: DecisionList | UnitDecisionList) -> pb.DecisionList:
    return pb.DecisionList(
        conditions=[_to_wire(when) for when, _ in node.rules],
        values=[_to_wire(value) for _, value in node.rules],
        otherwise=_to_wire(node.otherwise),
    )


def _several_to_wire(node: Expression) -> pb.Expression:
    match node:
        case Nearest(vector, centres):
            points = map(_point_to_wire, centres)
            return pb.Expression(nearest=pb.Nearest(vector=_to_wire(vector), centres=points))
        case Signed(condition, vector):
            return pb.Expression(signed=pb.Signed(condition=_to_wire(condition), vector=_to_wire(vector)))
        case Moments(vector, target):
            found = None if target is None else _to_wire(target)
            return pb.Expression(moments=pb.Moments(vector=_to_wire(vector), target=found))
        case Gradient(loss, point, vector, target):
            parts = {"vector": _to_wire(vector), "target": _to_wire(target)}
            gradient = pb.Gradient(loss=_LOSSES[loss], point=_point_to_wire(point), **parts)
            return pb.Expression(gradient=gradient)
        case At(category, vector):
            return pb.Expression(at=pb.At(category=_to_wire(category), vector=_to_wire(vector)))
        case Parities(order, conditions, label):
            found = None if label is None else _to_wire(label)
            listed = map(_to_wire, conditions)
            return pb.Expression(parities=pb.Parities(order=order, conditions=listed, label=found))
    raise QueryRefused("this query has no form on the wire")


class _Decoder:
    """One pass over a tree, which counts its nodes: a hostile one is refused before much of it is built."""

    def __init__(self) -> None:
        self._nodes = 0

    def expression(self, node: pb.Expression, depth: int) -> Expression:
        if depth > MOST_DEPTH:
            raise QueryRefused(f"a query is at most {MOST_DEPTH} levels deep")
        self._count(1)
        kind = node.WhichOneof("node")
        if kind in _LISTS:
            made, operand = _LISTS[kind]
            operands = self._all(getattr(node, kind).operands, depth, operand, f"the operands of `{kind}`")
            return cast(Expression, made(operands))
        match kind:
            case "column":
                return Column(node.column)
            case "number":
                return Number(_fraction(node.number))
            case "label":
                return Label(node.label)
            case "truth":
                return Truth(node.truth)
            case "compare":
                return self._compare(node.compare, depth)
            case "member":
                self._count(len(node.member.labels))
                return Member(node.member.column, tuple(node.member.labels))
            case "negation":
                return Not(self._condition(node.negation, depth))
            case "linear":
                return self._linear(node.linear)
            case "clip":
                return Clip(self._one(node.clip, depth, Numeric, "`clip` takes a number or a linear form"))
            case "decision_list":
                return self._rules(node.decision_list, depth)
        return self._several(node, depth)

    def _several(self, node: pb.Expression, depth: int) -> Expression:
        match node.WhichOneof("node"):
            case "nearest":
                centres = tuple(self._point(centre) for centre in node.nearest.centres)
                return Nearest(self._vector(node.nearest.vector, depth), centres)
            case "signed":
                when = self._condition(node.signed.condition, depth)
                return Signed(when, self._vector(node.signed.vector, depth))
            case "moments":
                asked = node.moments
                target = self._target(asked.target, depth) if asked.HasField("target") else None
                return Moments(self._vector(asked.vector, depth), target)
            case "gradient":
                return self._gradient(node.gradient, depth)
            case "at":
                category = self._one(node.at.category, depth, Categorical, "`at` takes a category")
                return At(category, self._vector(node.at.vector, depth))
            case "parities":
                return self._parities(node.parities, depth)
        raise QueryRefused("a node of the query has no content")

    def _compare(self, node: pb.Compare, depth: int) -> Compare:
        if node.comparison not in _FROM_WIRE:
            raise QueryRefused("a comparison is one of == != < <= > >=")
        what = "a comparison compares columns, numbers, labels and truths"
        left, right = (self._one(side, depth, Operand, what) for side in (node.left, node.right))
        return Compare(_FROM_WIRE[node.comparison], left, right)

    def _linear(self, node: pb.Linear) -> Linear:
        self._count(len(node.terms))
        terms = tuple((_fraction(term.coefficient), term.column) for term in node.terms)
        return Linear(_fraction(node.constant), terms)

    def _rules(self, node: pb.DecisionList, depth: int) -> DecisionList | UnitDecisionList:
        if len(node.conditions) != len(node.values):
            raise QueryRefused("a decision list has as many conditions as values")
        values = "the values of a decision list are conditions, or numbers in [0, 1]"
        conditions = self._all(node.conditions, depth, Condition, "the conditions of a decision list")
        chosen = tuple(self._one(value, depth, Value, values) for value in node.values)
        otherwise = self._one(node.otherwise, depth, Value, values)
        return decision_list(tuple(zip(conditions, chosen, strict=True)), otherwise)

    def _gradient(self, node: pb.Gradient, depth: int) -> Gradient:
        if node.loss not in _LOSS_FROM_WIRE:
            raise QueryRefused(f"a loss is one of {', '.join(_LOSSES)}")
        point, vector = self._point(node.point), self._vector(node.vector, depth)
        return Gradient(_LOSS_FROM_WIRE[node.loss], point, vector, self._target(node.target, depth))

    def _parities(self, node: pb.Parities, depth: int) -> Parities:
        conditions = self._all(node.conditions, depth, Condition, "the operands of `parities`")
        label = self._condition(node.label, depth) if node.HasField("label") else None
        return Parities(node.order, conditions, label)

    def _point(self, point: pb.Point) -> Point:
        self._count(len(point.coordinates))
        return tuple(map(_fraction, point.coordinates))

    def _condition(self, node: pb.Expression, depth: int) -> Condition:
        what = "a condition is needed, which is true or false"
        return cast(Condition, self._one(node, depth, Condition, what))

    def _vector(self, node: pb.Expression, depth: int) -> BallVector:
        what = "a vector is needed, such as ball(...)"
        return cast(BallVector, self._one(node, depth, BallVector, what))

    def _target(self, node: pb.Expression, depth: int) -> Scalar:
        return cast(Scalar, self._one(node, depth, Scalar, "a label is a condition or a number"))

    def _all(self, nodes: Any, depth: int, kinds: Any, what: str) -> tuple[Any, ...]:
        return tuple(self._one(node, depth, kinds, f"{what} are of another kind") for node in nodes)

    def _one(self, node: pb.Expression, depth: int, kinds: Any, otherwise: str) -> Any:
        found = self.expression(node, depth + 1)
        if not isinstance(found, kinds):
            raise QueryRefused(otherwise)
        return found

    def _count(self, more: int) -> None:
        self._nodes += more
        if self._nodes > MOST_NODES:
            raise QueryRefused(f"a query has at most {MOST_NODES} nodes")


def _point_to_wire(point: Point) -> pb.Point:
    return pb.Point(coordinates=map(_rational, point))


def _rational(value: Fraction) -> pb.Rational:
    return pb.Rational(numerator=str(value.numerator), denominator=str(value.denominator))


def _fraction(value: pb.Rational) -> Fraction:
    digits = value.numerator.removeprefix("-"), value.denominator
    if not all(part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS for part in digits):
        raise QueryRefused(f"a number is a fraction of integers of at most {MOST_DIGITS} digits")
    if int(value.denominator) == 0:
        raise QueryRefused("a number has a denominator of zero")
    return Fraction(int(value.numerator), int(value.denominator))
