"""Query trees to and from the wire.  Building the tree applies its bounds, so a hostile tree is refused here."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from localdp.errors import QueryRefused
from localdp.queries.expressions import (
    MOST_DEPTH,
    MOST_DIGITS,
    MOST_NODES,
    And,
    Clip,
    Column,
    Compare,
    Comparison,
    Condition,
    Expression,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Numeric,
    Operand,
    Or,
    Truth,
    Vector,
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
# No tree whose canonical text is short enough to be parsed takes more; it bounds the work of refusing one.
LARGEST_QUERY_BYTES = 1 << 16
_FROM_WIRE = {number: comparison for comparison, number in _COMPARISONS.items()}


def query_to_wire(query: str) -> pb.Query:
    """The tree of a query's text."""
    return pb.Query(root=_to_wire(parse(query)))


def query_from_wire(query: pb.Query) -> str:
    """The canonical text of a tree; what it means is checked against a schema by whoever evaluates it."""
    if query.ByteSize() > LARGEST_QUERY_BYTES:
        raise QueryRefused(f"a query takes at most {LARGEST_QUERY_BYTES} bytes")
    return to_text(_from_wire(query.root, 1))


def _to_wire(node: Expression) -> pb.Expression:
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
        case And():
            return pb.Expression(all=pb.Operands(operands=map(_to_wire, node.operands)))
        case Or():
            return pb.Expression(any=pb.Operands(operands=map(_to_wire, node.operands)))
        case Not():
            return pb.Expression(negation=_to_wire(node.operand))
        case Clip():
            return pb.Expression(clip=_to_wire(node.operand))
        case Vector():
            return pb.Expression(vector=pb.Operands(operands=map(_to_wire, node.components)))
        case Linear():
            terms = [pb.Term(coefficient=_rational(factor), column=name) for factor, name in node.terms]
            return pb.Expression(linear=pb.Linear(constant=_rational(node.constant), terms=terms))


def _from_wire(node: pb.Expression, depth: int) -> Expression:
    if depth > MOST_DEPTH:
        raise QueryRefused(f"a query is at most {MOST_DEPTH} levels deep")
    match node.WhichOneof("node"):
        case "column":
            return Column(node.column)
        case "number":
            return Number(_fraction(node.number))
        case "label":
            return Label(node.label)
        case "truth":
            return Truth(node.truth)
        case "compare":
            return _compare(node.compare, depth)
        case "member":
            return Member(node.member.column, tuple(node.member.labels[: MOST_NODES + 1]))
        case "all":
            return And(_conditions(node.all, depth))
        case "any":
            return Or(_conditions(node.any, depth))
        case "negation":
            return Not(_condition(node.negation, depth))
        case "linear":
            terms = tuple(
                (_fraction(term.coefficient), term.column) for term in node.linear.terms[: MOST_NODES + 1]
            )
            return Linear(_fraction(node.linear.constant), terms)
        case "clip":
            operand = _from_wire(node.clip, depth + 1)
            if not isinstance(operand, Numeric):
                raise QueryRefused("`clip` takes a number, a column or a linear form")
            return Clip(operand)
        case "vector":
            return Vector(_components(node.vector, depth))
    raise QueryRefused("a node of the query has no content")


def _compare(node: pb.Compare, depth: int) -> Compare:
    if node.comparison not in _FROM_WIRE:
        raise QueryRefused("a comparison is one of == != < <= > >=")
    left, right = _from_wire(node.left, depth + 1), _from_wire(node.right, depth + 1)
    if not isinstance(left, Operand) or not isinstance(right, Operand):
        raise QueryRefused("a comparison compares columns, numbers, labels and truths")
    return Compare(_FROM_WIRE[node.comparison], left, right)


def _conditions(node: pb.Operands, depth: int) -> tuple[Condition, ...]:
    return tuple(_condition(operand, depth) for operand in node.operands[: MOST_NODES + 1])


def _components(node: pb.Operands, depth: int) -> tuple[Condition | Clip, ...]:
    components = [_from_wire(operand, depth + 1) for operand in node.operands[: MOST_NODES + 1]]
    if not all(isinstance(component, Condition | Clip) for component in components):
        raise QueryRefused("the components of a vector are conditions or clipped numbers")
    return cast("tuple[Condition | Clip, ...]", tuple(components))


def _condition(node: pb.Expression, depth: int) -> Condition:
    condition = _from_wire(node, depth + 1)
    if not isinstance(condition, Condition):
        raise QueryRefused("`and`, `or` and `not` take conditions")
    return condition


def _rational(value: Fraction) -> pb.Rational:
    return pb.Rational(numerator=str(value.numerator), denominator=str(value.denominator))


def _fraction(value: pb.Rational) -> Fraction:
    digits = value.numerator.removeprefix("-"), value.denominator
    if not all(part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS for part in digits):
        raise QueryRefused(f"a number is a fraction of integers of at most {MOST_DIGITS} digits")
    if int(value.denominator) == 0:
        raise QueryRefused("a number has a denominator of zero")
    return Fraction(int(value.numerator), int(value.denominator))
