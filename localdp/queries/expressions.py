"""Queries as data: the syntax of Definition 12.4, and of the queries that ask for more than one number.

    Expression  ::=  Condition | Operand | Unit | Categorical | Vector | BallVector | Parities

`scalars` has the nodes with one value for each record, `vectors` the others, `nodes` the bounds on all trees.
"""

from __future__ import annotations

from typing import TypeAlias

from localdp.queries.nodes import MOST_DEPTH, MOST_DIGITS, MOST_NODES, Node, Point
from localdp.queries.roads import Game, Road
from localdp.queries.scalars import (
    COMPARISONS,
    HOWS,
    And,
    Clip,
    Column,
    Compare,
    Comparison,
    Component,
    Condition,
    DecisionList,
    Label,
    Linear,
    Member,
    Not,
    Number,
    Numeric,
    OfRows,
    Operand,
    Or,
    Parity,
    Scalar,
    Term,
    Truth,
    Unit,
    UnitDecisionList,
    Value,
    decision_list,
)
from localdp.queries.vectors import (
    LOSSES,
    At,
    Ball,
    BallVector,
    Categorical,
    Cells,
    Gradient,
    Loss,
    Moments,
    Nearest,
    Parities,
    Signed,
    Sphere,
    Vector,
    Which,
)

__all__ = [
    "COMPARISONS",
    "HOWS",
    "LOSSES",
    "MOST_DEPTH",
    "MOST_DIGITS",
    "MOST_NODES",
    "And",
    "At",
    "Ball",
    "BallVector",
    "Categorical",
    "Cells",
    "Clip",
    "Column",
    "Compare",
    "Comparison",
    "Component",
    "Condition",
    "DecisionList",
    "Expression",
    "Game",
    "Gradient",
    "Label",
    "Linear",
    "Loss",
    "Member",
    "Moments",
    "Nearest",
    "Not",
    "Number",
    "Numeric",
    "OfRows",
    "Operand",
    "Or",
    "Parities",
    "Parity",
    "Point",
    "Road",
    "Scalar",
    "Several",
    "Signed",
    "Sphere",
    "Term",
    "Truth",
    "Unit",
    "UnitDecisionList",
    "Value",
    "Vector",
    "Which",
    "columns_of",
    "decision_list",
]

Several: TypeAlias = (
    Vector | Which | Cells | Nearest | Road | BallVector | Parities
)  # the nodes of `vectors`
Expression: TypeAlias = Condition | Operand | Clip | UnitDecisionList | Several  # every node


def columns_of(expression: Node) -> frozenset[str]:
    """The names of the columns that an expression looks at."""
    match expression:
        case Column(name) | Member(name):
            return frozenset({name})
        case Linear(_, terms):
            names = frozenset(term for _, term in terms if isinstance(term, str))
            return names.union(*map(columns_of, expression.children))
        case OfRows(_, rows, of):
            return frozenset({rows}).union(*(columns_of(one) for one in [of] if one is not None))
        case _:
            return frozenset[str]().union(*map(columns_of, expression.children))
